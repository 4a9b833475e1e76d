"""The folder of a checkpoint: config.json, model.safetensors, tokenizer.json, infilling.json, and two small
files for other programs. No pickles.

A save is all or nothing. The files are written into `next.part`, which is renamed to `next`; from then on
they count, and are moved to their places. After a kill or a full disk at any point, either the old files load
or the new ones.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from generators.checkpoints.tokenizer import TOKENIZER
from generators.checkpoints.weights import CONFIG, WEIGHTS, first_line
from humaneval.errors import InputError

CARD, NEXT, PART = "infilling.json", "next", "next.part"
RELEASED = "pytorch_model.bin"


@contextmanager
def saving(folder: Path, complete: Callable[[Path], bool]) -> Iterator[Path]:
    """A folder to write the files of a checkpoint to; they move into `folder` when all of them are on the
    disk.

    Raises InputError if anything fails; `complete` tells whether `folder` has an earlier checkpoint.
    """
    from safetensors import SafetensorError

    part = folder / PART
    try:
        folder.mkdir(parents=True, exist_ok=True)
        settle(folder)
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        yield part
        for path in (*part.iterdir(), part):
            sync(path)
        part.rename(folder / NEXT)
        sync(folder)
        settle(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InputError(
            f"the checkpoint in {folder} cannot be written: {reason}",
            "The checkpoint before it is still whole."
            if complete(folder)
            else "Free some space, or name another folder.",
        ) from None


def write_json(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def settle(folder: Path) -> None:
    """Move the files of a finished save to their places; this also finishes a save that was killed while it
    did so."""
    ready = folder / NEXT
    if ready.is_dir():
        for path in ready.iterdir():
            path.replace(folder / path.name)
        ready.rmdir()
        sync(folder)


def sync(path: Path) -> None:
    """Wait until what was written is on the disk: the rename must not come first."""
    with suppress(PermissionError):  # Windows cannot open a folder
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def file_of(folder: Path, name: str) -> Path:
    ready = folder / NEXT / name
    return ready if ready.exists() else folder / name


def refuse_missing(folder: Path, names: Iterable[str]) -> None:
    """Raise InputError if the folder lacks one of the files."""
    for name in names:
        if not file_of(folder, name).exists():
            raise InputError(f"{folder} lacks {name}", "Copy the whole folder, or train again.")


def complete(folder: Path) -> bool:
    """Whether the folder has all files of a checkpoint."""
    return all(file_of(folder, name).exists() for name in (CARD, CONFIG, WEIGHTS, TOKENIZER))


def is_release(folder: Path) -> bool:
    """Whether a folder is one of the paper's published checkpoints: it has a config and weights, but no
    card."""
    return not file_of(folder, CARD).exists() and (folder / CONFIG).exists() and (folder / RELEASED).exists()
