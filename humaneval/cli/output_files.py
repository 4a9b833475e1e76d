"""Files that commands write: in a folder that is there, whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from humaneval.errors import InputError


class OutFile(click.Path):
    """The name of a file to write. That its folder is missing is said before anything else is done."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(str(super().convert(value, param, ctx)))
        refuse_missing_folder(path)
        return path


OUT_FILE = OutFile()


def refuse_missing_folder(path: Path) -> None:
    """Raises InputError where the folder of a file that is to be written is not there."""
    if not path.parent.is_dir():
        raise InputError(
            f"{path} cannot be written: the folder {path.parent} does not exist",
            "Make it, or choose another.",
        )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises InputError, naming `path`, where it cannot be written."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # of a name that is too long, even asking whether it is there is an error
            part.unlink()
