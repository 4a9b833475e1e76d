"""How much of a file that others made is read: the same limits for every format, and the one place of their
numbers. They are generous for honest files. A file beyond them is refused before it fills the memory."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

from humaneval.errors import InputError

MIB = 1024**2
FILE = 2 * 1024**3
"""Bytes of a file of rows, and of what an archive or a workbook unpacks to. A million responses of the fewest
columns have 22 MB."""
LINE = 16 * MIB
"""Bytes between two line ends."""
DOCUMENT = 256 * MIB
"""Bytes of a JSON document, which may be one line. A hundred thousand stories have 32 MiB."""
CELL = MIB
"""Characters of a cell. An unclosed quotation mark would turn the rest of the file into one."""
COLUMNS = 10_000
"""More than any table of people's answers has: each column costs as much time as all others together."""
LINES = 5_000_000
"""Lines of a table whose rows are all kept. A worksheet of Excel has one million."""
SYSTEMS = 200
"""Systems, or groups, of which every pair is compared: 19,900 pairs take about a minute. A leaderboard has a
hundred."""
VALUES = 200
"""Different answers to a question that are each given an interval. More are texts, or ids."""
STORIES = 1_000_000
"""Stories of a file, sound or not."""
CELLS = 50_000_000
"""Cells of such a table: two million responses of 25 columns."""
TIGHTEST = 40
"""No part of an archive or a workbook is packed to less than one part in so many, a MiB aside. In real
studies it is one in 3 to 12, in a worksheet of equal numbers one in 16."""
SETTINGS = 4 * MIB
"""Characters of a file of settings or words that a person wrote."""
CHUNK = MIB
_ENDS = re.compile(rb"[\r\n]")
_BEFORE_JSON = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
"""Byte order marks, and white space in UTF-8 and UTF-16."""


def read_rows(path: Path, *, lines: int = LINES) -> bytes:
    """The bytes of a file of rows, or of a JSON document, as `parts` checks them."""
    read = io.BytesIO()
    for part in parts(path, lines=lines):
        read.write(part)
    return read.getvalue()


def parts(path: Path, *, lines: int = LINES) -> Iterator[bytes]:
    """The bytes of a file of rows, or of a JSON document, a part at a time.

    Raises OSError, and InputError at a line that is too long or after too many `lines`.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > FILE:
            raise _too_large(path, FILE)
        size, before, number, most = 0, 0, 1, LINE
        while part := file.read(CHUNK):
            if not size and part.lstrip(_BEFORE_JSON)[:1] in (b"[", b"{"):
                most = DOCUMENT
            size += len(part)
            if size > FILE:
                raise _too_large(path, FILE)
            end = _ENDS.search(part)
            before += end.start() if end else len(part)
            if before > most:
                raise InputError(
                    f"{path}, line {number:,} is longer than {_size(most)}",
                    "Is a line end missing? Give one row on each line; in JSON, one object.",
                )
            if end:
                before = len(part) - 1 - max(part.rfind(b"\n"), part.rfind(b"\r"))
            number += max(part.count(b"\n"), part.count(b"\r"))
            if number > lines + 1:
                raise InputError(f"{path} has more than {lines:,} lines", "Split it into several files.")
            yield part


def read_whole(path: Path, encoding: str = "utf-8", most: int = SETTINGS) -> str:
    """The text of a small file, as `read_text` gives it. Raises InputError if it is too large to be one."""
    with path.open(encoding=encoding) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise _too_large(path, most)
    return text


def check_cells(name: str, rows: int, columns: int, most: int = CELLS) -> None:
    """Raise InputError if a table has more columns or cells than are kept."""
    if columns > COLUMNS:
        raise InputError(
            f"{name}: {columns:,} columns; at most {COLUMNS:,} are read",
            "Is the separator right? Keep the columns that are needed.",
        )
    if rows * columns > most:
        raise InputError(
            f"{name}: {rows:,} rows of {columns:,} columns; at most {most:,} cells are read",
            "Keep the columns that are needed, or split it into several files.",
        )


def check_stories(name: str, number: int) -> None:
    """Raise InputError if a file has more stories than are read."""
    if number > STORIES:
        raise InputError(f"{name} has more than {STORIES:,} stories", "Split it into several files.")


def check_systems(number: int, what: str = "systems") -> None:
    """Raise InputError if there are more systems than anybody compares, as in a column of ids or of texts."""
    if number > SYSTEMS:
        raise InputError(
            f"there are {number:,} {what}; at most {SYSTEMS} are compared",
            "Is it another column that names them?",
        )


def too_tight(packed: int, unpacked: int) -> bool:
    """Whether part of a zip unpacks to more than any honest one does.

    >>> too_tight(1000, 40_000), too_tight(100_000, 100_000_000)
    (False, True)
    """
    return unpacked > TIGHTEST * packed + CHUNK


def _too_large(path: Path, most: int) -> InputError:
    return InputError(f"{path} is larger than {_size(most)}", "Is it the right file? If so, split it.")


def _size(size: int) -> str:
    return f"{size // MIB:,} MiB"
