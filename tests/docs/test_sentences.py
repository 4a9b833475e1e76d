"""What people read is short, and spelt as in Britain: README, CONTRIBUTING, CHANGELOG, docs/ and all help
texts."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from humaneval.cli.main import cli
from tests.conftest import ROOT
from tests.docs.prose import Sentence, of_help, of_markdown, sentences

LONGEST = 35
"""Words of a sentence."""

USUAL = 25
"""Words that most sentences stay below: nine in ten, on every page."""

GENERATED = {"cli.md", "cases.md"}
"""Made from help texts and from names of tests, which are checked where they are written."""

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name not in GENERATED),
]

AMERICAN = re.compile(
    r"\b(analyz|behavior|catalog(?!u)|center|color|defens|favor|fulfill(?!ed|ing)|gray|honor|judgement|label(?:ed|ing)"
    r"|license(?!d)|model(?:ed|ing)|neighbor|normaliz|organiz|program(?:ed|ing)\b|recogniz|randomiz|summariz"
    r"|standardiz|tokeniz(?!er)|utiliz|optimiz|minimiz|maximiz|initializ|serializ|generaliz)",
    re.IGNORECASE,
)
"""How American spellings begin. `license` is the verb, and a tokenizer is what the libraries call one."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> list[Sentence]:
    return list(of_markdown(page.read_text(encoding="utf-8"), named(page)))


def help_texts() -> list[Sentence]:
    # With the options for help that `main` sets: click keeps those that a command is first asked with.
    return list(of_help(cli, click.Context(cli, info_name="humaneval", help_option_names=["-h", "--help"])))


def too_long(found: list[Sentence]) -> list[str]:
    return [f"{one.place}: {one.length} words: {one.text}" for one in found if one.length > LONGEST]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_sentence_of_a_page_is_too_long(page: Path) -> None:
    assert too_long(prose(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_most_sentences_of_a_page_are_short(page: Path) -> None:
    lengths = [sentence.length for sentence in prose(page)]
    assert sum(length <= USUAL for length in lengths) >= 0.9 * len(lengths)


def test_no_sentence_of_a_help_text_is_too_long() -> None:
    found = help_texts()
    assert len(found) > 300
    assert too_long(found) == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_is_spelt_as_in_britain(page: Path) -> None:
    assert [one for one in prose(page) if AMERICAN.search(one.text)] == []


def test_help_texts_are_spelt_as_in_britain() -> None:
    assert [one for one in help_texts() if AMERICAN.search(one.text)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", [1, 1, 1]),
        ("One; two: three", [3]),
        ("Many kinds, e.g. BERT, i.e. Masked ones, etc. are read.", [10]),
        ("It takes 0.5 s, or `a b c. D`, or https://a.b/c.D at most.", [10]),
        ("Run `humaneval init`. `study.toml` is there.", [2, 3]),
        ("(He left.) She stayed.", [2, 2]),
        ("See [two words](https://x.y/z).", [3]),
    ],
)
def test_sentences_are_counted_as_a_reader_counts_them(text: str, expected: list[int]) -> None:
    assert [sentence.length for sentence in sentences(text, "here")] == expected


def test_of_a_page_code_and_headings_are_not_counted_and_cells_are_read_alone() -> None:
    text = (
        "# Head\n\nA line\nbroken.\n\n```sh\nrun it now\n```\n\n"
        "| a b | c |\n| --- | --- |\n| d | e f g |\n\n- one\n- two\n  more\n"
    )
    assert [(s.place, s.length) for s in of_markdown(text, "p")] == [
        ("p:3", 3),
        ("p:10", 2),
        ("p:10", 1),
        ("p:12", 1),
        ("p:12", 3),
        ("p:14", 1),
        ("p:15", 2),
    ]
