"""The layers of GPT-2 as functions, apart from attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from generators.sampling.products import Product, product

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Block:
    """The parts of a layer as functions of (…, width) states."""

    before: Product
    mix: Product
    """To queries, keys and values, side by side."""
    out: Product
    between: Product
    widen: Product
    narrow: Product


def block_of(block: Any, *, packed: bool, usual: bool) -> Block:
    widen = product(block.mlp.c_fc, packed=packed, gelu=usual)
    if not usual:
        inner = widen

        def widen(states: Tensor) -> Tensor:
            activated: Tensor = block.mlp.act(inner(states))
            return activated

    return Block(
        block.ln_1,
        product(block.attn.c_attn, packed=packed),
        product(block.attn.c_proj, packed=packed),
        block.ln_2,
        widen,
        product(block.mlp.c_proj, packed=packed),
    )


def block_end(block: Block, states: Tensor, seen: Tensor) -> Tensor:
    """The states after a layer, given those before it and what its attention sees."""
    states = states + block.out(seen)
    return states + block.narrow(block.widen(block.between(states)))
