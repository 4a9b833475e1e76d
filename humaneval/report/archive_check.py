"""Checks an archive and computes its scores again. Only its responses are unpacked to disk, for that time and
under a name of our own. Nothing in the archive is trusted unchecked."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import BadZipFile, ZipFile

from pydantic import ValidationError

from humaneval import __version__
from humaneval.errors import InputError
from humaneval.limits import CHUNK, FILE, MIB, TIGHTEST, too_tight
from humaneval.report.archive import (
    DETAILS,
    FORMAT,
    MANIFEST,
    RESPONSES,
    RULES,
    SCORES,
    STUDY,
    VERSIONS,
    recompute,
    sha256,
)

MOST = {MANIFEST: MIB, STUDY: 4 * MIB, SCORES: 4 * MIB, RULES: 4 * MIB, DETAILS: 32 * MIB, VERSIONS: MIB}
"""The most bytes of a document. JSON takes twenty times its size in memory and more. Of a hundred thousand
annotators, the details have 25 MiB."""
BROKEN = (
    BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # zipfile raises it for an unknown compression
    RuntimeError,
    ValueError,
    KeyError,
    struct.error,
    OSError,
)
"""What reading a zip raises if it is damaged, encrypted or of an unknown kind."""
NEEDED = frozenset({RESPONSES, STUDY, SCORES, DETAILS, RULES, VERSIONS})
"""The files that are read. Of the others only the hash is computed."""
HELD = NEEDED - {RESPONSES}
"""Those that are small enough for memory."""
CLOSE = 1e-4
"""Relative difference up to which details count as equal: fits end a little differently from one version to
the next."""


class Checked(NamedTuple):
    """An archive that passed every check."""

    study: str
    files: int
    responses: int
    sha256: str
    """Of the manifest."""


def check_archive(path: Path) -> Checked:
    """Check every hash of the archive at `path`, and that its responses give its scores, byte for byte.

    Its rules must be those of its study file, and its details must equal those computed now up to one part in
    ten thousand.

    Raises InputError if the file is not an archive, is damaged or changed, or gives other results.
    """
    with TemporaryDirectory() as folder:
        return _checked(path, Path(folder) / RESPONSES)


def _checked(path: Path, unpacked: Path) -> Checked:
    files = read_archive(path, unpacked)
    try:
        about = json.loads(files[STUDY])
        told, responses = str(about["study"]), int(about["responses"])
        again = recompute(files[STUDY], unpacked)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(
            f"{path}: this version ({__version__}) does not know the setting {where} of the study",
            _made_with(files),
        ) from None
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{path}: {STUDY} is not that of an archive: {error}") from None
    if again.scores != files[SCORES]:
        differences = list(_differences(_loaded(files, SCORES), json.loads(again.scores), SCORES, 0.0))
        first = differences[0] if differences else f"{SCORES} is formatted differently"
        raise InputError(
            f"{path}: the recomputed scores differ: {first}{_more(differences)}", _made_with(files)
        )
    rules = list(_differences(_loaded(files, RULES), json.loads(again.rules), RULES, 0.0))
    if rules:
        raise InputError(
            f"{path}: the rules differ from those of {STUDY}: {rules[0]}{_more(rules)}", _made_with(files)
        )
    if again.details != files[DETAILS]:  # as objects, both take twenty times as much
        details = list(_differences(_loaded(files, DETAILS), json.loads(again.details), DETAILS, CLOSE))
        if details:
            raise InputError(
                f"{path}: the scores are right, but the recomputed details differ:"
                f" {details[0]}{_more(details)}",
                _made_with(files),
            )
    return Checked(told, len(files), responses, sha256(files[MANIFEST]))


def _more(differences: Sequence[str]) -> str:
    return f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""


def read_archive(path: Path, responses: Path) -> dict[str, bytes]:
    """The files that the scores follow from, the others empty, and the hash of every file checked.

    The responses are written to a file, since they may be long.

    Raises InputError if it is not an archive, or if a file was changed.
    """
    try:
        with ZipFile(path) as archive:
            return _files(archive, path, responses)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except BROKEN as error:
        raise InputError(f"{path}: this is not a zip, or it is damaged: {error}") from None


def _files(archive: ZipFile, path: Path, responses: Path) -> dict[str, bytes]:
    entries = {entry.filename: entry for entry in archive.infolist()}
    if len(entries) != len(archive.infolist()):
        raise InputError(f"{path}: it holds two files of the same name")
    for name in entries:
        if name.startswith("/") or "\\" in name or ":" in name or ".." in PurePosixPath(name).parts:
            raise InputError(
                f"{path}: the name {name!r} leads out of the archive", "Nothing was read or unpacked."
            )
    if MANIFEST not in entries:
        raise InputError(f"{path}: this is not the archive of a study: it has no {MANIFEST}")
    for name, entry in entries.items():
        if entry.file_size > MOST.get(name, FILE):
            raise InputError(
                f"{path}: {name} is too large: {entry.file_size:,} bytes", "It was not unpacked."
            )
        if too_tight(entry.compress_size, entry.file_size):
            raise InputError(
                f"{path}: {name} would unpack from {entry.compress_size:,} to {entry.file_size:,} bytes, more"
                f" than {TIGHTEST} times its size",
                "It was not unpacked: no archive of a study is packed like that.",
            )
    manifest = archive.read(MANIFEST)
    listed = _listed(manifest, path)
    if unlike := sorted(set(listed) ^ (set(entries) - {MANIFEST})):
        what = "is in the zip but not in its manifest" if unlike[0] in entries else "is missing"
        raise InputError(f"{path}: {unlike[0]} {what}")
    if sum(entry.file_size for entry in entries.values()) > FILE:
        raise InputError(
            f"{path}: unpacked, it would take more than {FILE // 1024**3} GiB", "It was not unpacked."
        )
    files = {MANIFEST: manifest}
    for name, (digest, size) in listed.items():
        if entries[name].file_size != size:
            raise InputError(f"{path}: {name} has {entries[name].file_size} bytes instead of {size}", CHANGED)
        files[name] = archive.read(name) if name in HELD else b""
        hashed = _hashed(archive, name, responses if name == RESPONSES else Path(os.devnull))
        if hashed != digest:
            raise InputError(
                f"{path}: {name} is not the file that was archived: its SHA-256 is {hashed}, not {digest}",
                CHANGED,
            )
    if lacking := NEEDED - {VERSIONS} - set(files):
        raise InputError(f"{path}: this is not the archive of a study: it has no {min(lacking)}")
    return files


def _hashed(archive: ZipFile, name: str, copy: Path) -> str:
    """The SHA-256 of a file of the archive, which is copied meanwhile."""
    hashed = hashlib.sha256()
    with archive.open(name) as file, copy.open("wb") as written:
        while part := file.read(CHUNK):
            hashed.update(part)
            written.write(part)
    return hashed.hexdigest()


CHANGED = "It was changed after it was made, or damaged in transit."


def _listed(manifest: bytes, path: Path) -> dict[str, tuple[str, int]]:
    try:
        told = json.loads(manifest)
        if told["format"] != FORMAT:
            raise InputError(f"{path}: {MANIFEST} has the unknown format {told['format']!r}, not {FORMAT!r}")
        return {str(name): (str(one["sha256"]), int(one["bytes"])) for name, one in told["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError(f"{path}: {MANIFEST} cannot be read") from None


def _loaded(files: Mapping[str, bytes], name: str) -> Any:
    try:
        return json.loads(files[name])
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not valid JSON: {error}", CHANGED) from None


COMPUTING = ("numpy", "scipy", "pandas")
"""The packages that compute the figures."""


def _made_with(files: Mapping[str, bytes]) -> str:
    try:
        versions = json.loads(files[VERSIONS])
        here = {"humaneval-toolkit": __version__, **{name: version(name) for name in COMPUTING}}
        others = [
            f"{name} {versions.get(name)} (here: {mine})"
            for name, mine in here.items()
            if versions.get(name) != mine
        ]
    except (ValueError, KeyError, AttributeError, RecursionError):
        return CHANGED
    if not others:
        return "It names the versions installed here, so it was changed after it was made."
    return f"It was changed, or made by another version: {', '.join(others)}."


def _differences(archived: Any, again: Any, where: str, close: float) -> Iterator[str]:
    """Where two documents differ, in words."""
    if isinstance(archived, dict) and isinstance(again, dict):
        for name in sorted({*archived, *again}):
            if name not in archived or name not in again:
                yield f"{where}: {name} is only in the {'archive' if name in archived else 'new result'}"
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
