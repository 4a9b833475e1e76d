"""Excel workbooks as rows of text. Needs openpyxl, which comes with the extra `excel`."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from humaneval.csv_file import blank_lines
from humaneval.errors import InputError, PrerequisiteError, UsageError
from humaneval.text import listed, not_among, same_name

LARGEST = 1024**3
"""Bytes: the largest size that a workbook may unpack to."""
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
            book = openpyxl.load_workbook(io.BytesIO(data))
            sheet = _worksheet(book, worksheet, path)
            found = list(sheet.iter_rows())
            formulas = [cell for row in found for cell in row if cell.data_type == "f"]
            if formulas:
                stored = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
                found = list(stored[sheet.title].iter_rows())
    except UsageError:
        raise
    except Exception as error:  # openpyxl passes on whatever its parsers raise for a damaged part
        raise InputError(
            f"{path} is a damaged Excel workbook ({type(error).__name__}: {str(error)[:100]})",
            "Open it in Excel and save it again, or save it as CSV UTF-8.",
        ) from None
    _check_formulas(formulas, found, path)
    rows, lines, long = [], [], []
    for number, row in enumerate(found, 1):
        texts = [_text(cell.value) for cell in row]
        if any(text.strip() for text in texts):
            rows.append(texts)
            lines.append(number)
        long += [cell.coordinate for cell, text in zip(row, texts, strict=True) if len(text) >= CUT]
    notes = [f"{len(formulas)} formulas: their stored values were read" if formulas else ""]
    notes.append(blank_lines(sorted(set(range(1, max(lines, default=0))) - set(lines))))
    others = [name for name in book.sheetnames if name != sheet.title]
    if others and worksheet is None:
        notes.append(
            f"worksheet {sheet.title!r} was read; others: {listed(others)} (choose with --worksheet)"
        )
    if long:
        notes.append(f"cells at Excel's length limit, so perhaps cut: {listed(long)}")
    return Cells(rows, lines, tuple(note for note in notes if note))


def _check_archive(data: bytes, path: Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            size = sum(part.file_size for part in archive.infolist())
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
    if size > LARGEST:
        raise InputError(f"{path} unpacks to {size / 1024**3:.1f} GiB, which is too large", "Save it as CSV.")


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


def _check_formulas(formulas: list[Any], found: list[Any], path: Path) -> None:
    empty = [cell for cell in formulas if found[cell.row - 1][cell.column - 1].value is None]
    if empty:
        raise InputError(
            f"{path}: {len(empty)} formulas have no stored value:"
            f" {listed([cell.coordinate for cell in empty])}",
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
