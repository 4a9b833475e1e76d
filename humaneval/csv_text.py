"""Tables as CSV or TSV text, the same wherever the toolkit writes one: the one door of every CSV.

A spreadsheet runs text that begins a formula. Ids, comments and infills come from strangers and models, so
such text gets an apostrophe first. Our readers take it away again.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from humaneval.errors import InputError
from humaneval.limits import CELL, LINE, check_cells

csv.field_size_limit(CELL)  # Python has one limit for all readers, and it is too low for a long text.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FORMULA = re.compile(r"'*(?:[\t\r]|\s*[=+\-@＝＋－＠])")
"""The start of a formula, in half or full width. Apostrophes count, so that the guard can be taken away."""
_NUMBER = re.compile(r"[+-]?\d[\d ]*(?:[.,]\d+)*(?:[eE][+-]?\d+)?%?")
"""A number or a telephone number: no spreadsheet makes anything else of it."""


class Row(NamedTuple):
    """A row of a table, and the line on which it begins."""

    line: int
    cells: list[str]


def csv_text(names: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> str:
    """The table with a header line, as in RFC 4180, with line feeds as line ends.

    Text stands in quotes, so that 007, TRUE and NA can be told from numbers and truth, and an empty text from
    a missing value. Numbers do not, nor does truth (true and false). Missing values are empty, lists and
    mappings are JSON. Text that a spreadsheet would run as a formula is guarded.
    """
    return "".join(csv_lines(names, rows, separator))


def csv_lines(names: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> Iterator[str]:
    """The same line by line: a table may be longer than memory."""
    special = re.compile(f'["\r\n{re.escape(separator)}]|^$|^\\s|\\s$')

    def written(value: Any) -> str:
        text = _cell(value)
        if not isinstance(value, (str, list, dict)):
            return text
        return _quoted(guarded(text))

    def heading(name: str) -> str:
        name = guarded(name)
        return _quoted(name) if special.search(name) else name

    yield separator.join(map(heading, names)) + "\n"
    for row in rows:
        # A line without any character would be no row.
        yield (separator.join(map(written, row)) or '""') + "\n"


def lines_of(text: str) -> Iterator[str]:
    """The lines with their ends, of whatever kind. A StringIO would hold the text four times."""
    return (found[0] for found in _LINE.finditer(text))


def csv_records(lines: Iterable[str], separator: str, before: str) -> Iterator[Row]:
    """The rows of a table, each with the line on which it begins: the one reader of every table.

    Raises InputError for what is no table, with the text `before` the number of its line: that in which a
    quotation mark is opened, if it is not closed.
    """
    held: list[str] = []
    start, size = 1, 0

    def watched() -> Iterator[str]:
        for line in lines:
            held.append(line)
            nonlocal size
            size += len(line)
            if size > LINE:
                raise csv.Error(f"a row has more than {LINE:,} characters")
            yield line

    try:
        for cells in csv.reader(watched(), delimiter=separator, strict=True):
            check_cells(f"{before}{start}", 1, len(cells))
            yield Row(start, cells)
            start += len(held)
            held.clear()
            size = 0
    except csv.Error as error:
        # Without its last line, a cell that is too large or ends in the wrong place is still open.
        opened = _opened(held if "unexpected end" in str(error) else held[:-1], separator)
        raise InputError(
            f"{before}{start + opened}: {csv_trouble(error)}",
            "Check the quotation marks from this line onwards.",
        ) from None


def _opened(held: Sequence[str], separator: str) -> int:
    """After how many of the lines of a row that ends within quotation marks the last of them is opened."""
    try:
        *_, row = csv.reader(held, delimiter=separator)
        return len(held) - max(1, len(list(lines_of(row[-1]))))
    except (csv.Error, ValueError, IndexError):  # it ends outside, or has no line
        return 0


def csv_trouble(error: csv.Error) -> str:
    """What is wrong with a table, from what reading it raised."""
    cause = str(error)
    if "field larger" in cause:
        return f"a cell has more than {CELL:,} characters; is a quotation mark never closed?"
    if "unexpected end" in cause:
        return "a quotation mark is opened and never closed"
    return cause


def guarded(text: str) -> str:
    """Text with an apostrophe before it if a spreadsheet would run it: if = + - @, a tab or a carriage return
    is at its start, also after white space. Numbers stay as they are.

    >>> guarded("=1+2"), guarded("-3"), guarded("- No."), guarded("he said")
    ("'=1+2", '-3', "'- No.", 'he said')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    """The text as it was before `guarded`.

    >>> unguarded("'=1+2"), unguarded("'tis")
    ('=1+2', "'tis")
    """
    return text[1:] if text.startswith("'") and guarded(text[1:]) == text else text


def type_of(values: Iterable[Any]) -> str:
    """The type of a column's values, for a codebook: text, whole number, number, or true or false.

    >>> type_of(["007", None]), type_of([1, None]), type_of([1, 0.5]), type_of([True])
    ('text', 'whole number', 'number', 'true or false')
    """
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "true or false"
    if kinds and kinds <= {int, float}:
        return "number" if float in kinds else "whole number"
    return "text" if kinds else "empty"


def csv_bytes(text: str, *, excel: bool = False) -> bytes:
    """UTF-8; with `excel` after a byte order mark, which spreadsheets need to recognise it."""
    return text.encode("utf-8-sig" if excel else "utf-8")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
