"""Enters in the books what a person paid a worker elsewhere, by hand, because the platform cannot.

Nothing is sent to anybody. The platform is asked first, so that nobody is paid twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy.orm import Session

from humaneval.crowd.bonus_tried import refuse_unknown_bonus
from humaneval.crowd.compensation_hit import withdraw_hit
from humaneval.crowd.costs import payment_writes, withdraw_payments
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.lost_work import lost_work, refuse_if_submitted, work_under
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.participants import COMPENSATION, compensation_of
from humaneval.crowd.plan_differences import look
from humaneval.crowd.published_hits import refuse_elsewhere, up
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import money
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, PaymentRow, WorkerRow
from humaneval.store.types import now

ZERO = Decimal("0.00")


@dataclass(frozen=True, slots=True)
class PaidElsewhere:
    """A payment elsewhere, as the books have it now. `before` is what they had; None if they had nothing."""

    worker: str
    amount: Decimal
    before: Decimal | None
    by_platform: bool
    """Whether the platform paid a compensation before. Then nothing was entered."""


def pay_elsewhere(
    at: StudyAtPlatform,
    *,
    assignment: str,
    amount: Decimal,
    reason: str,
    worker: str = "",
    dry_run: bool = False,
) -> PaidElsewhere:
    """Enter that the worker of an assignment was paid `amount` elsewhere: once for each (assignment, worker).

    Another amount or reason replaces the first, to correct it. A HIT that was put up for the same purpose
    and that nobody has taken is taken down. UsageError if the platform itself can still pay.
    """
    amount, reason = money(amount), plain_words("reason", reason)
    if amount <= 0:
        raise UsageError("a payment needs an amount above zero")
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        hit_id = work_under(session, at, assignment, worker).hit_id
    look(at, [hit for hit in up(at.study, at.endpoint) if hit.id == hit_id])
    with reading(at.engine) as session:
        work = lost_work(session, at, assignment, worker, elsewhere=True)
        person = session.get_one(WorkerRow, work.worker_id).pseudonym
        there, tries = compensation_of(session, work), _tries(session, work)
        session.expunge_all()
    refuse_if_submitted(at, work)
    if there is not None and there.state == "paid" and not there.elsewhere:
        return PaidElsewhere(person, there.amount, there.amount, by_platform=True)
    if at.platform.endpoint.plain_bonuses:
        refuse_unknown_bonus(at, work)
    before = there.amount if there is not None and there.elsewhere else None
    if dry_run:
        return PaidElsewhere(person, amount, before, by_platform=False)
    withdraw_hit(at, work, reason)
    with writing(at.engine) as session:
        hold_study(session, at.id)
        payment = compensation_of(session, work)
        if _tries(session, work) != tries:
            raise PlatformError("another program is paying for this work", "Try again in a moment.")
        withdraw_payments(session, work)
        if payment is None:
            payment = PaymentRow(
                study_id=at.id,
                endpoint=at.endpoint,
                assignment_id=work.id,
                kind=COMPENSATION,
                purpose=COMPENSATION,
            )
            session.add(payment)
        payment.amount, payment.fee, payment.reason = amount, ZERO, reason
        payment.state, payment.elsewhere, payment.paid_at = "paid", True, payment.paid_at or now()
    return PaidElsewhere(person, amount, before, by_platform=False)


def _tries(session: Session, work: AssignmentRow) -> tuple[object, ...]:
    """How the payment stands, and how often each write about this work was tried."""
    payment = compensation_of(session, work)
    stands = None if payment is None else (payment.state, payment.elsewhere)
    return (stands, *((row.id, row.state, row.attempts) for row in payment_writes(session, work)))
