"""Recognises files that are not story files, and says in one line what they are and what to give instead."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from humaneval.errors import InputError
from humaneval.stories.delimited import HEADER, check_columns
from humaneval.stories.headings import resolve
from humaneval.stories.plain import physical_lines
from humaneval.text import ends_a_sentence, has_words

_LOOKED_AT = 200
_LICENCE = re.compile(
    r"Project Gutenberg.{0,10}(?:e-?book|e-?text|licen[cs]e)|\*\*\* ?START OF TH", re.IGNORECASE
)
_MARKERS = re.compile(
    r"</?s>|<EO[A-Z]>|<\|\w+\|>|\[(?:SEP|CLS|MASK|PAD|UNK|BOS|EOS|EOT)\]|<(?:sep|unk|pad|bos|eos|mask|cls|blank)>",
    re.IGNORECASE,
)
_SHORT_FORM = re.compile(r"^(?:\S*\d\S* )?\w{1,5}\.$|^\w{1,5}\. ?\d+\.?$", re.ASCII)
"""A name of a column that ends like a sentence: "1st sent.", "Sent. 1.", "no."."""
_NUMBERS = re.compile(r"[-+\d\s.,;:]*\d[-+\d\s.,;:]*")
_TOKENISED = re.compile(r"\w (?:[.,](?: |\t|$)|n't |'s |'')|`` ")
"""French, too, has blanks before ! and ?, but not before full stops and commas."""
_HTML = ("<!doctype html", "<html", "<?xml")


@dataclass(frozen=True, slots=True)
class _Grid:
    """Rows that all have the same number of cells."""

    rows: list[list[str]]
    width: int

    @property
    def of_sentences(self) -> bool:
        cells = [cell for row in self.rows for cell in row]
        return sum(_is_sentence(cell) for cell in cells) > 0.5 * len(cells)

    @property
    def has_names(self) -> bool:
        """Whether the first row could be column names: short, different, no sentences, no numbers."""
        first = self.rows[0]
        named = [cell for cell in first if cell.strip()]
        short = all(
            len(cell) <= 60
            and cell.count(" ") < 5
            and (not re.search(r"[.!?]$", cell) or _SHORT_FORM.search(cell))
            for cell in named
        )
        return (
            short
            and len(set(named)) == len(named) > 0
            and not any(_NUMBERS.fullmatch(cell) for cell in named)
        )


def _is_sentence(cell: str) -> bool:
    """Whether a cell holds several words, or letters of a script without blanks, that end like a sentence."""
    return (" " in cell.strip() or not cell.isascii()) and has_words(cell) and ends_a_sentence(cell)


def refuse_other_files(text: str, name: str, mapping: Mapping[str, str] | None = None) -> None:
    """Raise InputError for a file without a known header line that is not plain text with stories either."""
    lines = [line for line in physical_lines(text[:400_000]) if line.strip()][:_LOOKED_AT]
    if text.lstrip()[:20].lower().startswith(_HTML):
        raise InputError(
            f"{name} is a web page or XML, not a story file", "Save the stories as CSV, JSONL or text."
        )
    if found := _LICENCE.search(text[:5_000]):
        raise InputError(
            f"{name} looks like a whole book, with a licence header ({' '.join(found.group().split())})",
            "Extract five-sentence stories from it: one a line, or CSV with a header line.",
        )
    if _share(_MARKERS, lines) >= 0.2:
        shown = Counter(found for line in lines for found in _MARKERS.findall(line))
        raise InputError(
            f"{name} has markers in its text ({', '.join(sorted(shown))}) and looks like a model's training"
            " file",
            "Remove the markers and give one story a line, or CSV with a header line.",
        )
    if lines and sum(bool(_NUMBERS.fullmatch(line)) for line in lines) > 0.9 * len(lines):
        raise InputError(
            f"{name} contains numbers, not sentences: it looks like token ids",
            "Decode the ids to text first.",
        )
    if grid := _grid(text, name):
        _refuse_grid(grid, name, mapping)
    if mapping:
        raise InputError(
            f"{name} has no header line with the columns that --map names ({', '.join(mapping.values())})",
            "Use --map only with tables and JSONL.",
        )
    if _share(_TOKENISED, lines) > 0.5:
        raise InputError(
            f"{name} looks tokenised (spaces before full stops and commas)",
            "Remove the extra spaces: annotators would see them.",
        )


def looks_tokenised(sentences: list[str]) -> bool:
    """Whether most of `sentences` have spaces before their punctuation."""
    return _share(_TOKENISED, sentences[:2000]) > 0.5


def _refuse_grid(grid: _Grid, name: str, mapping: Mapping[str, str] | None) -> None:
    if grid.has_names:
        check_columns(resolve(grid.rows[0], mapping), grid.rows[0], name)
        return
    what = f"{name} has {grid.width} columns and no header line"
    hint = f"Add a header line with the column names, for example {HEADER}"
    if grid.of_sentences and grid.width == 4:
        what += ": it looks like four sentences of a story without the fifth"
        hint = f"Give all five sentences under a header line: {HEADER}"
    elif grid.of_sentences and grid.width == 6:
        what += ": it looks like four sentences and two endings, without the right ending"
        hint = (
            "Add a header line InputSentence1,…,InputSentence4,RandomFifthSentenceQuiz1,"
            "RandomFifthSentenceQuiz2,AnswerRightEnding, and 1 or 2 as the right ending of each story."
        )
    elif grid.width == 2:
        hint = "Add a header line: id and text, or title and text, with a tab between them."
    elif grid.of_sentences and grid.width == 5:
        what += ": it looks like five sentences a line"
        hint = (
            "Add this header line, with the file's own delimiter:"
            " sentence1,sentence2,sentence3,sentence4,sentence5"
        )
    if _share(_TOKENISED, [cell for row in grid.rows for cell in row]) > 0.5:
        what += "; its text is tokenised (spaces before full stops)"
        hint += ". Remove the extra spaces, too"
    raise InputError(what, hint)


def _grid(text: str, name: str) -> _Grid | None:
    """The file as a table if nearly all its lines have the same number of cells; None for prose."""
    head = [line for line in physical_lines(text[:400_000]) if line.strip()][: 4 * _LOOKED_AT]
    for delimiter in "\t;|,":
        if delimiter not in head[0] if head else True:
            continue
        try:
            rows = [row for row in csv.reader([line + "\n" for line in head], delimiter=delimiter) if row][
                :_LOOKED_AT
            ]
        except csv.Error:
            continue
        width, common = Counter(map(len, rows)).most_common(1)[0]
        if width < (2 if delimiter == "\t" else 3) or common < 0.9 * len(rows):
            continue
        grid = _Grid([row for row in rows if len(row) == width], width)
        if delimiter == "\t" or grid.of_sentences or name.lower().endswith((".csv", ".tsv")):
            return grid
        if len(rows) >= 3 and grid.has_names:
            return grid
    return None


def _share(pattern: re.Pattern[str], texts: list[str]) -> float:
    return sum(bool(pattern.search(text)) for text in texts) / len(texts) if texts else 0.0
