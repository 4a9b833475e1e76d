"""The table of differences between HITs as planned and as a platform has them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column, relationship

from humaneval.store.types import Base, now

if TYPE_CHECKING:
    from humaneval.store.tables import HitRow


class DifferenceRow(Base):
    """A figure of a HIT that the platform has otherwise than it was planned. A new value gets a new row."""

    __tablename__ = "differences"

    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id"), index=True)
    hit_id: Mapped[int] = mapped_column(ForeignKey("hits.id"), index=True)
    endpoint: Mapped[str]
    what: Mapped[str]
    planned: Mapped[str]
    there: Mapped[str]
    found_at: Mapped[datetime] = mapped_column(default=now)
    accepted_at: Mapped[datetime | None]
    """When a person accepted it."""
    over_at: Mapped[datetime | None]
    """When the platform was first seen without it."""
    hit: Mapped[HitRow] = relationship()
