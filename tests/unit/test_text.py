"""Which text is let in, and what it is once it is in."""

from __future__ import annotations

import hashlib
import unicodedata
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.domain import InfillStatus, verdict_on
from humaneval.text import (
    as_read,
    has_words,
    hidden_characters,
    mojibake,
    nfc,
    normalise,
    refused_characters,
    shown_hash,
    split_sentences,
    unshowable,
)
from humaneval.text.characters import _MARKS

MARKS = [*"\u0301\u0323\u0344\u0f73\u0f72\u3099\uff9e\uff9f\u05b0\u20dd☃éộ"]


@given(
    st.lists(st.sampled_from([*MARKS, "a", " "]), min_size=501, max_size=700),
    st.sampled_from(["NFC", "NFKC"]),
)
def test_text_of_many_marks_has_the_normal_form_that_python_gives(marks: list[str], form: Any) -> None:
    text = "".join(marks)
    for given_text in (text, text.replace(" ", "").replace("a", "")):
        assert nfc(given_text, form) == unicodedata.normalize(form, given_text)


@pytest.mark.parametrize("pair", ["\u0301\u0323", "\u0f73\u0f72", "\uff9e\u0301", "\u0344\u0323"])
@pytest.mark.parametrize("letter", ["a", "ộ", ""])
def test_marks_are_in_order_before_python_sorts_them(
    pair: str, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sorts by insertion: 200,000 marks would take it an hour, and everybody else would wait."""
    moved = 0

    def counted(form: Any, text: str) -> str:
        nonlocal moved
        if len(text) > 1:
            classes = [unicodedata.combining(each) for each in before("NFKD", text[0]) + text[1:]]
            moved += sum(two < one for one, two in pairwise(classes) if two)
        return before(form, text)

    before = unicodedata.normalize
    monkeypatch.setattr(unicodedata, "normalize", counted)
    nfc(letter + pair * 1000, "NFKC")
    assert moved <= 3


def test_every_mark_is_one_of_those_that_are_put_in_order() -> None:
    every = map(chr, (*range(0xD800), *range(0xE000, 0x110000)))
    marks = [each for each in every if unicodedata.combining(unicodedata.normalize("NFKD", each)[0])]
    assert len(marks) > 900
    assert [each for each in marks if not _MARKS.fullmatch(each * 31)] == []


def test_C60_text_is_stored_in_nfc_whatever_form_it_came_in() -> None:
    assert normalise("Zoe\u0308 met Jose\u0301.") == "Zoë met José." == normalise("Zoë met José.")


def test_C60_the_hash_of_what_was_shown_does_not_depend_on_the_form_it_came_in() -> None:
    composed, decomposed = [["Zoë left.", "Why?"]], [["Zoe\u0308 left.", "Why?"]]
    assert shown_hash(composed) == shown_hash(decomposed)
    assert shown_hash(composed) == hashlib.sha256("Zoë left.\nWhy?".encode()).hexdigest()


def test_the_hash_of_what_was_shown_depends_on_the_order() -> None:
    assert shown_hash([["a", "b"]]) != shown_hash([["b", "a"]])
    assert shown_hash([["a"], ["b"]]) == shown_hash([["a", "b"]])


def test_white_space_inside_a_sentence_becomes_one_space() -> None:
    assert normalise("\tShe  sat\r\ndown\u00a0and\u2003slept. \n") == "She sat down and slept."


@pytest.mark.parametrize("text", ["“Don’t,” she said — twice…", "👩‍👩‍👧 at home 🎉", "Ünïcödé ñ"])
def test_curly_quotes_dashes_and_emoji_survive(text: str) -> None:
    assert normalise(text) == text
    assert refused_characters(text) == ""
    assert mojibake(text) is None


@given(st.text())
def test_normalising_twice_changes_nothing_more(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)


@given(st.text())
def test_normalising_never_hides_a_refused_character(text: str) -> None:
    assert set(refused_characters(normalise(text)).split(", ")) == set(refused_characters(text).split(", "))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bell\x07", "U+0007"),
        ("\x00 and \x1b and \x00", "U+0000, U+001B"),
        ("page\x0cbreak", "U+000C"),
        ("\x85", "U+0085"),
        ("\x7f", "U+007F"),
        ("\ufffe\uffff", "U+FFFE, U+FFFF"),
        ("half \ud83d", "U+D83D"),
        ("tab\tline\nend\r\n", ""),
        ("zero\u200bwidth and \U0001f600", ""),
    ],
)
def test_refused_characters_are_named(text: str, names: str) -> None:
    assert refused_characters(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "It doesnâ€™t matter.",
        "She said â€œno.â€\x9d",
        "The cafÃ© was shut.",
        "CRÃˆME BRÃ›LÃ‰E",
        "voilÃ\xa0 the bill",
        "ten Â£ and 20 Â°C",
        "a party ðŸŽ‰",
        "ï»¿First",
        "Dvo" + "Å™Ã¡k",
        "ÐŸÑ€Ð¸Ð²ÐµÑ‚",
        "It\ufffds late.",
        "He hadn?????t come.",
        "pap??er-m??ch??",
        "I don?t know.",
        "We?re late.",
    ],
)
def test_mojibake_is_seen(text: str) -> None:
    assert (mojibake(text) or "").startswith("mojibake: ")


@pytest.mark.parametrize(
    "text",
    [
        "What???",
        "What?? Really?",
        'He asked, "Why??" and left.',
        "Are you sure?Yes.",
        "See example.com/watch?v=t and page?s=1.",
        "São João e a irmã de Maçã",
        "«AMANHÃ»",
        "“Não,” disse. “AMANHÔ",
        "«CAFÉ» und „Spaß“",
        "România, în câmp",
        "crème brûlée, naïve, Ærøskøbing, Åse",
        "Ñandú, ÑOÑO",
        "5 × 3 — ±2 °C, €20, £5",
        "Привет, Ελλάδα",
        "Âme, Âge",
    ],
)
def test_real_text_is_no_mojibake(text: str) -> None:
    assert mojibake(text) is None


INVISIBLE = {
    "zero-width space": "\u200b",
    "soft hyphen": "\u00ad",
    "byte order mark": "\ufeff",
    "word joiner": "\u2060",
    "directions alone": "\u202e\u202c",
    "combining marks alone": "\u0301\u0301",
    "a filler of Hangul": "\u3164",
    "an empty Braille pattern": "\u2800",
    "a joiner alone": "\u200d",
    "a grapheme joiner": "\u034f",
    "a variant of nothing": "\ufe0f",
    "tags without a flag": "\U000e0041",
    "a mark of music": "\U0001d173",
}


@pytest.mark.parametrize("text", INVISIBLE.values(), ids=INVISIBLE)
def test_X24_text_that_nobody_sees_is_named(text: str) -> None:
    assert unshowable(text)
    assert not has_words(text)
    assert verdict_on(text).status in (InfillStatus.UNPRINTABLE, InfillStatus.EMPTY)
    assert verdict_on(text, needs_words=False).status is verdict_on(text).status


IGNORABLE = [
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0, 0xFFF0, 0xFFF9),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *(0xE0000, 0xE0001, 0xE0020, 0xE0041, 0xE007F, 0xE0100, 0xE01EF, 0xE0FFF),
]


@pytest.mark.parametrize("code", IGNORABLE, ids="U+{:04X}".format)
def test_X24_no_invisible_character_passes_inside_an_english_word(code: int) -> None:
    for text in (f"The d{chr(code)}og ran.", f"The dog{chr(code)} ran.", f"{chr(code)}The dog ran."):
        assert hidden_characters(text) == f"U+{code:04X}"
        assert verdict_on(text).status is InfillStatus.UNPRINTABLE
        assert as_read([text]) == as_read(["The dog ran."])


@pytest.mark.parametrize(
    "text",
    [
        "میخواهم برو\u200cم",
        "क्\u200dष और क्\u200cष",
        "ශ්\u200dරී ලංකා",
        "He said \u200fשלום\u200e today.",
        "I ❤\ufe0f you ☺\ufe0e and press 1\ufe0f\u20e3.",
        "👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 👩\u200d❤\ufe0f\u200d👨",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f won.",
        "葛\U000e0100飾区と㐂\ufe00",
        "ᠮᠣᠩᠭᠣᠯ\u180b",
        "⠠⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙",
    ],
)
def test_X24_what_a_script_or_an_emoji_needs_is_no_fault(text: str) -> None:
    assert unshowable(text) == ""
    assert verdict_on(text, needs_words=False, one_sentence=False).status is InfillStatus.OK


@pytest.mark.parametrize("text", ["", " ", "\u00a0", "👩\u200d🚀", "می\u200cخواهم", "…", "e\u0301"])
def test_X24_blank_text_and_joiners_in_words_are_no_fault(text: str) -> None:
    assert unshowable(text) == ""


def test_X23_a_reader_takes_texts_for_the_same_whatever_their_marks_and_case() -> None:
    assert as_read(["“It rained”, she said."]) == as_read(['"IT  RAINED" she said'])
    assert as_read(["Tom 1 ran."]) != as_read(["Tom 2 ran."])
    assert as_read(["कि"]) != as_read(["का"])


def test_running_text_is_cut_into_trimmed_sentences() -> None:
    text = 'Dr. Moss  waited.\nNobody came! "Why?" she asked. It was 3.5 miles home.'
    assert split_sentences(text) == [
        "Dr. Moss waited.",
        "Nobody came!",
        '"Why?" she asked.',
        "It was 3.5 miles home.",
    ]


def test_nothing_has_no_sentences() -> None:
    assert split_sentences(" \n ") == []
