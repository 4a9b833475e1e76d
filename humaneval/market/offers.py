"""What a worker may see of the HITs: groups of them, and one to look at before it is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, Select, bindparam, func, or_, select

from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.qualifications.requirements import (
    Obstacle,
    describe,
    is_lack,
    obstacles,
    record_of,
    types_of,
    unmet,
)
from humaneval.market.tables.assignments import TAKEN, Assignment, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit, HitType
from humaneval.market.workers import Person
from humaneval.store.types import Moment, table

GROUPS_ON_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class Offer:
    """A group of HITs of one type as a worker sees it: the next HIT for them, and the number of HITs.

    `once`: those who hold some qualification may do none, and one HIT may be enough to get it. Then nobody
    knows how many of them this worker may do.
    """

    hit_id: str
    kind: Row[Any]
    """The columns of its type that a list shows."""

    available: int
    once: bool
    obstacles: Sequence[Obstacle]


class Preview(NamedTuple):
    """A HIT to look at, the requirements that this worker does not meet, and what it asks for, in words."""

    hit: Hit
    obstacles: list[Obstacle]
    requirements: list[str]


class NextHit(NamedTuple):
    """A HIT for a worker, and its group."""

    id: str
    group_id: str


class Held(NamedTuple):
    """An assignment in hand that gives way, and its HIT, each by its id."""

    id: str
    hit_id: str


class Offers(NamedTuple):
    """A page of the groups. `older`: where the next page begins; None after the last."""

    groups: list[Offer]
    older: int | None


def offers(
    work: Transaction, worker: Person, *, before: int | None = None, giving_way: Sequence[str] = ()
) -> Offers:
    """The groups that this worker may see, newest first; of each, the oldest HIT that they have not taken.

    `before`: only groups whose oldest HIT is older than the one of this number. `giving_way`: assignments in
    hand whose places this worker may have.
    """
    if worker.blocked:
        return Offers([], None)
    query = (
        _OFFERS
        if not giving_way
        else _offers(_HITS.c.number.in_(_held(work, giving_way, _DONE.c.hit_number)))
    )
    newest = _NEWEST if before is None else before
    given = {"worker": worker.number, "before": newest, "most": GROUPS_ON_A_PAGE}
    rows = work.connection.execute(query, given).all()
    asked = [each for row in rows for each in row.qualifications]
    record, known = record_of(work, worker, asked), types_of(work, asked)
    shown = [
        Offer(
            row.hit_id,
            row,
            row.available,
            is_once(row),
            obstacles(unmet(row.qualifications, record, "accept"), known),
        )
        for row in rows
        if not unmet(row.qualifications, record, "discover")
    ]
    return Offers(shown, rows[-1].first if len(rows) == GROUPS_ON_A_PAGE else None)


def title_of_group(work: Transaction, group_id: str) -> str:
    """The title of the tasks of a group; empty if there is none, or none by that id."""
    return work.connection.scalar(_TITLE, {"group": group_id}) or ""


def next_in_group(
    work: Transaction, worker: Person, group_id: str, giving_way: Sequence[str] = ()
) -> NextHit | None:
    """The next HIT of a group for this worker. The group is named by its HITGroupId or HITTypeId."""
    kind = work.connection.execute(_GROUP, {"group": group_id}).first()
    if kind is None or worker.blocked:
        return None
    asked = kind.qualifications
    if asked and unmet(asked, record_of(work, worker, asked), "discover"):
        return None
    free = free_in_group(work, worker, kind.number)
    if free is None and (held := that_gives_way(work, worker, giving_way, kind.number)):
        free = held.hit_id
    return None if free is None else NextHit(free, kind.group_id)


def is_once(kind: HitType | Row[Any]) -> bool:
    """Whether those who hold some qualification may do none: each person does it once, so far as we know."""
    return any(map(is_lack, kind.qualifications))


def is_open(work: Transaction, hit: Hit) -> bool:
    """Whether somebody can accept it. After a long pause, not every deadline may be applied yet."""
    return hit.status == "Assignable" and hit.expires_at > work.now


def free_in_group(work: Transaction, worker: Person, kind: int) -> str | None:
    """The id of the oldest HIT, of the type with this number, that has a free place and that this worker has
    not taken; None if there is none."""
    found: str | None = work.connection.scalar(
        _FREE, {"kind": kind, "worker": worker.number, "now": work.now}
    )
    return found


def that_gives_way(
    work: Transaction, worker: Person, giving_way: Sequence[str], kind: int, hit: int | None = None
) -> Held | None:
    """Of assignments that give way, the first one whose place this worker could then take: at a HIT of the
    type `kind`, or at this `hit`, each by its number."""
    if not giving_way:
        return None
    of_these = _HITS.c.hit_type_number == kind if hit is None else _HITS.c.number == hit
    query = _held(work, giving_way, _DONE.c.id, _HITS.c.id.label("hit_id")).where(
        of_these, _HITS.c.number.not_in(_TAKEN)
    )
    found = {each.id: Held(*each) for each in work.connection.execute(query, {"worker": worker.number})}
    return next((found[each] for each in giving_way if each in found), None)


def _held(work: Transaction, assignments: Sequence[str], *columns: ColumnElement[Any]) -> Select[Any]:
    """Those of these assignments that are in hand, at HITs that others can take if one is given back."""
    return (
        select(*columns)
        .join_from(_DONE, _HITS)
        .where(
            _DONE.c.id.in_(assignments),
            _DONE.c.state == State.ACCEPTED,
            _HITS.c.expires_at > work.now,
            _HITS.c.disposed.is_(False),
        )
    )


# Everybody who takes part needs these, so they are built once.
_HIT = select(Hit).where(Hit.id == bindparam("id"))
_HITS, _KINDS, _DONE = (table(each) for each in (Hit, HitType, Assignment))
_OF_GROUP = or_(_KINDS.c.group_id == bindparam("group"), _KINDS.c.id == bindparam("group"))
_TITLE = select(_KINDS.c.title).where(_OF_GROUP, _KINDS.c.deleted.is_(False))
_GROUP = select(_KINDS.c.number, _KINDS.c.group_id, _KINDS.c.qualifications).where(_OF_GROUP)
_TAKEN = select(_DONE.c.hit_number).where(
    _DONE.c.worker_number == bindparam("worker"), _DONE.c.state.in_(TAKEN)
)
_NEWEST = 2**63 - 1
"""Larger than every number."""


def _offers(*more: ColumnElement[bool]) -> Select[Any]:
    """The groups with a free HIT, or one for which `more` holds: each with the number of its first HIT."""
    groups = (
        select(
            _HITS.c.hit_type_number, func.min(_HITS.c.number).label("first"), func.count().label("available")
        )
        .where(or_(_HITS.c.status == "Assignable", *more), _HITS.c.number.not_in(_TAKEN))
        .group_by(_HITS.c.hit_type_number)
        .subquery()
    )
    shown = ("number", "group_id", "title", "description", "keywords", "reward_cents", "assignment_seconds")
    kind = [_KINDS.c[name] for name in (*shown, "qualifications")]
    return (
        select(groups.c.first, groups.c.available, _HITS.c.id.label("hit_id"), *kind)
        .join_from(groups, _HITS, _HITS.c.number == groups.c.first)
        .join(_KINDS)
        .where(groups.c.first < bindparam("before"))
        .order_by(groups.c.first.desc())
        .limit(bindparam("most"))
    )


_OFFERS = _offers()
_FREE = (
    select(_HITS.c.id)
    .where(
        _HITS.c.status == "Assignable",
        _HITS.c.hit_type_number == bindparam("kind"),
        _HITS.c.number.not_in(_TAKEN),
        _HITS.c.expires_at > bindparam("now", type_=Moment),  # as in is_open
    )
    .order_by(_HITS.c.number)
    .limit(1)
)


def hit_to_preview(work: Transaction, worker: Person, hit_id: str) -> Preview:
    """A HIT, and what keeps this worker from accepting it. Raises NotPossibleError if they may not see it."""
    hit = find_visible(work, worker, hit_id)
    asked = hit.hit_type.qualifications
    record = record_of(work, worker, asked)
    hidden, lacking = unmet(asked, record, "preview"), unmet(asked, record, "accept")
    shown = [each for each in asked if not is_lack(each)]
    known = types_of(work, [*hidden, *lacking, *shown])
    if hidden:
        said = " and that ".join(map(str, obstacles(hidden, known)))
        raise NotPossibleError(f"You cannot see this task. It requires that {said}.", 403)
    return Preview(hit, obstacles(lacking, known), [describe(each, known) for each in shown])


def find_visible(work: Transaction, worker: Person, hit_id: str) -> Hit:
    """A HIT that was not deleted. Raises NotPossibleError if there is none, or if the worker is blocked."""
    if worker.blocked:
        raise NotPossibleError("You can no longer see or accept tasks here.", 403)
    hit = work.session.scalar(_HIT, {"id": hit_id})
    if hit is None or hit.disposed:
        raise NotPossibleError("There is no such task.", 404)
    return hit
