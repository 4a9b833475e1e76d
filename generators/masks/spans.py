"""The shapes of masks: spans of a document that become blanks, and what a mask function is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from generators.masks.documents import Document

FAULTS = (Exception, SystemExit)
"""What the mask function of somebody else may raise; one that asks to leave the program is not obeyed."""


class Granularity(StrEnum):
    """What a blank stands for, in the order of the blank tokens' ids."""

    DOCUMENT = "document"
    PARAGRAPH = "paragraph"
    SENTENCE = "sentence"
    NGRAM = "ngram"
    WORD = "word"

    # An enumeration's own is many times slower, and masks are looked up by the million.
    __hash__ = str.__hash__


class MaskedSpan(NamedTuple):
    """A span that is to become a blank; `type` is a granularity, or what a custom mask function calls it."""

    type: str
    start: int
    end: int


Draw = Callable[[random.Random], Sequence[MaskedSpan]]
"""Draws one mask of one document: spans in the order of the text that do not overlap; perhaps none."""


class MaskFunction(Protocol):
    """A way to choose the spans that become blanks."""

    @property
    def name(self) -> str:
        """What `load_mask` knows it by."""

    @property
    def types(self) -> tuple[str, ...]:
        """All types of its spans, in the order of the blank tokens' ids."""

    def prepare(self, document: Document) -> Draw:
        """The work that is done once for a document, however many masks are drawn."""
