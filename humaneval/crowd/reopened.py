"""Frees the rows of work whose place a platform has opened again: once, however often it is seen."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import case, update
from sqlalchemy.orm import Session

from humaneval.crowd.outbox import AS_SQL, hold_study
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import ASKED_FOR, in_turns, writing
from humaneval.store.tables import AssignmentRow
from humaneval.store.types import now


def free_reopened(at: StudyAtPlatform, hit_id: int, assignments: Collection[str]) -> int:
    """Free the rows of `assignments`, by the platform's ids. Returns how many this call freed.

    Work that was collected, and then returned there, counts no longer. Answers are kept in any case.
    """
    freed = 0
    for batch in in_turns(sorted(assignments), ASKED_FOR):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            held = update(AssignmentRow).where(
                AssignmentRow.hit_id == hit_id,
                AssignmentRow.external_id.in_(batch),
                AssignmentRow.holds_row,
                AssignmentRow.state.in_(("opened", "answered", "submitted", "rejected")),
            )
            over = AssignmentRow.state.in_(("opened", "submitted"))
            state = case((over, "superseded"), else_=AssignmentRow.state)
            done = session.execute(
                held.values(holds_row=False, lease_until=now(), state=state), execution_options=AS_SQL
            )
            freed += done.rowcount  # type: ignore[attr-defined]  # an update's result has one
    return freed


def free_if_reopened(session: Session, at: StudyAtPlatform, assignment: AssignmentRow) -> None:
    """Free the row of rejected work, if the platform gives its place to somebody else by itself."""
    if at.platform.endpoint.one_offer:
        assignment.holds_row = False
