"""The worker's side: sign up, look, accept, return, see what was done. `humaneval.market.submissions` takes
answers."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select

from humaneval.market.books import refresh
from humaneval.market.event_notes import note
from humaneval.market.protocol.identifiers import new_entity_id, new_worker_id
from humaneval.market.qualifications.requirements import Obstacle, obstacles, record_of, types_of, unmet
from humaneval.market.requester_people import is_blocked
from humaneval.market.security import Pass
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import FINISHED, TAKEN, Assignment, Bonus, Entry, Hit, State, Worker
from humaneval.market.wording import NotPossibleError, country_names

LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Offer:
    """A group of like HITs as a worker sees it: the one they would get next, and how many there are."""

    hit: Hit
    available: int
    obstacles: Sequence[Obstacle]


@dataclass(frozen=True, slots=True)
class Work:
    """One go at a HIT, the bonuses for it, and all that has been paid for it so far, in cents."""

    assignment: Assignment
    bonuses: Sequence[Bonus]
    earned_cents: int


def sign_up(work: Transaction, name: str, country: str, *, new: bool = False) -> Worker:
    """The worker of this name, who is made on their first visit. A country that is given replaces the earlier
    one.

    `new`: a name that somebody has is refused, for they come by a link of their own.
    """
    name = _plain(name)
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise NotPossibleError(f"Write a name of 1 to {LONGEST_NAME} characters.", 400)
    if country and country not in country_names():
        raise NotPossibleError("Choose a country from the list.", 400)
    worker = find_named(work, name)
    if worker is None:
        worker = Worker(
            id=new_worker_id(), handle=_handle(name), name=name, country=country, made_at=work.now
        )
        work.session.add(worker)
    elif new:
        raise NotPossibleError("That name is taken. If it is yours, come by your own link.", 409)
    elif country:
        worker.country = country
    work.session.flush()
    return worker


def find_worker(work: Transaction, worker_id: str) -> Worker | None:
    """The worker with this id, if there is one."""
    return work.session.scalar(select(Worker).where(Worker.id == worker_id))


def find_named(work: Transaction, name: str) -> Worker | None:
    """The worker of this name, however it is written, if there is one."""
    return work.session.scalar(select(Worker).where(Worker.handle == _handle(name)))


def find_bearer(work: Transaction, bearer: Pass | None) -> Worker | None:
    """The worker whom a link or a cookie names, unless it was revoked."""
    worker = find_worker(work, bearer.worker_id) if bearer else None
    return worker if worker is not None and pass_for(worker) == bearer else None


def pass_for(worker: Worker) -> Pass:
    """What this worker's link and cookie say now."""
    return Pass(worker.id, worker.links_revoked)


def offers(work: Transaction, worker: Worker) -> list[Offer]:
    """What this worker may see, newest group first: of each group the oldest HIT that they have not taken."""
    if is_blocked(work, worker):
        return []
    taken = select(Assignment.hit_number).where(
        Assignment.worker_number == worker.number, Assignment.state.in_(TAKEN)
    )
    open_to_me = (
        select(Hit.hit_type_number, func.min(Hit.number).label("first"), func.count().label("available"))
        .where(Hit.status == "Assignable", Hit.number.not_in(taken))
        .group_by(Hit.hit_type_number)
        .subquery()
    )
    rows = work.session.execute(
        select(Hit, open_to_me.c.available)
        .join(open_to_me, Hit.number == open_to_me.c.first)
        .order_by(Hit.number.desc())
    ).all()
    record = record_of(work.session, worker)
    known = types_of(work.session, [each for hit, _ in rows for each in hit.hit_type.qualifications])
    return [
        Offer(hit, available, obstacles(hit.hit_type.qualifications, record, "accept", known))
        for hit, available in rows
        if not unmet(hit.hit_type.qualifications, record, "discover")
    ]


def next_in_group(work: Transaction, worker: Worker, group_id: str) -> Hit | None:
    """The HIT that a worker would get next of a group, named by its HITGroupId or HITTypeId."""
    for offer in offers(work, worker):
        if group_id in (offer.hit.hit_type.group_id, offer.hit.hit_type.id):
            return offer.hit
    return None


def hit_to_preview(work: Transaction, worker: Worker, hit_id: str) -> tuple[Hit, list[Obstacle]]:
    """A HIT, and in words what keeps this worker from accepting it. Raises NotPossibleError where it may not
    be seen."""
    hit = _hit(work, worker, hit_id)
    record, asked = record_of(work.session, worker), hit.hit_type.qualifications
    known = types_of(work.session, asked)
    hidden = obstacles(asked, record, "preview", known)
    if hidden:
        raise NotPossibleError(f"This HIT can be seen only where {' and '.join(map(str, hidden))}.", 403)
    return hit, obstacles(asked, record, "accept", known)


def open_assignment(work: Transaction, worker: Worker, hit_id: str) -> Assignment | None:
    """The go at a HIT that this worker has in hand, if any."""
    return work.session.scalar(
        select(Assignment)
        .join(Assignment.hit)
        .where(
            Hit.id == hit_id, Assignment.worker_number == worker.number, Assignment.state == State.ACCEPTED
        )
    )


def accept(work: Transaction, worker: Worker, hit_id: str) -> Assignment:
    """Take one place of a HIT. Asking again while it is in hand gives the same one. Raises
    NotPossibleError."""
    hit = _hit(work, worker, hit_id)
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
        raise NotPossibleError("You have done this HIT already. Each HIT can be done once.")
    record, asked = record_of(work.session, worker), hit.hit_type.qualifications
    missing = obstacles(asked, record, "accept", types_of(work.session, asked))
    if missing:
        raise NotPossibleError(
            f"You cannot accept this HIT. It asks that {' and that '.join(map(str, missing))}.", 403
        )
    if hit.status != "Assignable":
        raise NotPossibleError("This HIT is no longer available: others have taken it, or its time is over.")
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
        raise NotPossibleError("You have no such work.", 404)
    return assignment


def give_back(work: Transaction, worker: Worker, assignment_id: str) -> None:
    """Return work in hand; its place is free for someone else. Returning twice is harmless."""
    assignment = find_own(work, worker, assignment_id)
    if assignment.state in FINISHED:
        raise NotPossibleError("This work was submitted and cannot be returned any more.")
    if assignment.state is State.ACCEPTED:
        assignment.state, assignment.ended_at = State.RETURNED, work.now
        refresh(work, assignment.hit)
        note(work, "AssignmentReturned", assignment.hit, assignment)


def work_of(work: Transaction, worker: Worker) -> list[Work]:
    """All of a worker's goes, newest first."""
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
    goes = work.session.scalars(select(Assignment).where(mine).order_by(Assignment.number.desc()))
    return [Work(go, bonuses.get(go.number, ()), earned.get(go.number, 0)) for go in goes]


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _handle(name: str) -> str:
    return unicodedata.normalize("NFC", _plain(name).casefold())


def _hit(work: Transaction, worker: Worker, hit_id: str) -> Hit:
    if is_blocked(work, worker):
        raise NotPossibleError("You cannot see or take HITs here any more.", 403)
    hit = work.session.scalar(select(Hit).where(Hit.id == hit_id))
    if hit is None or hit.disposed:
        raise NotPossibleError("There is no such HIT.", 404)
    return hit
