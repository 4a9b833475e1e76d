"""Documents: paragraphs and sentences at their exact places in the unchanged text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.masks.documents import (
    UNTITLED,
    Document,
    Span,
    prose_document,
    story_document,
    verse_document,
)
from humaneval.domain import Story
from tests.masks import sentence_mask

AWKWARD = st.text(
    st.sampled_from("aA. .?!\n\n \t\r\u2028\u0085\u00a0\u3000“”\"'’…🎉👩\u200d🚀e\u0301\u0308\ufb01한"),
    max_size=60,
)
TEXTS = AWKWARD | st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def shown(document: Document) -> list[list[str]]:
    return [[document.text[a:b] for a, b in sentences] for _, sentences in document.paragraphs]


def test_a_story_is_its_title_and_its_own_five_sentences() -> None:
    story = Story("s", ("One. Two.", "Three!", "Four", "Five?", "Six."), "Title")
    document = story_document(story)
    assert document.text == "Title\nOne. Two. Three! Four Five? Six."
    assert shown(document) == [["Title"], list(story.sentences)]
    assert document.metadata == 1
    for number, sentence in enumerate(story.sentences, 1):
        (span,) = sentence_mask(document, number)
        assert document.text[span.start : span.end] == sentence


def test_a_story_without_a_title_has_the_line_that_the_original_has() -> None:
    document = story_document(Story("s", ("A.", "B.", "C.", "D.", "E.")))
    assert document.text == f"{UNTITLED}\nA. B. C. D. E." == "Unknown Title\nA. B. C. D. E."


def test_prose_has_a_paragraph_a_line_and_sentences_as_we_split_them() -> None:
    document = prose_document("  A title \n\nIt rained. “Why?” she said.\u2028Then it stopped. \n")
    assert shown(document) == [["A title"], ["It rained.", "“Why?” she said."], ["Then it stopped."]]
    assert document.paragraphs[0][0] == Span(2, 9)
    assert document.metadata == 0


def test_verse_has_a_paragraph_a_stanza_and_a_sentence_a_line() -> None:
    document = verse_document("\n Roses. Red.\n  Violets\n \t\n\nSugar,\nand you \n")
    assert shown(document) == [["Roses. Red.", "Violets"], ["Sugar,", "and you"]]
    assert [document.text[a:b] for (a, b), _ in document.paragraphs] == [
        "Roses. Red.\n  Violets",
        "Sugar,\nand you",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n \u00a0\n"])
def test_blank_text_has_no_paragraphs(text: str) -> None:
    assert prose_document(text).paragraphs == verse_document(text).paragraphs == ()


def test_G24_white_space_that_the_splitter_fails_at_keeps_its_place() -> None:
    text = "A\u00a0. It rained.\u2003Why?"
    assert shown(prose_document(text)) == [["A\u00a0.", "It rained.", "Why?"]]


def in_order(text: str, spans: list[Span], start: int, end: int) -> bool:
    stripped = all(text[a:b] == text[a:b].strip() != "" for a, b in spans)
    return stripped and all(
        a.end <= b.start for a, b in pairwise([Span(start, start), *spans, Span(end, end)])
    )


@given(TEXTS)
def test_G24_every_span_is_inside_its_parent_and_nothing_but_white_space_is_left_out(text: str) -> None:
    for document in (prose_document(text), verse_document(text)):
        assert document.text == text
        assert in_order(text, [paragraph for paragraph, _ in document.paragraphs], 0, len(text))
        for paragraph, sentences in document.paragraphs:
            assert in_order(text, list(sentences), *paragraph)
            assert (sentences[0].start, sentences[-1].end) == paragraph
        joined = "".join("".join(part) for part in shown(document))
        assert "".join(joined.split()) == "".join(text.split())
