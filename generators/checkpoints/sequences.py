"""Documents as token sequences: the vocabulary's special ids, and examples for each of the four strategies.

With x a document's tokens, c the same with every masked span replaced by its blank, and a1 … ak the spans:

- `ilm`: c S a1 E a2 E … ak E
- `lm`: S x E
- `lm-rev`: S reverse(x) E
- `lm-all`: c S x E

Every token has a target type; other modules decide which types the loss and perplexity look at. Many examples
are encoded at a time. Each is a list of *segments*: runs of the document's tokens, or single special tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from generators.masks.spans import Granularity, MaskedSpan

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONTEXT_LENGTH = 256
STRATEGIES = ("ilm", "lm", "lm-rev", "lm-all")
"""The ways to train, which are also the kinds of checkpoints; lm-rev and lm-all are the paper's LM-Rev and
LM-All."""

Ids = NDArray[np.int32]
Types = NDArray[np.int8]
Ints = NDArray[np.int64]


class Target(IntEnum):
    """The type of a token, numbered as in the paper's code."""

    PAD = 0
    CONTEXT = 1
    CONTEXT_SPECIAL = 2
    CONTEXT_INFILL_SEP = 3
    INFILL = 4
    INFILL_SPECIAL = 5
    INFILL_REDUNDANT = 6


class SpecialIds(NamedTuple):
    """Ids after a vocabulary of `size` tokens: S, E, then a blank for each type of the mask. GPT-2's S is
    50,257."""

    size: int
    blanks: tuple[str, ...] = tuple(Granularity)

    @property
    def start(self) -> int:
        """S, which begins the answers."""
        return self.size

    @property
    def end(self) -> int:
        """E, which ends an answer."""
        return self.size + 1

    def blank(self, type: str) -> int:
        """The blank token of a type of span."""
        return self.size + 2 + self.blanks.index(type)

    @property
    def total(self) -> int:
        """The size of the vocabulary with its special tokens; GPT-2's is 50,264."""
        return self.size + 2 + len(self.blanks)


class Tokens(NamedTuple):
    """A document's ids and the characters that each token covers: `starts[i]` to `ends[i]`."""

    ids: Ids
    starts: Ids
    ends: Ids


class Masked(NamedTuple):
    """Masked examples side by side. Example i masks the document `ids[starts[i] : starts[i] + lengths[i]]`.

    Its spans are those with the numbers j from `bounds[i]` to `bounds[i + 1]`, in order. Span j is
    `firsts[j]` to `lasts[j]` (exclusive, in tokens of its document), and `kinds[j]` is the number of its type
    of blanks.
    """

    ids: NDArray[np.integer]
    starts: Ints
    lengths: Ints
    bounds: Ints
    kinds: Ints
    firsts: Ints
    lasts: Ints

    def masked_tokens(self) -> Ints:
        """The number of tokens that each example masks."""
        total = np.concatenate([[0], np.cumsum(self.lasts - self.firsts)])
        masked: Ints = total[self.bounds[1:]] - total[self.bounds[:-1]]
        return masked

    def fits(self, context: int = CONTEXT_LENGTH) -> NDArray[np.bool_]:
        """Whether the longest format, c S x E, fits the context. By this rule all strategies train on the
        same data."""
        blanked = self.lengths - self.masked_tokens() + np.diff(self.bounds)
        return blanked + 1 + self.lengths + 1 <= context


class Examples(NamedTuple):
    """Encoded examples, one after the other: example i is `bounds[i]` to `bounds[i + 1]` of ids and target
    types."""

    ids: Ids
    types: Types
    bounds: Ints

    def __iter__(self) -> Iterator[tuple[Ids, Types]]:  # type: ignore[override]  # iterates over examples, not fields
        """Each example's ids and types."""
        for start, end in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            yield self.ids[start:end], self.types[start:end]

    def size(self) -> int:
        """The number of examples."""
        return len(self.bounds) - 1


def tokenise(tokenizer: Tokenizer, texts: Sequence[str]) -> list[Tokens]:
    """Tokens of whole, unmasked documents. Control strings in a text are text: the tokenizer does not know
    them."""
    encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
    tokens = []
    for one in encoded:
        offsets = np.array(one.offsets, dtype=np.int32).reshape(-1, 2)
        tokens.append(Tokens(np.array(one.ids, dtype=np.int32), offsets[:, 0], offsets[:, 1]))
    return tokens


