"""The tables of HITs: their types, their events, and what their review policies found and did."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    Index,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from humaneval.market.tables.base import MarketTable


class HitType(MarketTable):
    """The properties that HITs of one kind share. `fingerprint` is a hash of them: same values, same type.

    `notification` is the specification of UpdateNotificationSettings: which events go to which address.
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
    """A qualification, by its id, that HITs of a type require. Lists of HITs are looked up by it."""

    __tablename__ = "hit_type_requirements"

    hit_type_number: Mapped[int] = mapped_column(ForeignKey("hit_types.number"), primary_key=True)
    qualification_id: Mapped[str] = mapped_column(primary_key=True, index=True)


class Hit(MarketTable):
    """One question that up to `max_assignments` workers can answer until it expires.

    `status` is MTurk's own word. It is stored, so that lists can be read by it; only `hit_status.refresh`
    writes it. `finished_at` is the time at which it became Reviewable. `policy_due` means that its HIT
    review policy has yet to be applied when it becomes Reviewable.
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
        Index(None, "status", "hit_type_number"),
        Index(None, "disposed", "number"),
        Index(None, "disposed", "finished_at"),
        Index(None, "policy_due", "status"),
    )

    @property
    def price_cents(self) -> int:
        """What one approved assignment costs: reward and fee."""
        return self.hit_type.reward_cents + self.fee_cents


class HitSums(MarketTable):
    """How many of a HIT's places are at each stage, and the money that is held for it, in cents.

    Triggers of the database write this table, whatever adds or changes an assignment or a line of the
    journal. So nobody counts all of a HIT's assignments. It is a table of its own because SQLite writes a
    whole row anew, and a HIT's question may have a million bytes.
    """

    __tablename__ = "hit_sums"

    hit_number: Mapped[int] = mapped_column(ForeignKey("hits.number"), primary_key=True)
    held: Mapped[int]
    accepted: Mapped[int]
    submitted: Mapped[int]
    approved: Mapped[int]
    rejected: Mapped[int]


class Event(MarketTable):
    """An event of a HIT that the requester subscribed to: the document that MTurk would have sent."""

    __tablename__ = "events"

    number: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    transport: Mapped[str]
    destination: Mapped[str]
    document: Mapped[dict[str, Any]]
    made_at: Mapped[datetime]


class ReviewLine(MarketTable):
    """An action of a review policy, or its results, which are kept as one row: see `policies.results`.

    ListReviewPolicyResultsForHIT gives line by line. `number` is the place of the last of the row's lines in
    that list. A result of before m0003 has a row of its own, as the protocol has it.
    """

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
