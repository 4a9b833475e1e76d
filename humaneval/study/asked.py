"""What a study asks about each passage, and what only the researcher knows of a stored one."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from sqlalchemy import Select, func

from humaneval.domain import Role
from humaneval.scoring.questions.question import SETTINGS, Answer, Question, Settings, Truth
from humaneval.store.tables import GeneratorRow, PassageRow
from humaneval.store.types import table
from humaneval.study.file import StudyFile


class Asked(NamedTuple):
    """A question and the settings with which a study asks it."""

    question: Question
    settings: Settings

    def passed(self, truth: Truth, answer: Answer) -> bool:
        """Whether an answer to a control passage shows attention."""
        return self.question.passed(truth, answer, self.settings)

    def found(self, truth: Truth, answer: Answer) -> bool | None:
        """Whether an answer is the obvious one; None if nothing is obvious about the passage."""
        return self.passed(truth, answer) if self.question.finds or truth.role is Role.CONTROL else None

    def said(self, answer: Answer, sentences: int) -> str:
        """An answer in words for the researcher."""
        return ", ".join(
            self.question.said(name, value, self.settings, sentences) for name, value in answer.items()
        )

    def obvious(self, truth: Truth) -> str:
        """The obvious answers to a control passage, in words."""
        told = self.question.obvious(truth, self.settings).items()
        return " and ".join(
            " or ".join(self.question.said(name, value, self.settings, truth.sentences) for value in values)
            for name, values in told
        )

    def stored(self, answer: Answer) -> dict[str, Any]:
        """The columns of a response with this answer: its first field, and all if there are several."""
        return {
            "choice": next(iter(answer.values())),
            **({"answer": dict(answer)} if len(answer) > 1 else {}),
        }

    def answer(self, choice: int, answer: Answer | None, sentences: int) -> Answer:
        """The answer in the columns of a response to a passage of so many sentences."""
        return answer or {self.question.fields(self.settings, sentences)[0].name: choice}


def with_settings(columns: dict[str, list[Any]], study: StudyFile) -> dict[str, list[Any]]:
    """The columns of a response table with the settings of the question, if it has any, so that the table
    gives the same scores elsewhere."""
    settings = study.answer_settings
    told = json.dumps(settings, ensure_ascii=False)
    return {**columns, SETTINGS: [told] * len(columns["worker"])} if settings else columns


def asked_by(study: StudyFile) -> Asked:
    """What `study` asks about each passage."""
    return Asked(study.asked, study.answer_settings)


_passages = table(PassageRow)
_first, _other = table(GeneratorRow).alias("first"), table(GeneratorRow).alias("other")


def with_truth(statement: Select[Any]) -> Select[Any]:
    """A statement about passages with what `truth_of` reads."""
    return (
        statement.add_columns(
            _passages.c.position,
            _passages.c.role,
            func.json_array_length(_passages.c.sentences).label("sentence_count"),
            _first.c.name.label("generator"),
            _other.c.name.label("other"),
        )
        .join(_first, _first.c.id == _passages.c.generator_id)
        .outerjoin(_other, _other.c.id == _passages.c.other_generator_id)
    )


def truth_of(line: Any, study: StudyFile) -> Truth:
    """What only the researcher knows of a passage, from a line of such a statement."""
    generators = (line.generator,) if line.other is None else (line.generator, line.other)
    return Truth(generators, Role(line.role), line.position, line.sentence_count, study.design.control)
