"""Any other table: one header row, then one row a judgment or a form; or JSON objects, a list of them or one
a line."""

from __future__ import annotations

from humaneval.errors import InputError
from humaneval.foreign.document import Document
from humaneval.foreign.header import framed, from_records
from humaneval.foreign.sheet import Options, Sheet

NAME = "table"


def recognise(document: Document) -> str:
    """Why the file is not of this format; empty where it is."""
    value = document.json
    if value is not None:
        good = isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
        return "" if good else "the JSON is no list of objects"
    names = [name for name in document.header if name]
    numbers = sum(name.replace(".", "", 1).replace("-", "", 1).isdigit() for name in names)
    if not names:
        return "there are no cells"
    if numbers * 2 >= len(names):
        return f"line {document.lines[0]} looks like data, not like names of columns"
    return ""


def read(document: Document, options: Options) -> Sheet:
    """The table as it is."""
    if document.json is not None:
        return from_records(document, NAME, document.json)
    if len(document.header) < 2:
        raise InputError(
            f"{document.path}: only one column was found: {document.header[0][:60]!r}",
            "Columns are told apart by commas, semicolons, tabs or |.",
        )
    return framed(document, NAME)
