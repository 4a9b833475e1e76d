"""The response table as a file: what `export` writes and `score --responses` reads, as CSV, TSV or JSONL.

One line per response. Columns in this order, the first five required: worker, story, generator, position,
choice, role, study, endpoint, hit, assignment, row, order, infill, seconds, words, shown_at, submitted_at,
test, question, settings, sentences, other; then any others, such as the fields of the question."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Set
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from humaneval.csv_text import csv_bytes, csv_lines, csv_records, csv_trouble, lines_of, unguarded
from humaneval.domain import MOST_SENTENCES, SENTENCES
from humaneval.encodings import Decoded, decode, read_json, why_not_json
from humaneval.errors import InputError
from humaneval.limits import CELLS, FILE, check_cells, read_rows
from humaneval.scoring.columns import of_ratings
from humaneval.scoring.judgments import NO, REQUIRED, YES
from humaneval.text import listed, repeated

OPTIONAL = (
    "role",
    "study",
    "endpoint",
    "hit",
    "assignment",
    "row",
    "order",
    "infill",
    "seconds",
    "words",
    "shown_at",
    "submitted_at",
    "test",
    "question",
    "settings",
    "sentences",
    "other",
)
COLUMNS = REQUIRED + OPTIONAL
UNSCORED = frozenset({"endpoint", "hit", "infill", "shown_at", "simulated", "platform_lost"})
"""Columns from which nothing is computed: a third of the table's memory, as no two infills are one."""

LARGEST = 2**53
"""The largest whole number up to which each is told from the next one."""
JSON_LINES = (".jsonl", ".ndjson")


class _Record(NamedTuple):
    line: int
    values: dict[str, Any]


class _Cell(NamedTuple):
    line: int
    value: Any


def read_responses(
    path: str | Path,
    *,
    encoding: str | None = None,
    question: str | None = None,
    without: Set[str] = frozenset(),
) -> pd.DataFrame:
    """Read a table of responses; the file is only read.

    CSV with commas, semicolons or tabs, or JSON lines; UTF-8, UTF-16, Windows-1252 or the `encoding` named;
    lines ended in any way. Columns come in any order and in any case; columns that are not known are kept as
    text. `position` and `choice` become integers 1–5; or 1–21 if `question` is given, or the table has a
    column `question` or `sentences`. `order` becomes an integer, `seconds` a number >= 0, `test` a bool. The
    rest stays text, stripped of spaces around it. An empty cell is a missing value (for `test`, false). The
    columns `without` are left out.

    Raises InputError, naming the file, the line and the column, if the file cannot be used.
    """
    path = Path(path)
    found = _cells(path, encoding, without)
    lines, cells = found.lines, found.of
    if not lines:
        raise InputError(f"{path}: there are no responses")
    names = list(cells)
    _check_columns(names, path)
    # The question says later what is too large: here it is known for one only.
    most = MOST_SENTENCES + 1 if question or {"question", "sentences"} & set(names) else SENTENCES

    def read(name: str) -> pd.Series[Any]:
        column = [_value(_Cell(*at), name, path, most) for at in zip(lines, cells.pop(name), strict=True)]
        found: pd.Series[Any] = pd.Series(column, dtype=_dtype(name, column))
        return found

    return pd.DataFrame({name: read(name) for name in _in_order(names)})


class _Cells(NamedTuple):
    lines: list[int]
    """The line of each response."""
    of: dict[str, list[Any]]


def _cells(path: Path, encoding: str | None, without: Set[str]) -> _Cells:
    """The cells of a table by column. Equal texts are one, and the file's own text is let go."""
    text = _text(path, encoding)
    json_lines = path.suffix.lower() in JSON_LINES or text.lstrip()[:1] == "{"
    most = max(CELLS, len(text))  # no line of an honest table lacks more cells than it has characters
    lines: list[int] = []
    cells: dict[str, list[Any]] = {}
    kept: dict[str, str] = {}
    for record in _json_records(text, path) if json_lines else _cell_records(text, path):
        for name, value in record.values.items():
            if name in without:
                continue
            column = cells.get(name)
            if column is None:
                check_cells(f"{path}, line {record.line}", 1, len(cells) + 1)
                column = cells[name] = [None] * len(lines)
            column.append(kept.setdefault(value, value) if isinstance(value, str) else value)
        lines.append(record.line)
        check_cells(str(path), len(lines), len(cells), most)
        for column in cells.values():
            if len(column) < len(lines):
                column.append(None)
    return _Cells(lines, cells)


def _text(path: Path, encoding: str | None) -> str:
    try:
        return decoded(read_rows(path, lines=FILE), path, encoding).text
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def table_bytes(frame: pd.DataFrame, path: Path, *, excel: bool = False) -> bytes:
    """`frame` in the format of `path`'s ending: .csv, .tsv, or .jsonl (which keeps every value as it is).

    UTF-8, with lines ended by a line feed. Columns are in the documented order, without those that the frame
    lacks. Missing values are empty (null in JSONL), lists JSON, truth true and false, times ISO 8601. With
    `excel` a CSV or TSV starts with a byte order mark. Text that a spreadsheet would run as a formula gets an
    apostrophe before it, which `read_responses` takes away.

    Raises InputError for another ending, or missing columns.
    """
    return b"".join(table_lines(frame, path, excel=excel))


