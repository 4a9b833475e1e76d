"""`bonus`: pays on top of a reward, once for each purpose; a payment that may have been made is looked up
first."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import refuse_elsewhere
from humaneval.crowd.ledger import BONUS, find_assignment
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.outbox import Intent, hold_study, intend, perform
from humaneval.crowd.platform import Cost, Platform
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.errors import UsageError
from humaneval.fees import money
from humaneval.store.engine import writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow
from humaneval.store.types import now

MAX_PURPOSE = 100


class BonusPaid(NamedTuple):
    """What became of a bonus. `paid_now` is False where it had been paid before, or nothing was due."""

    amount: Decimal
    fee: Decimal
    paid_now: bool
    state: str


def pay_bonus(
    engine: Engine,
    name: str,
    platform: Platform,
    *,
    assignment: str,
    amount: Decimal,
    reason: str,
    purpose: str,
    dry_run: bool = False,
) -> BonusPaid:
    """Pay a bonus once for each (assignment, purpose); a second one needs a purpose of its own. `dry_run`
    only looks.

    Raises UsageError when the purpose was used with another amount.
    """
    amount = money(amount)
    if amount < 0:
        raise UsageError(f"a bonus of {amount} makes no sense")
    reason, purpose = plain_words("reason", reason), plain_words("purpose", purpose, MAX_PURPOSE)
    refuse_elsewhere(engine, name, platform)
    endpoint = platform.endpoint.name
    cost = platform.bonus_cost(amount) if amount else Cost(Decimal("0.00"), Decimal("0.00"))
    with writing(engine) as session:
        study = hold_study(session, name)
        work = find_assignment(session, study.id, endpoint, assignment)
        worker = external_worker_id(session, work.worker_id)
        payment = session.scalar(
            select(PaymentRow).where(
                PaymentRow.endpoint == endpoint,
                PaymentRow.assignment_id == work.id,
                PaymentRow.kind == BONUS,
                PaymentRow.purpose == purpose,
            )
        )
        subject = _bonus_subject(work, purpose)
        if payment is not None and _never_paid(session, payment, subject):
            payment.amount, payment.fee, payment.reason = amount, cost.fees, reason
            payment.state = "due" if amount else "nothing due"
        if payment is not None and payment.amount != amount:
            raise UsageError(
                f"a bonus of ${payment.amount} for {purpose!r} is already {payment.state}",
                "Give another bonus a purpose of its own: --purpose NAME.",
            )
        if payment is None:
            payment = PaymentRow(
                study_id=study.id,
                endpoint=endpoint,
                assignment_id=work.id,
                kind=BONUS,
                purpose=purpose,
                amount=amount,
                fee=cost.fees,
                reason=reason,
                state="due" if amount else "nothing due",
            )
            session.add(payment)
            session.flush()
        state = payment.state
        if dry_run:
            session.rollback()
            return BonusPaid(amount, cost.fees, False, state)
        if state != "due":
            return BonusPaid(amount, cost.fees, False, state)
        hit = session.get_one(HitRow, work.hit_id)
        row = intend(
            session,
            study_id=study.id,
            endpoint=endpoint,
            operation=BONUS,
            subject=subject,
            key=hit.key,
            request={"amount": str(amount), "reason": reason},
        )
        intent = Intent(row.id, row.operation, row.subject, row.token, row.attempts > 0)
        payment_id, reason = payment.id, payment.reason
        alike = _alike(session, work, payment)

    def pay() -> None:
        # An earlier try may have paid; the platform forgets the token after a while, but not the payment.
        if intent.attempted:
            paid = [
                bonus
                for bonus in platform.bonuses(assignment)
                if (bonus.amount, bonus.reason) == (amount, reason)
            ]
            if len(paid) > alike:
                return
        platform.bonus(assignment, worker, amount, reason, intent.token)

    def record(session: Session, _: None) -> dict[str, str]:
        paid = session.get_one(PaymentRow, payment_id)
        paid.state, paid.paid_at = "paid", now()
        return {"amount": str(amount)}

    perform(engine, intent, pay, record)
    return BonusPaid(amount, cost.fees, True, "paid")


def _bonus_subject(work: AssignmentRow, purpose: str) -> str:
    return f"assignment {work.external_id} worker {work.worker_id} purpose {purpose}"


def _never_paid(session: Session, payment: PaymentRow, subject: str) -> bool:
    """Whether it is certain that nothing was paid: nothing was due, or the platform refused. It can still be
    changed."""
    row = session.scalar(
        select(OutboxRow).where(
            OutboxRow.endpoint == payment.endpoint, OutboxRow.operation == BONUS, OutboxRow.subject == subject
        )
    )
    return payment.state != "paid" and (row is None or row.state == "refused")


def _alike(session: Session, work: AssignmentRow, payment: PaymentRow) -> int:
    """How many other bonuses for the same work look the same at the platform and were paid, or may have
    been."""
    others = session.scalars(
        select(PaymentRow).where(
            PaymentRow.assignment_id == work.id,
            PaymentRow.kind == BONUS,
            PaymentRow.amount == payment.amount,
            PaymentRow.reason == payment.reason,
            PaymentRow.id != payment.id,
        )
    )
    return sum(not _never_paid(session, other, _bonus_subject(work, other.purpose)) for other in others)
