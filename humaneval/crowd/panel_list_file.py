"""Reads a panel's own list of people: a CSV file whose columns the study file names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from humaneval.csv_file import has_header, read_csv_file
from humaneval.errors import InputError
from humaneval.patterns import Patterns
from humaneval.study.file import StudyFile
from humaneval.text import listed


class Listed(NamedTuple):
    """One line of the panel's list."""

    line: int
    worker: str
    session: str
    code: str | None
    """None if the list has no column for codes."""
    outcome: str
    """The outcome in the panel's words, with blanks for its marks. Empty if the list has no column for it."""
    is_done: bool


class PanelList(NamedTuple):
    """A panel's list as read, and what there is to say about it."""

    lines: tuple[Listed, ...]
    has_codes: bool
    notes: tuple[str, ...]


class _Column(NamedTuple):
    """A column of the list: the setting that names it, its name, and whether the file must have it."""

    setting: str
    name: str
    needed: bool


def read_list(path: Path, study: StudyFile) -> PanelList:
    """The lines of a panel's list. A list of ids alone needs no names of columns.

    Raises InputError if the file lacks a column that the study file names.
    """
    read = read_csv_file(path, what="a panel's list of people")
    if not read.rows:
        raise InputError(f"{path} is empty", "Download the panel's list of people as a CSV file.")
    columns = _columns(study)
    header, rows, numbers = read.rows[0], read.rows[1:], read.lines[1:]
    names = [plain(cell) for cell in header]
    worker = plain(columns["worker"].name)
    if len(header) == 1 and worker not in names:
        names = [worker]
        if not has_header(read.rows):
            rows, numbers = read.rows, read.lines
    places = {
        what: names.index(plain(each.name)) for what, each in columns.items() if plain(each.name) in names
    }
    for what, column in columns.items():
        if column.needed and what not in places:
            raise InputError(
                f"{path} has no column {column.name!r}; it has: {listed(header, 40)}",
                f"Rename the column in a copy of the file. For new studies, {column.setting} names it.",
            )
    lines = [_listed(number, cells, places) for number, cells in zip(numbers, rows, strict=True)]
    notes = read.notes
    if (pattern := study.panel.list_done) and "outcome" in places:
        found = _tried(pattern, {line.outcome for line in lines})
        lines = [line._replace(is_done=bool(found[line.outcome])) for line in lines]
        if unknown := sorted(outcome for outcome, fits in found.items() if fits is None):
            notes += (f"panel.list_done came to no end at {listed(unknown)}, and these count as not done",)
    return PanelList(tuple(each for each in lines if each.worker), "code" in places, notes)


def _tried(pattern: str, outcomes: Iterable[str]) -> dict[str, bool | None]:
    """Whether each outcome means "done"; None if the pattern comes to no end."""
    patterns, flags = Patterns(), int(re.IGNORECASE | re.DOTALL)
    # The shortest first: their time is one, and long ones take it up.
    return {each: patterns.found(pattern, flags, each, whole=True) for each in sorted(outcomes, key=len)}


def plain(name: str) -> str:
    """The name of a column without case and marks: a panel may write it in one way in a file, in another in
    an address.

    >>> plain("Participant ID") == plain("participantId") == plain("participant_id")
    True
    """
    return re.sub(r"[\W_]", "", name.casefold())


def _listed(number: int, cells: Sequence[str], places: Mapping[str, int]) -> Listed:
    told = {what: cells[at] if at < len(cells) else "" for what, at in places.items()}
    outcome = " ".join(re.sub("[_-]", " ", told.get("outcome", "")).split())
    return Listed(
        number,
        told["worker"],
        told.get("session", ""),
        told.get("code"),
        outcome,
        True,
    )


def _columns(study: StudyFile) -> dict[str, _Column]:
    link, panel = study.link, study.panel
    return {
        "worker": _Column("panel.list_worker", panel.list_worker or link.worker_parameter, True),
        "session": _Column("panel.list_session", panel.list_session or link.session_parameter, False),
        "code": _Column("panel.list_code", panel.list_code, False),
        "outcome": _Column("panel.list_outcome", panel.list_outcome, False),
    }
