"""What was asked: the question with its settings, and how many sentences its passages have."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from humaneval.domain import FEWEST_SENTENCES, MOST_SENTENCES, SENTENCES
from humaneval.errors import InputError, UsageError
from humaneval.scoring.columns import REQUIRED
from humaneval.scoring.questions.question import DETECT, Question, Settings, load_question

COLUMN = "question"
LENGTH = "sentences"
"""The column that says how many sentences the passages have, where there are not five."""


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """A question, its own settings with defaults, and the number of sentences of a passage."""

    question: Question
    settings: Settings
    sentences: int = SENTENCES


def asked(frame: pd.DataFrame, name: str | None = None) -> TableQuestion:
    """What a table of responses answers, as its column `question` says, or `name`: else it is `detect`.

    Settings that the table does not show are the question's defaults. Raises InputError for a table with
    several questions, and UsageError for a name that does not fit the table.
    """
    found = _only(frame, COLUMN)
    if name and found and name != found:
        raise UsageError(f"the table answers the question {found!r}, not {name!r}", "Leave out --question.")
    question = load_question(name or found or DETECT)
    columns = {str(column): frame[column].tolist() for column in frame.columns if column not in SKIPPED}
    return TableQuestion(
        question, question.settings(question.settings_of_table(columns)), _length(frame, question)
    )


SKIPPED = frozenset(REQUIRED) - {"position", "choice"}


def _length(frame: pd.DataFrame, question: Question) -> int:
    found = _only(frame, LENGTH)
    if not found:
        if not question.rest:
            return SENTENCES
        # The last answer, and a person's whole story, have the sentence after the end.
        told = frame[["position", "choice"]].apply(pd.to_numeric, errors="coerce").max().max() - 1
        return max(SENTENCES, int(told)) if told == told else SENTENCES
    number = pd.to_numeric(found, errors="coerce")
    if not (FEWEST_SENTENCES <= number <= MOST_SENTENCES and number == int(number)):
        raise InputError(f"passages of {found} sentences cannot be scored", "They have 3 to 20 sentences.")
    return int(number)


def _only(frame: pd.DataFrame, column: str) -> str:
    """The only value of a column; empty if there is none."""
    if column not in frame.columns:
        return ""
    values = [str(value).strip() for value in frame[column].dropna().unique() if str(value).strip()]
    if len(values) > 1:
        raise InputError(
            f"the column {column} has {len(values)} values, which are not pooled: {', '.join(values[:5])}",
            "Score one at a time.",
        )
    return values[0] if values else ""
