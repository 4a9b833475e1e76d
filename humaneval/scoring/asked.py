"""What was asked: the question with its settings, and how many sentences its passages have."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from humaneval.domain import FEWEST_SENTENCES, MOST_SENTENCES, SENTENCES
from humaneval.errors import InputError, UsageError
from humaneval.scoring.columns import REQUIRED, refuse
from humaneval.scoring.questions.question import DETECT, SETTINGS, Question, Settings, load_question

COLUMN = "question"
LENGTH = "sentences"
"""The column that says how many sentences the passages have, where there are not five."""


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question, its own settings with defaults, and the number of sentences of a passage."""

    question: Question
    settings: Settings
    sentences: int = SENTENCES
    notes: tuple[str, ...] = ()
    """What had to be supposed, because a table does not say it."""


def asked(frame: pd.DataFrame, name: str | None = None) -> TableQuestion:
    """What a table of responses answers, as its column `question` says, or `name`: else it is `detect`.

    Settings are those of the column `settings`. Those that it lacks are what the other columns show, or the
    question's defaults. Raises InputError for a table with several questions, or with a cell that says
    nothing, and UsageError for a name that does not fit the table.
    """
    found = _only(frame, COLUMN, blank=name is not None)
    if name and found and name != found:
        raise UsageError(f"the table answers the question {found!r}, not {name!r}", "Leave out --question.")
    question = load_question(name or found or DETECT)
    told: dict[str, Any] = {}
    if name or found:
        told = settings_in(_only(frame, SETTINGS))
    elif has_settings(frame):
        raise InputError(
            "the table has settings of a question in a column settings, and does not say of which",
            "Name it: --question NAME, or a column question.",
        )
    length, notes = _length(frame, question)
    if not told.keys() >= question.settings({}).keys():
        columns = {str(column): frame[column].tolist() for column in frame.columns if column not in SKIPPED}
        notes += question.supposed(columns, told)
        told = {**question.settings_of_table(columns), **told}
    return TableQuestion(question, question.settings(told), length, notes)


SKIPPED = frozenset(REQUIRED) - {"position", "choice"}


def settings_in(cell: str) -> dict[str, Any]:
    """The settings in a cell. Raises InputError if it has none."""
    try:
        told = json.loads(cell or "{}")
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise InputError(
            f"the column settings is no JSON object: {cell[:60]}",
            'It is the section [answers] of a study file, for example {"points": 7}.',
        )
    return told


def has_settings(frame: pd.DataFrame) -> bool:
    """Whether a column `settings` has a JSON object, and is not another one that happens to have the name."""
    cells = frame[SETTINGS].map(_text).unique() if SETTINGS in frame.columns else ()
    return any(cell.startswith("{") and cell.endswith("}") and cell != "{}" for cell in cells)


class _Length(NamedTuple):
    sentences: int
    notes: tuple[str, ...] = ()


def _length(frame: pd.DataFrame, question: Question) -> _Length:
    found = _only(frame, LENGTH)
    if not found:
        if not question.rest:
            return _Length(SENTENCES)
        # The last answer, and a person's whole story, have the sentence after the end.
        last = frame[["position", "choice"]].apply(pd.to_numeric, errors="coerce").max().max()
        if not SENTENCES + 1 < last < float("inf"):
            return _Length(SENTENCES)
        note = f"the highest position or choice is {last:g}, so passages are taken to have {last - 1:g}"
        return _Length(int(last) - 1, (f"{note} sentences. A column sentences would say it",))
    number = pd.to_numeric(found, errors="coerce")
    if not (FEWEST_SENTENCES <= number <= MOST_SENTENCES and number == int(number)):
        raise InputError(
            f"passages of {found[:60]} sentences cannot be scored",
            "They have 3 to 20 sentences. A column sentences with anything else needs another name.",
        )
    return _Length(int(number))


def _only(frame: pd.DataFrame, column: str, *, blank: bool = False) -> str:
    """The only value of a column; empty if there is none. Blank cells are refused, unless `blank`."""
    if column not in frame.columns:
        return ""
    cells = frame[column].map(_text)
    if not blank:
        try:
            refuse(frame[column], np.asarray(cells == ""), "is empty")
        except InputError as error:
            error.hint = "Write it in every line, or leave out the column."
            raise
    values = [value for value in cells.unique() if value]
    if len(values) > 1:
        shown = ", ".join(value[:60] for value in values[:5])
        raise InputError(
            f"the column {column} has {len(values)} values, which are not pooled: {shown}",
            "Score one at a time. A column that means something else needs another name.",
        )
    return values[0] if values else ""


def _text(cell: Any) -> str:
    if isinstance(cell, dict | list | tuple):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return "" if pd.isna(cell) else str(cell).strip()
