"""The tables of qualifications: their types, requests for them, and their holders."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.workers import Worker


class QualificationType(MarketTable):
    """What the requester can require of workers. Without `retry_seconds` it can be requested only once."""

    __tablename__ = "qualification_types"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    keywords: Mapped[str]
    description: Mapped[str]
    active: Mapped[bool]
    retry_seconds: Mapped[int | None]
    test: Mapped[str | None]
    test_seconds: Mapped[int | None]
    answer_key: Mapped[str | None]
    auto_value: Mapped[int | None]
    deleted: Mapped[bool] = mapped_column(default=False)
    made_at: Mapped[datetime]

    __table_args__ = (
        CheckConstraint("(test IS NULL) = (test_seconds IS NULL)", name="test"),
        CheckConstraint("answer_key IS NULL OR test IS NOT NULL", name="answer_key"),
        CheckConstraint("auto_value IS NULL OR test IS NULL", name="auto_value"),
        Index(
            "uq_qualification_types_name",
            "name",
            unique=True,
            sqlite_where=text("NOT deleted"),
            postgresql_where=text("NOT deleted"),
        ),
    )


class QualificationRequest(MarketTable):
    """A worker's request for a qualification; with a test, the copy of it that the worker was given.

    `state` is testing until the test is sent, then submitted until the requester decides.
    """

    __tablename__ = "qualification_requests"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    type_number: Mapped[int] = mapped_column(ForeignKey("qualification_types.number"), index=True)
    worker_number: Mapped[int] = mapped_column(ForeignKey("workers.number"), index=True)
    state: Mapped[str]
    test: Mapped[str | None]
    answer_key: Mapped[str | None]
    answer: Mapped[str | None]
    reason: Mapped[str]
    asked_at: Mapped[datetime]
    deadline: Mapped[datetime | None]
    submitted_at: Mapped[datetime | None]

    type: Mapped[QualificationType] = relationship(lazy="joined", innerjoin=True)
    worker: Mapped[Worker] = relationship(lazy="joined", innerjoin=True)

    __table_args__ = (
        CheckConstraint("state IN ('testing', 'submitted', 'granted', 'rejected')", name="state"),
        CheckConstraint("(state = 'testing') = (submitted_at IS NULL)", name="submitted_at"),
    )


class Qualification(MarketTable):
    """A qualification that a worker holds, or held until it was revoked."""

    __tablename__ = "qualifications"

    number: Mapped[int] = mapped_column(primary_key=True)
    type_number: Mapped[int] = mapped_column(ForeignKey("qualification_types.number"))
    worker_number: Mapped[int] = mapped_column(ForeignKey("workers.number"), index=True)
    value: Mapped[int]
    revoked: Mapped[bool] = mapped_column(default=False)
    reason: Mapped[str]
    granted_at: Mapped[datetime]

    type: Mapped[QualificationType] = relationship(lazy="joined", innerjoin=True)
    worker: Mapped[Worker] = relationship(lazy="joined", innerjoin=True)

    __table_args__ = (UniqueConstraint("type_number", "worker_number"), Index(None, "type_number", "number"))
