"""Frees the rows of work whose place a platform has opened again: once, however often it is seen."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from humaneval.crowd.free_rows import give_back
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import ASKED_FOR, in_turns, writing
from humaneval.store.tables import AssignmentRow
from humaneval.store.types import now


def free_reopened(at: StudyAtPlatform, hit_id: int, assignments: Collection[str]) -> int:
    """Free the rows of `assignments`, by the platform's ids. Returns how many this call freed."""
    freed = 0
    for batch in in_turns(sorted(assignments), ASKED_FOR):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            freed += give_back(session.connection(), hit_id, batch, now())
    return freed


def free_if_reopened(session: Session, at: StudyAtPlatform, assignment: AssignmentRow) -> None:
    """Free the row of rejected work, if the platform gives its place to somebody else by itself."""
    if at.platform.endpoint.one_offer:
        assignment.holds_row = False
