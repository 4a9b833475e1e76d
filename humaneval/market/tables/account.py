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
    """The requester's account, and what is fixed for this file: its mode and its signing key.

    `public_url` is the address at which workers' browsers reached the marketplace when it was last served.
    It is empty before that. The four pots are the sums of the journal's lines, in cents.
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
    available: Mapped[int] = mapped_column(default=0)
    on_hold: Mapped[int] = mapped_column(default=0)
    paid: Mapped[int] = mapped_column(default=0)
    fees: Mapped[int] = mapped_column(default=0)
    invitations_revoked: Mapped[int] = mapped_column(default=0)
    """How often the link was revoked with which anybody can register."""


class Entry(MarketTable):
    """One line of the journal: what moved between the four pots, in cents. Lines are added, never changed.

    Every line except the opening and deposits sums to zero. So available + on hold + paid + fees always
    equals the opening balance and the deposits.
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
    """A UniqueRequestToken of a call that succeeded, and the id of what it made or of the call itself.

    It counts for a day.
    """

    __tablename__ = "request_tokens"

    number: Mapped[int] = mapped_column(primary_key=True)
    operation: Mapped[str]
    token: Mapped[str]
    made: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(index=True)

    __table_args__ = (UniqueConstraint("operation", "token"),)
