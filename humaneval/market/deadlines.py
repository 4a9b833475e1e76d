"""Deadlines: work is abandoned or approved, and HITs expire and are disposed of, when time has passed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import bindparam, or_, select, union

from humaneval.market.account import pay_reward
from humaneval.market.events import note
from humaneval.market.hit_status import refresh
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit
from humaneval.store.types import Moment

KEPT_DAYS = 120
"""Days from when a HIT became Reviewable until it is disposed of, if all its answers are reviewed."""
OVERRIDE_DAYS = 30
"""Days from a submission in which its rejection can be overridden."""
AT_ONCE = 50
"""How many deadlines of a kind one transaction applies."""


def something_is_due(work: Transaction) -> bool:
    """Whether a deadline has passed that was not applied yet."""
    return bool(work.connection.scalar(_ANYTHING_DUE, _moments(work.now)))


def turning_points(work: Transaction) -> list[datetime]:
    """The moments, the last of them now, up to which deadlines are applied one after the other.

    At such a moment a HIT may become Reviewable, and its review policy decides before later deadlines do.
    """
    return [*sorted(work.session.scalars(_TURNS, _moments(work.now))), work.now]


def let_time_pass(work: Transaction, until: datetime) -> bool:
    """Apply deadlines up to `until`, each as of its own moment. False if there are more than `AT_ONCE` of a
    kind: the rest belongs into another transaction, since nobody else can write meanwhile.

    Work that ran out is abandoned, work that waited too long is approved, HITs expire, and old HITs are
    disposed of.
    """
    moments = _moments(until)
    late = work.session.scalars(_LATE.limit(AT_ONCE), moments).all()
    for assignment in late:
        assignment.state, assignment.ended_at = State.ABANDONED, assignment.deadline
        note(replace(work, now=assignment.deadline), "AssignmentAbandoned", assignment.hit, assignment)
    waiting = work.session.scalars(_UNREVIEWED.limit(AT_ONCE), moments).all()
    for assignment in waiting:
        assert assignment.auto_approve_at is not None
        pay_reward(work, assignment)
        assignment.state, assignment.approved_at = State.APPROVED, assignment.auto_approve_at
        note(replace(work, now=assignment.auto_approve_at), "AssignmentApproved", assignment.hit, assignment)
    expiring = work.session.scalars(_EXPIRING.limit(AT_ONCE), moments).all()
    for hit in expiring:
        hit.expired = True
        note(replace(work, now=hit.expires_at), "HITExpired", hit)
    changed = {hit.number: hit for hit in (*expiring, *(item.hit for item in (*late, *waiting)))}
    for hit in changed.values():
        refresh(work, hit)
    outdated = work.session.scalars(_OUTDATED.limit(AT_ONCE), moments).all()
    for hit in outdated:
        hit.disposed = True
        refresh(work, hit)
        note(work, "HITDisposed", hit)
    return all(len(each) < AT_ONCE for each in (late, waiting, expiring, outdated))


def _moments(now: datetime) -> dict[str, datetime]:
    return {"now": now, "kept_since": now - timedelta(days=KEPT_DAYS)}


# Every request needs these, so they are built once.
_NOW = bindparam("now", type_=Moment)

_LATE = select(Assignment).where(Assignment.state == State.ACCEPTED, Assignment.deadline <= _NOW)

_UNREVIEWED = select(Assignment).where(
    Assignment.state == State.SUBMITTED, Assignment.auto_approve_at <= _NOW
)

_EXPIRING = select(Hit).where(Hit.expired.is_(False), Hit.expires_at <= _NOW)

_OUTDATED = select(Hit).where(
    Hit.disposed.is_(False),
    Hit.finished_at <= bindparam("kept_since", type_=Moment),
    ~select(Assignment.number)
    .where(Assignment.hit_number == Hit.number, Assignment.state == State.SUBMITTED)
    .exists(),
)


# Only for a HIT with answers that are due for approval; for others the order makes no difference.
_RACING = Hit.policy_due & Hit.number.in_(
    select(Assignment.hit_number).where(
        Assignment.state == State.SUBMITTED, Assignment.auto_approve_at <= _NOW
    )
)

_TURNS = union(
    select(Hit.expires_at).where(_RACING, Hit.expired.is_(False), Hit.expires_at <= _NOW),
    select(Assignment.deadline)
    .join(Assignment.hit)
    .where(_RACING, Assignment.state == State.ACCEPTED, Assignment.deadline <= _NOW),
)

_ANYTHING_DUE = select(or_(*(query.exists() for query in (_LATE, _UNREVIEWED, _EXPIRING, _OUTDATED))))
