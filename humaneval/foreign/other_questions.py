"""Preferences, ratings and boundaries of a file made ready for a response table: columns with the numbers
that each question's answers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from humaneval.domain import MOST_SENTENCES
from humaneval.errors import InputError, UsageError
from humaneval.foreign.answers import as_numbers, mapped, without_no_answers
from humaneval.foreign.comparisons import TIES, shown
from humaneval.foreign.judged import LINE, NUMBER, VALUE, judged
from humaneval.foreign.mapping import PLACE, ROLES, likely
from humaneval.foreign.responses import DETECTION, Asked
from humaneval.foreign.sheet import Sheet, at
from humaneval.scoring.asked import COLUMN, LENGTH, settings_in
from humaneval.scoring.questions.question import DETECT, SETTINGS, question_names
from humaneval.scoring.questions.rate import NAMES, POINTS, TAKEN, may_name
from humaneval.text import alike, counted, listed

MADE = "(made)"
"""Begins the names of columns that are made here."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sheet with columns for the question, the columns and constants that are named, and what was asked."""

    sheet: Sheet
    told: dict[str, str]
    constants: dict[str, str]
    asked: Asked = DETECTION
    own: tuple[str, ...] = ()
    """Roles that only this question has."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What answers stand for: words, the columns with the systems behind them, and which are ties."""

    words: Mapping[str, str]
    options: Mapping[str, str]
    ties: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.options or self.ties)


def prepared(
    sheet: Sheet, question: str, told: Mapping[str, str], constants: Mapping[str, str], answers: Answers
) -> Prepared:
    """The sheet made ready for `question`. Preferences need `answers.options`, or columns for `generator` and
    `other` and the choices 1, 2 and 3 (a tie); ratings have a column for each scale, or one, called
    `rating`. Where nothing was taken out of a story, its position counts as 1.

    Raises UsageError where a column is missing, or is none of this question's.
    """
    made = Prepared(sheet, {role.strip().casefold(): name for role, name in told.items()}, dict(constants))
    _refuse_another(sheet, question)
    if question == DETECT:
        if answers:
            raise UsageError("--map, --option and --tie go with --question", "For example --question prefer.")
        return _with_lengths(made)
    if answers.options and question != "prefer":
        raise UsageError("--option goes with --question prefer")
    ways = {"prefer": _preferences, "rate": _ratings, "boundary": _boundaries}
    if question not in ways:
        raise UsageError(
            f"files with answers to the question {question!r} cannot be read",
            f"There are: {', '.join(ways)}.",
        )
    made = ways[question](made, answers)
    return replace(made, asked=replace(made.asked, question=question), own=(*made.own, SETTINGS))


def _with_lengths(made: Prepared) -> Prepared:
    """Sentences are up to as many as a column says, if it has numbers."""
    if LENGTH not in {**made.told, **made.constants}:
        found = alike(LENGTH, list(map(str, made.sheet.frame.columns)))
        if len(found) != 1 or not pd.to_numeric(made.sheet.frame[found[0]], errors="coerce").notna().any():
            return made
        made.told[LENGTH] = found[0]
    return replace(made, asked=Asked(most=MOST_SENTENCES), own=(LENGTH,))


def _refuse_another(sheet: Sheet, question: str) -> None:
    """Raise UsageError if a column of the file names another question."""
    for name in alike(COLUMN, list(map(str, sheet.frame.columns))):
        said = {str(cell).strip() for cell in sheet.frame[name].dropna()} & set(question_names())
        if others := sorted(said - {question}):
            raise UsageError(
                f"the column {name} says that the question was {listed(others)}, not {question}",
                f"Say --question {others[0]}. Rename the column if it means something else.",
            )


