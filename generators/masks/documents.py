"""Documents as mask functions see them: paragraphs and sentences, and where each lies in the unchanged text.

A story keeps its own five sentences. Other text is prose (a paragraph is a line, cut by our sentence
splitter) or verse (a paragraph is a stanza, a sentence is a line). Metadata of a document, such as its title,
is its first paragraph.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from humaneval.domain import Story
from humaneval.text import language_of, sentence_spans

UNTITLED = "Unknown Title"
"""The title line of a story without a title."""


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a document."""

    start: int
    end: int


class Paragraph(NamedTuple):
    """Where a paragraph lies, and where its sentences do."""

    span: Span
    sentences: tuple[Span, ...]


class Document(NamedTuple):
    """The text of a document, and where its paragraphs and their sentences lie.

    Spans are in order and not empty, and do not begin or end with white space. The first `metadata`
    paragraphs describe the document; they are not part of its running text.
    """

    text: str
    paragraphs: tuple[Paragraph, ...]
    metadata: int = 0


def story_document(story: Story) -> Document:
    """A story as the models read it: its title on a line of its own, then the five sentences on one line.

    The sentences are the five of the story; no splitter cuts them again. The title counts as metadata.
    """
    title = story.title or UNTITLED
    text = f"{title}\n{' '.join(story.sentences)}"
    at = len(title) + 1
    sentences = []
    for sentence in story.sentences:
        sentences.append(Span(at, at + len(sentence)))
        at += len(sentence) + 1
    head = Span(0, len(title))
    body = Span(len(title) + 1, len(text))
    return Document(text, (Paragraph(head, (head,)), Paragraph(body, tuple(sentences))), metadata=1)


def prose_document(text: str) -> Document:
    """A document of prose. Paragraphs are the lines that are not blank, with any line break of Unicode; the
    sentence splitter cuts them."""
    paragraphs: list[Paragraph] = []
    language = language_of(text)
    for line in _lines(text):
        if line.start < line.end:
            cut = sentence_spans(text[line.start : line.end], language)
            sentences = tuple(Span(line.start + start, line.start + end) for start, end in cut)
            paragraphs.append(Paragraph(line, sentences))
    return Document(text, tuple(paragraphs))


def verse_document(text: str) -> Document:
    """A document of verse. Paragraphs are stanzas, separated by blank lines; sentences are lines."""
    paragraphs: list[Paragraph] = []
    stanza: list[Span] = []
    for line in (*_lines(text), Span(len(text), len(text))):
        if line.start < line.end:
            stanza.append(line)
        elif stanza:
            paragraphs.append(Paragraph(Span(stanza[0].start, stanza[-1].end), tuple(stanza)))
            stanza = []
    return Document(text, tuple(paragraphs))


def _lines(text: str) -> Iterator[Span]:
    """Each line without the white space around it; a blank line is empty."""
    at = 0
    for line in text.splitlines(keepends=True):
        start = at + len(line) - len(line.lstrip())
        yield Span(start, max(start, at + len(line.rstrip())))
        at += len(line)
