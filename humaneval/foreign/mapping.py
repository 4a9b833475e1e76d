"""Which columns of a file hold the worker, the story, the generator and so on: given, known, or guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.header import column
from humaneval.foreign.sheet import Sheet
from humaneval.scoring.judgments import REQUIRED
from humaneval.text import listed, shell_words

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
"""In a column name: any whole number. Columns that differ only in it are the passages of one form."""

SYNONYMS: Mapping[str, frozenset[str]] = {
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
"""Column names without case, punctuation and the platform's prefix."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Role → column or pattern with {}; role → text that is the same for all rows; and which were guessed."""

    columns: Mapping[str, str]
    constants: Mapping[str, str] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def flags(self) -> str:
        """The mapping as command line options."""
        parts = [
            f"--column {shell_words(f'{role}={name}')}"
            for role, name in self.columns.items()
            if role in REQUIRED
        ]
        parts += [f"--constant {shell_words(f'{role}={text}')}" for role, text in self.constants.items()]
        return " ".join(parts)


def propose(
    sheet: Sheet,
    told: Mapping[str, str],
    constants: Mapping[str, str] | None = None,
    own: Sequence[str] = (),
) -> ColumnMapping:
    """The mapping of a sheet's columns to those of a response table.

    What is `told` comes first, then text that is the same for all rows (`constants`). Then come what the
    format itself defines, a column of exactly that name, and one whose name suggests it. `own` are roles of
    the question's own, which are never guessed.

    Raises UsageError for an unknown role or column, and if several columns fit one role. Raises InputError if
    a role is missing.
    """
    constants = _by_role(constants or {}, own)
    named = {
        role: name.strip() if PLACE in name else column(sheet.frame, name, f"--column {role}=…")
        for role, name in _by_role(told, own).items()
    }
    columns: dict[str, str] = {}
    guessed, notes = [], []
    for role in (*ROLES, *own):
        if role in named:
            columns[role] = named[role]
            if PLACE in named[role]:
                numbered(sheet.frame, named[role])
        elif role in ROLES and role not in constants:
            found, is_guess, note = _found(sheet, role, set(columns.values()) | set(named.values()))
            if found:
                columns[role] = found
                guessed += [role] if is_guess else []
                notes += [note] if note else []
    missing = [role for role in REQUIRED if role not in columns and role not in constants]
    if missing:
        raise InputError(
            f"the file does not say which column holds: {', '.join(missing)}",
            f"Name it: --column {missing[0]}=NAME. Columns: {listed(list(sheet.frame.columns), 40)}.",
        )
    return ColumnMapping(columns, constants, tuple(guessed), tuple(notes))


def _by_role(told: Mapping[str, str], own: Sequence[str] = ()) -> dict[str, str]:
    """The same with the roles as this module writes them. Raises UsageError for an unknown one, or one that
    is there twice."""
    found: dict[str, str] = {}
    for said, what in told.items():
        role = said.strip().casefold()
        if role not in ROLES and role not in own:
            roles = ", ".join((*ROLES, *own))
            raise UsageError(f"{said!r} is not a column of a response table", f"Columns: {roles}.")
        if role in found:
            raise UsageError(f"{role} is named twice", "Name each column of a response table once.")
        found[role] = what
    return found


def numbered(frame: pd.DataFrame, pattern: str) -> dict[int, str]:
    """The columns that match a pattern with {}, by their number, ascending (2 before 10).

    Raises UsageError if there are none, or if the pattern has more than one {}.
    """
    if pattern.count(PLACE) != 1:
        raise UsageError(f"{pattern!r} must contain {{}} once, in place of a number")
    before, after = map(re.escape, pattern.strip().split(PLACE))
    form = re.compile(f"{before}(\\d{{1,9}}){after}", re.IGNORECASE)
    found = {int(match[1]): str(name) for name in frame.columns if (match := form.fullmatch(str(name)))}
    if not found:
        raise UsageError(f"no column matches {pattern!r}", f"Columns: {listed(list(frame.columns), 40)}.")
    return dict(sorted(found.items()))


def likely(frame: pd.DataFrame, role: str) -> list[str]:
    """The columns, and patterns of columns, whose names suggest the role."""
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
    # A documented name is not a guess. Which column has the workers is confirmed all the same.
    if exact and role != "worker":
        return role, False, ""
    note = ""
    if others:
        if not all(PLACE not in name and sheet.frame[name].equals(sheet.frame[first]) for name in candidates):
            raise UsageError(
                f"{len(candidates)} columns could be the {role}: {', '.join(candidates)}",
                f"Choose one, for example --column {role}={shell_words(first)}.",
            )
        note = f"the columns {', '.join(candidates)} are equal: {first} is read as the {role}"
    return first, first.strip().casefold() != role, note


def _plain(name: str) -> str:
    # Toloka's right answers and hints are not what a worker answered.
    if name.upper().startswith(("GOLDEN:", "HINT:")):
        return ""
    bare = re.sub(r"^(input|answer)\.|^.*:", "", name.strip(), flags=re.IGNORECASE)
    bare = re.sub(r"\.label$", "", bare, flags=re.IGNORECASE)
    return re.sub(r"[^a-z0-9]", "", bare.replace(PLACE, "").casefold())
