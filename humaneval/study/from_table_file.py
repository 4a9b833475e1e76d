"""A table as people have it, read from CSV, TSV, Excel, JSON or Parquet: columns, and rows of text."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from humaneval.csv_file import csv_rows
from humaneval.encodings import decode, why_not_json
from humaneval.errors import InputError, PrerequisiteError
from humaneval.foreign import excel
from humaneval.limits import DOCUMENT, FILE, MIB, TIGHTEST, check_cells, read_rows
from humaneval.text import counted, listed, quoted

WHAT = "a table of stories and sentences"
RIGHT_ENDING = "right ending"
_CLOZE = ("randomfifthsentencequiz1", "randomfifthsentencequiz2", "answerrightending")
BATCH, EACH = 256, 50
"""Rows of a Parquet file that are unfolded at a time, and the least bytes that a cell of it then takes."""
_EXCEL, _PARQUET = b"PK\x03\x04", b"PAR1"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table as read. Every row has a cell for each column; `lines` says where it begins in the file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    notes: tuple[str, ...] = ()

    def cells(self, column: int) -> list[str]:
        """The cells of a column, from the top, without the empty ones."""
        return [row[column] for row in self.rows if row[column]]


def read_table_file(path: Path, *, encoding: str | None = None, worksheet: str | None = None) -> TableFile:
    """The table in the file at `path`, whatever program wrote it. Raises InputError if there is none.

    PrerequisiteError names the package that reads Excel or Parquet, if it is missing.
    """
    try:
        data = read_rows(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if not data.strip():
        raise InputError(f"{path} is empty", "Give a table with a header line.")
    if data.startswith(_EXCEL):
        book = excel.cells(data, path, worksheet)
        return _of_rows(str(path), book.rows, book.lines, book.notes)
    if data.startswith(_PARQUET):
        most = min(FILE, max(DOCUMENT, TIGHTEST * len(data)))
        return _of_records(str(path), _parquet(data, path, most), most=most)
    decoded = decode(data, str(path), encoding, what=WHAT)
    notes = (f"{decoded.note}; --encoding overrides this",) if decoded.guessed else ()
    if decoded.text.lstrip()[:1] in ("{", "["):
        return _of_records(str(path), _json_records(decoded.text, str(path)), notes)
    found = csv_rows(decoded.text, str(path))
    return _of_rows(str(path), found.rows, found.lines, (*notes, *found.notes))


def _of_rows(name: str, rows: MutableSequence[Any], lines: Sequence[int], notes: Sequence[str]) -> TableFile:
    """The table whose first row names the columns."""
    if not rows:
        raise InputError(f"{name} is empty", "Give a table with a header line.")
    _refuse_title(name, rows, lines)
    width = len(rows[0])
    wrong = [
        (line, len(row))
        for row, line in zip(rows, lines, strict=True)
        if len(row) < width or any(cell.strip() for cell in row[width:])
    ]
    if wrong:
        line, cells = wrong[0]
        more = f" (and {counted(len(wrong) - 1, 'more line')})" if len(wrong) > 1 else ""
        raise InputError(
            f"{name}, line {line}: {counted(cells, 'cell')}, but the header has {width}{more}",
            "Put quotation marks around a text that contains the delimiter.",
        )
    for at, row in enumerate(rows):  # in their places: there may be a million
        rows[at] = tuple(cell.strip() for cell in row[:width])
    header = rows.pop(0)
    return _without_empty(name, header, rows, lines[1:], notes)


def _refuse_title(name: str, rows: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
    """Raise InputError if the first line is a title: one or two cells above lines with many."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows[:5]]
    if 0 < filled[0] <= 2 and max(filled) >= max(4, 2 * filled[0]):
        at = next(number for number, cells in enumerate(filled) if cells == max(filled))
        raise InputError(
            f"{name}, line {lines[0]}: the header is not in the first line, which has"
            f" {counted(filled[0], 'cell')}; line {lines[at]} has {max(filled)}",
            f"Delete everything above the line with the columns' names (perhaps line {lines[at]}).",
        )


def _without_empty(
    name: str,
    header: Sequence[str],
    body: Sequence[Sequence[str]],
    lines: Sequence[int],
    notes: Sequence[str],
) -> TableFile:
    """The table without columns that have neither name nor cells, and with a different name for each."""
    if not body:
        raise InputError(f"{name} has a header line and no rows", "Give a line for each story.")
    kept = [at for at, title in enumerate(header) if title or any(row[at] for row in body)]
    names: dict[str, int] = {}
    doubled: list[str] = []
    for at in kept:
        title = other = header[at] or f"column {at + 1}"
        while other in names:
            names[title] += 1
            other = f"{title} ({names[title]})"
        if other != title:
            doubled.append(other)
        names[other] = 1
    if len(kept) < len(header):
        body = [tuple(row[at] for at in kept) for row in body]
    told = [f"columns with the name of another are read as {listed(doubled)}"] if doubled else []
    rows = tuple(map(tuple, body))
    return _with_right_ending(TableFile(name, tuple(names), rows, tuple(lines), (*notes, *told)))


