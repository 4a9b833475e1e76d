"""A text with blanks as a page needs it: the whole text, which ranges of it are blanks, and which ranges can
become one. Ranges count characters; a blank whose text was never there has length 0."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from humaneval.domain import Gap, GappedText
from humaneval.errors import InputError
from humaneval.free_text import gapped
from humaneval.text import language_of, sentence_spans

_WORD = re.compile(r"[^\W_]+(?:['’.:-][^\W_]+)*|[^\w\s]")
Spans = list[list[int]]


@dataclass(frozen=True, slots=True)
class Range:
    """Characters `start` to `end` (exclusive) are a blank of this type."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class Ranged:
    """A whole text, and its blanks in order."""

    text: str
    blanks: tuple[Range, ...]


def to_ranges(text: GappedText) -> Ranged:
    """The text with what was in its blanks, and where these are.

    >>> to_ranges(GappedText("", ("I ate ", "."), (Gap("word", original="rice"),)))
    Ranged(text='I ate rice.', blanks=(Range(start=6, end=10, type='word'),))
    """
    whole, blanks = text.pieces[0], []
    for gap, piece in zip(text.gaps, text.pieces[1:], strict=True):
        blanks.append(Range(len(whole), len(whole) + len(gap.original), gap.type))
        whole += gap.original + piece
    return Ranged(whole, tuple(blanks))


def from_ranges(ranged: Ranged) -> GappedText:
    """The opposite of `to_ranges`. Raises InputError for ranges that overlap or lie outside."""
    pieces, gaps, at = [], [], 0
    for blank in sorted(ranged.blanks, key=lambda blank: (blank.start, blank.end)):
        if not at <= blank.start <= blank.end <= len(ranged.text):
            raise InputError("the blanks do not lie in the text, one after another", "Mark them again.")
        pieces.append(ranged.text[at : blank.start])
        gaps.append(Gap(blank.type, original=ranged.text[blank.start : blank.end]))
        at = blank.end
    return gapped([*pieces, ranged.text[at:]], gaps)


def read_ranges(values: Mapping[str, Any], types: Sequence[str]) -> Ranged:
    """What a page sends: `text`, and `blanks` with `start`, `end` and `type`. Raises InputError for anything
    else."""
    text, blanks = values.get("text"), values.get("blanks")
    fine = isinstance(text, str) and isinstance(blanks, list)
    found = [] if not fine else [_range(blank, types) for blank in blanks or ()]
    if not fine or None in found:
        raise InputError("the request is not a text with blanks", "Load the page again.")
    return Ranged(str(text), tuple(one for one in found if one))


def _range(values: Any, types: Sequence[str]) -> Range | None:
    if not isinstance(values, dict):
        return None
    start, end, type = (values.get(name) for name in ("start", "end", "type"))
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(type, str) and type in types):
        return None
    return Range(start, end, type)


def units(text: str) -> dict[str, Spans]:
    """The ranges of a text that can become a blank, by their type.

    >>> units("Hi, Bo. Go!")["sentence"], units("Hi, Bo.")["word"]
    ([[0, 7], [8, 11]], [[0, 2], [2, 3], [4, 6], [6, 7]])
    """
    paragraphs = _lines(text)
    language = language_of(text)
    sentences = [
        [start + first, start + last]
        for start, end in paragraphs
        for first, last in sentence_spans(text[start:end], language)
    ]
    words = [list(found.span()) for found in _WORD.finditer(text)]
    whole = [paragraphs[0][0], paragraphs[-1][1]] if paragraphs else []
    return {
        "word": words,
        "sentence": sentences,
        "paragraph": paragraphs,
        "document": [whole] if whole else [],
    }


def _lines(text: str) -> Spans:
    """Where lines that are not blank lie, without the white space around them."""
    found: Spans = []
    at = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            start = at + len(line) - len(line.lstrip())
            found.append([start, at + len(line.rstrip())])
        at += len(line)
    return found