def table_lines(
    table: pd.DataFrame | Mapping[str, Iterable[Any]], path: Path, *, excel: bool = False
) -> Iterator[bytes]:
    """The same line by line, after a byte order mark with `excel`. A table may be columns without a frame."""
    names = [str(name) for name in table]
    _check_columns(names, path)
    names = _in_order(names)
    rows = zip(*(map(_plain, table[name]) for name in names), strict=True)
    ending = path.suffix.lower()
    lines: Iterator[str]
    if ending in JSON_LINES:
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)
    elif ending in (".csv", ".tsv"):
        lines = csv_lines(names, rows, "\t" if ending == ".tsv" else ",")
    else:
        raise InputError(f"{path}: the name of a table of responses must end in .csv, .tsv or .jsonl")
    yield csv_bytes("", excel=excel and ending not in JSON_LINES)
    for line in lines:
        yield line.encode()


def decoded(data: bytes, path: Path, encoding: str | None) -> Decoded:
    """The text of a table, by `humaneval.encodings`. Raises InputError, with the line, if it is not text."""
    found = decode(data, str(path), encoding, what="a table of answers")
    if "\0" in found.text:
        raise InputError(f"{path} is not text: it contains zero bytes", "Save it as UTF-8.")
    return found


def _cell_records(text: str, path: Path) -> Iterator[_Record]:
    try:
        header, first, separator = _header(text)
    except csv.Error as error:
        raise InputError(f"{path}: the header cannot be read: {csv_trouble(error)}") from None
    check_cells(str(path), 1, len(header))
    names = [_column_name(cell) for cell in header]
    while names and not names[-1]:
        names.pop()
    _check_repeats(names, path)
    for line, cells in csv_records(lines_of(text), separator, f"{path}, line "):
        if line <= first or not any(map(str.strip, cells)):
            continue
        if len(cells) < len(names) or any(map(str.strip, cells[len(names) :])):
            raise InputError(f"{path}, line {line}: {len(cells)} cells, but the header has {len(names)}")
        yield _Record(line, dict(zip(names, map(unguarded, cells), strict=False)))


def _header(text: str) -> tuple[list[str], int, str]:
    """The cells of the header, its line, and the separator that finds the most known columns in it."""
    lines = lines_of(text)
    first, line = next(((at, one) for at, one in enumerate(lines, 1) if one.strip()), (0, ""))
    if not first:
        return [], 0, ","
    if line.strip().lower().startswith("sep=") and len(line.strip()) == 5:
        separator = line.strip()[-1]
        return next(csv.reader(lines, delimiter=separator), []), first + 1, separator

    def known(separator: str) -> int:
        try:
            cells = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            return 0
        return sum(_column_name(cell) in COLUMNS for cell in cells)

    separator = max(",;\t", key=known)
    return next(csv.reader(chain([line], lines), delimiter=separator)), first, separator


def _json_records(text: str, path: Path) -> Iterator[_Record]:
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip():
            continue

        def unique(pairs: list[tuple[str, Any]], number: int = number) -> dict[str, Any]:
            keys = [key for key, _ in pairs]
            if len(set(keys)) < len(keys):
                raise InputError(f"{path}, line {number}: a key occurs twice")
            return dict(pairs)

        try:
            values = read_json(line, unique)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}, line {number}: not JSON ({error.msg} at character {error.pos + 1})"
            ) from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON ({why_not_json(error)})") from None
        if not isinstance(values, dict):
            raise InputError(f"{path}, line {number}: not an object in braces")
        names = [_column_name(key) for key in values]
        _check_repeats(names, path)
        yield _Record(number, dict(zip(names, values.values(), strict=True)))


def _value(cell: _Cell, name: str, path: Path, most: int) -> Any:
    value = cell.value
    text = "" if value is None else (json.dumps(value) if isinstance(value, dict) else str(value)).strip()

    def refuse(what: str) -> InputError:
        shown = f" {text[:60]!r}" if text else ""
        return InputError(f"{path}, line {cell.line}: {name}{shown} {what}")

    if name in ("position", "choice"):
        number = _number(text)
        if number is None or number not in range(1, most + 1):
            raise refuse(f"is not a whole number from 1 to {most}" if text else "is empty")
        return int(number)
    if name in ("worker", "story", "generator"):
        if not text:
            raise refuse("is empty")
        return text
    if name == "test":
        if text.lower() not in YES | NO:
            raise refuse("is neither true nor false")
        return text.lower() in YES
    if not text:
        return None
    if name in ("order", "seconds", "words", "sentences"):
        number = _number(text)
        if number is None or not 0 <= number < float("inf"):
            raise refuse("is not a number of 0 or more")
        if name != "seconds" and number != int(number):
            raise refuse("is not a whole number")
        if name != "seconds" and number > LARGEST:
            raise refuse("is too large a number")
        return number if name == "seconds" else int(number)
    return text if isinstance(value, str) or name in COLUMNS else value


def _number(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _dtype(name: str, column: list[Any]) -> Any:
    known = {
        "position": "int64",
        "choice": "int64",
        "order": "Int64",
        "seconds": "float64",
        "words": "Int64",
        "sentences": "Int64",
        "test": "bool",
    }
    if name in known:
        return known[name]
    return None if all(value is None or isinstance(value, str) for value in column) else "object"


def _column_name(name: str) -> str:
    stripped = unguarded(name).strip()
    return stripped.lower() if stripped.lower() in COLUMNS else stripped


def _check_columns(names: list[str], path: Path) -> None:
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise InputError(
            f"{path}: missing columns: {', '.join(missing)}",
            f"The table has: {listed(names, 40) or 'none'}.{of_ratings(missing)}",
        )
    _check_repeats(names, path)


def _check_repeats(names: list[str], path: Path) -> None:
    if twice := repeated(names):
        raise InputError(f"{path}: duplicate columns: {listed(sorted(twice))}")


def _in_order(names: list[str]) -> list[str]:
    return [name for name in COLUMNS if name in names] + [name for name in names if name not in COLUMNS]


def _plain(value: Any) -> Any:
    if isinstance(value, (str, bool, list, dict)) or value is None:
        return value
    if pd.isna(value):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value
