"""What people's answers show who perhaps did not read, from the database: the signs that the report flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.domain import Role
from humaneval.scoring.analysis.annotators import signs
from humaneval.scoring.questions.question import Question
from humaneval.store.responses import by_workers
from humaneval.store.tables import COLLECTED, AssignmentRow, PassageRow, ResponseRow
from humaneval.study.asked import asked_by, truth_of, with_truth
from humaneval.study.stored import Study


class _Answer(NamedTuple):
    missed: bool
    """Whether it is to a control passage, and not the obvious one."""
    choice: int
    words: int
    seconds: float | None


def signs_of(session: Session, study: Study, workers: Collection[int]) -> dict[int, tuple[str, ...]]:
    """The signs of each of `workers`, by their ids, over all their collected forms of the study."""
    forms: dict[int, list[_Answer]] = defaultdict(list)
    ours: dict[int, tuple[int, float | None]] = {}
    asked, options = asked_by(study.settings), 0
    lines = session.execute(
        with_truth(
            select(
                AssignmentRow.id,
                AssignmentRow.worker_id,
                AssignmentRow.opened_at,
                AssignmentRow.answered_at,
                AssignmentRow.by_program,
                ResponseRow.choice,
                ResponseRow.answer,
                ResponseRow.seconds,
                PassageRow.sentences,
            )
            .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
            .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
            .where(by_workers([study.id], workers), AssignmentRow.state.in_(COLLECTED))
        )
    )
    for line in lines:
        truth = truth_of(line, study.settings)
        options = options or asked.question.fields(asked.settings, truth.sentences)[0].values
        given = asked.answer(line.choice, line.answer, truth.sentences)
        missed = truth.role is Role.CONTROL and not asked.passed(truth, given)
        words = len(" ".join(line.sentences).split())
        known = not line.by_program and line.opened_at and line.answered_at
        ours[line.id] = line.worker_id, (line.answered_at - line.opened_at).total_seconds() if known else None
        forms[line.id].append(_Answer(missed, line.choice, words, line.seconds))
    answers: dict[int, list[_Answer]] = defaultdict(list)
    for form, found in forms.items():
        worker, open_for = ours[form]
        # A clock that was set back says nothing.
        answers[worker] += found if open_for is None or open_for < 0 else _bounded(found, open_for)
    return {worker: _signs(asked.question, options, found) for worker, found in answers.items()}


def _bounded(form: list[_Answer], open_for: float) -> list[_Answer]:
    """A form whose page did not say the seconds of some passages. These had at most what is left of the time
    that the form was open, by our own clock; the words share it."""
    left = open_for - sum(one.seconds or 0.0 for one in form)
    words = sum(one.words for one in form if one.seconds is None) or 1
    return [
        one if one.seconds is not None else one._replace(seconds=max(left, 0.0) * one.words / words)
        for one in form
    ]


def _signs(question: Question, options: int, answers: list[_Answer]) -> tuple[str, ...]:
    return signs(
        question,
        options,
        missed_control=any(one.missed for one in answers),
        choices=[one.choice for one in answers],
        words=[one.words for one in answers],
        seconds=[float("nan") if one.seconds is None else one.seconds for one in answers],
    )