def _preferences(made: Prepared, answers: Answers) -> Prepared:
    made = _with_position(_with_choice(made))
    asked = Asked(most=MOST_SENTENCES + 1)
    if not answers.options:
        if not {"generator", "other"} <= made.told.keys() | made.constants.keys():
            raise UsageError(
                "the file does not say which two systems were shown",
                "Name the columns: --option A=COLUMN --option B=COLUMN, or --column generator=NAME and"
                " --column other=NAME with choices 1, 2 and 3.",
            )
        sheet, pattern = _as_numbers(made.sheet, made.told["choice"], answers, "choice")
        return replace(made, sheet=sheet, told={**made.told, "choice": pattern}, asked=asked, own=("other",))
    if len(answers.options) > 2:
        raise UsageError("a preference is between two systems", "Give --option twice.")
    found = judged(made.sheet, [made.told["choice"]])
    found = mapped(found, answers.words)
    ties = {one.casefold() for one in answers.ties} or TIES
    rows: dict[str, dict[object, str]] = {}
    strange = []
    given = shown(made.sheet, found.frame, answers.options)
    for line, number, value, one in zip(
        found.frame[LINE], found.frame[NUMBER], found.frame[VALUE], given, strict=True
    ):
        tie = one.answer is None and value.strip().casefold() in ties
        if len(one.systems) != 2 or (one.answer is None and not tie):
            strange.append(line)
            continue
        choice = 3 if tie else 1 + list(one.systems).index(one.answer or "")
        for role, cell in zip(
            ("generator", "other", "choice"), (*one.systems.values(), str(choice)), strict=True
        ):
            rows.setdefault(_made(role, number), {})[line] = cell
    sheet = _with_columns(made.sheet, rows)
    if strange:
        told = (
            f"{counted(len(strange), 'answer')} for no system and no tie count as no answer ({at(strange)})"
        )
        sheet = sheet.noted(told)
    patterns = {role: _pattern(role, made.told["choice"]) for role in ("generator", "other", "choice")}
    return replace(made, sheet=sheet, told={**made.told, **patterns}, asked=asked, own=("other",))


def _ratings(made: Prepared, answers: Answers) -> Prepared:
    """Names that are no roles are scales."""
    made = _with_position(made)
    points: Any = settings_in(made.constants.get(SETTINGS, "")).get("points")
    most = int(points) if points in POINTS else POINTS.stop - 1
    scales = [role for role in made.told if role not in (*ROLES, SETTINGS)]
    if wrong := [scale for scale in scales if not may_name(scale) or scale in TAKEN]:
        raise UsageError(
            f"{wrong[0]!r} cannot be the name of a scale",
            NAMES,
        )
    if not scales:
        made = _with_choice(made)
        sheet, pattern = _as_numbers(made.sheet, made.told["choice"], answers, "choice")
        return replace(made, sheet=sheet, told={**made.told, "choice": pattern}, asked=Asked(most=most))
    sheet, told = made.sheet, dict(made.told)
    if answers.words:
        mapped(judged(sheet, [made.told[scale] for scale in scales]), answers.words)  # refuses unknown ones
    for scale in scales:
        sheet, told[scale] = _as_numbers(sheet, made.told[scale], answers, scale, some=False)
    told["choice"] = told[scales[0]]
    return replace(
        made, sheet=sheet, told=told, asked=Asked(fields=tuple(scales), most=most), own=tuple(scales)
    )


def _boundaries(made: Prepared, answers: Answers) -> Prepared:
    made = _with_choice(made)
    sheet, pattern = _as_numbers(made.sheet, made.told["choice"], answers, "choice")
    told = {**made.told, "choice": pattern}
    return replace(made, sheet=sheet, told=told, asked=Asked(most=MOST_SENTENCES + 1), own=("sentences",))


def _with_choice(made: Prepared) -> Prepared:
    if "choice" in made.told:
        return made
    found = likely(made.sheet.frame, "choice")
    if len(found) != 1:
        raise InputError(
            "the file does not say which column holds: choice",
            f"Name it: --column choice=NAME. Columns: {listed(list(made.sheet.frame.columns), 40)}.",
        )
    return replace(made, told={**made.told, "choice": found[0]})


def _with_position(made: Prepared) -> Prepared:
    if "position" in made.told or "position" in made.constants:
        return made
    return replace(made, constants={**made.constants, "position": "1"})


def _as_numbers(
    sheet: Sheet, name: str, answers: Answers, role: str, *, some: bool = True
) -> tuple[Sheet, str]:
    """The answers in a column, or columns with {}, as numbers in columns of their own."""
    found = as_numbers(without_no_answers(mapped(judged(sheet, [name]), answers.words, some=some)))
    rows: dict[str, dict[object, str]] = {}
    frame = found.frame
    for line, number, value in zip(frame[LINE], frame[NUMBER], frame[VALUE], strict=True):
        rows.setdefault(_made(role, number), {})[line] = value
    notes = [note for note in found.sheet.notes if note not in sheet.notes]
    return _with_columns(sheet, rows).noted(*notes), _pattern(role, name)


def _made(role: str, number: int | None) -> str:
    return f"{MADE} {role}" if number is None else f"{MADE} {role} {number}"


def _pattern(role: str, name: str) -> str:
    return f"{MADE} {role} {PLACE}" if PLACE in name else f"{MADE} {role}"


def _with_columns(sheet: Sheet, columns: Mapping[str, Mapping[object, str]]) -> Sheet:
    lines = sheet.frame.index
    new = {
        name: pd.Series([cells.get(line) for line in lines], index=lines, dtype=object)
        for name, cells in columns.items()
    }
    return replace(sheet, frame=sheet.frame.assign(**new).astype(object))
