"""Reads an archive and computes its scores again. Nothing is unpacked to disk, and nothing in it is believed
unseen."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from pydantic import ValidationError

from humaneval import __version__
from humaneval.errors import InputError
from humaneval.report.archive import (
    DETAILS,
    FORMAT,
    MANIFEST,
    RESPONSES,
    RULES,
    SCORES,
    STUDY,
    recompute,
    sha256,
)

LARGEST = 2 * 1024**3
"""Bytes that an archive may have once it is unpacked: twenty million responses or so."""
LARGEST_MANIFEST = 1024**2
BROKEN = (
    BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # zipfile raises it for a compression that it does not know
    RuntimeError,
    ValueError,
    KeyError,
    struct.error,
    OSError,
)
"""What a zip that is damaged, encrypted or of an unknown make may end in."""
CLOSE = 1e-4
"""Details are taken for equal up to this share: fits end a little differently from one version to the
next."""


class Checked(NamedTuple):
    """An archive that holds what it says."""

    study: str
    files: int
    responses: int
    sha256: str
    """Of the manifest."""


def check_archive(path: Path) -> Checked:
    """Check every hash of the archive at `path`, and that its responses give its scores, byte for byte.

    Its rules have to be those of its study file, and its details those that come out now, up to one in ten
    thousand.

    Raises InputError in one line: what is no archive, what is damaged or changed, what comes out differently.
    """
    files = read_archive(path)
    try:
        about = json.loads(files[STUDY])
        again = recompute(files)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(
            f"{path}: this version ({__version__}) does not know the study's setting {where}",
            _made_with(files),
        ) from None
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: {STUDY} is not what an archive has: {error}") from None
    differences = list(_differences(_loaded(files, SCORES), json.loads(again.scores), SCORES, 0.0))
    if differences or again.scores != files[SCORES]:
        first = differences[0] if differences else f"{SCORES}: written in another way"
        raise InputError(
            f"{path}: the scores come out differently: {first}{_more(differences)}", _made_with(files)
        )
    rules = list(_differences(_loaded(files, RULES), json.loads(again.rules), RULES, 0.0))
    if rules:
        raise InputError(
            f"{path}: the rules are not those of {STUDY}: {rules[0]}{_more(rules)}", _made_with(files)
        )
    details = list(_differences(_loaded(files, DETAILS), json.loads(again.details), DETAILS, CLOSE))
    if details:
        raise InputError(
            f"{path}: the scores are right, but details come out differently: {details[0]}{_more(details)}",
            _made_with(files),
        )
    return Checked(str(about["study"]), len(files), about["responses"], sha256(files[MANIFEST]))


def _more(differences: Sequence[str]) -> str:
    return f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""


def read_archive(path: Path) -> dict[str, bytes]:
    """Every file of the archive, its hash checked. Raises InputError where it is none, or a file is not the
    archived one."""
    try:
        with ZipFile(path) as archive:
            return _files(archive, path)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except BROKEN as error:
        raise InputError(f"{path}: this is no zip, or it is damaged: {error}") from None


def _files(archive: ZipFile, path: Path) -> dict[str, bytes]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) != len(archive.infolist()):
        raise InputError(f"{path}: a file is in it twice")
    for name in entries:
        if name.startswith("/") or "\\" in name or ":" in name or ".." in PurePosixPath(name).parts:
            raise InputError(
                f"{path}: the name {name!r} leads out of the archive", "Nothing was read or unpacked."
            )
    if MANIFEST not in entries:
        raise InputError(f"{path}: this is no archive of a study: it has no {MANIFEST}")
    if entries[MANIFEST].file_size > LARGEST_MANIFEST:
        raise InputError(f"{path}: {MANIFEST} is too large to be one")
    manifest = archive.read(MANIFEST)
    listed = _listed(manifest, path)
    if unlike := sorted(set(listed) ^ (set(entries) - {MANIFEST})):
        what = "is in the zip but not in its manifest" if unlike[0] in entries else "is missing"
        raise InputError(f"{path}: {unlike[0]} {what}")
    if sum(entry.file_size for entry in entries.values()) > LARGEST:
        raise InputError(
            f"{path}: unpacked it would take more than {LARGEST // 1024**3} GiB", "It was not unpacked."
        )
    files = {MANIFEST: manifest}
    for name, (digest, size) in listed.items():
        if entries[name].file_size != size:
            raise InputError(
                f"{path}: {name} has {entries[name].file_size} bytes; archived were {size}", CHANGED
            )
        files[name] = archive.read(name)
        if sha256(files[name]) != digest:
            raise InputError(
                f"{path}: {name} is not the file that was archived: its SHA-256 is {sha256(files[name])}, not"
                f" {digest}",
                CHANGED,
            )
    if lacking := {RESPONSES, STUDY, SCORES, DETAILS, RULES} - set(files):
        raise InputError(f"{path}: this is no archive of a study: it has no {min(lacking)}")
    return files


CHANGED = "It was changed after it was made, or damaged on its way."


def _listed(manifest: bytes, path: Path) -> dict[str, tuple[str, int]]:
    try:
        told = json.loads(manifest)
        if told["format"] != FORMAT:
            raise InputError(f"{path}: {MANIFEST} is of the format {told['format']!r}; known is {FORMAT!r}")
        return {str(name): (str(one["sha256"]), int(one["bytes"])) for name, one in told["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path}: {MANIFEST} cannot be read") from None


def _loaded(files: Mapping[str, bytes], name: str) -> Any:
    try:
        return json.loads(files[name])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}") from None


COMPUTING = ("numpy", "scipy", "pandas")
"""What figures are computed with."""


def _made_with(files: Mapping[str, bytes]) -> str:
    try:
        versions = json.loads(files["versions.json"])
        here = {"humaneval-toolkit": __version__, **{name: version(name) for name in COMPUTING}}
        others = [
            f"{name} {versions.get(name)} (here: {mine})"
            for name, mine in here.items()
            if versions.get(name) != mine
        ]
    except (ValueError, KeyError, AttributeError):
        return CHANGED
    if not others:
        return "It names the versions that are installed here, so it was changed after it was made."
    return f"It was changed, or made by another version: {', '.join(others)}."


def _differences(archived: Any, again: Any, where: str, close: float) -> Iterator[str]:
    """Where two documents differ, in words."""
    if isinstance(archived, dict) and isinstance(again, dict):
        for name in sorted({*archived, *again}):
            if name not in archived or name not in again:
                yield f"{where}: {name} is only in the {'archive' if name in archived else 'new one'}"
            else:
                yield from _differences(archived[name], again[name], f"{where}: {name}", close)
    elif isinstance(archived, list) and isinstance(again, list) and len(archived) == len(again):
        for number, (one, other) in enumerate(zip(archived, again, strict=True), 1):
            yield from _differences(one, other, f"{where} {number}", close)
    elif _numbers(archived, again):
        if abs(archived - again) > close * max(abs(archived), abs(again), 1.0 if close else 0.0):
            yield f"{where} is {archived!r} in the archive, {again!r} now"
    elif archived != again or type(archived) is not type(again):
        yield f"{where} is {archived!r} in the archive, {again!r} now"


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
