"""Documents as token sequences: the vocabulary's special ids, and examples for each way to train.

With x the document's tokens, c the same with every masked span replaced by its blank, and a1 … ak the spans:

- `ilm`: c S a1 E a2 E … ak E
- `lm`: S x E

Every token has a target type; which of them the loss and perplexity look at is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.masking import Granularity, MaskedSpan

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONTEXT_LENGTH = 256

Ids = NDArray[np.int32]
Types = NDArray[np.int8]


class Target(IntEnum):
    """What a token is, as the paper's code numbers it."""

    PAD = 0
    CONTEXT = 1
    CONTEXT_SPECIAL = 2
    CONTEXT_INFILL_SEP = 3
    INFILL = 4
    INFILL_SPECIAL = 5
    INFILL_REDUNDANT = 6


class SpecialIds(NamedTuple):
    """Ids behind a vocabulary of `size` tokens: S, E, then a blank for each of the mask's types. GPT-2's S is 50,257."""

    size: int
    blanks: tuple[str, ...] = tuple(Granularity)

    @property
    def start(self) -> int:
        """S, where infilling begins."""
        return self.size

    @property
    def end(self) -> int:
        """E, after every answer."""
        return self.size + 1

    def blank(self, type: str) -> int:
        """The blank token of a type of span."""
        return self.size + 2 + self.blanks.index(type)

    @property
    def total(self) -> int:
        """The vocabulary with its special tokens: GPT-2's is 50,264."""
        return self.size + 2 + len(self.blanks)


class Tokens(NamedTuple):
    """A document's ids and the characters that each token covers: `starts[i]` to `ends[i]`."""

    ids: Ids
    starts: Ids
    ends: Ids


class Example(NamedTuple):
    """A training example: ids and the target type of each."""

    ids: Ids
    types: Types


def tokenise(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Tokens]:
    """Tokens of whole, unmasked documents. A control string in a text is text: the tokenizer knows none of them."""
    encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    tokens = []
    for one in encoded:
        offsets = np.array(one.offsets, dtype=np.int32).reshape(-1, 2)
        tokens.append(Tokens(np.array(one.ids, dtype=np.int32), offsets[:, 0], offsets[:, 1]))
    return tokens


def token_spans(tokens: Tokens, mask: Sequence[MaskedSpan]) -> list[tuple[str, int, int]]:
    """The mask in tokens: first to last token with a character of the span. Spans that meet in a token are merged.

    A token may begin with the space before a word; it then belongs to the span with the word.
    """
    spans: list[tuple[str, int, int]] = []
    for type, start, end in mask:
        first = int(np.searchsorted(tokens.ends, start, side="right"))
        last = int(np.searchsorted(tokens.starts, end, side="left"))
        if spans and first < spans[-1][2]:
            # Two masked words inside one token: the reference drops such examples, we let one blank cover both.
            spans[-1] = (spans[-1][0], spans[-1][1], max(last, spans[-1][2]))
        elif first < last:
            spans.append((type, first, last))
    return spans


def fits(tokens: Tokens, spans: Sequence[tuple[str, int, int]]) -> bool:
    """The rule that keeps all strategies on the same data: the longest format, c S x E, must fit the context."""
    masked = sum(last - first for _, first, last in spans)
    blanked = len(tokens.ids) - masked + len(spans)
    return blanked + 1 + len(tokens.ids) + 1 <= CONTEXT_LENGTH


def encode_ilm(tokens: Tokens, spans: Sequence[tuple[str, int, int]], special: SpecialIds) -> Example:
    """c S a1 E … ak E."""
    ids: list[int] = []
    types: list[int] = []
    answers: list[int] = []
    answer_types: list[int] = []
    at = 0
    for type, first, last in spans:
        ids += [*tokens.ids[at:first].tolist(), special.blank(type)]
        types += [Target.CONTEXT] * (first - at) + [Target.CONTEXT_SPECIAL]
        answers += [*tokens.ids[first:last].tolist(), special.end]
        answer_types += [Target.INFILL] * (last - first) + [Target.INFILL_SPECIAL]
        at = last
    ids += [*tokens.ids[at:].tolist(), special.start, *answers]
    types += [Target.CONTEXT] * (len(tokens.ids) - at) + [Target.CONTEXT_INFILL_SEP] + answer_types
    return Example(np.array(ids, dtype=np.int32), np.array(types, dtype=np.int8))


def encode_lm(tokens: Tokens, spans: Sequence[tuple[str, int, int]], special: SpecialIds) -> Example:
    """S x E. Tokens inside masked spans are INFILL, the one after each is INFILL_SPECIAL, all others REDUNDANT."""
    length = len(tokens.ids)
    ids = np.concatenate([[special.start], tokens.ids, [special.end]]).astype(np.int32)
    types = np.full(length + 2, Target.INFILL_REDUNDANT, dtype=np.int8)
    types[0] = Target.CONTEXT_INFILL_SEP
    for _, _, last in spans:
        types[1 + last] = Target.INFILL_SPECIAL
    for _, first, last in spans:
        types[1 + first : 1 + last] = Target.INFILL
    return Example(ids, types)


Encoder = Callable[[Tokens, Sequence[tuple[str, int, int]], SpecialIds], Example]

ENCODERS: dict[str, Encoder] = {"lm": encode_lm, "ilm": encode_ilm}
"""The strategies that can be trained, by the kind of generator that they make."""
