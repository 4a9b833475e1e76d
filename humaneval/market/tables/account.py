"""The tables of the requester's account: its journal of money, and the calls that were made with a token."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from humaneval.market.tables.base import MarketTable


class Account(MarketTable):
    """The one requester's account and this file's fixed facts: its mode and its signing key.

    `public_url` is where workers' browsers reached the marketplace when it was last served; empty before
    that.
    """

    __tablename__ = "account"
    __table_args__ = (
        CheckConstraint("id = 1", name="one_row"),
        CheckConstraint("mode IN ('local', 'sandbox')", name="mode"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    mode: Mapped[str]
    signing_key: Mapped[str]
    public_url: Mapped[str] = mapped_column(default="")
    made_at: Mapped[datetime]


class Entry(MarketTable):
    """One line of the journal: what moved between the four pots, in cents. Lines are added, never changed.

    Every line but the opening one and deposits sums to nothing, so available + on hold + paid + fees is what
    the account opened with and what was added since, always.
    """

    __tablename__ = "entries"

    number: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    hit_number: Mapped[int | None] = mapped_column(ForeignKey("hits.number"), index=True)
    assignment_number: Mapped[int | None] = mapped_column(ForeignKey("assignments.number"), index=True)
    available: Mapped[int] = mapped_column(default=0)
    on_hold: Mapped[int] = mapped_column(default=0)
    paid: Mapped[int] = mapped_column(default=0)
    fees: Mapped[int] = mapped_column(default=0)
    made_at: Mapped[datetime]

    __table_args__ = (
        CheckConstraint("kind IN ('opening', 'deposit', 'hold', 'release', 'reward', 'bonus')", name="kind"),
        CheckConstraint(
            "kind IN ('opening', 'deposit') OR available + on_hold + paid + fees = 0", name="balanced"
        ),
        CheckConstraint("kind != 'deposit' OR available > 0", name="deposit"),
    )


class RequestToken(MarketTable):
    """A UniqueRequestToken that has done its work, and the id of what it made or of its call. It counts for a
    day."""

    __tablename__ = "request_tokens"

    number: Mapped[int] = mapped_column(primary_key=True)
    operation: Mapped[str]
    token: Mapped[str]
    made: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(index=True)

    __table_args__ = (UniqueConstraint("operation", "token"),)
