"""The tables of the stand-in for Prolific, in a file of its own."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, MetaData, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from humaneval.store.types import NAMING, Moment, one_of

VERSION = 1
"""Of the tables. A file of another version is refused: it holds practice only, and is made again."""


class StudyStatus(StrEnum):
    """The states of a study, as the API spells them."""

    UNPUBLISHED = "UNPUBLISHED"
    SCHEDULED = "SCHEDULED"
    PUBLISHING = "PUBLISHING"
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    AWAITING_REVIEW = "AWAITING REVIEW"
    COMPLETED = "COMPLETED"


class Status(StrEnum):
    """The states of a submission, as the API spells them in bodies."""

    RESERVED = "RESERVED"
    ACTIVE = "ACTIVE"
    TIMED_OUT = "TIMED-OUT"
    AWAITING_REVIEW = "AWAITING REVIEW"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    RETURNED = "RETURNED"
    SCREENED_OUT = "SCREENED OUT"
    PARTIALLY_APPROVED = "PARTIALLY APPROVED"


class ProlificTable(DeclarativeBase):
    """The base of the stand-in's tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - the name and form are SQLAlchemy's
        str: Text(),
        datetime: Moment(),
        list[Any]: JSON(),
        dict[str, Any]: JSON(none_as_null=True),
    }


class Workspace(ProlificTable):
    """The one workspace of the account, with the token of its owner and the key that signs cookies."""

    __tablename__ = "workspaces"
    __table_args__ = (CheckConstraint("number = 1", name="one_row"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    version: Mapped[int]
    id: Mapped[str]
    user_id: Mapped[str]
    token: Mapped[str]
    signing_key: Mapped[str]
    currency: Mapped[str]
    made_at: Mapped[datetime]


class Project(ProlificTable):
    """A project: a folder of studies."""

    __tablename__ = "projects"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    title: Mapped[str]
    made_at: Mapped[datetime]


class Study(ProlificTable):
    """A study. `body` is what was sent, field by field; the columns are what the stand-in works with."""

    __tablename__ = "studies"
    __table_args__ = (one_of("status", StudyStatus),)

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("projects.id"))
    status: Mapped[str] = mapped_column(default=StudyStatus.UNPUBLISHED)
    body: Mapped[dict[str, Any]]
    stopped: Mapped[bool] = mapped_column(default=False)
    """Only more places reopen a study that was stopped."""
    is_test: Mapped[bool] = mapped_column(default=False)
    """A copy that a test participant takes part in. It costs nothing."""
    made_at: Mapped[datetime]
    published_at: Mapped[datetime | None]
    publish_at: Mapped[datetime | None]


class Participant(ProlificTable):
    """Somebody who takes part, known by a name on the stand-in's own pages."""

    __tablename__ = "participants"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    email: Mapped[str | None]


class Submission(ProlificTable):
    """One go of a participant at a study. `due_at` is when something happens to it by itself."""

    __tablename__ = "submissions"
    __table_args__ = (one_of("status", Status),)

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    study_number: Mapped[int] = mapped_column(ForeignKey("studies.number"), index=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey("participants.id"), index=True)
    status: Mapped[str] = mapped_column(default=Status.RESERVED)
    due_at: Mapped[datetime | None] = mapped_column(index=True)
    started_at: Mapped[datetime]
    """When the place was reserved, and then when the work began."""
    completed_at: Mapped[datetime | None]
    reviewed_at: Mapped[datetime | None]
    code: Mapped[str | None]
    url: Mapped[str] = mapped_column(default="")
    return_requested_at: Mapped[datetime | None]
    note: Mapped[str] = mapped_column(default="")
    """What the researcher wrote with a rejection or a request."""
    category: Mapped[str | None]
    expired: Mapped[bool] = mapped_column(default=False)
    """The place was reserved, and the work never begun."""
    reward: Mapped[int] = mapped_column(default=0)
    """What was paid, in minor units."""

    study: Mapped[Study] = relationship()
    participant: Mapped[Participant] = relationship()


class BonusBatch(ProlificTable):
    """A bonus set-up. Each call to pay it pays it."""

    __tablename__ = "bonus_batches"

    id: Mapped[str] = mapped_column(primary_key=True)
    study_number: Mapped[int] = mapped_column(ForeignKey("studies.number"))
    lines: Mapped[list[Any]]
    """Pairs of a submission's id and an amount in minor units."""
    made_at: Mapped[datetime]


class Bonus(ProlificTable):
    """One bonus that was paid, in minor units."""

    __tablename__ = "bonuses"

    number: Mapped[int] = mapped_column(primary_key=True)
    submission_number: Mapped[int] = mapped_column(ForeignKey("submissions.number"), index=True)
    batch_id: Mapped[str] = mapped_column(ForeignKey("bonus_batches.id"))
    amount: Mapped[int]
    made_at: Mapped[datetime]

    submission: Mapped[Submission] = relationship()


class Entry(ProlificTable):
    """One line of the journal: what moved between the pots, in minor units. The opening alone is no move."""

    __tablename__ = "entries"
    __table_args__ = (
        CheckConstraint("kind = 'opening' OR available + locked + paid + fees + tax = 0", name="balanced"),
    )

    number: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    study_number: Mapped[int | None] = mapped_column(ForeignKey("studies.number"), index=True)
    available: Mapped[int] = mapped_column(default=0)
    locked: Mapped[int] = mapped_column(default=0)
    paid: Mapped[int] = mapped_column(default=0)
    fees: Mapped[int] = mapped_column(default=0)
    tax: Mapped[int] = mapped_column(default=0)
    made_at: Mapped[datetime]


class Group(ProlificTable):
    """A group of participants. A deleted one keeps its row."""

    __tablename__ = "groups"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    description: Mapped[str | None]
    deleted: Mapped[bool] = mapped_column(default=False)
    made_at: Mapped[datetime]


class Member(ProlificTable):
    """A participant in a group."""

    __tablename__ = "members"
    __table_args__ = (UniqueConstraint("group_id", "participant_id"),)

    number: Mapped[int] = mapped_column(primary_key=True)
    group_id: Mapped[str] = mapped_column(ForeignKey("groups.id"))
    participant_id: Mapped[str]
    made_at: Mapped[datetime]


class Message(ProlificTable):
    """A message between the researcher and a participant."""

    __tablename__ = "messages"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str]
    sender_id: Mapped[str]
    recipient_id: Mapped[str] = mapped_column(index=True)
    study_id: Mapped[str | None]
    body: Mapped[str]
    unread: Mapped[bool] = mapped_column(default=True)
    made_at: Mapped[datetime]


