"""The shapes of masks: spans of a document that become blanks, and what a mask function is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from generators.masks.documents import Document

FAULTS = (Exception, SystemExit)
"""What a custom mask function may raise; a request to exit is treated as an error."""


class Granularity(StrEnum):
    """What a blank stands for, in the order of the blank tokens' ids."""

    DOCUMENT = "document"
    PARAGRAPH = "paragraph"
    SENTENCE = "sentence"
    NGRAM = "ngram"
    WORD = "word"

    # The hash of an enumeration is many times slower, and masks are looked up millions of times.
    __hash__ = str.__hash__


class MaskedSpan(NamedTuple):
    """A span that becomes a blank; `type` is a granularity, or a type of a custom mask function."""

    type: str
    start: int
    end: int


Draw = Callable[[random.Random], Sequence[MaskedSpan]]
"""Draws one mask of one document: spans that do not overlap, in the order of the text; there may be none."""


class MaskFunction(Protocol):
    """Chooses the spans that become blanks."""

    @property
    def name(self) -> str:
        """The name that `load_mask` takes."""

    @property
    def types(self) -> tuple[str, ...]:
        """All types of its spans, in the order of the blank tokens' ids."""

    def prepare(self, document: Document) -> Draw:
        """Do the work that is the same for all masks of a document."""
