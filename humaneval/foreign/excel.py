"""Excel workbooks as rows of text. Needs openpyxl, which comes with the extra `excel`."""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from humaneval.csv_file import Kept
from humaneval.errors import HumanEvalError, InputError, PrerequisiteError, UsageError
from humaneval.limits import CHUNK, FILE, check_cells, too_tight
from humaneval.text import listed, not_among, same_name

MOST_ROWS = 2**20
"""Excel has no more."""
SHEETS = "xl/worksheets/"
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
CUT = 32_767
"""Characters: Excel cuts a longer cell."""


class Cells(NamedTuple):
    """The rows that are not blank, their row numbers, and notes."""

    rows: list[list[str]]
    lines: list[int]
    notes: tuple[str, ...]


def cells(data: bytes, path: Path, worksheet: str | None) -> Cells:
    """The cells of a workbook: whole numbers without a point, booleans as true and false, times in ISO 8601.

    A formula stands for the value that is stored with it. Raises InputError for a zip archive that is not a
    workbook, a damaged workbook, or a formula without a stored value; PrerequisiteError without openpyxl.
    """
    _check_archive(data, path)
    try:
        import openpyxl
    except ImportError:
        raise PrerequisiteError(
            f"{path} is an Excel workbook, and reading it needs the package openpyxl",
            'pip install "humaneval-toolkit[excel]", or in Excel: Save as, CSV UTF-8.',
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles that openpyxl does not keep
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            sheet = _worksheet(book, worksheet, path)
            written = _formulas(data, sheet.title)
            others = [name for name in book.sheetnames if name != sheet.title and worksheet is None]
            return _read(sheet, written, path, others)
    except HumanEvalError:
        raise
    except Exception as error:  # openpyxl passes on whatever its parsers raise for a damaged part
        raise InputError(
            f"{path} is a damaged Excel workbook ({type(error).__name__}: {str(error)[:100]})",
            "Open it in Excel and save it again, or save it as CSV UTF-8.",
        ) from None


def _read(sheet: Any, formulas: Iterator[list[Any]], path: Path, others: Sequence[str]) -> Cells:
    """The cells of a worksheet, a row at a time, in rows of the same length."""
    sheet.reset_dimensions()  # what a file says of its size need not be so
    kept, long, empty, counted, width = Kept(str(path)), [], [], 0, 0
    for number, row in enumerate(sheet.iter_rows(), 1):
        check_cells(f"{path}, row {number}", 1, len(row))
        check_cells(str(path), number, 1, MOST_ROWS)
        texts = [_text(cell.value) for cell in row]
        long += [cell.coordinate for cell, text in zip(row, texts, strict=True) if len(text) >= CUT]
        for at in next(formulas, ()):
            counted += 1
            if row[at].value is None:
                empty.append(f"{row[at].coordinate}")
        while texts and not texts[-1]:
            texts.pop()
        width = max(width, len(texts))
        kept.add(number, texts)
    _refuse_empty(empty, path)
    check_cells(str(path), len(kept.rows), width)
    rows = [row + [""] * (width - len(row)) for row in kept.rows]
    notes = [
        f"{counted} formulas: their stored values were read" if counted else "",
        kept.told,
        f"worksheet {sheet.title!r} was read; others: {listed(others)} (choose with --worksheet)"
        if others
        else "",
        f"cells at Excel's length limit, so perhaps cut: {listed(long)}" if long else "",
    ]
    return Cells(rows, kept.lines, tuple(note for note in notes if note))


def _formulas(data: bytes, title: str) -> Iterator[list[Any]]:
    """The places of the formulas in each row of a worksheet; nothing for a workbook without any."""
    import openpyxl

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if not any(_has_formula(archive, name) for name in archive.namelist() if name.startswith(SHEETS)):
            return
    sheet = openpyxl.load_workbook(io.BytesIO(data), read_only=True)[title]
    sheet.reset_dimensions()
    for row in sheet.iter_rows():
        yield [at for at, cell in enumerate(row) if cell.data_type == "f"]


def _has_formula(archive: zipfile.ZipFile, name: str) -> bool:
    with archive.open(name) as part:
        before = b""
        while chunk := part.read(CHUNK):
            if _FORMULA.search(before + chunk):
                return True
            before = chunk[-8:]
    return False


def _check_archive(data: bytes, path: Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            size = sum(one.file_size for one in archive.infolist())
            tight = [one for one in archive.infolist() if too_tight(one.compress_size, one.file_size)]
    except zipfile.BadZipFile:
        raise InputError(
            f"{path} is a damaged Excel workbook or zip archive: its end is missing",
            "Download or copy the file again.",
        ) from None
    if "content.xml" in names and "xl/workbook.xml" not in names:
        raise InputError(f"{path} is an OpenDocument file", "Save it as .xlsx or as CSV UTF-8.")
    if "xl/workbook.xml" not in names:
        raise InputError(
            f"{path} is a zip archive, not a table of answers: {listed(names, 3) or 'it is empty'}",
            "Unpack it and name one of its files.",
        )
    if tight or size > FILE:
        raise InputError(
            f"{path} would unpack from {len(data):,} to {size:,} bytes, as no honest workbook does",
            "If it is your own, open it in Excel and save it as CSV UTF-8.",
        )


def _worksheet(book: Any, name: str | None, path: Path) -> Any:
    if name is None:
        return book.worksheets[0]
    found = same_name(name, book.sheetnames)
    if found is None:
        raise UsageError(
            f"{path}: {not_among('worksheet', name, book.sheetnames)}",
            f"Worksheets: {listed(book.sheetnames)}.",
        )
    return book[found]


def _refuse_empty(empty: list[str], path: Path) -> None:
    if empty:
        raise InputError(
            f"{path}: {len(empty)} formulas have no stored value: {listed(empty)}",
            "Open it in Excel and save it again, or save it as CSV UTF-8.",
        )


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)
