"""The table of this database's own values."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from humaneval.store.types import Base


class MetaRow(Base):
    """Values of this database: its signing key, its pseudonym key."""

    __tablename__ = "meta"

    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]
