"""Watches the files of an SQLite database under a running server: are they the ones that it has open?

If the log beside the database is deleted, or another file is copied over it, SQLite reports no error. It
keeps writing to files that nobody will ever read. Only SQLite changes these files, so each change must go
with one in the index of its log: https://sqlite.org/walformat.html describes that. If only the time of the
file has changed, as by `touch`, what is in it tells so.

SQLite changes the file itself only when it copies pages from the log. So an older copy lacks what was copied
last, and these pages tell it, even if rows were only changed and none added. One copy is not told: of a
large file, changed nowhere that is looked at, put there before a new server's log was copied for the first
time. No sign in the file is cheaper: its change counter (bytes 24 to 27) stays if the log is used.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from random import random
from typing import NamedTuple

from sqlalchemy import Engine, event

from humaneval.store.files import is_writable

INDEX_VERSION = 3007000
"""The only version of the index that there is. Of another one nothing is read."""
INDEX_BYTES = 136
LOG_HEADER, FRAME_HEADER = 32, 24
EDGE, SAMPLES, SAMPLE = 4 * 1024**2, 64, 4096
"""What of a file's bytes is compared: its first and last ones, some between them, drawn for each server, and
the pages that were copied last from the log."""
TRIES = 5
"""How often the files are read again if SQLite changes them meanwhile."""

_open_files: dict[tuple[int, int], int] = {}


class _Index(NamedTuple):
    """What the index says of the log."""

    page_size: int
    frames: int
    salts: bytes
    copied: int
    copying: int

    @property
    def copies(self) -> tuple[bytes, int, int]:
        """What changes whenever SQLite writes into the database's file."""
        return (self.salts, self.copied, self.copying)

    @property
    def log_bytes(self) -> int:
        """How long the log is at least."""
        return LOG_HEADER + self.frames * (FRAME_HEADER + self.page_size) if self.frames else 0


class _Seen(NamedTuple):
    changed: int
    copies: tuple[bytes, int, int] | None
    content: bytes
    """A hash of what was in the file; empty if it was changing, or could not be read."""


