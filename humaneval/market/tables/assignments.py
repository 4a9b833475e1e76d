"""The tables of assignments, with their answers, and of the bonuses for them."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    CheckConstraint,
    Enum,
    ForeignKey,
    Index,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.hits import Hit
from humaneval.market.tables.workers import Worker


class State(StrEnum):
    """The state of an assignment."""

    ACCEPTED = "accepted"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETURNED = "returned"
    ABANDONED = "abandoned"


TAKEN = (State.ACCEPTED, State.SUBMITTED, State.APPROVED, State.REJECTED)
"""The states in which an assignment fills one of its HIT's places."""

FINISHED = (State.SUBMITTED, State.APPROVED, State.REJECTED)
"""The states in which there is an answer to read."""

_STATE = Enum(
    State,
    name="state",
    native_enum=False,
    create_constraint=True,
    values_callable=lambda states: [state.value for state in states],
)


class Assignment(MarketTable):
    """One worker's work on one HIT. `turn` counts submissions from 1, so that pages of results skip none."""

    __tablename__ = "assignments"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    hit_number: Mapped[int] = mapped_column(ForeignKey("hits.number"))
    worker_number: Mapped[int] = mapped_column(ForeignKey("workers.number"), index=True)
    state: Mapped[State] = mapped_column(_STATE, default=State.ACCEPTED)
    accepted_at: Mapped[datetime]
    deadline: Mapped[datetime]
    turn: Mapped[int | None] = mapped_column(unique=True)
    submitted_at: Mapped[datetime | None]
    auto_approve_at: Mapped[datetime | None]
    approved_at: Mapped[datetime | None]
    rejected_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    answer: Mapped[str | None]
    feedback: Mapped[str | None]

    hit: Mapped[Hit] = relationship(lazy="joined", innerjoin=True)
    worker: Mapped[Worker] = relationship(lazy="joined", innerjoin=True)

    __table_args__ = (
        CheckConstraint("(answer IS NULL) = (submitted_at IS NULL)", name="answer"),
        Index(None, "hit_number", "state", "turn"),
        Index(None, "hit_number", "turn"),
        Index(None, "worker_number", "state", "hit_number"),
        Index(None, "state", "deadline"),
        Index(None, "state", "auto_approve_at"),
        # A worker may accept a HIT again after returning or abandoning it, and in no other state.
        Index(
            "uq_assignments_one_go",
            "hit_number",
            "worker_number",
            unique=True,
            sqlite_where=text("state IN ('accepted', 'submitted', 'approved', 'rejected')"),
            postgresql_where=text("state IN ('accepted', 'submitted', 'approved', 'rejected')"),
        ),
    )


class Votes(MarketTable):
    """What an answer says to its HIT's review policy, so that nobody reads all answers again to compare them.

    `votes` are what SimplePlurality compares: see `policies.agreement`. `known_score` is the percentage of
    known answers that were met, if the HIT has any. An answer of before m0003 gets them when it is compared.
    """

    __tablename__ = "votes"

    assignment_number: Mapped[int] = mapped_column(ForeignKey("assignments.number"), primary_key=True)
    votes: Mapped[str]
    known_score: Mapped[int | None]


class Bonus(MarketTable):
    """A bonus that was paid."""

    __tablename__ = "bonuses"

    number: Mapped[int] = mapped_column(primary_key=True)
    assignment_number: Mapped[int] = mapped_column(ForeignKey("assignments.number"), index=True)
    cents: Mapped[int]
    fee_cents: Mapped[int]
    reason: Mapped[str]
    paid_at: Mapped[datetime]

    assignment: Mapped[Assignment] = relationship(lazy="joined", innerjoin=True)

    __table_args__ = (CheckConstraint("cents > 0", name="amount"),)
