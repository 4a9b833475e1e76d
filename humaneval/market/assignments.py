"""A worker's assignments: accept a HIT, return it, see what was done. `submissions` takes the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, insert, or_, select
from sqlalchemy.orm import defer, joinedload, make_transient_to_detached

from humaneval.market.events import note
from humaneval.market.hit_status import refresh
from humaneval.market.offers import find_visible, free_in_group, is_once, is_open, that_gives_way
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.qualifications.requirements import obstacles, record_of, types_of, unmet
from humaneval.market.tables.account import Entry
from humaneval.market.tables.assignments import FINISHED, Assignment, Bonus, State
from humaneval.market.tables.database import Transaction, written
from humaneval.market.tables.hits import Hit, HitType
from humaneval.market.workers import Person
from humaneval.store.types import table

WORK_ON_A_PAGE = 100
MOST_IN_HAND = 25
"""How many HITs a worker can hold at once, as at Mechanical Turk. Else one person could take them all."""
MOST_RETURNED = 20
"""How often a worker can return the same HIT: each time leaves a row."""
# Everybody who takes part needs these, so they are built once.
_DONE, _HITS, _KINDS = (table(each) for each in (Assignment, Hit, HitType))
_NEWEST_FIRST = (_DONE.c.accepted_at.desc(), _DONE.c.number.desc())
"""By the number alone, SQLite would read all that a worker has ever done, in that order."""
_BEGUN = (
    select(_DONE.c.id, _HITS.c.id, _HITS.c.hit_type_number)
    .join_from(_DONE, _HITS)
    .where(_DONE.c.worker_number == bindparam("worker"), _DONE.c.state == State.ACCEPTED)
    .order_by(*_NEWEST_FIRST)
)
_IN_HAND = (
    select(_DONE.c.id, _DONE.c.deadline, _KINDS.c.number, _KINDS.c.title, _KINDS.c.reward_cents)
    .join_from(_DONE, _HITS)
    .join(_KINDS)
    .where(_DONE.c.worker_number == bindparam("worker"), _DONE.c.state == State.ACCEPTED)
    .order_by(*_NEWEST_FIRST)
)
_DID = (
    select(_DONE.c.state, func.count())
    .where(_DONE.c.hit_number == bindparam("hit"), _DONE.c.worker_number == bindparam("worker"))
    .group_by(_DONE.c.state)
)
_NEW = insert(_DONE)
_OWN = select(Assignment).where(
    Assignment.id == bindparam("id"), Assignment.worker_number == bindparam("worker")
)


class TakenError(NotPossibleError):
    """Nothing is left of what a worker wanted to accept."""


@dataclass(frozen=True, slots=True)
class Work:
    """One assignment and the bonuses for it."""

    assignment: Assignment
    bonuses: Sequence[Bonus]


class Begun(NamedTuple):
    """An assignment that a worker has in hand: its id, the id of its HIT, and the number of its type."""

    id: str
    hit_id: str
    kind: int


def begun_by(work: Transaction, worker: Person) -> list[Begun]:
    """What a worker has in hand, newest first."""
    return [Begun(*row) for row in work.connection.execute(_BEGUN, {"worker": worker.number})]


def accept(work: Transaction, worker: Person, hit_id: str, *, or_another: bool = False) -> Assignment:
    """Take one place of a HIT; a HIT in hand gives the same assignment again.

    Raises NotPossibleError; if all places are taken, TakenError.
    `or_another`: any HIT of its group will do, if this one no longer has a place for the worker. Of what each
    person does once, the one in hand is given again.
    """
    hit, begun = find_visible(work, worker, hit_id), begun_by(work, worker)
    once = or_another and is_once(hit.hit_type)
    mine = [each for each in begun if each.hit_id == hit.id]
    asking = {"hit": hit.number, "worker": worker.number}
    before: dict[State, int] = {} if mine else dict(map(tuple, work.connection.execute(_DID, asking)))
    done = not before.keys().isdisjoint(FINISHED)
    if once and not mine and not done:
        mine = [each for each in begun if each.kind == hit.hit_type_number]
    if mine:
        return find_own(work, worker, mine[0].id)
    if before.get(State.RETURNED, 0) >= MOST_RETURNED:
        raise NotPossibleError(f"You have returned this task {MOST_RETURNED} times. Choose another one.")
    if or_another and (done or not is_open(work, hit)):
        another = free_in_group(work, worker, hit.hit_type_number)
        hit, done = (hit, done) if another is None else (find_visible(work, worker, another), False)
    if done:
        raise NotPossibleError("You have already done this task. Each task can be done only once.")
    asked = hit.hit_type.qualifications
    if lacking := unmet(asked, record_of(work, worker, asked), "accept"):
        said = " and that ".join(map(str, obstacles(lacking, types_of(work, lacking))))
        raise NotPossibleError(f"You cannot accept this task. It requires that {said}.", 403)
    if not is_open(work, hit):
        raise TakenError("This task is no longer available. Other workers have taken it, or it has expired.")
    if len(begun) >= MOST_IN_HAND:
        raise NotPossibleError(f"You have {MOST_IN_HAND} tasks in hand. Finish or return one of them first.")
    assignment = _new(
        work,
        hit,
        id=new_entity_id(),
        hit_number=hit.number,
        worker_number=worker.number,
        state=State.ACCEPTED,
        accepted_at=work.now,
        deadline=work.now + timedelta(seconds=hit.hit_type.assignment_seconds),
    )
    refresh(work, hit)
    note(work, "AssignmentAccepted", hit, assignment)
    return assignment


def _new(work: Transaction, hit: Hit, **values: Any) -> Assignment:
    """An assignment that is in its table. A statement writes it: the session takes several times as long."""
    number = work.connection.execute(_NEW, values).inserted_primary_key
    assert number is not None
    assignment = Assignment(number=number[0], **values)
    make_transient_to_detached(assignment)
    work.session.add(assignment)
    written(assignment, hit=hit)
    return assignment


def find_own(work: Transaction, worker: Person, assignment_id: str) -> Assignment:
    """This worker's own assignment. Raises NotPossibleError."""
    assignment = work.session.scalar(_OWN, {"id": assignment_id, "worker": worker.number})
    if assignment is None:
        raise NotPossibleError("You have no work with this id.", 404)
    return assignment


