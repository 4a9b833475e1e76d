"""The layers of GPT-2 as functions, apart from attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from generators.sampling.products import Product, Sum, added, norm, packed, packs, product

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
class Layers:
    """A model's layers, and what follows them."""

    weights: tuple[tuple[int, int], ...]
    """Which weights these functions have."""
    blocks: tuple[Block, ...]
    last: Product
    """The last normalisation."""
    head: Product


_LAYERS: WeakKeyDictionary[PreTrainedModel, Layers] = WeakKeyDictionary()


def layers_of(model: PreTrainedModel) -> Layers:
    """The model's layers, made again where its weights have changed."""
    weights = tuple((one.data_ptr(), 0 if one.is_inference() else one._version) for one in model.parameters())
    known = _LAYERS.get(model)
    if known is None or known.weights != weights:
        _LAYERS.pop(model, None)
        body: Any = model.transformer
        laid = packed(model.modules()) if packs(model) else {}
        # The library computes the same function in six passes over memory.
        usual = model.config.activation_function in ("gelu_new", "gelu_pytorch_tanh")
        blocks = tuple(_block(block, laid, usual=usual) for block in body.h)
        known = Layers(weights, blocks, norm(body.ln_f), product(model.lm_head, laid.get(model.lm_head)))
        _LAYERS[model] = known
    return known


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
