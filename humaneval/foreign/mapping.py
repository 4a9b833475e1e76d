"""Which columns of a file hold the worker, the story, the generator and so on: told, known, or guessed and
said."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping as Names
from dataclasses import dataclass, field

import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.header import column
from humaneval.foreign.sheet import Sheet, listed
from humaneval.scoring.judgments import REQUIRED

OPTIONAL = (
    "role",
    "hit",
    "assignment",
    "row",
    "row_passages",
    "order",
    "infill",
    "seconds",
    "words",
    "shown_at",
    "submitted_at",
    "test",
)
ROLES = REQUIRED + OPTIONAL
PLACE = "{}"
"""In the name of a column: any whole number. Columns that differ by it are the passages of one form."""

SYNONYMS: Names[str, frozenset[str]] = {
    "worker": frozenset(
        [
            "worker",
            "workerid",
            "annotator",
            "annotatorid",
            "participant",
            "participantid",
            "prolificpid",
            "prolificid",
            "user",
            "userid",
            "username",
            "rater",
            "raterid",
            "coder",
            "judge",
            "judgeid",
            "subject",
            "subjectid",
            "assessor",
            "turker",
            "turkerid",
            "mturkid",
            "respondent",
        ]
    ),
    "story": frozenset(
        [
            "story",
            "storyid",
            "storykey",
            "item",
            "itemid",
            "passage",
            "passageid",
            "context",
            "contextid",
            "document",
            "documentid",
            "segmentid",
        ]
    ),
    "generator": frozenset(
        ["generator", "generatorname", "model", "modelname", "system", "systemid", "systemname", "condition"]
    ),
    "position": frozenset(
        [
            "position",
            "machineposition",
            "maskposition",
            "mask",
            "maskindex",
            "blank",
            "gold",
            "goldposition",
            "target",
            "truth",
            "correct",
        ]
    ),
    "choice": frozenset(
        [
            "choice",
            "chosen",
            "pick",
            "picked",
            "selected",
            "selection",
            "answer",
            "response",
            "guess",
            "label",
        ]
    ),
    "hit": frozenset(["hit", "hitid"]),
    "assignment": frozenset(["assignment", "assignmentid", "responseid", "submissionid", "sessionid"]),
}
"""Names without case, punctuation, and what the platform puts before them."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Role → column, or pattern with {}; role → text that is the same for all rows; and which roles were
    guessed."""

    columns: Names[str, str]
    constants: Names[str, str] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def flags(self) -> str:
        """The mapping as it would be typed."""
        parts = [
            f"--column {shlex.quote(f'{role}={name}')}"
            for role, name in self.columns.items()
            if role in REQUIRED
        ]
        parts += [f"--constant {shlex.quote(f'{role}={text}')}" for role, text in self.constants.items()]
        return " ".join(parts)


def propose(sheet: Sheet, told: Names[str, str], constants: Names[str, str] | None = None) -> Mapping:
    """The mapping of a sheet's columns to those of a response table.

    In this order: what is `told`, the same text for all rows (`constants`), what the format itself defines, a
    column of exactly that name, and one whose name suggests it. Raises UsageError for a role or a column that
    there is not, and, naming them, where two columns could be the same; InputError where a role that is
    needed cannot be found.
    """
    constants = dict(constants or {})
    for role in (*told, *constants):
        if role not in ROLES:
            raise UsageError(f"a response has no {role!r}", f"There are: {', '.join(ROLES)}.")
    columns: dict[str, str] = {}
    guessed, notes = [], []
    for role in ROLES:
        if role in told:
            columns[role] = (
                told[role] if PLACE in told[role] else column(sheet.frame, told[role], f"--column {role}=…")
            )
            if PLACE in told[role]:
                numbered(sheet.frame, told[role])
        elif role not in constants:
            found, is_guess, note = _found(sheet, role, set(columns.values()) | set(told.values()))
            if found:
                columns[role] = found
                guessed += [role] if is_guess else []
                notes += [note] if note else []
    missing = [role for role in REQUIRED if role not in columns and role not in constants]
    if missing:
        raise InputError(
            f"the file does not say which column holds: {', '.join(missing)}",
            f"Say it: --column {missing[0]}=NAME. The columns: {listed(list(sheet.frame.columns), 40)}.",
        )
    return Mapping(columns, constants, tuple(guessed), tuple(notes))


def numbered(frame: pd.DataFrame, pattern: str) -> dict[int, str]:
    """The columns that a pattern with {} means, by their number, ascending (so 2 before 10).

    Raises UsageError where there are none, or the pattern has more than one {}.
    """
    if pattern.count(PLACE) != 1:
        raise UsageError(f"{pattern!r} has to have one {{}}, in the place of a number")
    before, after = map(re.escape, pattern.split(PLACE))
    form = re.compile(f"{before}(\\d+){after}", re.IGNORECASE)
    found = {int(match[1]): str(name) for name in frame.columns if (match := form.fullmatch(str(name)))}
    if not found:
        raise UsageError(
            f"no column is called like {pattern!r}", f"The columns: {listed(list(frame.columns), 40)}."
        )
    return dict(sorted(found.items()))


def likely(frame: pd.DataFrame, role: str) -> list[str]:
    """Columns, and patterns of columns, whose names suggest the role."""
    names = [str(name) for name in frame.columns]
    words = SYNONYMS.get(role, frozenset({role.replace("_", "")}))
    single = [name for name in names if _plain(name) in words]
    patterns: dict[str, int] = {}
    for name in names:
        for digits in re.finditer(r"\d+", name):
            pattern = name[: digits.start()] + PLACE + name[digits.end() :]
            if _plain(pattern) in words and pattern.removesuffix(f".{PLACE}") not in names:
                patterns[pattern] = patterns.get(pattern, 0) + 1
    return single + [pattern for pattern, n in patterns.items() if n > 1]


def _found(sheet: Sheet, role: str, taken: set[str]) -> tuple[str, bool, str]:
    known = sheet.roles.get(role)
    if known is not None and known not in taken:
        return known, False, ""
    candidates = [name for name in likely(sheet.frame, role) if name not in taken]
    if not candidates:
        return "", False, ""
    if role in OPTIONAL:
        exact = [name for name in candidates if name.strip().casefold() == role]
        alone = (
            candidates[0] if role in SYNONYMS and len(candidates) == 1 and PLACE not in candidates[0] else ""
        )
        return (exact[0] if exact else alone), False, ""
    first, *others = candidates
    exact = [name for name in candidates if name == role]
    if (
        exact and role != "worker"
    ):  # A documented name is no guess; but whose answers they are is never left to it.
        return role, False, ""
    note = ""
    if others:
        if not all(PLACE not in name and sheet.frame[name].equals(sheet.frame[first]) for name in candidates):
            raise UsageError(
                f"{len(candidates)} columns could be the {role}: {', '.join(candidates)}",
                f"Say which: --column {role}={shlex.quote(first)}.",
            )
        note = f"the columns {', '.join(candidates)} hold the same: {first} is the {role}"
    return first, first.strip().casefold() != role, note


def _plain(name: str) -> str:
    if name.upper().startswith(
        ("GOLDEN:", "HINT:")
    ):  # Toloka's right answers and help, not what somebody said
        return ""
    bare = re.sub(r"^(input|answer)\.|^.*:", "", name.strip(), flags=re.IGNORECASE)
    bare = re.sub(r"\.label$", "", bare, flags=re.IGNORECASE)
    return re.sub(r"[^a-z0-9]", "", bare.replace(PLACE, "").casefold())
