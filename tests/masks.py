"""A mask of one sentence, which tests compare others with."""

from __future__ import annotations

from generators.masks.documents import Document
from generators.masks.spans import Granularity, MaskedSpan


def sentence_mask(document: Document, number: int) -> tuple[MaskedSpan, ...]:
    """The mask of one sentence of the last paragraph: of a story, `number` 1–5."""
    sentences = document.paragraphs[-1][1]
    return (MaskedSpan(Granularity.SENTENCE, *sentences[number - 1]),)
