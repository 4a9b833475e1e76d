"""Answers which of several is better, as comparisons of two systems: who was preferred to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from humaneval.errors import InputError, UsageError
from humaneval.foreign.judged import LINE, NUMBER, VALUE, as_number, cell_text, column_at
from humaneval.foreign.sheet import Sheet
from humaneval.foreign.splitting import AUTO, people_in
from humaneval.text import counted, listed

FIRST, SECOND, OUTCOME = "(first)", "(second)", "(outcome)"
TIES = frozenset(
    [
        "tie",
        "ties",
        "tied",
        "draw",
        "equal",
        "equally",
        "equally good",
        "same",
        "the same",
        "about the same",
        "both",
        "neither",
        "both good",
        "both bad",
        "tie (bothbad)",
        "no difference",
        "no preference",
        "cannot decide",
        "can't decide",
        "undecided",
    ]
)
"""Answers that are ties unless others are named."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The systems of one judgment by the answer that stands for each, and the answer as one of these; None if
    it is another one."""

    systems: dict[str, str]
    answer: str | None


@dataclass(frozen=True, slots=True)
class Comparisons:
    """One row of `frame` for each comparison of two systems, with the columns of the judgments and FIRST,
    SECOND and OUTCOME (1, 0, −1); and notes on answers that say something else."""

    frame: pd.DataFrame
    notes: tuple[str, ...]


def shown(sheet: Sheet, frame: pd.DataFrame, options: Mapping[str, str]) -> list[Shown]:
    """What each judgment chose between. `options` gives, for each answer, the column with the system that it
    stands for. An answer may also be the name of a system. A single option that is no
    answer names a column that has all systems in one cell; answers are then their names.

    Raises InputError if no answer is one of these.
    """
    columns = {
        number: {answer: column_at(sheet.frame, name, number, "--option") for answer, name in options.items()}
        for number in dict.fromkeys(frame[NUMBER])
    }
    together = len(options) == 1 and not set(options) & set(frame[VALUE])
    numbers = {number: answer for answer in options if (number := as_number(answer)) is not None}
    found = []
    for line, number, value in zip(frame[LINE], frame[NUMBER], frame[VALUE], strict=True):
        systems = {answer: cell_text(sheet.frame.at[line, name]) for answer, name in columns[number].items()}
        if together:
            systems = {name: name for cell in systems.values() for name in people_in(cell, AUTO) if name}
        named = [answer for answer, system in systems.items() if system == value]
        number_told = as_number(value)
        same = None if number_told is None else numbers.get(number_told)
        answer = value if value in systems else named[0] if len(named) == 1 else same
        found.append(Shown(systems, answer))
    if all(one.answer is None for one in found):
        raise InputError(
            f"no answer is one of {listed(list(options))}, named by --option; the answers are"
            f" {listed(list(dict.fromkeys(frame[VALUE])))}",
            "Name an answer as it is in the file: --option ANSWER=COLUMN. --ignore-case ignores case.",
        )
    return found


def comparisons(
    sheet: Sheet, frame: pd.DataFrame, options: Mapping[str, str], ties: Sequence[str] = ()
) -> Comparisons:
    """The comparisons that the judgments make. Without `options` the two answers themselves are compared.

    An answer to several systems prefers one to each of the others. `ties` are answers that prefer none;
    without them the usual words are (tie, draw, no difference, …). Other answers, and systems without a name
    or compared with themselves, are left out and counted. Raises InputError for more or fewer than two
    answers without options.
    """
    ties_are = {_key(one) for one in ties} if ties else TIES
    absent = [one for one in ties if _key(one) not in {_key(value) for value in frame[VALUE].unique()}]
    notes = [f"nobody answered {listed(absent)}, named by --tie"] if absent else []
    given = shown(sheet, frame, options) if options else _answers(frame, ties_are)
    rows: list[dict[Hashable, Any]] = []
    strange: Counter[str] = Counter()
    unnamed = alike = 0
    for row, one in zip(frame.to_dict("records"), given, strict=True):
        tied = one.answer is None and _key(row[VALUE]) in ties_are
        if one.answer is None and not tied:
            strange[row[VALUE]] += 1
            continue
        for a, b in combinations(one.systems, 2):
            if not tied and one.answer not in (a, b):
                continue
            first, second = one.systems[a], one.systems[b]
            unnamed, alike = unnamed + (not first or not second), alike + (first == second != "")
            if first and second and first != second:
                outcome = 0 if tied else 1 if one.answer == a else -1
                rows.append({**row, FIRST: first, SECOND: second, OUTCOME: outcome})
    if strange:
        notes.append(
            f"{counted(strange.total(), 'answer')} for no system and no tie (--tie ANSWER) left out:"
            f" {dict(strange.most_common(8))}"
        )
    notes += [f"{counted(unnamed, 'comparison')} with a system without a name: left out"] if unnamed else []
    notes += [f"{counted(alike, 'comparison')} of a system with itself: left out"] if alike else []
    if not rows:
        raise InputError("no answer compares two systems", "; ".join(notes))
    return Comparisons(pd.DataFrame(rows), tuple(notes))


def _answers(frame: pd.DataFrame, ties: frozenset[str] | set[str]) -> list[Shown]:
    """The two answers compared with each other, as if they were systems."""
    values = [value for value in frame[VALUE].unique() if _key(value) not in ties]
    if len(values) != 2:
        raise UsageError(
            f"two answers can be compared, and there are {len(values)}: {listed(values)}",
            "Name the columns with their systems (--option A=COLUMN --option B=COLUMN), answers that are ties"
            " (--tie ANSWER), or what answers stand for (--map ANSWER=TEXT).",
        )
    systems = {value: value for value in sorted(values)}
    return [Shown(systems, value if value in systems else None) for value in frame[VALUE]]


def _key(text: str) -> str:
    number = as_number(text)
    return f"{number:g}" if number is not None else text.strip().casefold()
