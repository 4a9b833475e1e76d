"""Settles which reward a platform paid for work that it approved around a change of the reward.

A platform says when it approved work and which reward a HIT has now, but not since when it has that reward.
The books have the reward that was known at the approval. Only the balance tells whether the next one was paid
already.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import assignment_cost
from humaneval.crowd.hit_terms import REWARD
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.plan_differences import next_change
from humaneval.crowd.platform import Cost
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, DifferenceRow, PaymentRow


class _Doubt(NamedTuple):
    """A reward in the books, and what was paid if the reward had changed already."""

    payment: int
    booked: Cost
    next: Cost


def settle_rewards(at: StudyAtPlatform) -> int:
    """Correct rewards in the books where only the next reward of their HIT explains the balance. Returns how
    many.

    A HIT changes once between two looks, so the work that was approved last has the next reward. Nothing
    changes if no such number of rewards explains the balance to the cent.
    """
    with reading(at.engine) as session:
        doubts = _doubts(session, at)
    if not doubts:
        return 0
    try:
        missing = reconcile(at).left
    except PlatformError:
        return 0  # the next collection tries again
    if not missing:
        return 0
    changed: list[_Doubt] = []
    for doubt in reversed(doubts):
        changed.append(doubt)
        if sum((each.next.total - each.booked.total for each in changed), Decimal(0)) == missing:
            break
    else:
        return 0
    with writing(at.engine) as session:
        hold_study(session, at.id)
        for each in changed:
            payment = session.get_one(PaymentRow, each.payment)
            payment.amount, payment.fee = each.next.rewards, each.next.fees
    return len(changed)


def _doubts(session: Session, at: StudyAtPlatform) -> list[_Doubt]:
    """The rewards in the books whose HITs were later seen with another one, in the order of approval."""
    paid = session.execute(
        select(PaymentRow, AssignmentRow)
        .join(AssignmentRow, AssignmentRow.id == PaymentRow.assignment_id)
        .where(PaymentRow.study_id == at.id, PaymentRow.endpoint == at.endpoint)
        .where(PaymentRow.kind == "reward", PaymentRow.state == "paid")
        .where(AssignmentRow.hit_id.in_(select(DifferenceRow.hit_id).where(DifferenceRow.what == REWARD)))
        .order_by(PaymentRow.paid_at, PaymentRow.id)
    )
    found = []
    for payment, work in paid:
        moment = next_change(session, work.hit_id, REWARD, payment.paid_at)
        booked = Cost(payment.amount, payment.fee)
        if moment is None or booked != assignment_cost(session, at, work.hit, payment.paid_at):
            continue
        found.append(_Doubt(payment.id, booked, assignment_cost(session, at, work.hit, moment)))
    return found