class MaskedTokens(NamedTuple):
    """Masked examples, and how many spans of each were merged into the one before."""

    masked: Masked
    merged: Ints


def mask_tokens(
    tokens: Sequence[Tokens], masks: Sequence[Sequence[Sequence[MaskedSpan]]], special: SpecialIds
) -> MaskedTokens:
    """The masks of each document, in tokens.

    A span becomes all tokens that share a character with it. A token may begin with the space before a word;
    it then belongs to the word's span. If two spans meet in one token, the blank of the first covers both;
    the paper's code drops such examples.
    """
    sizes = np.array([len(one.ids) for one in tokens], dtype=np.int64)
    token_at = np.concatenate([[0], np.cumsum(sizes)])
    # Characters are counted across all documents, so that one search finds the tokens of every span.
    widths = [int(one.ends[-1]) + 1 if len(one.ids) else 1 for one in tokens]
    char_at = np.concatenate([[0], np.cumsum(widths)])
    none = np.zeros(0, dtype=np.int64)
    starts = np.concatenate([none, *(one.starts + at for one, at in zip(tokens, char_at, strict=False))])
    ends = np.concatenate([none, *(one.ends + at for one, at in zip(tokens, char_at, strict=False))])
    number = {type: index for index, type in enumerate(special.blanks)}
    owner, counts, kinds, begins, stops = [], [], [], [], []
    for document, examples in enumerate(masks):
        base = int(char_at[document])
        for spans in examples:
            owner.append(document)
            counts.append(len(spans))
            for type, start, end in spans:
                kinds.append(number[type])
                begins.append(base + start)
                stops.append(base + end)
    owners = np.array(owner, dtype=np.int64)
    example = np.repeat(np.arange(len(counts)), np.array(counts, dtype=np.int64))
    shift = token_at[owners[example]]
    firsts = np.searchsorted(ends, np.array(begins, dtype=np.int64), side="right") - shift
    lasts = np.searchsorted(starts, np.array(stops, dtype=np.int64), side="left") - shift
    merged = np.zeros(len(example), dtype=bool)
    merged[1:] = (example[1:] == example[:-1]) & (firsts[1:] < lasts[:-1])
    head = np.flatnonzero(~merged)
    tail = np.append(head[1:], len(example)) - 1 if len(head) else head
    spans_of = np.bincount(example[head], minlength=len(counts))
    masked = Masked(
        ids=np.concatenate([none.astype(np.int32), *(one.ids for one in tokens)]),
        starts=token_at[owners],
        lengths=sizes[owners],
        bounds=np.concatenate([[0], np.cumsum(spans_of)]),
        kinds=np.array(kinds, dtype=np.int64)[head],
        firsts=firsts[head],
        lasts=lasts[tail],
    )
    return MaskedTokens(masked, np.bincount(example[merged], minlength=len(counts)))


def encode(strategy: str, masked: Masked, special: SpecialIds) -> Examples:
    """The examples in the format of `strategy`. Raises KeyError if it is not one of STRATEGIES."""
    layout = {"ilm": _ilm, "lm": _lm, "lm-rev": _lm_rev, "lm-all": _lm_all}[strategy]
    return layout(masked, special)


class _Segments:
    """The segments of all examples in order: each is a run of tokens, or one special token (a negative
    place).

    `counts` is the number of segments of each example; `put` fills in some of them.
    """

    def __init__(self, counts: Ints) -> None:
        self.at = np.concatenate([[0], np.cumsum(counts)])
        self.places = np.zeros(self.at[-1], dtype=np.int64)
        self.lengths = np.ones(self.at[-1], dtype=np.int64)
        self.types = np.zeros(self.at[-1], dtype=np.int8)

    def put(self, where: Ints, places: Ints | int, lengths: Ints | int, type: Target) -> None:
        self.places[where], self.lengths[where], self.types[where] = places, lengths, type

    def examples(self, masked: Masked, special: SpecialIds, reverse: Ints | None = None) -> Examples:
        """All tokens; those of the segments `reverse` are in reverse order."""
        ends = np.cumsum(self.lengths)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - self.lengths, self.lengths)
        first = self.places
        if reverse is not None:
            first = first.copy()
            first[reverse] += self.lengths[reverse] - 1
            steps = np.ones(len(first), dtype=np.int64)
            steps[reverse] = -1
            within *= np.repeat(steps, self.lengths)
        places = np.repeat(first, self.lengths) + within
        ids = masked.ids[np.maximum(places, 0)].astype(np.int32)
        marks = places < 0
        ids[marks] = special.size - 1 - places[marks]
        bounds = np.concatenate([[0], ends])[self.at]
        return Examples(ids, np.repeat(self.types, self.lengths), bounds)


