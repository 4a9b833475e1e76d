"""What a study has paid, apart from play money: of the sandbox, and at a stand-in on this machine."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.fees import NO_FEES
from humaneval.store.responses import TEST_ENDPOINTS
from humaneval.store.tables import OutboxRow, PaymentRow
from humaneval.study.planned_cost import PUBLISH

STAND_IN = "stand_in"
"""Where a publication's request says that it went to a stand-in, and not to the service itself."""


def stand_ins(session: Session, study_id: int) -> frozenset[str]:
    """The endpoints at which a study is up at a stand-in."""
    asked = select(OutboxRow.endpoint, OutboxRow.request).where(
        OutboxRow.study_id == study_id, OutboxRow.operation == PUBLISH
    )
    return frozenset(endpoint for endpoint, request in session.execute(asked) if request.get(STAND_IN))


def pretended_at(session: Session, study_id: int) -> frozenset[str]:
    """The endpoints at which a study's money is play money."""
    return TEST_ENDPOINTS | stand_ins(session, study_id)


class Paid(NamedTuple):
    """Sums of one study at all endpoints."""

    rewards: Decimal
    bonuses: Decimal
    compensations: Decimal
    fees: Decimal
    pretended: Decimal
    """Play money, with its fees; in no other sum."""

    @property
    def spent(self) -> Decimal:
        """All that was really paid."""
        return self.rewards + self.bonuses + self.compensations + self.fees


def sums_paid(session: Session, study_id: int) -> Paid:
    """What the study has paid so far."""
    sums, pretended = defaultdict[str, Decimal](lambda: Decimal("0.00")), pretended_at(session, study_id)
    paid = select(PaymentRow).where(PaymentRow.study_id == study_id, PaymentRow.state == "paid")
    for payment in session.scalars(paid):
        played = payment.endpoint in pretended
        sums["pretended" if played else payment.kind] += payment.amount
        if payment.endpoint not in NO_FEES:
            sums["pretended" if played else "fees"] += payment.fee
    return Paid(*(sums[name] for name in ("reward", "bonus", "compensation", "fees", "pretended")))
