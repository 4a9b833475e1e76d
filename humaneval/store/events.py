"""The table of a platform's events that were handled, so that each counts once."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from humaneval.store.types import Base, now


class EventRow(Base):
    """An event, stored in the transaction that has handled it."""

    __tablename__ = "events"

    endpoint: Mapped[str] = mapped_column(primary_key=True)
    event_id: Mapped[str] = mapped_column(primary_key=True)
    """The platform's id, which is the same however often it is sent."""
    about: Mapped[str] = mapped_column(index=True)
    """The platform's id of what has changed."""
    status: Mapped[str]
    happened_at: Mapped[datetime]
    """Events come in any order; this is the one in which things happened."""
    received_at: Mapped[datetime] = mapped_column(default=now)
