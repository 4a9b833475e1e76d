"""Files that are written: whole or not at all, in a folder that exists, and over nothing that is kept."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from humaneval.errors import InputError
from humaneval.store.files import LINKS, kept_in, make_private


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

    Devices, pipes and links are written through: a new file must not take their place.
    """
    refuse_place(path, links)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        try:
            path.write_bytes(content)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None
        return
    part = path.with_name(f".{path.name}.part")
    try:
        part.unlink(missing_ok=True)
        if private:
            make_private(part)
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # if the name is too long, even to ask whether the file exists is an error
            part.unlink()