class Subscription(ProlificTable):
    """Where events of one type go. It is silent until its secret came back."""

    __tablename__ = "subscriptions"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    event_type: Mapped[str]
    target_url: Mapped[str]
    handshake: Mapped[str]
    confirmed: Mapped[bool] = mapped_column(default=False)
    enabled: Mapped[bool] = mapped_column(default=True)
    failing_since: Mapped[datetime | None]


class Secret(ProlificTable):
    """The secret that signs deliveries. A new one replaces the old."""

    __tablename__ = "secrets"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str]
    value: Mapped[str]
    made_at: Mapped[datetime]


class Event(ProlificTable):
    """An event for one subscription, and how far its delivery is."""

    __tablename__ = "events"
    __table_args__ = (one_of("status", ("PENDING", "SUCCEEDED", "FAILED")),)

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    subscription_number: Mapped[int] = mapped_column(ForeignKey("subscriptions.number"), index=True)
    resource_id: Mapped[str]
    payload: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(default="PENDING")
    tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime | None] = mapped_column(index=True)
    made_at: Mapped[datetime]

    subscription: Mapped[Subscription] = relationship()


class Task(ProlificTable):
    """Something that was accepted and happens a little later."""

    __tablename__ = "tasks"

    number: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    due_at: Mapped[datetime] = mapped_column(index=True)
    details: Mapped[dict[str, Any]]
