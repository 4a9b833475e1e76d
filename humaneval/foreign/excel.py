"""Excel workbooks as rows of text. Needs openpyxl, which comes with the extra `excel`."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from humaneval.csv_file import Kept
from humaneval.errors import HumanEvalError, InputError, PrerequisiteError, UsageError
from humaneval.limits import COLUMNS, FILE, MIB, check_cells, too_tight
from humaneval.text import listed, not_among, same_name

MOST_ROWS = 2**20
"""Excel has no more."""
PART, ELEMENTS = 8 * MIB, 100 * COLUMNS
"""Bytes of a part of a workbook that openpyxl reads as a whole, as of styles; parts of a row or a text."""
AS_CSV = "Copy the worksheet into a new workbook, or save it as CSV UTF-8."
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
        import openpyxl  # noqa: F401 - whether it is there
    except ImportError:
        raise PrerequisiteError(
            f"{path} is an Excel workbook, and reading it needs the package openpyxl",
            'pip install "humaneval-toolkit[excel]", or in Excel: Save as, CSV UTF-8.',
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and rules that openpyxl does not keep
            with _Archive(io.BytesIO(data)) as archive:
                return _read(_Book(archive), worksheet, path)
    except HumanEvalError:
        raise
    except Exception as error:  # openpyxl passes on whatever its parsers raise for a damaged part
        raise InputError(
            f"{path} is a damaged Excel workbook ({type(error).__name__}: {str(error)[:100]})",
            "Open it in Excel and save it again, or save it as CSV UTF-8.",
        ) from None


class _Archive(zipfile.ZipFile):
    """A workbook's archive. What openpyxl reads of it as a whole is small: an object of 1 kB for 50 bytes."""

    def read(self, name: Any, pwd: bytes | None = None) -> bytes:
        if (size := self.getinfo(name).file_size) > PART:
            raise InputError(
                f"the workbook's {name} has {size // MIB} MiB; at most {PART // MIB} MiB are read",
                AS_CSV,
            )
        content = super().read(name, pwd)
        if name.endswith((".xml", ".rels")):
            _refuse_entities(content)
        return content


class _Book:
    """A workbook whose worksheets are read an element at a time: openpyxl keeps all elements of a part."""

    def __init__(self, archive: _Archive) -> None:
        from openpyxl.reader.excel import ExcelReader
        from openpyxl.styles.stylesheet import apply_stylesheet
        from openpyxl.xml.constants import SHARED_STRINGS

        reader = ExcelReader(archive.fp, read_only=True, data_only=True, keep_links=False)
        reader.archive = self._archive = archive
        reader.read_manifest()
        reader.read_workbook()
        apply_stylesheet(archive, reader.wb)
        self._book = reader.wb
        strings = reader.package.find(SHARED_STRINGS)
        self._strings = [
            _words(text).replace("x005F_", "")
            for text in (self._elements(strings.PartName[1:], "si") if strings else ())
        ]
        self.sheets = {
            one.name: rel.target
            for one, rel in reader.parser.find_sheets()
            if "chartsheet" not in rel.Type and rel.target in reader.valid_files
        }

    def rows(self, title: str) -> Iterator[tuple[int, list[_Cell]]]:
        """The rows of a worksheet, with their numbers, in rising order."""
        from openpyxl.worksheet._reader import FORMULA_TAG, INLINE_STRING, VALUE_TAG, WorkSheetParser

        book, before = self._book, 0
        parser = WorkSheetParser(
            None, self._strings, True, book.epoch, book._date_formats, book._timedelta_formats
        )
        for row in self._elements(self.sheets[title], "row"):
            formulas = [cell.find(FORMULA_TAG) is not None for cell in row]
            for cell in row:
                if cell.get("t") == "inlineStr" and (text := cell.find(INLINE_STRING)) is not None:
                    cell.set("t", "str")  # which openpyxl reads in a third of the time
                    ElementTree.SubElement(cell, VALUE_TAG).text = _words(text)
            number, cells = parser.parse_row(row)
            parser.row_dimensions.clear()
            if number > before:
                before = number
                read = zip(cells, formulas, strict=True)
                yield number, [_Cell(cell["column"], cell["value"], formula) for cell, formula in read]

    def _elements(self, part: str, name: str) -> Iterator[Any]:
        """The elements of that name, one after the other, without what is around them."""
        from openpyxl.xml.constants import SHEET_MAIN_NS

        tag, opened, inside = f"{{{SHEET_MAIN_NS}}}{name}", [], 0
        with self._archive.open(part) as source:
            _refuse_entities(source.read(MIB))
            source.seek(0)
            for event, element in ElementTree.iterparse(source, events=("start", "end")):
                if event == "start":
                    opened.append(element)
                    inside += bool(inside) or element.tag == tag
                    if inside > ELEMENTS:
                        raise InputError(
                            f"the workbook's {part} has a {name} of more than {ELEMENTS:,} parts", AS_CSV
                        )
                    continue
                opened.pop()
                if element.tag == tag:
                    yield element
                    inside = 0
                if opened and not inside:
                    opened[-1].clear()


