"""Work whose place a platform has opened again: its row is freed, and answers that were taken back go."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.costs import APPROVE, INSTEAD, REJECT, approval_subject
from humaneval.crowd.free_rows import give_back
from humaneval.crowd.outbox import hold_study, withdraw
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import ASKED_FOR, in_turns, writing
from humaneval.store.erase import overwrite_deleted
from humaneval.store.tables import AnswerRow, AssignmentRow, ResponseRow
from humaneval.store.types import now
from humaneval.text import PAYING, command


def free_reopened(at: StudyAtPlatform, hit_id: int, assignments: Collection[str]) -> int:
    """Free the rows of `assignments`, by the platform's ids. Returns how many this call freed."""
    freed = 0
    for batch in in_turns(sorted(assignments), ASKED_FOR):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            freed += give_back(session.connection(), hit_id, batch, now())
            left = select(AssignmentRow).where(
                AssignmentRow.hit_id == hit_id,
                AssignmentRow.external_id.in_(batch),
                AssignmentRow.state == "superseded",
            )
            for work in session.scalars(left):  # nothing is left to decide
                for decision in (APPROVE, REJECT):
                    withdraw(session, at.endpoint, decision, approval_subject(work), INSTEAD)
    return freed


def delete_returned(at: StudyAtPlatform, hit_id: int, assignments: Collection[str]) -> list[str]:
    """Delete the answers of people who gave their work back themselves: they have taken them back.

    That they had the form stays, so that lost work can be paid. Returns a line for each of them.
    """
    returned: list[str] = []
    for batch in in_turns(sorted(assignments), ASKED_FOR):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            found = session.execute(
                select(AssignmentRow.id, AssignmentRow.external_id)
                .where(AssignmentRow.hit_id == hit_id, AssignmentRow.external_id.in_(batch))
                .where(AssignmentRow.state.in_(("answered", "superseded")))
                .where(select(AnswerRow.id).where(AnswerRow.assignment_id == AssignmentRow.id).exists())
            ).all()
            if not found:
                continue
            ids = [row.id for row in found]
            overwrite_deleted(session)
            for of in (AnswerRow, ResponseRow):
                session.execute(delete(of).where(of.assignment_id.in_(ids)))
            given_back = {"state": "superseded", "holds_row": False, "differences": "", "excluded": ""}
            session.execute(update(AssignmentRow).where(AssignmentRow.id.in_(ids)).values(given_back))
            returned += [row.external_id for row in found]
    pay = command("compensate", at.name, "ASSIGNMENT", "--to", at.endpoint, *PAYING)
    return [
        f"{each} was returned by the person, and the answers were deleted. If it was our fault: {pay}"
        for each in returned
    ]


def free_if_reopened(session: Session, at: StudyAtPlatform, assignment: AssignmentRow) -> None:
    """Free the row of rejected work, if the platform gives its place to somebody else by itself."""
    if at.platform.endpoint.one_offer:
        assignment.holds_row = False
