"""Tables as CSV or TSV text, the same wherever the toolkit writes one: the one door of every CSV.

A spreadsheet runs text that begins a formula. Ids, comments and infills come from strangers and models, so
such text gets an apostrophe first. Our readers take it away again, and have one limit for a cell.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

LARGEST_CELL = 16 * 1024 * 1024
"""Characters. An unclosed quotation mark would turn the rest of the file into one cell."""
csv.field_size_limit(LARGEST_CELL)  # Python has one limit for all readers, and it is too low for a long text.
_FORMULA = re.compile(r"'*(?:[\t\r]|\s*[=+\-@＝＋－＠])")
"""The start of a formula, in half or full width. Apostrophes count, so that the guard can be taken away."""
_NUMBER = re.compile(r"[+-]?\d[\d ]*(?:[.,]\d+)*(?:[eE][+-]?\d+)?%?")
"""A number or a telephone number: no spreadsheet makes anything else of it."""


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


def csv_trouble(error: csv.Error) -> str:
    """What is wrong with a table, from what reading it raised."""
    cause = str(error)
    if "field larger" in cause:
        return f"a cell has more than {LARGEST_CELL:,} characters"
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
