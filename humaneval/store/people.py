"""The tables about people beside their work: texts of consent, forgotten people, deleted forms, exports."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from humaneval.store.types import Base, index_known, now


class ConsentTextRow(Base):
    """A text that people agreed to, as they read it. Assignments name it by its hash."""

    __tablename__ = "consent_texts"

    hash: Mapped[str] = mapped_column(primary_key=True)
    """SHA-256 over version, channel, language and text."""
    version: Mapped[str]
    channel: Mapped[str]
    language: Mapped[str]
    text: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(default=now)


class ForgottenRow(Base):
    """A keyed hash of somebody's pseudonym, only to keep them out. It has no date and leads to nothing else.
    Of people who were forgotten under older versions it is one of the platform's id."""

    __tablename__ = "forgotten"

    hash: Mapped[str] = mapped_column(primary_key=True)


class DeletedFormRow(Base):
    """A form whose answers were deleted because its annotator was forgotten. It does not say whose it was."""

    __tablename__ = "deleted_forms"
    __table_args__ = (index_known("deleted_forms", "row_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    endpoint: Mapped[str]
    row_id: Mapped[int | None] = mapped_column(ForeignKey("rows.id"))
    responses: Mapped[int]
    """How many responses it had."""
    row_replaced: Mapped[bool]
    """Whether a HIT was planned to offer the row again."""
    deleted_at: Mapped[datetime] = mapped_column(default=now)


class ExportRow(Base):
    """A file with people's answers that left the database: what was written, and where."""

    __tablename__ = "exports"

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    what: Mapped[str]
    place: Mapped[str]
    made_at: Mapped[datetime] = mapped_column(default=now)
