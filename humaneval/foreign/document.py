"""A response file before its format is known: rows of cells, or JSON, or a clear error if it is neither."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from humaneval.csv_file import csv_rows
from humaneval.encodings import Decoded, read_json, why_not_json
from humaneval.errors import InputError
from humaneval.foreign import excel
from humaneval.foreign.sheet import Options
from humaneval.limits import read_rows
from humaneval.scoring.response_table import decoded
from humaneval.text import repeated


@dataclass(frozen=True)
class Document:
    """A file, read once. `rows` and `lines` are its cells; `json` is the value of a JSON file, else None."""

    path: Path
    data: bytes = field(repr=False)
    options: Options

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def key(self) -> bytes:
        """A key that only those who have the file can make; `sha256`, which is printed, does not give it."""
        return hashlib.sha256(b"pseudonyms within this file\n" + self.data).digest()

    @cached_property
    def is_excel(self) -> bool:
        return self.data.startswith(b"PK\x03\x04")

    @cached_property
    def _decoded(self) -> Decoded:
        return decoded(self.data, self.path, self.options.encoding)

    @cached_property
    def text(self) -> str:
        text = self._decoded.text
        if not text.strip():
            raise InputError(f"{self.path} is empty")
        start = text.lstrip()[:200].lower()
        if start.startswith(("<!doctype", "<html", "<?xml")):
            raise InputError(
                f"{self.path} is a web page or XML, not a table of answers",
                "Perhaps it is a saved sign-in page: download the file again.",
            )
        if any(ord(character) < 9 or 13 < ord(character) < 32 for character in text[:4096]):
            raise InputError(
                f"{self.path} is not text: it contains control characters",
                "Save the answers as CSV, TSV, JSON or xlsx.",
            )
        return text

    @cached_property
    def json(self) -> Any:
        """The value of a JSON file, or the list of objects of a JSON Lines file; None for other files."""
        if self.is_excel or self.text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            return read_json(self.text, self._unique)
        except json.JSONDecodeError as whole:
            if self.text.lstrip()[0] != "{" or len(self.text.splitlines()) < 2:
                raise InputError(
                    f"{self.path}, line {whole.lineno}: not JSON ({whole.msg}, column {whole.colno})"
                ) from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path}: not JSON ({why_not_json(error)})") from None
        return [
            self._json_line(number, line)
            for number, line in enumerate(io.StringIO(self.text), 1)
            if line.strip()
        ]

    def _json_line(self, number: int, line: str) -> Any:
        try:
            return read_json(line, self._unique)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path}, line {number}: not JSON ({why_not_json(error)})") from None

    def _unique(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            doubled = repeated(name for name, _ in pairs)[0]
            raise InputError(f"{self.path}: an object has the key {doubled!r} twice")
        return found

    @cached_property
    def _grid(self) -> tuple[list[list[str]], list[int], tuple[str, ...]]:
        if self.is_excel:
            found = excel.cells(self.data, self.path, self.options.worksheet)
            if not found.rows:
                raise InputError(f"{self.path} is empty: the worksheet has no cells")
            return found.rows, found.lines, found.notes
        if self.json is not None:
            return [], [], ()
        table = csv_rows(self.text, str(self.path))
        guessed = (self._decoded.note,) if self._decoded.guessed else ()
        return table.rows, table.lines, (*guessed, *table.notes)

    @property
    def rows(self) -> list[list[str]]:
        """The rows that are not blank, including the header."""
        return self._grid[0]

    @property
    def lines(self) -> list[int]:
        """The line of the file on which each of `rows` begins."""
        return self._grid[1]

    @property
    def notes(self) -> tuple[str, ...]:
        return self._grid[2]

    @property
    def header(self) -> list[str]:
        """The cells of the first row, stripped; empty for a JSON file."""
        return [cell.strip() for cell in self.rows[0]] if self.rows else []


def open_document(path: Path, options: Options) -> Document:
    """The file at `path`. Raises InputError if it cannot be opened or is empty."""
    try:
        data = read_rows(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if not data.strip():
        raise InputError(f"{path} is empty")
    return Document(path, data, options)
