"""The layers of GPT-2 as functions, apart from attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from generators.sampling.products import (
    Product,
    Sum,
    added,
    norm,
    packed,
    packs,
    product,
)
from generators.sampling.single_row import RowLayers, row_layers

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


@dataclass(frozen=True, slots=True)
class Block:
    """The parts of a layer as functions of (N, width) states."""

    before: Product
    mix: Product
    """To queries, keys and values, side by side."""
    out: Sum
    between: Product
    widen: Product
    narrow: Sum


@dataclass(frozen=True, slots=True)
class Stack:
    """A model's layers, and what follows them."""

    blocks: tuple[Block, ...]
    last: Product
    """The last normalisation."""
    head: Product


@dataclass(frozen=True, slots=True)
class Layers:
    """The same layers twice: for any number of rows, and for a single row."""

    made_for: Sequence[object]
    """The threads and the weights that these functions have."""
    many: Stack
    alone: RowLayers | None
    """None: by those for any number of rows."""


_LAYERS: WeakKeyDictionary[PreTrainedModel, Layers] = WeakKeyDictionary()


def layers_of(model: PreTrainedModel) -> Layers:
    """The model's layers, made again where its weights or the number of threads have changed."""
    import torch

    weights = [(one.data_ptr(), 0 if one.is_inference() else one._version) for one in model.parameters()]
    made_for = [torch.get_num_threads(), *weights]
    known = _LAYERS.get(model)
    if known is None or known.made_for != made_for:
        _LAYERS.pop(model, None)
        laid = packed(model.modules()) if packs(model) else {}
        many = _stack(model, laid)
        alone = row_layers(model, many.head) if laid and _usual(model) else None
        known = Layers(made_for, many, alone)
        _LAYERS[model] = known
    return known


def _usual(model: PreTrainedModel) -> bool:
    """Whether it has GELU's tanh form, which torch has as one operation; the library makes six of it."""
    return model.config.activation_function in ("gelu_new", "gelu_pytorch_tanh")


def _stack(model: PreTrainedModel, laid: Mapping[Any, Tensor]) -> Stack:
    """The layers, with the weights that are laid out for oneDNN."""
    body: Any = model.transformer
    blocks = tuple(_block(block, laid, usual=_usual(model)) for block in body.h)
    return Stack(blocks, norm(body.ln_f), product(model.lm_head, laid.get(model.lm_head)))


def _block(block: Any, laid: Mapping[Any, Tensor], *, usual: bool) -> Block:
    attention, layer = block.attn, block.mlp
    inner = product(layer.c_fc, laid.get(layer.c_fc), gelu=usual)

    def widen(states: Tensor) -> Tensor:
        activated: Tensor = layer.act(inner(states))
        return activated

    return Block(
        norm(block.ln_1),
        product(attention.c_attn, laid.get(attention.c_attn)),
        added(attention.c_proj, laid.get(attention.c_proj)),
        norm(block.ln_2),
        inner if usual else widen,
        added(layer.c_proj, laid.get(layer.c_proj)),
    )


def block_end(block: Block, states: Tensor, seen: Tensor) -> Tensor:
    """The states after a layer, given those before it and what its attention sees."""
    states = block.out(seen, states)
    return block.narrow(block.widen(block.between(states)), states)
