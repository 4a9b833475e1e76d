"""Where sentences end, and where nobody can tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.domain import InfillStatus, verdict_on
from humaneval.text import (
    clear_sentences,
    doubts,
    language_of,
    sentence_spans,
    split_into,
    split_sentences,
)


@pytest.mark.parametrize(
    "text",
    [
        "A man hit me. | I fell over.",
        "My dad said no. | Katie cried.",
        "We met in DC. | A dog barked.",
        "The food was ok. | Katie liked it.",
        "She was ill. | Tom stayed at home.",
        "Nobody is taller than I. | Katie laughed.",
        "He rose at 10 a.m. | He left.",
        "She moved to the U.S. | She liked it.",
        "It was plan B. | She smiled.",
        "I paid $3.50. | Then I left.",
        "Wow!!! | It snowed!",
        "he left . | she ran .",
        '"I am here." | Tom smiled.',
        'I yelled, "Go!" | My dog ran.',
    ],
)
def test_X20_two_sentences_are_two(text: str) -> None:
    sentences = text.split(" | ")
    assert split_sentences(" ".join(sentences)) == sentences
    assert verdict_on(" ".join(sentences)).status is InfillStatus.SEVERAL_SENTENCES


@pytest.mark.parametrize(
    "text",
    [
        "He came at 10 a.m. Friday.",
        "Mr. Moss met Dr. Hale and Mrs. Vane.",
        "I scored No. 5 on the list.",
        "Take a tool, e.g. a hammer.",
        '"Stop!" he cried.',
        "“Stop!” he cried.",
        "'Stop!' he cried.",
        '"Stop!" Tom cried.',
        "“Why?” asked Tom.",
        '"Are you well?" his old mother asked.',
        'She yelled "Stop!" and ran.',
        "Tom (a friend from school.) waved.",
    ],
)
def test_X20_one_sentence_is_one(text: str) -> None:
    assert split_sentences(text) == [text]
    assert verdict_on(text).status is InfillStatus.OK


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("She met J. Moss.", ["J. Moss"]),
        ("He came at 10 a.m. Friday.", ["a.m. Friday"]),
        ("He waited... She came.", ["waited... She"]),
        ("She has approx. ten dogs.", ["approx. ten"]),
        ("He said, “I am tired. Let us go.”", ["tired. Let"]),
        ('She yelled "Stop!" Tom said no.', ['"Stop!" Tom']),
        ("He ran.She left.", ["ran.She"]),
        ("He ran home She left early.", ["home She"]),
    ],
)
def test_X20_what_is_unclear_is_neither_refused_nor_passed_in_silence(text: str, places: list[str]) -> None:
    assert doubts(text) == places
    assert clear_sentences(text) == [text]
    assert verdict_on(text).status is InfillStatus.OK


@pytest.mark.parametrize("text", ["He met Mr. Moss.", "He left. She ran.", "It is 3.5 miles.", "", "…"])
def test_X20_what_is_clear_gives_no_doubt(text: str) -> None:
    assert doubts(text) == []


def test_X20_the_number_that_is_wanted_settles_what_is_unclear_if_it_can() -> None:
    text = "We saw Henry V. Ann wept. It rained."
    assert split_into(2, text).sentences == ["We saw Henry V. Ann wept.", "It rained."]
    assert split_into(3, text).sentences == ["We saw Henry V.", "Ann wept.", "It rained."]
    assert split_into(3, text).doubts == ["V. Ann"]
    assert len(split_into(5, text).sentences) == 2


@pytest.mark.parametrize(
    "text",
    ["I use ASP.NET at work.", "See www.Example.com today.", "He ran.She left.", "Why?He left!She ran."],
)
def test_X64_nothing_is_cut_without_white_space(text: str) -> None:
    assert split_sentences(text) == [text]


@given(st.text(alphabet=" .!?…\"'“”()aAbIJ\n1"))
def test_X64_a_cut_is_always_at_white_space(text: str) -> None:
    spans = sentence_spans(text)
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(text)]
    for number, (end, start) in enumerate(zip(ends, starts, strict=True)):
        assert not text[end:start].strip()
        assert start > end or number in (0, len(spans))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "Das ist z.B. ein Hund. | „Halt! Bleib!“ rief er und lief zu der Tür."),
        ("fr", "Le chien est allé dans la maison. | M. Dupont dort."),
        ("ru", "Собака устала. | Она спит."),
        ("hi", "वह घर गया। | वह सो गया।"),
        ("ar", "هل ذهب الولد؟ | عاد الولد."),
    ],
)
def test_X20_the_language_of_a_story_decides(language: str, text: str) -> None:
    sentences = text.split(" | ")
    assert language_of(" ".join(sentences)) == language
    assert split_sentences(" ".join(sentences), language) == sentences


def test_X20_languages_without_white_space_are_cut_at_their_marks() -> None:
    assert language_of("他来了。她走了。") == "zh"
    assert split_sentences("他来了。她走了。", "zh") == ["他来了。", "她走了。"]


def test_X20_long_texts_take_time_in_proportion() -> None:
    for text in ("Tom ran. " * 20_000, '"a. B ' * 20_000, "." * 50_000 + " A"):
        assert split_sentences(text)
