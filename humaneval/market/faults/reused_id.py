"""The fault `reused-id`: an assignment's id goes to another worker."""

from __future__ import annotations

from sqlalchemy import select

from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.database import Transaction


def reuse_id(work: Transaction, assignment: Assignment) -> None:
    """Give an assignment that was just accepted the id of one of the same HIT that another worker returned.

    Mechanical Turk did so. The old row gets a new id. If no worker has returned any, nothing happens.
    """
    earlier = work.session.scalar(
        select(Assignment)
        .where(
            Assignment.hit_number == assignment.hit_number,
            Assignment.worker_number != assignment.worker_number,
            Assignment.state.in_((State.RETURNED, State.ABANDONED)),
        )
        .order_by(Assignment.number.desc())
        .limit(1)
    )
    if earlier is None:
        return
    reused, earlier.id = earlier.id, new_entity_id()
    work.session.flush()
    assignment.id = reused
    work.session.flush()
