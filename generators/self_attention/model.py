"""The network: a stack of blocks that attend to the answer so far and to the words of the template, which has
no encoder.

Width, depth, scales and signal are those of Zhu, Hu and Xing (2019, "Text Infilling"); unlike theirs, padding
is masked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from generators.self_attention.architecture import Architecture
from generators.self_attention.template import SEGMENT
from generators.self_attention.vocabulary import PAD

TIMESCALES = 1.0, 1e4
"""The shortest and the longest wave of the position signal."""


class KeysAndValues(NamedTuple):
    """What a block attends to; each (batch, heads, length, width / heads)."""

    keys: Tensor
    values: Tensor

    def rows(self, index: Tensor) -> KeysAndValues:
        """Those of these rows."""
        return KeysAndValues(self.keys[index], self.values[index])


class Memory(NamedTuple):
    """A batch of templates as the blocks see them: the keys and values of each block, and which places are
    not padding."""

    layers: list[KeysAndValues]
    seen: Tensor
    """(batch, 1, 1, template), true for words, false for padding."""

    def rows(self, index: Tensor) -> Memory:
        """The templates of these rows."""
        return Memory([layer.rows(index) for layer in self.layers], self.seen[index])


@dataclass(slots=True)
class Cache:
    """Keys and values of the answer so far, by block."""

    layers: list[KeysAndValues]

    def rows(self, index: Tensor) -> Cache:
        """The answers of these rows."""
        return Cache([layer.rows(index) for layer in self.layers])


class Read(NamedTuple):
    """What the model makes of answers."""

    states: Tensor
    """(batch, length, width) after each word."""
    cache: Cache
    """The cache for the next word."""


def signal(positions: Tensor, width: int) -> Tensor:
    """The signal of positions, (…) to (…, width): sines, then cosines, of wave lengths from 1 to 10,000 in
    equal ratios."""
    half = width // 2
    ratio = math.log(TIMESCALES[1] / TIMESCALES[0]) / max(half - 1, 1)
    rates = torch.exp(torch.arange(half, device=positions.device) * -ratio) / TIMESCALES[0]
    angles = positions.unsqueeze(-1) * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class _Attention(nn.Module):
    """Attention with several heads; no biases."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        """(batch, length, width) to (batch, heads, length, width / heads)."""
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def project(self, x: Tensor) -> KeysAndValues:
        """What is attended to."""
        return KeysAndValues(self.split(self.key(x)), self.split(self.value(x)))

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool = False
    ) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(
            self.split(self.query(x)), keys, values, attn_mask=mask, dropout_p=dropout, is_causal=causal
        )
        found: Tensor = self.out(mixed.transpose(1, 2).flatten(-2))
        return found


class _Out(NamedTuple):
    states: Tensor
    answer: KeysAndValues


class _Block(nn.Module):
    def __init__(self, a: Architecture) -> None:
        super().__init__()
        self.answer, self.template = (_Attention(a.width, a.heads, a.dropout) for _ in range(2))
        self.first_norm, self.second_norm, self.third_norm = (nn.LayerNorm(a.width) for _ in range(3))
        self.hidden, self.out = nn.Linear(a.width, a.hidden), nn.Linear(a.hidden, a.width)
        self.dropout = nn.Dropout(a.dropout)

    def forward(self, x: Tensor, template: KeysAndValues, seen: Tensor, past: KeysAndValues | None) -> _Out:
        """The next (batch, length, width), and keys and values of the whole answer. With a `past`, x is one
        word per row."""
        normal = self.first_norm(x)
        answer = self.answer.project(normal)
        if past is not None:
            answer = KeysAndValues(
                torch.cat([past.keys, answer.keys], 2), torch.cat([past.values, answer.values], 2)
            )
        x = x + self.dropout(self.answer(normal, *answer, None, causal=past is None))
        x = x + self.dropout(self.template(self.second_norm(x), *template, seen))
        x = x + self.dropout(self.out(functional.relu(self.hidden(self.third_norm(x)))))
        return _Out(x, answer)


class SelfAttention(nn.Module):
    """The model. Template, answer and output share the word embeddings; those of answers are scaled, and
    those of templates if the architecture says so."""

    def __init__(self, architecture: Architecture, rows: int) -> None:
        """Create random weights from torch's random numbers, which the caller seeds. `rows`: the number of
        ids."""
        super().__init__()
        self.width = architecture.width
        self.template_scale = self.width**0.5 if architecture.scale_template else 1.0
        self.words = nn.Embedding(rows, self.width)
        self.blocks = nn.ModuleList(_Block(architecture) for _ in range(architecture.layers))
        self.norm = nn.LayerNorm(self.width)
        self.dropout = nn.Dropout(architecture.dropout)
        nn.init.normal_(self.words.weight, std=self.width**-0.5)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    @property
    def device(self) -> torch.device:
        return self.words.weight.device

    def remember(self, template: Tensor, positions: Tensor) -> Memory:
        """The templates as the blocks see them. `template`: ids, `positions`: positions, each (batch,
        template)."""
        x = self.dropout(self.words(template) * self.template_scale + signal(positions, self.width))
        seen = (template != PAD)[:, None, None, :]
        return Memory([block.template.project(x) for block in self.blocks], seen)  # type: ignore[operator, union-attr]  # a ModuleList does not keep the type of its modules

    def forward(self, answer: Tensor, memory: Memory, cache: Cache | None = None, *, start: int = 0) -> Read:
        """Read answers, or their next words.

        `answer`: ids (batch, length) from `<BOA>` onwards; with a cache only the next id, which is word
        number `start`. The first blank is segment 1. Padding is only at the end, so no
        word sees it.
        """
        positions = SEGMENT + start + torch.arange(answer.shape[1], device=answer.device)
        x = self.dropout(self.words(answer) * self.width**0.5 + signal(positions, self.width))
        layers = []
        for at, block in enumerate(self.blocks):
            out = block(x, memory.layers[at], memory.seen, cache.layers[at] if cache else None)
            x = out.states
            layers.append(out.answer)
        return Read(self.norm(x), Cache(layers))

    def logits(self, states: Tensor) -> Tensor:
        """(…, width) to (…, ids): inner products with the embeddings."""
        return states @ self.words.weight.T