_S, _E, _BLANKS = -1, -2, -3
"""Places of special tokens: the id is the vocabulary's size - 1 - place; blank number k is at _BLANKS - k."""


def _context(masked: Masked, segments: _Segments) -> tuple[Ints, Ints]:
    """Put c and S. Returns each example's first segment after them, and each span's number in its example."""
    spans = np.diff(masked.bounds)
    example = np.repeat(np.arange(len(spans)), spans)
    rank = np.arange(len(example)) - masked.bounds[example]
    before = np.where(rank > 0, np.roll(masked.lasts, 1), 0)
    at = segments.at[example] + 2 * rank
    start = masked.starts[example]
    segments.put(at, start + before, masked.firsts - before, Target.CONTEXT)
    segments.put(at + 1, _BLANKS - masked.kinds, 1, Target.CONTEXT_SPECIAL)
    last = np.where(spans > 0, masked.lasts[masked.bounds[1:] - 1] if len(example) else 0, 0)
    tail = segments.at[:-1] + 2 * spans
    segments.put(tail, masked.starts + last, masked.lengths - last, Target.CONTEXT)
    segments.put(tail + 1, _S, 1, Target.CONTEXT_INFILL_SEP)
    return tail + 2, rank


def _ilm(masked: Masked, special: SpecialIds) -> Examples:
    spans = np.diff(masked.bounds)
    segments = _Segments(4 * spans + 2)
    answers, rank = _context(masked, segments)
    example = np.repeat(np.arange(len(spans)), spans)
    at = answers[example] + 2 * rank
    segments.put(at, masked.starts[example] + masked.firsts, masked.lasts - masked.firsts, Target.INFILL)
    segments.put(at + 1, _E, 1, Target.INFILL_SPECIAL)
    return segments.examples(masked, special)


def _lm(masked: Masked, special: SpecialIds) -> Examples:
    segments = _Segments(np.full(len(masked.starts), 3))
    segments.put(segments.at[:-1], _S, 1, Target.CONTEXT_INFILL_SEP)
    _whole(masked, segments, segments.at[:-1] + 1)
    return _marked(masked, segments.examples(masked, special))


def _lm_rev(masked: Masked, special: SpecialIds) -> Examples:
    segments = _Segments(np.full(len(masked.starts), 3))
    segments.put(segments.at[:-1], _S, 1, Target.CONTEXT_INFILL_SEP)
    _whole(masked, segments, segments.at[:-1] + 1)
    examples = segments.examples(masked, special, reverse=segments.at[:-1] + 1)
    length = np.repeat(masked.lengths, np.diff(masked.bounds))
    # In reverse order, a span's last token is its first.
    return _marked(masked._replace(firsts=length - masked.lasts, lasts=length - masked.firsts), examples)


def _lm_all(masked: Masked, special: SpecialIds) -> Examples:
    segments = _Segments(2 * np.diff(masked.bounds) + 4)
    behind, _ = _context(masked, segments)
    _whole(masked, segments, behind)
    return _marked(masked, segments.examples(masked, special))


def _whole(masked: Masked, segments: _Segments, at: Ints) -> None:
    """Put x and E."""
    segments.put(at, masked.starts, masked.lengths, Target.INFILL_REDUNDANT)
    segments.put(at + 1, _E, 1, Target.INFILL_REDUNDANT)


def _marked(masked: Masked, examples: Examples) -> Examples:
    """Mark the tokens of masked spans as INFILL, and the token after each as INFILL_SPECIAL unless it begins
    the next span."""
    example = np.repeat(np.arange(len(masked.starts)), np.diff(masked.bounds))
    x = examples.bounds[1:][example] - 1 - masked.lengths[example]
    examples.types[x + masked.lasts] = Target.INFILL_SPECIAL
    lengths = masked.lasts - masked.firsts
    ends = np.cumsum(lengths)
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
    examples.types[np.repeat(x + masked.firsts, lengths) + within] = Target.INFILL
    return examples
