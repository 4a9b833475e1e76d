"""The matrix products of a model, with weights laid out once for the processor.

On an x86 processor oneDNN multiplies in fp32 by weights in its own layout two to four times as fast as torch
by weights as they are. The copy takes as much memory as the weights, so it is made of models of a moderate
size alone.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Product = Callable[["Tensor"], "Tensor"]
MOST_BYTES = 2 << 30


class _Packed(NamedTuple):
    state: tuple[int, int]
    weight: Tensor


_PACKED: WeakKeyDictionary[Module, _Packed] = WeakKeyDictionary()


def packs(model: Module) -> bool:
    """Whether the weights of a model are worth a copy in oneDNN's layout."""
    import torch

    weights = list(model.parameters())
    return (
        platform.machine() in ("x86_64", "AMD64")
        and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]  # torch has no type
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and all(one.device.type == "cpu" and one.dtype == torch.float32 for one in weights)
        and sum(one.nbytes for one in weights) <= MOST_BYTES
    )


def product(module: Any, *, packed: bool, gelu: bool = False) -> Product:
    """The product with a linear module's weights, plus its bias; with `gelu`, GELU's tanh form follows."""
    import torch

    if not (packed and _is_linear(module)):
        if not gelu:
            return module  # type: ignore[no-any-return]  # a module is a function of tensors
        return lambda states: torch.nn.functional.gelu(module(states), approximate="tanh")
    weight, bias = _packed(module), module.bias
    then: tuple[str, list[float], str] = ("gelu", [], "tanh") if gelu else ("none", [], "")
    run = torch.ops.mkldnn._linear_pointwise
    return lambda states: run(states, weight, bias, *then)


def _is_linear(module: Any) -> bool:
    """Whether it is one of the two modules of that kind, not a variant that does more."""
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    return type(module) in (Linear, Conv1D)


def _packed(module: Any) -> Tensor:
    """The module's weight in oneDNN's layout, made again where the weight has changed."""
    import torch

    weight: Tensor = module.weight
    state = (weight.data_ptr(), 0 if weight.is_inference() else weight._version)
    known = _PACKED.get(module)
    if known is None or known.state != state:
        rows = weight.detach() if isinstance(module, torch.nn.Linear) else weight.detach().t().contiguous()
        with torch.inference_mode(False):
            known = _Packed(state, torch.ops.mkldnn._reorder_linear_weight(rows, None))
        _PACKED[module] = known
    return known.weight
