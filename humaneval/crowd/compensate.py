"""Pays workers who lost work through our fault, and who submitted nothing that a bonus could be paid for.

Each of them gets a HIT that nobody else can see or take, with a single button. It is approved automatically
when it is submitted. At platforms that pay bonuses to everybody who took part, a bonus is paid instead. The
write is an outbox row: running it again goes on, and pays nobody twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from sqlalchemy import select

from humaneval.crowd.bonus import pay_lost_work
from humaneval.crowd.compensation_hit import (
    DAYS,
    Order,
    ordered,
    put_up,
    refuse_other,
    refuse_paid_by_hand,
    withdraw_hit,
    write_of,
)
from humaneval.crowd.costs import withdraw_payments
from humaneval.crowd.find_assignment import pay_by_hand
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.lost_work import lost_work, refuse_by_link, refuse_if_submitted
from humaneval.crowd.outbox import TOGETHER, hold_study
from humaneval.crowd.participants import COMPENSATION, compensation_of
from humaneval.crowd.platform import Cost, Published
from humaneval.crowd.published_hits import refuse_elsewhere, submitted
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import money
from humaneval.store.engine import in_turns, reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow, WorkerRow
from humaneval.store.types import now


@dataclass(frozen=True, slots=True)
class Compensated:
    """A compensation that is up. `made_now` is False if it was up before and can still be taken."""

    worker: str
    cost: Cost
    preview_url: str
    made_now: bool
    paid: bool


def compensate_worker(
    at: StudyAtPlatform,
    *,
    assignment: str,
    amount: Decimal,
    reason: str,
    worker: str = "",
    dry_run: bool = False,
) -> Compensated:
    """Put up a HIT of `amount` for the worker of an assignment that was never submitted, once for each
    (assignment, worker).

    `worker` says whose work it was, if the platform gave one assignment to several people. `dry_run` checks
    everything and does nothing.
    """
    amount, reason = money(amount), plain_words("reason", reason)
    if amount <= 0:
        raise UsageError("a compensation needs an amount above zero")
    refuse_by_link(at, assignment, "no compensation can be paid by link")
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        work = lost_work(session, at, assignment, worker)
        known = compensation_of(session, work)
        pseudonym = session.get_one(WorkerRow, work.worker_id).pseudonym
        session.expunge_all()
    if known is not None and known.elsewhere:
        if not dry_run:
            withdraw_hit(at, work, reason)
            with writing(at.engine) as session:
                hold_study(session, at.id)
                withdraw_payments(session, work)
        return Compensated(pseudonym, Cost(known.amount, known.fee), "", made_now=False, paid=True)
    refuse_if_submitted(at, work)
    if at.platform.endpoint.plain_bonuses:  # everybody who took part there can get a bonus
        paid = pay_lost_work(
            at, assignment=assignment, amount=amount, reason=reason, worker=worker, dry_run=dry_run
        )
        made_now = paid.state == "due" if dry_run else paid.paid_now
        return Compensated(
            pseudonym, Cost(paid.amount, paid.fee), "", made_now, paid=not dry_run or not made_now
        )
    cost = at.platform.cost(amount, 1)
    with writing(at.engine) as session:
        hold_study(session, at.id)
        order = ordered(session, at, lost_work(session, at, assignment, worker), amount, reason, cost)
        if dry_run:
            session.rollback()
    # If nobody took it in time, the same HIT is put up again: it is still paid only once.
    ran_out = order.there is not None and not order.paid and _ran_out(at, order, order.there["external_id"])
    made_now = order.there is None or ran_out
    if dry_run:
        return Compensated(order.pseudonym, cost, "", made_now, order.paid)
    if ran_out and order.there is not None:
        at.platform.extend(order.there["external_id"], now() + timedelta(days=DAYS))
        refuse_paid_by_hand(at, order, up=True)
    try:
        group = order.there["group"] if order.there is not None else put_up(at, order).group
    except PlatformError as error:
        if _forget_if_refused(at, order):
            error.hint = f"{error.hint}\n{pay_by_hand(at, assignment)}".strip()
        raise
    preview_url = at.platform.endpoint.preview_url.format(type=group)
    return Compensated(order.pseudonym, cost, preview_url, made_now, order.paid)


def _forget_if_refused(at: StudyAtPlatform, order: Order) -> bool:
    """Take the line of the books back if it is certain that nothing was put up: the person is still unpaid.
    Returns whether that is certain."""
    with writing(at.engine) as session:
        state = session.scalar(select(OutboxRow.state).where(OutboxRow.token == order.intent.token))
        payment = session.get(PaymentRow, order.payment)
        if state == "refused" and payment is not None and payment.state == "due":
            session.delete(payment)
        return state == "refused"


def _ran_out(at: StudyAtPlatform, order: Order, external_id: str) -> bool:
    """Whether the time to find the HIT is over, and nobody has taken it. Raises PlatformError if it was
    deleted there, or has other figures."""
    platform = at.platform
    standing = platform.standing(external_id)
    if standing is None:
        raise PlatformError(
            f"{platform.endpoint.name} no longer has the HIT {external_id} with this compensation",
            "It was deleted there. Only the platform's own books show whether it was taken before. If it was"
            f" not: {pay_by_hand(at, order.assignment)}",
        )
    refuse_other(at, order, Published(external_id, "", standing.terms))
    return standing.expired and not standing.in_hand and not submitted(platform, external_id)


def settle_compensations(at: StudyAtPlatform) -> int:
    """Enter the compensations that the platform has paid in the books. Returns how many are still due."""
    with reading(at.engine) as session:
        due = session.scalars(
            select(PaymentRow).where(
                PaymentRow.study_id == at.id,
                PaymentRow.endpoint == at.endpoint,
                PaymentRow.kind == COMPENSATION,
                PaymentRow.state == "due",
            )
        ).all()
        up = {}
        for payment in due:
            work = session.get_one(AssignmentRow, payment.assignment_id)
            row = write_of(session, work)
            if row is not None and row.answer:
                up[payment.id] = str(row.answer["external_id"])
    paid = [
        payment_id
        for payment_id, external_id in up.items()
        if any(work.state == "approved" for work in submitted(at.platform, external_id) or ())
    ]
    standings = {payment_id: at.platform.standing(up[payment_id]) for payment_id in paid}
    for some in in_turns(standings.items(), TOGETHER):
        with writing(at.engine) as session:
            for payment_id, standing in some:
                payment = session.get_one(PaymentRow, payment_id)
                payment.state, payment.paid_at = "paid", now()
                if standing is not None and standing.terms.reward is not None:
                    cost = at.platform.cost(standing.terms.reward, 1)
                    payment.amount, payment.fee = cost.rewards, cost.fees
    return len(due) - len(paid)
