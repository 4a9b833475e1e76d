"""Files that are written: whole or not at all, in a folder that exists, and over nothing that is kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from humaneval.errors import InputError
from humaneval.store.files import LINKS, kept_in, make_private

OPEN_FILES = ("/dev/fd/", "/dev/std", "/proc/")
"""Where a name stands for a file that this program or another has open."""


def refuse_place(path: Path, links: Collection[str] = ()) -> None:
    """Raise InputError if the folder of a file to write does not exist, or if in its place is what nobody can
    make again: a database, settings, keys, or personal links other than `links`, by their keys."""
    if not path.name:
        raise InputError(f"{path} is a folder", "Name a file in it.")
    if not path.parent.is_dir():
        raise InputError(
            f"{path} cannot be written: the folder {path.parent} does not exist",
            "Create it, or choose another.",
        )
    kept = kept_in(path)
    if kept == LINKS and any(key in path.read_text("utf-8-sig", "replace") for key in links):
        return
    if kept:
        raise InputError(
            f"{path} cannot be written: {kept} there", "Name another file, so that nothing is lost."
        )


def write_whole(path: Path, content: bytes, *, private: bool = False, links: Collection[str] = ()) -> None:
    """Write a file whole or not at all. Raises InputError, naming `path`, if it cannot be written.

    `links` are those that may be replaced, by their keys.

    A `private` one holds ids or personal links: only its owner may read it.

    A file that is replaced keeps its permissions. What a link leads to is replaced, and not the link. Devices
    and pipes are written through, and so are names such as /dev/stdout, which stand for a file that is open.
    """
    refuse_place(path, links)
    stands_for = path.absolute().as_posix().startswith(OPEN_FILES)
    if stands_for or (path.exists() and not path.is_file()):
        try:
            path.write_bytes(content)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() and not private else None
        if private or mode is not None:
            make_private(part)
        part.write_bytes(content)
        if mode is not None:
            part.chmod(mode)
        os.replace(part, target)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # if the name is too long, even to ask whether the file exists is an error
            part.unlink()
