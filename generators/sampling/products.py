"""The matrix products of a model, with weights laid out once for the processor.

On an x86 processor oneDNN multiplies in fp32 by weights in its own layout two to four times as fast as torch
by weights as they are. The copy takes as much memory as the weights, so it is made of models of a moderate
size alone.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from generators.sampling.huge_pages import Span, use_huge_pages

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

Product = Callable[["Tensor"], "Tensor"]
Sum = Callable[["Tensor", "Tensor"], "Tensor"]
"""Of a product of the first, and the second."""
MOST_BYTES = 2 << 30


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


def packed(modules: Iterable[Any]) -> dict[Any, Tensor]:
    """The weights of the linear ones among the modules in oneDNN's layout."""
    import torch

    found: dict[Any, Tensor] = {}
    for module in filter(_is_linear, modules):
        weight = module.weight.detach()
        rows = weight if isinstance(module, torch.nn.Linear) else weight.t().contiguous()
        with torch.inference_mode(False):
            found[module] = torch.ops.mkldnn._reorder_linear_weight(rows, None)
    use_huge_pages(map(_span, found.values()))
    return found


def _is_linear(module: Any) -> bool:
    """Whether it is one of the two modules of that kind, not a variant that does more."""
    from torch.nn import Linear
    from transformers.pytorch_utils import Conv1D

    return type(module) in (Linear, Conv1D)


def _span(weight: Tensor) -> Span:
    import torch

    begin = torch.ops.mkldnn.data_ptr(weight)
    return Span(begin, begin + torch.ops.mkldnn._nbytes(weight))


def product(module: Any, weight: Tensor | None, *, gelu: bool = False) -> Product:
    """The product with a linear module's weights, plus its bias; with `gelu`, GELU's tanh form follows.
    `weight` is that in oneDNN's layout, if there is one."""
    import torch

    if weight is None:
        plain = _plain(module)
        return (lambda states: torch.nn.functional.gelu(plain(states), approximate="tanh")) if gelu else plain
    bias, run = module.bias, torch.ops.mkldnn._linear_pointwise.default
    then: tuple[str, list[float], str] = ("gelu", [], "tanh") if gelu else ("none", [], "")
    return lambda states: run(states, weight, bias, *then)


def added(module: Any, weight: Tensor | None) -> Sum:
    """The same product, added to the states that are given second."""
    import torch

    if weight is None:
        plain = _plain(module)
        return lambda states, to: plain(states).add_(to)
    bias, run = module.bias, torch.ops.mkldnn._linear_pointwise.binary
    return lambda states, to: run(states, to, weight, bias, "add")


def _plain(module: Any) -> Product:
    """The product by torch, without the detours of a module."""
    import torch
    from transformers.pytorch_utils import Conv1D

    if type(module) is not Conv1D:
        return module  # type: ignore[no-any-return]  # a module is a function of tensors
    bias, weight = module.bias, module.weight
    return lambda states: torch.addmm(bias, states, weight)


def norm(module: Any) -> Product:
    """A layer's normalisation, without the detours of a module."""
    import torch

    if type(module) is not torch.nn.LayerNorm:
        return module  # type: ignore[no-any-return]  # a module is a function of tensors
    given = module.normalized_shape, module.weight, module.bias, module.eps
    return lambda states: torch.layer_norm(states, *given)
