"""Enters in the books that what is owed at a marketplace of one's own was paid.

Such a marketplace approves, and moves no money: a person pays by hand. Nothing is sent to anybody.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from humaneval.crowd.outbox import hold_study
from humaneval.errors import UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import PaymentRow
from humaneval.store.types import now
from humaneval.study.stored import Study

OWN = ("local",)
"""Endpoints at which what is approved is owed."""


class Settled(NamedTuple):
    """What is in the books as paid by hand: entered now, and before."""

    payments: int
    amount: Decimal
    before: Decimal


def settle(study: Study, endpoint: str, *, agreed: Decimal | None = None, dry_run: bool = False) -> Settled:
    """Enter that all rewards and bonuses that are approved were paid. What was entered before stays as it is.

    Raises UsageError for an endpoint that pays people itself, and if the sum is not the one `agreed`: more
    may have been approved since somebody read it.
    """
    if endpoint not in OWN:
        raise UsageError(
            f"--paid is for a marketplace of your own, and what is approved at {endpoint} counts as paid",
            "There is nothing to enter.",
        )
    with writing(study.engine) if not dry_run else reading(study.engine) as session:
        if not dry_run:
            hold_study(session, study.id)
        open_ = session.scalars(_owed(study, endpoint).where(PaymentRow.settled_at.is_(None))).all()
        before = settled(session, study, endpoint)
        amount = sum((one.amount for one in open_), Decimal("0.00"))
        if open_ and agreed not in (None, amount):
            sign = study.settings.hit.sign
            raise UsageError(
                f"the sum does not match: {sign}{amount} is owed now, not {sign}{agreed}",
                "Nothing was entered. More may have been approved since: pay the rest first.",
            )
        if not dry_run:
            moment = now()
            for one in open_:
                one.settled_at = moment
        return Settled(len(open_), amount, before)


def settled(session: Session, study: Study, endpoint: str) -> Decimal:
    """The sum that is in the books as paid by hand."""
    there = session.scalars(_owed(study, endpoint).where(PaymentRow.settled_at.is_not(None)))
    return sum((one.amount for one in there), Decimal("0.00"))


def _owed(study: Study, endpoint: str) -> Select[PaymentRow]:
    return select(PaymentRow).where(
        PaymentRow.study_id == study.id,
        PaymentRow.endpoint == endpoint,
        PaymentRow.state == "paid",
        PaymentRow.amount > 0,
        ~PaymentRow.elsewhere,
    )
