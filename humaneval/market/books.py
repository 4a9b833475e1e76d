"""What follows from a change: a HIT's status, the money held for it, and everything that time alone brings
about.

Money lies in four pots: available, on hold, paid to workers, paid in fees. Making a HIT moves its whole price
to the hold; an approval pays out of the hold; a rejection, a place that expired unused and work that ran out
after the HIT did go back to available. A bonus and its fee leave available at once; a deposit is money that
was not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy import bindparam, delete, func, or_, select, union
from sqlalchemy.orm import Session

from humaneval.market.event_notes import note
from humaneval.market.protocol.refusals import insufficient_funds
from humaneval.market.tables.database import Mode, Transaction
from humaneval.market.tables.files import Upload
from humaneval.market.tables.hits import TAKEN, Assignment, Entry, Hit, State
from humaneval.store.types import Moment

KEPT_DAYS = 120
"""So long after it was first Reviewable a HIT is disposed of by itself, if all its answers are reviewed."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of a HIT's places are at which stage."""

    accepted: int = 0
    submitted: int = 0
    approved: int = 0
    rejected: int = 0
    places: int = 0

    @property
    def free(self) -> int:
        """Places nobody has taken, whether or not the HIT may still be taken."""
        return self.places - self.accepted - self.submitted - self.approved - self.rejected

    @property
    def finished(self) -> int:
        """Places with an answer in them."""
        return self.submitted + self.approved + self.rejected

    @property
    def reviewed(self) -> int:
        """What MTurk calls completed: approved or rejected."""
        return self.approved + self.rejected


@dataclass(frozen=True, slots=True)
class Balance:
    """The account's four pots, in cents."""

    available: int
    on_hold: int
    paid: int
    fees: int


def dollars(cents: int) -> Decimal:
    """`cents` as dollars.

    >>> dollars(75)
    Decimal('0.75')
    """
    return Decimal(cents).scaleb(-2)


def counts(session: Session, hits: Sequence[Hit]) -> dict[int, Counts]:
    """The counts of each of `hits`, by the HIT's number."""
    rows = session.execute(
        select(Assignment.hit_number, Assignment.state, func.count())
        .where(Assignment.hit_number.in_([hit.number for hit in hits]), Assignment.state.in_(TAKEN))
        .group_by(Assignment.hit_number, Assignment.state)
    ).all()
    found: dict[int, dict[str, int]] = {hit.number: {} for hit in hits}
    for number, state, count in rows:
        found[number][state.value] = count
    return {hit.number: Counts(places=hit.max_assignments, **found[hit.number]) for hit in hits}


def balance(session: Session) -> Balance:
    """The account's pots, added up from the journal."""
    row = session.execute(
        select(func.sum(Entry.available), func.sum(Entry.on_hold), func.sum(Entry.paid), func.sum(Entry.fees))
    ).one()
    return Balance(*(pot or 0 for pot in row))


def post(
    work: Transaction,
    kind: str,
    hit: Hit,
    assignment: Assignment | None = None,
    *,
    available: int = 0,
    on_hold: int = 0,
    paid: int = 0,
    fees: int = 0,
) -> None:
    """Write one line of the journal. Raises RefusedError where the account cannot pay; a sandbox always
    can."""
    if available < 0 and work.mode is Mode.LOCAL and balance(work.session).available + available < 0:
        raise insufficient_funds()
    work.session.add(
        Entry(
            kind=kind,
            hit_number=hit.number,
            assignment_number=assignment.number if assignment else None,
            available=available,
            on_hold=on_hold,
            paid=paid,
            fees=fees,
            made_at=work.now,
        )
    )
    work.session.flush()


def deposit(work: Transaction, cents: int) -> None:
    """Add `cents`, more than 0, to what is available."""
    work.session.add(Entry(kind="deposit", available=cents, made_at=work.now))
    work.session.flush()


def pay_reward(work: Transaction, assignment: Assignment) -> None:
    """Pay an assignment's reward and its fee out of the hold of its HIT."""
    hit = assignment.hit
    price, reward, fee = hit.price_cents, hit.hit_type.reward_cents, hit.fee_cents
    post(work, "reward", hit, assignment, on_hold=-price, paid=reward, fees=fee)


def refresh(work: Transaction, hit: Hit) -> Counts:
    """Bring a HIT's status and hold in line with its assignments and its expiry. Gives its counts."""
    work.session.flush()
    count = counts(work.session, [hit])[hit.number]
    _settle_hold(work, hit, count)
    hit.status = _status(hit, count)
    finished = hit.status in ("Reviewable", "Reviewing")
    if finished:
        if hit.finished_at is None:
            hit.finished_at = work.now
            note(work, "HITReviewable", hit)
    elif hit.disposed:
        mine = select(Assignment.number).where(Assignment.hit_number == hit.number)
        work.session.execute(delete(Upload).where(Upload.assignment_number.in_(mine)))
    else:
        hit.finished_at = None
        hit.policy_due = hit.hit_policy is not None
    work.session.flush()
    return count


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


def _settle_hold(work: Transaction, hit: Hit, count: Counts) -> None:
    """Hold the price of every place that may still have to be paid for, and of no other."""
    open_places = 0 if hit.expired or hit.disposed else count.free
    wanted = hit.price_cents * (open_places + count.accepted + count.submitted)
    held = work.session.scalar(
        select(func.coalesce(func.sum(Entry.on_hold), 0)).where(Entry.hit_number == hit.number)
    )
    more = wanted - (held or 0)
    if more:
        post(work, "hold" if more > 0 else "release", hit, on_hold=more, available=-more)


def _status(hit: Hit, count: Counts) -> str:
    if hit.disposed:
        return "Disposed"
    if count.finished == count.places or (hit.expired and not count.accepted):
        return "Reviewing" if hit.reviewing else "Reviewable"
    hit.reviewing = False
    return "Assignable" if count.free and not hit.expired else "Unassignable"