def _with_right_ending(table: TableFile) -> TableFile:
    """The table of the Story Cloze Test with the right one of its two endings as a column."""
    names = [name.casefold() for name in table.columns]
    if not set(_CLOZE) <= set(names):
        return table
    one, two, answer = (names.index(name) for name in _CLOZE)
    ending = [{"1": row[one], "2": row[two]}.get(row[answer].removesuffix(".0"), "") for row in table.rows]
    kept = [at for at in range(len(names)) if at not in (one, two, answer)]
    return replace(
        table,
        columns=(*(table.columns[at] for at in kept), RIGHT_ENDING),
        rows=tuple((*(row[at] for at in kept), right) for row, right in zip(table.rows, ending, strict=True)),
        notes=(*table.notes, "of the two endings, the right one is read"),
    )


def _of_records(
    name: str, records: Iterable[_Record], notes: Sequence[str] = (), most: int = FILE
) -> TableFile:
    """The table of records whose cells have at most so many characters."""
    flat, lines, size = [], [], 0
    for record in records:
        try:
            flat.append(_flat(record.value))
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}, row {record.line}: {error.object[:20]!r} is no text in UTF-8",
                "Write its texts as strings.",
            ) from None
        lines.append(record.line)
        size += sum(map(len, flat[-1].values()))
        if size > most:
            raise _unfolds(name, most)
    if not flat:
        raise InputError(f"{name} contains no records", "Give one object for each story.")
    header = list(dict.fromkeys(key for each in flat for key in each))
    check_cells(name, len(flat), len(header))
    body = [tuple(each.get(key, "").strip() for key in header) for each in flat]
    return _without_empty(name, header, body, lines, notes)


@dataclass(frozen=True, slots=True)
class _Record:
    """An object of a JSON or Parquet file, and its line, or its number if there are no lines."""

    line: int
    value: Mapping[str, Any]


def _json_records(text: str, name: str) -> list[_Record]:
    """The objects of JSON lines, or of one array, which may be the only value of an object."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _json_lines(text, name)
    while isinstance(whole, dict) and len(whole) == 1 and isinstance(next(iter(whole.values())), list):
        whole = next(iter(whole.values()))
    values = whole if isinstance(whole, list) else [whole]
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise InputError(f"{name}, record {number}: not a JSON object", "Give one object for each story.")
    return [_Record(number, value) for number, value in enumerate(values, 1)]


def _json_lines(text: str, name: str) -> list[_Record]:
    records = []
    for number, line in enumerate(io.StringIO(text), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{name}, line {number}: not JSON: {why_not_json(error)}", "One JSON object a line."
            ) from None
        if not isinstance(value, dict):
            raise InputError(f"{name}, line {number}: not a JSON object", "One JSON object a line.")
        records.append(_Record(number, value))
    return records


def _parquet(data: bytes, path: Path, most: int) -> Iterator[_Record]:
    """The rows, some at a time: a page may hold a long text once and name it for a million rows."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise PrerequisiteError(
            f"{path} is a Parquet file, and reading it needs the package pyarrow",
            'pip install "humaneval-toolkit[parquet]", or write the table as CSV.',
        ) from None
    try:
        number, file = 0, parquet.ParquetFile(io.BytesIO(data))
        said = file.metadata
        check_cells(str(path), said.num_rows, said.num_columns)
        groups = (said.row_group(number) for number in range(said.num_row_groups))
        parts = (group.column(number) for group in groups for number in range(group.num_columns))
        if sum(part.total_uncompressed_size + EACH * part.num_values for part in parts) > most:
            raise _unfolds(str(path), most)
        for batch in file.iter_batches(BATCH):
            for value in batch.to_pylist():
                yield _Record(number := number + 1, value)
    except (ArrowException, OSError) as error:
        raise InputError(
            f"{path} is a damaged Parquet file: {quoted(error, 100)}", "Write the table again, or as CSV."
        ) from None


def _unfolds(name: str, most: int) -> InputError:
    return InputError(
        f"{name} unfolds to more than {most // MIB:,} MiB, as no honest table of its size does",
        "If it is your own, write it as CSV.",
    )


def _flat(value: Mapping[str, Any]) -> dict[str, str]:
    """An object as cells. An object in it gives its own fields, by their own names where these are free."""
    flat: dict[str, str] = {}
    for key, inner in value.items():
        if isinstance(inner, dict):
            for name, cell in _flat(inner).items():
                flat[f"{key}.{name}" if name in flat or name in value else name] = cell
        else:
            flat[str(key)] = _cell(inner)
    return flat


def _cell(value: Any) -> str:
    """A value as a cell: whole numbers without a point, nothing for null, lists as JSON."""
    if value is None or value != value:  # a number that is none, as data frames have
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bytes):  # some programs do not say that these are texts
        return value.decode()
    return json.dumps(value, ensure_ascii=False, default=_cell) if isinstance(value, list) else str(value)
