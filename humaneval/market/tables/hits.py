"""The marketplace's own tables: HITs, assignments, workers, and a journal that every balance is read from.

Qualifications have theirs in `humaneval.market.tables.qualifications`.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    CheckConstraint,
    Enum,
    ForeignKey,
    Index,
    MetaData,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from humaneval.store.types import NAMING, Moment


class MarketTable(DeclarativeBase):
    """The base of the marketplace's tables; they share no metadata with the toolkit's own."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - the name and form are SQLAlchemy's
        str: Text(),
        datetime: Moment(),
        list[Any]: JSON(),
        dict[str, Any]: JSON(none_as_null=True),
    }


class State(StrEnum):
    """What became of a worker's go at a HIT."""

    ACCEPTED = "accepted"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETURNED = "returned"
    ABANDONED = "abandoned"


TAKEN = (State.ACCEPTED, State.SUBMITTED, State.APPROVED, State.REJECTED)
"""The states in which an assignment fills one of its HIT's places."""

FINISHED = (State.SUBMITTED, State.APPROVED, State.REJECTED)
"""The states in which an answer is there to be read."""


_STATE = Enum(
    State,
    name="state",
    native_enum=False,
    create_constraint=True,
    values_callable=lambda states: [state.value for state in states],
)


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


class HitType(MarketTable):
    """What HITs of one kind have in common. `fingerprint` is a hash of all of it: same values, same type.

    `notification` is where the requester wants to hear of its HITs' events, as UpdateNotificationSettings
    gave it.
    """

    __tablename__ = "hit_types"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    group_id: Mapped[str] = mapped_column(unique=True)
    fingerprint: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    description: Mapped[str]
    keywords: Mapped[str]
    reward_cents: Mapped[int]
    assignment_seconds: Mapped[int]
    auto_approval_seconds: Mapped[int]
    qualifications: Mapped[list[Any]]
    notification: Mapped[dict[str, Any] | None]
    notifying: Mapped[bool] = mapped_column(default=False)
    deleted: Mapped[bool] = mapped_column(default=False)
    made_at: Mapped[datetime]

    __table_args__ = (CheckConstraint("reward_cents >= 0", name="reward"),)


class Requires(MarketTable):
    """That HITs of a type ask for a qualification, by its id: what lists of HITs are looked up by."""

    __tablename__ = "hit_type_requirements"

    hit_type_number: Mapped[int] = mapped_column(ForeignKey("hit_types.number"), primary_key=True)
    qualification_id: Mapped[str] = mapped_column(primary_key=True, index=True)


class Hit(MarketTable):
    """One question, to be answered by up to `max_assignments` workers, until it expires.

    `status` is MTurk's own word. It is kept, not worked out, so that lists can be read by it;
    `bookkeeping.refresh` is the only writer. `finished_at` says since when it has been Reviewable or
    Reviewing. `policy_due` says that its HIT review policy is still to be applied when it becomes Reviewable.
    """

    __tablename__ = "hits"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    hit_type_number: Mapped[int] = mapped_column(ForeignKey("hit_types.number"), index=True)
    question: Mapped[str]
    annotation: Mapped[str]
    max_assignments: Mapped[int]
    fee_cents: Mapped[int]
    status: Mapped[str] = mapped_column(index=True)
    reviewing: Mapped[bool] = mapped_column(default=False)
    disposed: Mapped[bool] = mapped_column(default=False)
    expired: Mapped[bool] = mapped_column(default=False)
    expires_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    assignment_policy: Mapped[dict[str, Any] | None]
    hit_policy: Mapped[dict[str, Any] | None]
    policy_due: Mapped[bool] = mapped_column(default=False)
    made_at: Mapped[datetime]

    hit_type: Mapped[HitType] = relationship(lazy="joined", innerjoin=True)

    __table_args__ = (
        CheckConstraint("max_assignments >= 1", name="max_assignments"),
        CheckConstraint("fee_cents >= 0", name="fee"),
        CheckConstraint(
            "status IN ('Assignable', 'Unassignable', 'Reviewable', 'Reviewing', 'Disposed')", name="status"
        ),
        Index(None, "expired", "expires_at"),
        Index(None, "disposed", "finished_at"),
        Index(None, "policy_due", "status"),
    )

    @property
    def price_cents(self) -> int:
        """What one approved assignment costs: reward and fee."""
        return self.hit_type.reward_cents + self.fee_cents


class Worker(MarketTable):
    """A person of the panel. `handle` is the name they sign in with, folded so that case does not matter.

    A link, and a visit that began with it, is good only while it bears the present number of `links_revoked`.
    """

    __tablename__ = "workers"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    handle: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    country: Mapped[str]
    links_revoked: Mapped[int] = mapped_column(default=0)
    made_at: Mapped[datetime]


class Assignment(MarketTable):
    """One worker's go at one HIT. `turn` counts submissions from 1, so that pages of results never skip
    one."""

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
        Index(None, "hit_number", "state"),
        Index(None, "state", "deadline"),
        Index(None, "state", "auto_approve_at"),
        # Returned and abandoned work may be taken up again; anything else is a worker's one go.
        Index(
            "uq_assignments_one_go",
            "hit_number",
            "worker_number",
            unique=True,
            sqlite_where=text("state IN ('accepted', 'submitted', 'approved', 'rejected')"),
            postgresql_where=text("state IN ('accepted', 'submitted', 'approved', 'rejected')"),
        ),
    )


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


class WorkerBlock(MarketTable):
    """Someone who may see and take no HITs."""

    __tablename__ = "worker_blocks"

    number: Mapped[int] = mapped_column(primary_key=True)
    worker_number: Mapped[int] = mapped_column(ForeignKey("workers.number"), unique=True)
    reason: Mapped[str]
    made_at: Mapped[datetime]

    worker: Mapped[Worker] = relationship(lazy="joined", innerjoin=True)


class Message(MarketTable):
    """Words from the requester to a worker, to be read on the worker site."""

    __tablename__ = "messages"

    number: Mapped[int] = mapped_column(primary_key=True)
    worker_number: Mapped[int] = mapped_column(ForeignKey("workers.number"), index=True)
    subject: Mapped[str]
    text: Mapped[str]
    read: Mapped[bool] = mapped_column(default=False)
    sent_at: Mapped[datetime]


class Event(MarketTable):
    """Something that happened to a HIT and that the requester asked to be told of: the document MTurk would
    have sent."""

    __tablename__ = "events"

    number: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    transport: Mapped[str]
    destination: Mapped[str]
    document: Mapped[dict[str, Any]]
    made_at: Mapped[datetime]


class ReviewLine(MarketTable):
    """One result or one action of a review policy, as ListReviewPolicyResultsForHIT gives it."""

    __tablename__ = "review_lines"

    number: Mapped[int] = mapped_column(primary_key=True)
    hit_number: Mapped[int] = mapped_column(ForeignKey("hits.number"), index=True)
    level: Mapped[str]
    kind: Mapped[str]
    detail: Mapped[dict[str, Any]]
    made_at: Mapped[datetime]

    __table_args__ = (
        CheckConstraint("level IN ('Assignment', 'HIT')", name="level"),
        CheckConstraint("kind IN ('result', 'action')", name="kind"),
    )
