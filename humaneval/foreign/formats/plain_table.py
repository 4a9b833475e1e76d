"""Any other table: a header line, then one row a judgment or form; or a list or lines of JSON objects."""

from __future__ import annotations

from humaneval.errors import InputError
from humaneval.foreign.document import Document
from humaneval.foreign.header import framed, from_records
from humaneval.foreign.sheet import Options, Sheet

NAME = "table"


def recognise(document: Document) -> str:
    """Why the file does not have this format; empty if it does."""
    value = document.json
    if value is not None:
        good = isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
        return "" if good else "the JSON is not a list of objects"
    names = [name for name in document.header if name]
    numbers = sum(name.replace(".", "", 1).replace("-", "", 1).isdigit() for name in names)
    if not names:
        return "no cells"
    if numbers * 2 >= len(names):
        return f"line {document.lines[0]} looks like data, not like column names"
    return ""


def read(document: Document, options: Options) -> Sheet:
    """The table as it is."""
    if document.json is not None:
        return from_records(document, NAME, document.json)
    if len(document.header) < 2:
        raise InputError(
            f"{document.path} has only one column: {document.header[0][:60]!r}",
            "Separate columns by commas, semicolons, tabs or |.",
        )
    return framed(document, NAME)
