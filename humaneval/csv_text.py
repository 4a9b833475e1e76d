"""Tables as CSV or TSV text, the same wherever the toolkit writes one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any


def csv_text(
    names: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",", *, excel: bool = False
) -> str:
    """The table with a header line, quoted as in RFC 4180, with line feeds as line ends.

    Missing values are empty, booleans are true and false, lists and mappings are JSON. With `excel`, text
    that a spreadsheet would run as a formula (= + - @ at its start, also after white space) gets an
    apostrophe first.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow([_guarded(name) if excel else name for name in names])
    for row in rows:
        cells = [_cell(value) for value in row]
        if excel:
            cells = [
                _guarded(cell) if isinstance(value, str) else cell
                for cell, value in zip(cells, row, strict=True)
            ]
        writer.writerow(cells)
    return out.getvalue()


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


def _guarded(text: str) -> str:
    return f"'{text}" if text.lstrip("\t\r\n ")[:1] in tuple("=+-@") else text
