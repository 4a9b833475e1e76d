"""What people's answers show who perhaps did not read, from the database: the signs that the report flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.scoring.analysis.annotators import signs
from humaneval.store.tables import COLLECTED, AssignmentRow, PassageRow, ResponseRow
from humaneval.study.stored import Study


class _Answer(NamedTuple):
    role: str
    position: int
    choice: int
    words: int
    seconds: float | None


def signs_of(session: Session, study: Study, workers: Collection[int]) -> dict[int, tuple[str, ...]]:
    """The signs of each of `workers`, by their ids, over all their collected forms of the study."""
    answers: dict[int, list[_Answer]] = defaultdict(list)
    lines = session.execute(
        select(
            AssignmentRow.worker_id,
            PassageRow.role,
            PassageRow.position,
            ResponseRow.choice,
            PassageRow.sentences,
            ResponseRow.seconds,
        )
        .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
        .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.state.in_(COLLECTED))
        .where(AssignmentRow.worker_id.in_(workers))
    )
    for worker, role, position, choice, sentences, seconds in lines:
        words = len(" ".join(sentences).split())
        answers[worker].append(_Answer(role, position, choice, words, seconds))
    return {worker: _signs(found) for worker, found in answers.items()}


def _signs(answers: list[_Answer]) -> tuple[str, ...]:
    return signs(
        missed_control=any(one.role == "control" and one.choice != one.position for one in answers),
        choices=[one.choice for one in answers],
        words=[one.words for one in answers],
        seconds=[float("nan") if one.seconds is None else one.seconds for one in answers],
    )
