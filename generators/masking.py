"""The mask function of "Enabling Language Models to Fill in the Blanks": which spans of a document become blanks.

A document is a hierarchy of paragraphs, sentences and words. Every node is masked with probability p = 0.03 and ends
the descent; a selected word becomes, half of the time, an n-gram of up to 8 words. About 15 % of tokens are masked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from humaneval.domain import Story

PROBABILITY = 0.03
LONGEST_NGRAM = 8
TRIES = 16
"""How often an example that repeats another of the same document is drawn anew."""

UNTITLED = "Unknown Title"
"""What stands in the title line of a story that has none."""

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


class Granularity(StrEnum):
    """What a blank stands for, in the order of the blank tokens' ids."""

    DOCUMENT = "document"
    PARAGRAPH = "paragraph"
    SENTENCE = "sentence"
    NGRAM = "ngram"
    WORD = "word"


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a document."""

    start: int
    end: int


class MaskedSpan(NamedTuple):
    """A span that is to become a blank; `type` is a granularity, or what a custom mask function calls it."""

    type: str
    start: int
    end: int


class Document(NamedTuple):
    """A document's text and where its paragraphs and their sentences lie."""

    text: str
    paragraphs: tuple[tuple[Span, tuple[Span, ...]], ...]


def story_document(story: Story) -> Document:
    """A story as the models read it: its title in a line of its own, then the five sentences on one line.

    The sentences are the story's own five; no splitter cuts them again.
    """
    title = story.title or UNTITLED
    text = title
    sentences = []
    for number, sentence in enumerate(story.sentences):
        text += " " if number else "\n"
        sentences.append(Span(len(text), len(text) + len(sentence)))
        text += sentence
    head = Span(0, len(title))
    return Document(text, ((head, (head,)), (Span(sentences[0].start, len(text)), tuple(sentences))))


def draw_mask(
    document: Document, rng: np.random.Generator, probability: float = PROBABILITY
) -> tuple[MaskedSpan, ...]:
    """One mask, in the order of the text. It may be empty. Spans begin and end on a word's characters."""
    if rng.random() < probability:
        return (MaskedSpan(Granularity.DOCUMENT, 0, len(document.text)),)
    spans: list[MaskedSpan] = []
    for paragraph, sentences in document.paragraphs:
        if rng.random() < probability:
            spans.append(MaskedSpan(Granularity.PARAGRAPH, *paragraph))
            continue
        for sentence in sentences:
            if rng.random() < probability:
                spans.append(MaskedSpan(Granularity.SENTENCE, *sentence))
            else:
                spans += _words(document.text, sentence, rng, probability)
    return tuple(spans)


def _words(text: str, sentence: Span, rng: np.random.Generator, probability: float) -> list[MaskedSpan]:
    words = [match.span() for match in _WORD.finditer(text, sentence.start, sentence.end)]
    hits = np.flatnonzero(rng.random(len(words)) < probability)
    spans: list[MaskedSpan] = []
    free_from = 0
    for at in hits.tolist():
        if at < free_from:
            continue
        if rng.random() < 0.5:
            length = int(rng.integers(1, min(LONGEST_NGRAM, len(words) - at) + 1))
            spans.append(MaskedSpan(Granularity.NGRAM, words[at][0], words[at + length - 1][1]))
            free_from = at + length
        else:
            spans.append(MaskedSpan(Granularity.WORD, *words[at]))
    return spans


def draw_masks(document: Document, count: int, rng: np.random.Generator) -> list[tuple[MaskedSpan, ...]]:
    """Up to `count` masks, no two alike; a document too short for that many gives fewer."""
    masks: dict[tuple[MaskedSpan, ...], None] = {}
    for _ in range(count):
        for _ in range(TRIES):
            mask = draw_mask(document, rng)
            if mask not in masks:
                masks[mask] = None
                break
    return list(masks)


def sentence_mask(document: Document, number: int) -> tuple[MaskedSpan, ...]:
    """The mask of one sentence of the last paragraph: of a story, `number` 1–5."""
    sentences: Sequence[Span] = document.paragraphs[-1][1]
    return (MaskedSpan(Granularity.SENTENCE, *sentences[number - 1]),)
