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
    row_added,
    row_product,
    tables,
)

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
    alone: Stack


_LAYERS: WeakKeyDictionary[PreTrainedModel, Layers] = WeakKeyDictionary()


def layers_of(model: PreTrainedModel) -> Layers:
    """The model's layers, made again where its weights or the number of threads have changed."""
    import torch

    weights = [(one.data_ptr(), 0 if one.is_inference() else one._version) for one in model.parameters()]
    made_for = [torch.get_num_threads(), *weights]
    known = _LAYERS.get(model)
    if known is None or known.made_for != made_for:
        _LAYERS.pop(model, None)
        laid, rows = (lay(model.modules()) if packs(model) else {} for lay in (packed, tables))
        known = Layers(made_for, _stack(model, _Products(laid, {})), _stack(model, _Products(laid, rows)))
        _LAYERS[model] = known
    return known


@dataclass(frozen=True, slots=True)
class _Products:
    """The products of modules: with tables for single rows, else with weights in oneDNN's layout, else as
    torch has them."""

    laid: Mapping[Any, Tensor]
    tables: Mapping[Any, Tensor]

    def of(self, module: Any, *, gelu: bool = False) -> Product:
        if module in self.tables:
            return row_product(module, self.tables[module], gelu=gelu)
        return product(module, self.laid.get(module), gelu=gelu)

    def added(self, module: Any) -> Sum:
        if module in self.tables:
            return row_added(module, self.tables[module])
        return added(module, self.laid.get(module))


def _stack(model: PreTrainedModel, products: _Products) -> Stack:
    body: Any = model.transformer
    # The library computes the same function in six passes over memory.
    usual = model.config.activation_function in ("gelu_new", "gelu_pytorch_tanh")
    blocks = tuple(_block(block, products, usual=usual) for block in body.h)
    return Stack(blocks, norm(body.ln_f), products.of(model.lm_head))


def _block(block: Any, products: _Products, *, usual: bool) -> Block:
    attention, layer = block.attn, block.mlp
    inner = products.of(layer.c_fc, gelu=usual)

    def widen(states: Tensor) -> Tensor:
        activated: Tensor = layer.act(inner(states))
        return activated

    return Block(
        norm(block.ln_1),
        products.of(attention.c_attn),
        products.added(attention.c_proj),
        norm(block.ln_2),
        inner if usual else widen,
        products.added(layer.c_proj),
    )


def block_end(block: Block, states: Tensor, seen: Tensor) -> Tensor:
    """The states after a layer, given those before it and what its attention sees."""
    states = block.out(seen, states)
    return block.narrow(block.widen(block.between(states)), states)
