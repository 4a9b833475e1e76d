"""The table of what people are paid, and of how it was paid."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from humaneval.store.types import Base, one_of


class PaymentRow(Base):
    """An amount that a worker is owed or was paid for an assignment, for one purpose."""

    __tablename__ = "payments"
    __table_args__ = (
        UniqueConstraint("endpoint", "assignment_id", "kind", "purpose"),
        one_of("kind", ("reward", "bonus", "compensation")),
        one_of("state", ("due", "paid", "nothing due")),
        CheckConstraint("amount >= 0", name="amount"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    endpoint: Mapped[str]
    assignment_id: Mapped[int | None] = mapped_column(ForeignKey("assignments.id"), index=True)
    """None if its worker was forgotten: the books keep the amount, and no person."""
    kind: Mapped[str]
    purpose: Mapped[str]
    amount: Mapped[Decimal]
    fee: Mapped[Decimal]
    reason: Mapped[str] = mapped_column(default="")
    state: Mapped[str]
    paid_at: Mapped[datetime | None]
    elsewhere: Mapped[bool] = mapped_column(default=False)
    """Whether a person paid it by hand, outside of the platform, and entered it here."""
    settled_at: Mapped[datetime | None]
    """At a marketplace of one's own, which moves no money: when somebody entered that it was paid by hand."""
