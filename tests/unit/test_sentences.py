"""Where sentences end, and where nobody can tell."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.domain import InfillStatus, verdict_on
from humaneval.stories.reading import read_stories
from humaneval.text import (
    clear_sentences,
    doubts,
    ends_a_sentence,
    language_of,
    sentence_spans,
    split_into,
    split_sentences,
)
from humaneval.text import punkt_cuts as punkt_cuts_module
from humaneval.text.punkt_cuts import punkt_cuts
from humaneval.text.sentences import _marks_of_speech


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
    for text in ("Tom ran. " * 8_000, '"a. B ' * 8_000, "." * 50_000 + " A"):
        assert split_sentences(text)


ONE_IN_ANOTHER_LANGUAGE = [
    ("fr", "« Stop ! » cria-t-il."),
    ("fr", "« Où vas-tu ? » demanda sa mère."),
    ("fr", "Elle cria : « Stop ! Viens ! » et partit."),
    ("fr", "— Viens ! dit Paul."),
    ("fr", "Il aime les animaux, p. ex. Médor."),
    ("es", "—¡Para! —gritó Juan."),
    ("es", "«¡Para!» Juan gritó."),
    ("es", "La Sra. Garcia duerme."),
    ("es", "Los EE. UU. son grandes."),
    ("pt", "— Pare! — gritou João."),
    ("nl", "Dhr. Jansen slaapt."),
    ("de", "Der 2. Weltkrieg begann."),
    ("de", "2. Weltkrieg und Frieden."),
    ("de", "Am 3. Mai kam er."),
    ("de", "z. B. ein Hund"),
    ("de", "Sie mag Tiere, z. B. Hunde."),
    ("de", "»Halt!« rief Tom."),
    ("de", "„Halt!“ Tom rief es laut."),
    ("de", "Er wohnt in Nr. 5 oder Abb. 3."),
    ("pl", "Ul. Długa jest tu, m. in. Jan."),
    ("pl", "To była 2. Wojna."),
    ("tr", "2. Dünya Savaşı başladı."),
    ("hu", "A 2. Világháború volt az."),
    ("ru", "— Стой! — крикнул Иван."),
    ("ru", "«Стой!» — крикнул Иван."),
    ("ru", "Это был А. С. Пушкин."),
    ("zh", "“你好！”他说。"),
    ("zh", "“你好。”他说。"),
    ("zh", "他说：“你好！我走了。”"),
    ("zh", "「你好！」他說。"),
    ("ja", "「やめて！」と彼は言った。"),
    ("ja", "「こんにちは。元気？」と彼は言った。"),
    ("ko", '"멈춰!" 그가 말했다.'),
    ("ar", '"توقف!" صرخ الرجل.'),
    ("ar", "«توقف!» قال أحمد."),
    ("ar", "ذهب د. أحمد."),
    ("he", '"עצור!" צעק דוד.'),
    ("hi", "“रुको।” राम ने कहा।"),
    ("hi", "डॉ. राम सोया।"),
    ("de", "Er hat ca. 5 Hunde in der Hauptstr. 3 gesehen."),
    ("de", "Er kam am 3. 5. 2024 zum 100. Geburtstag."),
    ("cs", "Byl tam např. Jan."),
    ("it", "Il sig. Rossi dorme."),
    ("ru", "Он родился в 1990 г. Москва его дом."),
    ("zh", "《你好！》是一本书。"),
    ("en", "I live at no. 5."),
    ("en", "He lives in apt. 5 now."),
    ("en", "No one but J. R. Moss came."),
    ("en", "1. Tom went home."),
]


@pytest.mark.parametrize(("language", "text"), ONE_IN_ANOTHER_LANGUAGE)
def test_X20_one_sentence_of_any_language_is_never_surely_two(language: str, text: str) -> None:
    assert clear_sentences(text, language) == [text]
    assert split_sentences(text, language) == [text] or doubts(text, language)


@pytest.mark.parametrize("text", [text for language, text in ONE_IN_ANOTHER_LANGUAGE if language != "en"])
def test_X20_nor_if_its_language_cannot_be_told(text: str) -> None:
    assert clear_sentences(text, language_of(text)) == [text]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "Quelle joie ! | Il dort."),
        ("fr", "« Je viens. » | Marie sourit."),
        ("de", "Es war 1999. | Er kam."),
        ("de", "Er ging nach Haus. | Sie blieb da."),
        ("de", "Sie rief: »Halt!« | Er blieb stehen."),
        ("es", "¿Quién es? | Ana duerme."),
        ("ru", "Собака ушла в лес. | Она спит."),
        ("hy", "Կանգնի՛ր։ | Նա գնաց։"),
        ("am", "ሰላም። | ሄደ።"),
        ("ar", "هل ذهب الولد؟ | عاد الولد."),
    ],
)
def test_X20_two_sentences_of_any_language_are_two(language: str, text: str) -> None:
    sentences = text.split(" | ")
    assert split_sentences(" ".join(sentences), language) == sentences
    assert doubts(" ".join(sentences), language) == []


def test_X20_a_doubt_without_white_space_shows_the_characters_around_it() -> None:
    long = "很久很久以前在一个很远的小村庄里他说“你好！”他就走了很久很久，而且没有回来。"
    assert doubts(long, "zh") == ["的小村庄里他说“你好！”他就走了很久很久，而且没"]
    assert doubts("سقط الرجل.نهض الولد.", "ar") == ["الرجل.نهض"]


@pytest.mark.parametrize("text", ["Quelle joie !", "他走了。", "वह गया।", "« Stop ! »", "Wait…"])
def test_X20_the_mark_at_the_end_of_a_sentence_is_known_in_any_language(text: str) -> None:
    assert ends_a_sentence(text)


@given(st.sampled_from(["zh", "ja"]), st.text("字に。！!?.」「”“ a1，…)(", max_size=40))
def test_chinese_and_japanese_are_cut_in_pieces_where_punkt_cuts_the_whole(code: str, text: str) -> None:
    whole = pairwise(punkt_cuts_module._tokenizer(code).span_tokenize(text))
    assert punkt_cuts(text, code) == {before[1]: after[0] for before, after in whole}


@pytest.mark.parametrize("code", ["zh", "ja", "th"])
@pytest.mark.parametrize("unit", ["字。", "a。", "ก!", "に」！"])
def test_punkt_gets_a_text_without_spaces_in_pieces(
    code: str, unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each mark it looks at all that follows up to a space."""
    tokenizer, given = punkt_cuts_module._tokenizer(code), list[str]()

    class Counted:
        def span_tokenize(self, text: str) -> Any:
            given.append(text)
            return tokenizer.span_tokenize(text)

    monkeypatch.setattr(punkt_cuts_module, "_tokenizer", lambda code: Counted())
    punkt_cuts(5000 * unit, code)
    assert "".join(given) == 5000 * unit
    assert max(map(len, given)) <= 200


def test_a_story_file_tried_in_many_languages_has_its_quotation_marks_looked_for_once(tmp_path: Path) -> None:
    (tmp_path / "quotes.txt").write_text('"' * 1000 + "\n")
    _marks_of_speech.cache_clear()
    read_stories(tmp_path / "quotes.txt")
    found = _marks_of_speech.cache_info()
    assert (found.misses, found.hits > 10) == (1, True)