def _refuse_entities(start: bytes) -> None:
    """Raise ValueError if a part of a workbook declares names for texts: a few could then be a million."""
    guard, begun = expat.ParserCreate(), []

    def refuse(*_: object) -> None:
        raise ValueError("it declares a document type")

    guard.StartDoctypeDeclHandler = refuse
    guard.StartElementHandler = lambda *_: begun.append(True) if not begun else None
    guard.Parse(start)
    if not begun:
        refuse()


def _words(element: Any) -> str:
    """A text, as openpyxl reads it; nearly all have one part."""
    from openpyxl.cell.text import Text

    if len(element) == 1 and element[0].tag.endswith("}t"):
        return element[0].text or ""
    return str(Text.from_tree(element).content)


class _Cell(NamedTuple):
    column: int
    value: Any
    formula: bool


def _read(book: _Book, worksheet: str | None, path: Path) -> Cells:
    """The cells of a worksheet, a row at a time, in rows of the same length."""
    title = _worksheet([*book.sheets], worksheet, path)
    others = [name for name in book.sheets if name != title and worksheet is None]
    kept, long, empty, counted, width, before = Kept(str(path)), [], [], 0, 0, 0
    for number, row in book.rows(title):
        check_cells(str(path), number, 1, MOST_ROWS)
        widest = max((cell.column for cell in row), default=0)
        check_cells(f"{path}, row {number}", 1, widest)
        for blank in range(before + 1, number):
            kept.add(blank, [])
        before = number
        texts = [""] * widest
        for cell in row:
            texts[cell.column - 1] = text = _text(cell.value)
            if len(text) >= CUT:
                long.append(_place(number, cell))
            if cell.formula:
                counted += 1
                if cell.value is None:
                    empty.append(_place(number, cell))
        while texts and not texts[-1]:
            texts.pop()
        width = max(width, len(texts))
        kept.add(number, texts)
    _refuse_empty(empty, path)
    check_cells(str(path), len(kept.rows), width)
    for texts in kept.rows:
        texts += [""] * (width - len(texts))
    notes = [
        f"{counted} formulas: their stored values were read" if counted else "",
        kept.told,
        f"worksheet {title!r} was read; others: {listed(others)} (choose with --worksheet)" if others else "",
        f"cells at Excel's length limit, so perhaps cut: {listed(long)}" if long else "",
    ]
    return Cells(kept.rows, kept.lines, tuple(note for note in notes if note))


def _place(row: int, cell: _Cell) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(cell.column)}{row}"


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


def _worksheet(names: Sequence[str], name: str | None, path: Path) -> str:
    if name is None:
        return names[0]
    found = same_name(name, names)
    if found is None:
        raise UsageError(f"{path}: {not_among('worksheet', name, names)}", f"Worksheets: {listed(names)}.")
    return found


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