def give_back(work: Transaction, worker: Person, assignment_id: str) -> None:
    """Return work in hand, so that another worker can take its place. Returning twice does no harm."""
    assignment = find_own(work, worker, assignment_id)
    if assignment.state in FINISHED:
        raise NotPossibleError("This work was submitted, so it can no longer be returned.")
    if assignment.state is State.ACCEPTED:
        _return(work, assignment)


def make_room(
    work: Transaction, worker: Person, hit_id: str, giving_way: Sequence[str], *, or_another: bool
) -> None:
    """Return one of the assignments `giving_way`, if there is one, so that this worker can accept that HIT
    or, with `or_another`, one of its group."""
    hit = find_visible(work, worker, hit_id)
    held = that_gives_way(work, worker, giving_way, hit.hit_type_number, None if or_another else hit.number)
    if held is not None:
        _return(work, work.session.scalars(select(Assignment).where(Assignment.id == held.id)).one())


def _return(work: Transaction, assignment: Assignment) -> None:
    assignment.state, assignment.ended_at = State.RETURNED, work.now
    refresh(work, assignment.hit)
    note(work, "AssignmentReturned", assignment.hit, assignment)


def in_hand_of(work: Transaction, worker: Person) -> Sequence[Any]:
    """What a worker has in hand, newest first, as a list shows it."""
    return work.connection.execute(_IN_HAND, {"worker": worker.number}).all()


def newest_in_group(work: Transaction, worker: Person, group_id: str) -> Assignment | None:
    """What a worker has in hand of a group, or else submitted last; None if there is nothing. The group is
    named by its HITGroupId or HITTypeId."""
    return work.session.scalar(
        select(Assignment)
        .join(Assignment.hit)
        .join(Hit.hit_type)
        .where(
            or_(HitType.group_id == group_id, HitType.id == group_id),
            Assignment.worker_number == worker.number,
            Assignment.state.in_((State.ACCEPTED, *FINISHED)),
        )
        .order_by(Assignment.state != State.ACCEPTED, Assignment.number.desc())
        .limit(1)
    )


@dataclass(frozen=True, slots=True)
class Sums:
    """What a worker has earned so far, and what waits for review, in cents."""

    earned: int
    waiting: int


def sums_of(work: Transaction, worker: Person) -> Sums:
    """All that a worker has earned, and all that waits."""
    mine = Assignment.worker_number == worker.number
    earned = select(func.sum(Entry.paid)).join(Assignment, Assignment.number == Entry.assignment_number)
    waiting = (
        select(func.sum(HitType.reward_cents))
        .select_from(Assignment)
        .join(Hit, Hit.number == Assignment.hit_number)
        .join(HitType, HitType.number == Hit.hit_type_number)
        .where(Assignment.state == State.SUBMITTED)
    )
    return Sums(*(work.session.scalar(query.where(mine)) or 0 for query in (earned, waiting)))


def work_of(work: Transaction, worker: Person, *, before: int | None = None) -> list[Work]:
    """A page of a worker's assignments, newest first; `before`: those older than the one of this number."""
    mine = select(Assignment).where(Assignment.worker_number == worker.number)
    if before is not None:
        mine = mine.where(Assignment.number < before)
    page = mine.order_by(Assignment.number.desc()).limit(WORK_ON_A_PAGE).options(*_WITHOUT_TEXTS)
    assignments = work.session.scalars(page).all()
    these = [each.number for each in assignments]
    bonuses: dict[int, list[Bonus]] = {}
    for bonus in work.session.scalars(
        select(Bonus).where(Bonus.assignment_number.in_(these)).order_by(Bonus.number)
    ):
        bonuses.setdefault(bonus.assignment_number, []).append(bonus)
    return [Work(each, bonuses.get(each.number, ())) for each in assignments]


_WITHOUT_TEXTS = (defer(Assignment.answer), joinedload(Assignment.hit, innerjoin=True).defer(Hit.question))
"""Lists show neither answers nor questions, and these may have a million bytes each."""