class WatchedFiles:
    """The files of the database of `engine`, as they are now.

    One connection stays open until the engine is disposed of: so long SQLite itself removes nothing.
    """

    def __init__(self, engine: Engine) -> None:
        path = Path(str(engine.url.database)).absolute() if engine.dialect.name == "sqlite" else None
        self._path = path
        if path is None:
            return
        self._log, self._index_path = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
        self._lock = threading.Lock()
        self._changed = False
        self._samples = sorted(random() for _ in range(SAMPLES))
        self._copied_last: Sequence[int] = ()
        self._file = _identity(path)
        self._close: Callable[[], object] = _nothing
        self._seen: _Seen | None
        self._index: int | None
        self._begin()
        itself = weakref.ref(self)
        event.listen(engine, "engine_disposed", lambda _: _ended(itself))

    def are_the_same(self) -> bool:
        """Whether they are there, and nobody but SQLite has changed them.

        What was moved away may come back. What was changed once stays so.
        """
        if self._path is None:
            return True
        with self._lock:
            return not self._changed and self._look()

    def end(self) -> None:
        """Let SQLite remove the log with the last connection. The next look starts again."""
        with self._lock:
            self._close()
            self._close, self._seen = _nothing, None

    def _begin(self) -> None:
        self._seen, self._index = None, None
        assert self._path is not None
        if not is_writable(self._path) or sys.platform == "win32":  # where nobody deletes what is open
            return
        try:
            kept = sqlite3.connect(f"{self._path.as_uri()}?mode=rw", uri=True, check_same_thread=False)
            self._close = weakref.finalize(self, kept.close)
            kept.execute("SELECT count(*) FROM sqlite_master").close()
            self._log_file, self._index_file = _identity(self._log), _identity(self._index_path)
            self._index = _opened(self._index_path)
            index = _read(self._index)
            self._content_of = _opened(self._path)
            changed = os.stat(self._path).st_mtime_ns
            self._seen = _Seen(changed, index and index.copies, self._content(index))
        except (sqlite3.Error, OSError):  # without a log: only the file itself is compared
            self._close()

    def _look(self) -> bool:
        assert self._path is not None
        if self._seen is None:
            if _identity(self._path) != self._file:
                return False
            self._begin()
        for _ in range(TRIES):
            index = None if self._index is None else _read(self._index)
            if self._are_right(index):
                return True
            again = None if self._index is None else _read(self._index)
            if again == index:
                return False
            self._changed = False
        return True

    def _are_right(self, index: _Index | None) -> bool:
        try:
            file = os.stat(self._path or "")
        except OSError:
            return False
        if (file.st_dev, file.st_ino) != self._file:
            return False
        if self._seen is None:
            return True
        if _identity(self._index_path) != self._index_file or not self._log_is_right(index):
            return False
        if index is None:
            return True
        before = self._seen
        if (file.st_mtime_ns, index.copies) == (before.changed, before.copies) and before.content:
            return True
        content = self._content(index)
        by_sqlite = index.copies != before.copies or index.copied < index.copying
        touched = file.st_mtime_ns != before.changed and before.copies is not None and not by_sqlite
        if touched and not (content and content == before.content):
            self._changed = True
            return False
        self._seen = _Seen(file.st_mtime_ns, index.copies, content)
        return True

    def _content(self, index: _Index | None) -> bytes:
        """A hash of some of the file's bytes, and of the last row of each table, without what is in the log.

        Another state of the database differs in them: what is new comes last, or was copied last.
        """
        if index is None or index.copied < index.copying or self._path is None:
            return b""
        found = hashlib.sha256()
        try:
            if index.copied:  # a log that begins anew: the file is as the one before left it
                self._copied_last = self._last_copied(index)
            size = os.fstat(self._content_of).st_size
            parts = [(EDGE, 0), (EDGE, max(0, size - EDGE))]
            parts += [(SAMPLE, int(place * size) // SAMPLE * SAMPLE) for place in self._samples]
            parts += [(index.page_size, (page - 1) * index.page_size) for page in self._copied_last]
            for length, at in parts:
                found.update(os.pread(self._content_of, length, at))
            with closing(sqlite3.connect(f"{self._path.as_uri()}?immutable=1", uri=True)) as alone:
                tables = alone.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                last = [alone.execute(f'SELECT max(rowid) FROM "{name}"').fetchone() for (name,) in tables]
        except (sqlite3.Error, OSError, struct.error):
            return b""
        found.update(repr((size, tables, last)).encode())
        return b"" if self._index is None or _read(self._index) != index else found.digest()

    def _last_copied(self, index: _Index) -> list[int]:
        """The numbers of the pages that SQLite copied last into the file."""
        frame = FRAME_HEADER + index.page_size
        with self._log.open("rb") as log:
            log.seek(LOG_HEADER + max(0, index.copied - SAMPLES) * frame)
            raw = log.read(min(index.copied, SAMPLES) * frame)
        return sorted({struct.unpack_from(">I", raw, at)[0] for at in range(0, len(raw), frame)})

    def _log_is_right(self, index: _Index | None) -> bool:
        try:
            number = os.open(self._log, os.O_RDONLY)
        except OSError:
            return False
        try:
            log = os.fstat(number)
            if (log.st_dev, log.st_ino) != self._log_file:
                return False
            if index is None or not index.frames:
                return True
            return log.st_size >= index.log_bytes and os.pread(number, 8, 16) == index.salts
        finally:
            os.close(number)


def _nothing() -> None:
    """There is no connection to close."""


def _ended(watched: weakref.ref[WatchedFiles]) -> None:
    found = watched()
    if found is not None:
        found.end()


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file it is, by device and number; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


def _opened(path: Path) -> int:
    """The number of the open file. It stays open while there is such a file: to close it would take away the
    locks that this process has on it through SQLite."""
    for key, number in list(_open_files.items()):
        if not os.fstat(number).st_nlink:
            os.close(_open_files.pop(key))
    file = os.stat(path)
    key = (file.st_dev, file.st_ino)
    if key not in _open_files:
        _open_files[key] = os.open(path, os.O_RDONLY)
    return _open_files[key]


def _read(number: int) -> _Index | None:
    """What the index says; None if nobody has made it yet, or it is being changed."""
    raw = os.pread(number, INDEX_BYTES, 0)
    if len(raw) < INDEX_BYTES or raw[:48] != raw[48:96]:
        return None
    version, ready, page_size, frames = struct.unpack_from("=I8xBxHI", raw)
    if version != INDEX_VERSION or not ready:
        return None
    copied, copying = struct.unpack_from("=I28xI", raw, 96)
    return _Index(65536 if page_size == 1 else page_size, frames, raw[32:40], copied, copying)
