"""What a worker may see of the HITs: groups of them, and one to look at before it is accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import bindparam, func, or_, select

from humaneval.market.blocks import is_blocked
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.qualifications.requirements import (
    Obstacle,
    is_lack,
    obstacles,
    record_of,
    types_of,
    unmet,
)
from humaneval.market.tables.assignments import TAKEN, Assignment
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit, HitType
from humaneval.market.tables.qualifications import QualificationType
from humaneval.market.tables.workers import Worker

GROUPS_ON_A_PAGE = 100


@dataclass(frozen=True, slots=True)
class Offer:
    """A group of HITs of one type as a worker sees it: the next HIT for them, and the number of HITs.

    `once`: those who hold some qualification may do none, and one HIT may be enough to get it. Then nobody
    knows how many of them this worker may do.
    """

    hit: Hit
    available: int
    once: bool
    obstacles: Sequence[Obstacle]


class Preview(NamedTuple):
    """A HIT to look at, and the requirements that this worker does not meet, in words."""

    hit: Hit
    obstacles: list[Obstacle]
    known: Mapping[str, QualificationType]
    """The types of qualifications that the HIT asks for."""


class Offers(NamedTuple):
    """A page of the groups. `older`: where the next page begins; None after the last."""

    groups: list[Offer]
    older: int | None


def offers(work: Transaction, worker: Worker, *, before: int | None = None) -> Offers:
    """The groups that this worker may see, newest first; of each, the oldest HIT that they have not taken.

    `before`: only groups whose oldest HIT is older than the one of this number.
    """
    if is_blocked(work, worker):
        return Offers([], None)
    open_groups = (
        select(Hit.hit_type_number, func.min(Hit.number).label("first"), func.count().label("available"))
        .where(Hit.status == "Assignable", Hit.number.not_in(_TAKEN))
        .group_by(Hit.hit_type_number)
        .subquery()
    )
    query = select(Hit, open_groups.c.available).join(open_groups, Hit.number == open_groups.c.first)
    if before is not None:
        query = query.where(Hit.number < before)
    page = query.order_by(Hit.number.desc()).limit(GROUPS_ON_A_PAGE)
    rows = work.session.execute(page, {"worker": worker.number}).all()
    record = record_of(work.session, worker)
    known = types_of(work.session, [each for hit, _ in rows for each in hit.hit_type.qualifications])
    shown = [
        Offer(
            hit,
            available,
            is_once(hit.hit_type),
            obstacles(hit.hit_type.qualifications, record, "accept", known),
        )
        for hit, available in rows
        if not unmet(hit.hit_type.qualifications, record, "discover")
    ]
    return Offers(shown, rows[-1][0].number if len(rows) == GROUPS_ON_A_PAGE else None)


def title_of_group(work: Transaction, group_id: str) -> str:
    """The title of the tasks of a group; empty if there is none, or none by that id."""
    of_group = or_(HitType.group_id == group_id, HitType.id == group_id)
    return work.session.scalar(select(HitType.title).where(of_group, HitType.deleted.is_(False))) or ""


def next_in_group(work: Transaction, worker: Worker, group_id: str) -> Hit | None:
    """The next HIT of a group for this worker. The group is named by its HITGroupId or HITTypeId."""
    kind = work.session.scalar(_GROUP, {"group": group_id})
    if kind is None or is_blocked(work, worker):
        return None
    if unmet(kind.qualifications, record_of(work.session, worker), "discover"):
        return None
    return free_in_group(work, worker, kind)


def is_once(kind: HitType) -> bool:
    """Whether those who hold some qualification may do none: each person does it once, so far as we know."""
    return any(map(is_lack, kind.qualifications))


def is_open(work: Transaction, hit: Hit) -> bool:
    """Whether somebody can accept it. After a long pause, not every deadline may be applied yet."""
    return hit.status == "Assignable" and hit.expires_at > work.now


def free_in_group(work: Transaction, worker: Worker, kind: HitType) -> Hit | None:
    """The oldest HIT of a type with a free place that this worker has not taken, if there is one."""
    return work.session.scalar(_FREE, {"kind": kind.number, "worker": worker.number})


# Everybody who takes part needs these, so they are built once.
_HIT = select(Hit).where(Hit.id == bindparam("id"))
_GROUP = select(HitType).where(or_(HitType.group_id == bindparam("group"), HitType.id == bindparam("group")))
_TAKEN = select(Assignment.hit_number).where(
    Assignment.worker_number == bindparam("worker"), Assignment.state.in_(TAKEN)
)
_FREE = (
    select(Hit)
    .where(Hit.status == "Assignable", Hit.hit_type_number == bindparam("kind"), Hit.number.not_in(_TAKEN))
    .order_by(Hit.number)
    .limit(1)
)


def hit_to_preview(work: Transaction, worker: Worker, hit_id: str) -> Preview:
    """A HIT, and what keeps this worker from accepting it. Raises NotPossibleError if they may not see it."""
    hit = find_visible(work, worker, hit_id)
    record, asked = record_of(work.session, worker), hit.hit_type.qualifications
    known = types_of(work.session, asked)
    hidden = obstacles(asked, record, "preview", known)
    if hidden:
        raise NotPossibleError(
            f"You cannot see this task. It requires that {' and that '.join(map(str, hidden))}.", 403
        )
    return Preview(hit, obstacles(asked, record, "accept", known), known)


def find_visible(work: Transaction, worker: Worker, hit_id: str) -> Hit:
    """A HIT that was not deleted. Raises NotPossibleError if there is none, or if the worker is blocked."""
    if is_blocked(work, worker):
        raise NotPossibleError("You can no longer see or accept tasks here.", 403)
    hit = work.session.scalar(_HIT, {"id": hit_id})
    if hit is None or hit.disposed:
        raise NotPossibleError("There is no such task.", 404)
    return hit
