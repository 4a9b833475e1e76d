"""The files of an SQLite database: made for their owner alone, found open to others, or not writable.

They hold keys, the platforms' own ids of workers, and personal links.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE = 0o600
OTHERS = 0o077
BESIDE = ("", "-wal", "-shm", "-journal")
"""The ends of the names of a database's files. SQLite gives all of them the permissions of the first."""
HEAD = b"SQLite format 3\0"
SETTINGS, LINKS = "settings are", "personal links are"
_ENOUGH = 16 * 1024
_KEPT = {
    re.compile(rb"(?m)^aws_secret_access_key\b"): "access keys are",
    # Comments and assignments, and then a section with an assignment or another section: no Markdown.
    re.compile(
        rb"\A(?:[ \t\r]*(?:#[^\n]*|\w[^\n]*=[^\n]*)?\n)*\[\w+\][ \t\r]*(?:#[^\n]*)?\n"
        rb"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*(?:[\w.\"-]+[ \t]*=|\[|\Z)"
    ): SETTINGS,
    re.compile(rb"(?i)\A[^\r\n]*\blink\"?\r?\n[^\r\n]*/take/[\w-]+\"?\s"): LINKS,
}
"""What the beginning of a file tells of it, by a pattern."""


def kept_in(path: Path) -> str:
    """What a file holds that nothing may be written over, with its verb; empty if there is no such thing. A
    database is also what lies beside one."""
    files = {path.with_name(path.name.removesuffix(end) or path.name) for end in BESIDE}
    if any(_head(file, len(HEAD)) == HEAD for file in files):
        return "a database is"
    head = _head(path, _ENOUGH)
    if head and path.suffix.lower() == ".toml":
        return SETTINGS
    return next((what for begins, what in _KEPT.items() if begins.search(head)), "")


def _head(file: Path, size: int) -> bytes:
    with suppress(OSError):
        if _mode(file):  # a pipe would wait
            with file.open("rb") as opened:
                return opened.read(size)
    return b""


def make_private(path: Path) -> None:
    """Make an empty file for its owner alone, unless there is one. If that fails, SQLite says why."""
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))


def backup_name(source: Path, moment: str) -> Path:
    """The name of a copy beside a database."""
    return source.with_name(f"{source.stem}-{moment}.backup{source.suffix}")


def open_to_others(path: Path) -> list[Path]:
    """The files of the database at `path`, and its copies beside it, that other people may read or write."""
    if not path.name:  # a folder
        return []
    files = [path.with_name(path.name + end) for end in BESIDE]
    found = [*files, *sorted(path.parent.glob(f"{backup_name(path, '*').name}*"))]
    return [file for file in found if _mode(file) & OTHERS]


def _mode(file: Path) -> int:
    try:
        status = file.stat()
    except OSError:
        return 0
    return status.st_mode if stat.S_ISREG(status.st_mode) else 0


def is_writable(path: Path) -> bool:
    """Whether this program may write the database: the file itself, and the log beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def read_only_address(path: Path) -> str:
    """The address with which SQLite reads a file that cannot be written.

    With no log beside it, nobody is writing, and `immutable` lets SQLite do without one: it could not make
    it. With a log, the log is read, too.
    """
    log = path.with_name(path.name + "-wal")
    try:
        waiting = log.stat().st_size > 0
    except OSError:
        waiting = False
    return f"{path.absolute().as_uri()}?mode=ro{'' if waiting else '&immutable=1'}"


def why_not_written(path: Path) -> str:
    """Why the database at `path` cannot be written, if the disk or the permissions are the cause; else
    empty."""
    folder = path.absolute().parent
    try:
        if shutil.disk_usage(folder).free == 0:
            return f"the disk of {folder} is full"
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return f"{folder} is on a disk that can only be read"
    except OSError as error:
        return os.strerror(error.errno or errno.EIO)
    if path.exists() and not os.access(path, os.W_OK):
        return f"you may not write the file {path}"
    if not os.access(folder, os.W_OK):
        return f"you may not write in the folder {folder}"
    return ""
