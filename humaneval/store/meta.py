"""The table of this database's own values."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from humaneval.store.types import Base

PLANNING_KEY = "planning key"
"""A secret that is made with the first study, so that each copy of a database that has one has it."""


class MetaRow(Base):
    """Values of this database: its signing key, its pseudonym key."""

    __tablename__ = "meta"

    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


def stored_value(session: Session, key: str, make: Callable[[], str]) -> str:
    """A value of this database, made at its first use."""
    row = session.get(MetaRow, key)
    if row is None:
        try:
            with session.begin_nested():
                session.add(MetaRow(key=key, value=make()))
        except IntegrityError:
            pass  # another program was faster, and its value counts
        row = session.get_one(MetaRow, key)
    return row.value


def stored_secret(session: Session, key: str) -> bytes:
    """The secret called `key` of this database, made at its first use."""
    return bytes.fromhex(stored_value(session, key, lambda: secrets.token_hex(32)))
