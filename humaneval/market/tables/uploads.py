"""The tables of workers' files."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from humaneval.market.tables.base import MarketTable


class Upload(MarketTable):
    """A file that answers one question of a QuestionForm. The answer names it by `key`."""

    __tablename__ = "uploads"

    number: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    assignment_number: Mapped[int] = mapped_column(ForeignKey("assignments.number"))
    question: Mapped[str]
    name: Mapped[str]
    content: Mapped[bytes] = mapped_column(LargeBinary)

    __table_args__ = (UniqueConstraint("assignment_number", "question"),)


class UploadLink(MarketTable):
    """An address at which a file can be fetched for a short time."""

    __tablename__ = "upload_links"

    number: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(unique=True)
    upload_number: Mapped[int] = mapped_column(ForeignKey("uploads.number", ondelete="CASCADE"))
    until: Mapped[datetime] = mapped_column(index=True)

    upload: Mapped[Upload] = relationship(lazy="joined", innerjoin=True)
