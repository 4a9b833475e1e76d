"""What time alone brings about: work abandoned or approved, HITs expired and disposed of."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import bindparam, or_, select, union

from humaneval.market.events import note
from humaneval.market.hit_status import refresh
from humaneval.market.journal import pay_reward
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit
from humaneval.store.types import Moment

KEPT_DAYS = 120
"""So long after it was first Reviewable a HIT is disposed of by itself, if all its answers are reviewed."""


def something_is_due(work: Transaction) -> bool:
    """Whether time alone has changed anything since it was last looked at."""
    return bool(work.session.scalar(_ANYTHING_DUE, _moments(work.now)))


def turning_points(work: Transaction) -> list[datetime]:
    """The moments, up to now and with it, that time must stop at: a HIT whose review policy waits may have become
    Reviewable there, and the policy decides before what time approved later."""
    return [*sorted(work.session.scalars(_TURNS, _moments(work.now))), work.now]


def let_time_pass(work: Transaction, until: datetime) -> None:
    """Abandon what ran out, approve what waited too long, expire what is past its time, each as of its own
    moment; dispose of what has been kept for long enough."""
    moments = _moments(until)
    late = work.session.scalars(_LATE, moments).all()
    for assignment in late:
        assignment.state, assignment.ended_at = State.ABANDONED, assignment.deadline
        note(replace(work, now=assignment.deadline), "AssignmentAbandoned", assignment.hit, assignment)
    waiting = work.session.scalars(_UNREVIEWED, moments).all()
    for assignment in waiting:
        assert assignment.auto_approve_at is not None
        pay_reward(work, assignment)
        assignment.state, assignment.approved_at = State.APPROVED, assignment.auto_approve_at
        note(replace(work, now=assignment.auto_approve_at), "AssignmentApproved", assignment.hit, assignment)
    expiring = work.session.scalars(_EXPIRING, moments).all()
    for hit in expiring:
        hit.expired = True
        note(replace(work, now=hit.expires_at), "HITExpired", hit)
    changed = {hit.number: hit for hit in (*expiring, *(item.hit for item in (*late, *waiting)))}
    for hit in changed.values():
        refresh(work, hit)
    for hit in work.session.scalars(_OUTDATED, moments).all():
        hit.disposed = True
        refresh(work, hit)
        note(work, "HITDisposed", hit)


def _moments(now: datetime) -> dict[str, datetime]:
    return {"now": now, "kept_since": now - timedelta(days=KEPT_DAYS)}


# Asked at every request, so they are made once.
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


# Of a HIT whose answers time will approve, too; else the order makes no difference.
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
