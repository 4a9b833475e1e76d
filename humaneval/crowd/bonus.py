"""Pays a bonus on top of a reward, once for each purpose. A payment that may have been made is looked up
first."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.bonus_tried import (
    MINUTE,
    PREPARED,
    PREPARED_AT,
    TOTAL,
    alike,
    never_paid,
    shown_by_of,
    subject_of,
)
from humaneval.crowd.costs import BONUS
from humaneval.crowd.find_assignment import find_assignment, paid_meanwhile, refuse_lost
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.link import NO_BONUS
from humaneval.crowd.lost_work import lost_work, refuse_by_link
from humaneval.crowd.outbox import Intent, dropped, hold_study, intend, intent_of, perform
from humaneval.crowd.participants import COMPENSATION
from humaneval.crowd.plan_differences import look
from humaneval.crowd.platform import Cost
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.prolific.submission import LEFT
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.published_hits import refuse_elsewhere, up
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import refuse_unaccepted
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import money
from humaneval.store.engine import reading, writing
from humaneval.store.tables import COLLECTED, AssignmentRow, HitRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from humaneval.text import command

MAX_PURPOSE = 100


class BonusPaid(NamedTuple):
    """What became of a bonus. `paid_now` is False if it had been paid before, or nothing was due."""

    amount: Decimal
    fee: Decimal
    paid_now: bool
    state: str


class _Terms(NamedTuple):
    """What a bonus is, and why it is paid. The worker reads the reason."""

    kind: str
    purpose: str
    amount: Decimal
    fee: Decimal
    reason: str


def pay_bonus(
    at: StudyAtPlatform,
    *,
    assignment: str,
    amount: Decimal,
    reason: str,
    purpose: str,
    dry_run: bool = False,
) -> BonusPaid:
    """Pay a bonus once for each (assignment, purpose). A second bonus needs a purpose of its own.

    `dry_run` only looks. Raises UsageError if the purpose was used with another amount.
    """
    amount = money(amount)
    if amount < 0:
        raise UsageError(f"a bonus cannot be negative: {amount}")
    reason, purpose = plain_words("reason", reason), plain_words("purpose", purpose, MAX_PURPOSE)
    refuse_by_link(at, assignment, NO_BONUS)
    refuse_elsewhere(at)
    _look_before_paying(at, assignment, purpose)
    cost = at.platform.bonus_cost(amount) if amount else Cost(Decimal("0.00"), Decimal("0.00"))
    terms = _Terms(BONUS, purpose, amount, cost.fees, reason)
    return _paid(at, lambda session: _work(session, at, assignment, purpose), terms, dry_run=dry_run)


def pay_lost_work(
    at: StudyAtPlatform, *, assignment: str, amount: Decimal, reason: str, worker: str, dry_run: bool
) -> BonusPaid:
    """Pay for work that was never submitted, at a platform that pays bonuses to everybody who took part. It
    pays once for each (assignment, worker)."""
    cost = at.platform.bonus_cost(amount)
    terms = _Terms(COMPENSATION, COMPENSATION, amount, cost.fees, reason)
    with reading(at.engine) as session:
        hit = lost_work(session, at, assignment, worker).hit_id
    look(at, [each for each in up(at.study, at.endpoint) if each.id == hit])
    refuse_unaccepted(at, "Nothing was paid.", {hit})
    _refuse_uncertain(at, assignment)
    return _paid(at, lambda session: lost_work(session, at, assignment, worker), terms, dry_run=dry_run)


def _refuse_uncertain(at: StudyAtPlatform, assignment: str) -> None:
    """Raise PlatformError unless the platform says that this work is over, and was not submitted."""
    there = at.platform.session(assignment) if isinstance(at.platform, Prolific) else None
    if there is not None and there.status not in LEFT:
        raise PlatformError(
            f"submission {assignment} is {there.status.lower()} at {at.endpoint}, and could be paid there,"
            " too",
            f"Nothing was paid. See what became of it: {command('collect', at.name, '--to', at.endpoint)}",
            nothing_done=True,
        )


def _paid(
    at: StudyAtPlatform, find: Callable[[Session], AssignmentRow], terms: _Terms, *, dry_run: bool
) -> BonusPaid:
    with writing(at.engine) as session:
        hold_study(session, at.id)
        work = find(session)
        payment = _payment(session, at, work, terms)
        state = payment.state
        if dry_run:
            session.rollback()
        if dry_run or state != "due":
            return BonusPaid(terms.amount, terms.fee, False, state)
        bonus = _intended(session, at, work, payment)
    try:
        return BonusPaid(terms.amount, terms.fee, _pay(at, bonus), "paid")
    except PlatformError:
        if terms.kind == COMPENSATION or bonus.given_back:
            with writing(at.engine) as session:
                hold_study(session, at.id)
                line = session.get(PaymentRow, bonus.payment_id)
                if line is not None and never_paid(session, line):
                    session.delete(line)  # the person is still unpaid, and may never be paid this way
        raise


def _work(session: Session, at: StudyAtPlatform, assignment: str, purpose: str) -> AssignmentRow:
    """The work that a bonus is for. It may have been given back since, if the bonus may have been paid
    before."""
    tried = session.scalars(
        select(AssignmentRow)
        .join(PaymentRow, PaymentRow.assignment_id == AssignmentRow.id)
        .where(
            AssignmentRow.study_id == at.id,
            AssignmentRow.endpoint == at.endpoint,
            AssignmentRow.external_id == assignment,
            AssignmentRow.state.not_in(COLLECTED),
            PaymentRow.kind == BONUS,
            PaymentRow.purpose == purpose,
            PaymentRow.state == "due",
        )
    ).one_or_none()
    return find_assignment(session, at, assignment) if tried is None else tried


def _look_before_paying(at: StudyAtPlatform, assignment: str, purpose: str) -> None:
    """Raise PlatformError if the HIT of this work is gone, or differs from the plan unaccepted."""
    with reading(at.engine) as session:
        work = _work(session, at, assignment, purpose)
        session.expunge_all()
    look(at, [hit for hit in up(at.study, at.endpoint) if hit.id == work.hit_id])
    with reading(at.engine) as session:
        refuse_lost(session, at, work)
    refuse_unaccepted(at, "Nothing was paid.", {work.hit_id})


class _Bonus(NamedTuple):
    """A bonus that is intended and due."""

    intent: Intent
    payment_id: int
    assignment: str
    worker: str
    amount: Decimal
    reason: str
    prepared: str
    """The id of the payment that an earlier try had set up."""
    shown_by: datetime | None
    """When that payment is shown if it was made; None if it was not made."""
    most: Decimal
    """What this may cost with fees: the sum that somebody agreed to."""
    given_back: bool
    """The work is no longer submitted: only what was paid before is looked up."""


def _payment(session: Session, at: StudyAtPlatform, work: AssignmentRow, terms: _Terms) -> PaymentRow:
    """The line of the books for this bonus, made if it is not there. UsageError if it has another amount."""
    payment = session.scalar(
        select(PaymentRow).where(
            PaymentRow.endpoint == at.endpoint,
            PaymentRow.assignment_id == work.id,
            PaymentRow.kind == terms.kind,
            PaymentRow.purpose == terms.purpose,
        )
    )
    state = "due" if terms.amount else "nothing due"
    if payment is None:
        payment = PaymentRow(
            study_id=at.id,
            endpoint=at.endpoint,
            assignment_id=work.id,
            kind=terms.kind,
            purpose=terms.purpose,
            amount=terms.amount,
            fee=terms.fee,
            reason=terms.reason,
            state=state,
        )
        session.add(payment)
        session.flush()
        return payment
    if never_paid(session, payment):
        payment.amount, payment.fee, payment.reason = terms.amount, terms.fee, terms.reason
        payment.state = state
    if payment.amount != terms.amount:
        raise UsageError(
            f"a bonus of {at.sign}{payment.amount} for {terms.purpose!r} is already {payment.state}",
            "Give another bonus a purpose of its own: --purpose NAME.",
        )
    return payment


def _intended(session: Session, at: StudyAtPlatform, work: AssignmentRow, payment: PaymentRow) -> _Bonus:
    row = intend(
        session,
        study_id=at.id,
        endpoint=at.endpoint,
        operation=BONUS,
        subject=subject_of(work, payment),
        key=session.get_one(HitRow, work.hit_id).key,
        request={"amount": str(payment.amount), "reason": payment.reason},
    )
    return _Bonus(
        intent_of(row),
        payment.id,
        work.external_id,
        external_worker_id(session, work.worker_id),
        payment.amount,
        payment.reason,
        row.request.get(PREPARED, ""),
        shown_by_of(row),
        payment.amount + payment.fee,
        payment.kind == BONUS and work.state not in COLLECTED,
    )


def _pay(at: StudyAtPlatform, bonus: _Bonus) -> bool:
    """Pay, and say whether it was this call that paid, or that finished a try which paid."""

    def pay() -> _Done:
        # An earlier try may have paid, also one that is forgotten because an older copy of the database was
        # put back. The platform forgets the token after a while, but not the payment.
        paid = [
            there
            for there in at.platform.bonuses(bonus.assignment)
            if there.amount == bonus.amount and there.reason in (None, bonus.reason)
        ]
        with reading(at.engine) as session:
            others = _others(session, at, bonus)
        if len(paid) > others:
            return _Done(bonus.intent.attempted, len(paid))
        if bonus.shown_by is not None:
            raise _not_shown(at, bonus, bonus.shown_by)
        if bonus.given_back:
            error = PlatformError(
                f"assignment {bonus.assignment} is no longer submitted at {at.endpoint}: nothing was paid",
                "The person has given the work back, or their time ran out.",
            )
            error.never_done = True
            raise error
        token = _prepared(at, bonus) or bonus.intent.token
        at.platform.bonus(bonus.assignment, bonus.worker, bonus.amount, bonus.reason, token)
        return _Done(True)

    def record(session: Session, done: _Done) -> dict[str, str]:
        if done.shown is not None:
            hold_study(session, at.id)
            if done.shown <= _others(session, at, bonus):
                raise PlatformError(
                    "another program has entered the payment that is shown", "Run the same command again."
                )
        paid = session.get_one(PaymentRow, bonus.payment_id)
        paid.state, paid.paid_at = "paid", now()
        total = session.get_one(OutboxRow, bonus.intent.id).request.get(TOTAL)
        if total is not None:
            paid.fee = Decimal(total) - paid.amount
        return {"amount": str(bonus.amount)}

    return perform(at.engine, bonus.intent, pay, record).by_this


class _Done(NamedTuple):
    """Whether this call paid, or finished a try which paid; and how many payments alike the platform shows,
    if one of them is taken for this bonus."""

    by_this: bool
    shown: int | None = None


def _others(session: Session, at: StudyAtPlatform, bonus: _Bonus) -> int:
    """How many of the payments that the platform shows belong to other bonuses."""
    payment = session.get(PaymentRow, bonus.payment_id)
    if payment is None:
        raise dropped()
    return alike(session, at, payment, sure=bonus.shown_by is not None)


def _prepared(at: StudyAtPlatform, bonus: _Bonus) -> str:
    """The id of the payment that is set up, stored before anything is paid; empty if the platform pays in one
    step. Raises PlatformError if it would cost more than was agreed."""
    prepared = at.platform.prepare_bonus(bonus.assignment, bonus.amount)
    if prepared is None:
        return ""
    if prepared.total > bonus.most:
        raise PlatformError(
            f"{at.endpoint} asks for {at.sign}{prepared.total} in all, and {at.sign}{bonus.most} was agreed",
            "Nothing was paid.",
            nothing_done=True,
        )
    with writing(at.engine) as session:
        hold_study(session, at.id)
        row = session.get_one(OutboxRow, bonus.intent.id)
        if session.get_one(PaymentRow, bonus.payment_id).elsewhere:
            raise paid_meanwhile(bonus.assignment)
        if row.request.get(PREPARED, "") != bonus.prepared:  # only one of two programs goes on to pay
            raise PlatformError("another program is paying this bonus", "Try again in a moment.")
        kept = {PREPARED: prepared.id, TOTAL: str(prepared.total), PREPARED_AT: now().isoformat()}
        row.request = {**row.request, **kept}
    return prepared.id


def _not_shown(at: StudyAtPlatform, bonus: _Bonus, shown_by: datetime) -> PlatformError:
    what = f"a bonus of {at.sign}{bonus.amount} for {bonus.assignment}"
    if now() < shown_by:
        return PlatformError(
            f"{what} is unconfirmed: it was sent to {at.endpoint}, which does not show it",
            f"Nothing was sent now: it could pay twice. If it is not shown until {shown_by:{MINUTE}}, it was"
            " not paid. Run the same command again then.",
        )
    error = PlatformError(
        f"{what} was not paid: {at.endpoint} has not shown it until {shown_by:{MINUTE}}",
        "Nothing was paid now. Run the same command again to pay it, or, for a bonus that is no longer due,"
        " with --amount 0.",
    )
    error.never_done = True
    return error
