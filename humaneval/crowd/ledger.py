"""Who was paid what, for what: rewards and bonuses, each once; the sum that a study has cost."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import refuse_elsewhere
from humaneval.crowd.outbox import Intent, hold_study, intend, perform, settle, withdraw
from humaneval.crowd.people import external_worker_id
from humaneval.crowd.platform import Cost, Platform
from humaneval.crowd.words import plain_words
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import money
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, StudyRow
from humaneval.store.types import now
from humaneval.studies import get_study, settings_of

APPROVE = "approve"
REJECT = "reject"
BONUS = "bonus"
INSTEAD = "decided otherwise"
"""Why a decision is not sent any more."""
MAX_PURPOSE = 100


class BonusPaid(NamedTuple):
    """What became of a bonus. `paid_now` is False where it had been paid before, or nothing was due."""

    amount: Decimal
    fee: Decimal
    paid_now: bool
    state: str


def approval_subject(assignment: AssignmentRow) -> str:
    """What an approval is about, for the outbox."""
    return f"assignment {assignment.external_id} worker {assignment.worker_id}"


def reward_paid(session: Session, study: StudyRow, platform: Platform, assignment: AssignmentRow) -> None:
    """Enter the reward of an assignment that the platform has approved, once; an approval that was intended is done."""
    settle(session, assignment.endpoint, APPROVE, approval_subject(assignment))
    withdraw(session, assignment.endpoint, REJECT, approval_subject(assignment), INSTEAD)
    there = session.scalar(
        select(PaymentRow).where(
            PaymentRow.endpoint == assignment.endpoint,
            PaymentRow.assignment_id == assignment.id,
            PaymentRow.kind == "reward",
        )
    )
    if there is not None:
        return
    hit = session.get_one(HitRow, assignment.hit_id)
    settings = settings_of(study)
    cost = platform.cost(settings.hit.reward, hit.assignments, masters=settings.participants.masters)
    each = cost.each(hit.assignments)
    if not each.total:
        return
    session.add(
        PaymentRow(
            study_id=study.id, endpoint=assignment.endpoint, assignment_id=assignment.id, kind="reward", purpose="reward",
            amount=each.rewards, fee=each.fees, state="paid", paid_at=now(),
        )
    )  # fmt: skip


def rejection_done(session: Session, assignment: AssignmentRow) -> None:
    """Note that the platform has rejected an assignment: a rejection that was intended is done, an approval is not."""
    settle(session, assignment.endpoint, REJECT, approval_subject(assignment))
    withdraw(session, assignment.endpoint, APPROVE, approval_subject(assignment), INSTEAD)


def find_assignment(session: Session, study_id: int, endpoint: str, external_id: str) -> AssignmentRow:
    """The assignment that counts under a platform's id; says plainly when there is none or it is not submitted."""
    found = session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.study_id == study_id, AssignmentRow.endpoint == endpoint, AssignmentRow.external_id == external_id,
            AssignmentRow.state != "superseded",
        ).order_by(AssignmentRow.state.in_(("opened", "answered")), AssignmentRow.id.desc())
    ).first()  # fmt: skip
    if found is None:
        elsewhere = session.scalar(
            select(AssignmentRow.endpoint).where(
                AssignmentRow.study_id == study_id, AssignmentRow.external_id == external_id
            )
        )
        if elsewhere is not None:
            raise UsageError(
                f"assignment {external_id} is one of {elsewhere}, not of {endpoint}",
                f"Say so with --to {elsewhere}.",
            )
        raise UsageError(
            f"the study has no assignment {external_id!r} at {endpoint}",
            "`humaneval review STUDY` lists them; `humaneval collect` brings new ones in.",
        )
    if found.state in ("opened", "answered"):
        raise PlatformError(
            f"assignment {external_id} is not submitted yet", "Run `humaneval collect` when it is."
        )
    return found


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
    """Pay a bonus once for each (assignment, purpose); a second one needs a purpose of its own. `dry_run` only looks.

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
                study_id=study.id, endpoint=endpoint, assignment_id=work.id, kind=BONUS, purpose=purpose, amount=amount, fee=cost.fees,
                reason=reason, state="due" if amount else "nothing due",
            )  # fmt: skip
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
    """Whether it is certain that nothing was paid: nothing was due, or the platform refused. It can still be changed."""
    row = session.scalar(
        select(OutboxRow).where(
            OutboxRow.endpoint == payment.endpoint, OutboxRow.operation == BONUS, OutboxRow.subject == subject
        )
    )
    return payment.state != "paid" and (row is None or row.state == "refused")


def _alike(session: Session, work: AssignmentRow, payment: PaymentRow) -> int:
    """How many other bonuses for the same work look the same at the platform and were paid, or may have been."""
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


def spent(engine: Engine, name: str, endpoint: str | None = None) -> Cost:
    """What the study has paid so far, on one endpoint or all."""
    with reading(engine) as session:
        study = get_study(session, name)
        query = select(PaymentRow).where(PaymentRow.study_id == study.id, PaymentRow.state == "paid")
        if endpoint is not None:
            query = query.where(PaymentRow.endpoint == endpoint)
        payments = session.scalars(query).all()
    zero = Decimal("0.00")
    return Cost(sum((p.amount for p in payments), zero), sum((p.fee for p in payments), zero))
