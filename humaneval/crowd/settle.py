"""Enters in the books that what is owed at a marketplace of one's own was paid, and takes an entry back.

Such a marketplace approves, and moves no money: a person pays by hand. Nothing is sent to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Row, Select, func, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.outbox import hold_study, intend
from humaneval.errors import UsageError
from humaneval.store.engine import ASKED_FOR, batches, reading, writing
from humaneval.store.tables import OutboxRow, PaymentRow
from humaneval.store.types import now
from humaneval.study.stored import Study

OWN = ("local",)
"""Endpoints at which what is approved is owed."""
TAKE_BACK = "take back an entry"
"""In the outbox: which entry was taken back, and when. Nothing is sent."""


class Settled(NamedTuple):
    """What is in the books as paid by hand: entered now, and before."""

    payments: int
    amount: Decimal
    before: Decimal
    """What is entered beside it."""
    at: datetime | None
    """When the entry was made that is taken back."""


def settle(
    study: Study, endpoint: str, *, agreed: Decimal | None = None, undo: bool = False, dry_run: bool = False
) -> Settled:
    """Enter that all rewards and bonuses that are approved were paid. What was entered before stays as it is.
    With `undo`, take the last entry back: what it had is owed again.

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
        owed = _owed(study, endpoint)
        last = session.scalar(owed.with_only_columns(func.max(PaymentRow.settled_at))) if undo else None
        which = PaymentRow.settled_at == last if last else PaymentRow.settled_at.is_(None)
        columns = owed.with_only_columns(PaymentRow.id, PaymentRow.amount).where(which)
        lines = session.execute(columns).all() if last or not undo else ()
        amount = sum((one.amount for one in lines), Decimal("0.00"))
        before = settled(session, study, endpoint) - (amount if undo else 0)
        if lines and agreed not in (None, amount):
            sign = study.settings.hit.sign
            raise UsageError(
                f"the sum does not match: {sign}{amount} {'was entered last' if undo else 'is owed now'}, not"
                f" {sign}{agreed}",
                "Nothing was taken back."
                if undo
                else "Nothing was entered. More may have been approved since: pay the rest first.",
            )
        if not dry_run:
            moment = None if undo else now()
            for some in batches((one.id for one in lines), ASKED_FOR):
                these = update(PaymentRow).where(PaymentRow.id.in_(some)).values(settled_at=moment)
                session.execute(these, execution_options={"synchronize_session": False})
            if last:
                _keep(session, study, endpoint, lines, last)
        return Settled(len(lines), amount, before, last)


def _keep(
    session: Session, study: Study, endpoint: str, lines: Sequence[Row[int, Decimal]], entered: datetime
) -> None:
    """Keep of an entry that is taken back what it was."""
    of_study = (OutboxRow.study_id == study.id, OutboxRow.operation == TAKE_BACK)
    number = 1 + (session.scalar(select(func.count()).select_from(OutboxRow).where(*of_study)) or 0)
    row = intend(
        session,
        study_id=study.id,
        endpoint=endpoint,
        operation=TAKE_BACK,
        subject=f"study {study.id} #{number}",
        key=study.design_hash,
        request={"entered": entered.isoformat(), "payments": {one.id: str(one.amount) for one in lines}},
    )
    row.state, row.confirmed_at = "confirmed", now()


def settled(session: Session, study: Study, endpoint: str) -> Decimal:
    """The sum that is in the books as paid by hand."""
    there = _owed(study, endpoint).where(PaymentRow.settled_at.is_not(None))
    return session.scalar(there.with_only_columns(func.sum(PaymentRow.amount))) or Decimal("0.00")


def _owed(study: Study, endpoint: str) -> Select[PaymentRow]:
    return select(PaymentRow).where(
        PaymentRow.study_id == study.id,
        PaymentRow.endpoint == endpoint,
        PaymentRow.state == "paid",
        PaymentRow.amount > 0,
        ~PaymentRow.elsewhere,
    )
