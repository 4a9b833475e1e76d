"""A worker's assignments: accept a HIT, return it, see what was done. `submissions` takes the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select

from humaneval.market.events import note
from humaneval.market.hit_status import refresh
from humaneval.market.offers import find_visible
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.qualifications.requirements import obstacles, record_of, types_of
from humaneval.market.tables.account import Entry
from humaneval.market.tables.assignments import FINISHED, TAKEN, Assignment, Bonus, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit
from humaneval.market.tables.workers import Worker


@dataclass(frozen=True, slots=True)
class Work:
    """One assignment, the bonuses for it, and everything that has been paid for it so far, in cents."""

    assignment: Assignment
    bonuses: Sequence[Bonus]
    earned_cents: int


def open_assignment(work: Transaction, worker: Worker, hit_id: str) -> Assignment | None:
    """The assignment of a HIT that this worker has in hand, if any."""
    return work.session.scalar(
        select(Assignment)
        .join(Assignment.hit)
        .where(
            Hit.id == hit_id, Assignment.worker_number == worker.number, Assignment.state == State.ACCEPTED
        )
    )


def accept(work: Transaction, worker: Worker, hit_id: str) -> Assignment:
    """Take one place of a HIT; a HIT in hand gives the same assignment again. Raises NotPossibleError."""
    hit = find_visible(work, worker, hit_id)
    mine = work.session.scalar(
        select(Assignment).where(
            Assignment.hit_number == hit.number,
            Assignment.worker_number == worker.number,
            Assignment.state.in_(TAKEN),
        )
    )
    if mine is not None and mine.state is State.ACCEPTED:
        return mine
    if mine is not None:
        raise NotPossibleError("You have already done this HIT. Each HIT can be done only once.")
    record, asked = record_of(work.session, worker), hit.hit_type.qualifications
    missing = obstacles(asked, record, "accept", types_of(work.session, asked))
    if missing:
        raise NotPossibleError(
            f"You cannot accept this HIT. It requires that {' and that '.join(map(str, missing))}.", 403
        )
    if hit.status != "Assignable":
        raise NotPossibleError(
            "This HIT is no longer available. Other workers have taken it, or it has expired."
        )
    assignment = Assignment(
        id=new_entity_id(),
        hit=hit,
        worker=worker,
        state=State.ACCEPTED,
        accepted_at=work.now,
        deadline=work.now + timedelta(seconds=hit.hit_type.assignment_seconds),
    )
    work.session.add(assignment)
    refresh(work, hit)
    note(work, "AssignmentAccepted", hit, assignment)
    return assignment


def find_own(work: Transaction, worker: Worker, assignment_id: str) -> Assignment:
    """This worker's own assignment. Raises NotPossibleError."""
    assignment = work.session.scalar(
        select(Assignment).where(Assignment.id == assignment_id, Assignment.worker_number == worker.number)
    )
    if assignment is None:
        raise NotPossibleError("You have no work with this id.", 404)
    return assignment


def give_back(work: Transaction, worker: Worker, assignment_id: str) -> None:
    """Return work in hand, so that another worker can take its place. Returning twice does no harm."""
    assignment = find_own(work, worker, assignment_id)
    if assignment.state in FINISHED:
        raise NotPossibleError("This work was submitted, so it can no longer be returned.")
    if assignment.state is State.ACCEPTED:
        assignment.state, assignment.ended_at = State.RETURNED, work.now
        refresh(work, assignment.hit)
        note(work, "AssignmentReturned", assignment.hit, assignment)


def work_of(work: Transaction, worker: Worker) -> list[Work]:
    """All of a worker's assignments, newest first."""
    mine = Assignment.worker_number == worker.number
    bonuses: dict[int, list[Bonus]] = {}
    for bonus in work.session.scalars(
        select(Bonus).join(Bonus.assignment).where(mine).order_by(Bonus.number)
    ):
        bonuses.setdefault(bonus.assignment_number, []).append(bonus)
    paid = work.session.execute(
        select(Entry.assignment_number, func.sum(Entry.paid))
        .join(Assignment, Assignment.number == Entry.assignment_number)
        .where(mine)
        .group_by(Entry.assignment_number)
    )
    earned = dict(paid.all())
    assignments = work.session.scalars(select(Assignment).where(mine).order_by(Assignment.number.desc()))
    return [Work(each, bonuses.get(each.number, ()), earned.get(each.number, 0)) for each in assignments]
