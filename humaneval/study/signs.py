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
    answers: dict[int, list[_Answer]] = defaultdict(list)
    asked, options = asked_by(study.settings), 0
    lines = session.execute(
        with_truth(
            select(
                AssignmentRow.worker_id,
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
        answers[line.worker_id].append(_Answer(missed, line.choice, words, line.seconds))
    return {worker: _signs(asked.question, options, found) for worker, found in answers.items()}


def _signs(question: Question, options: int, answers: list[_Answer]) -> tuple[str, ...]:
    return signs(
        question,
        options,
        missed_control=any(one.missed for one in answers),
        choices=[one.choice for one in answers],
        words=[one.words for one in answers],
        seconds=[float("nan") if one.seconds is None else one.seconds for one in answers],
    )
