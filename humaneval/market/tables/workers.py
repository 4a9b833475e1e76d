"""The tables of workers, of blocks, and of the requester's messages."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    ForeignKey,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from humaneval.market.tables.base import MarketTable


class Worker(MarketTable):
    """A person who works here. `handle` is the name they sign in with, folded so that case does not matter.

    A link or cookie is valid only if it carries the current number of `links_revoked`, and a cookie also that
    of `signed_out`. The first begins at −1 for those who chose their name themselves, at 0 for those whom the
    requester invited.
    """

    __tablename__ = "workers"

    number: Mapped[int] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    handle: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    country: Mapped[str]
    links_revoked: Mapped[int] = mapped_column(default=0)
    signed_out: Mapped[int] = mapped_column(default=0)
    """How often they have signed out. It ends every cookie of theirs, so nobody can keep a copy."""
    made_at: Mapped[datetime]


class WorkerBlock(MarketTable):
    """A block: the worker sees no HITs and can accept none."""

    __tablename__ = "worker_blocks"

    number: Mapped[int] = mapped_column(primary_key=True)
    worker_number: Mapped[int] = mapped_column(ForeignKey("workers.number"), unique=True)
    reason: Mapped[str]
    made_at: Mapped[datetime]

    worker: Mapped[Worker] = relationship(lazy="joined", innerjoin=True)


class Message(MarketTable):
    """A message from the requester to a worker, who reads it on the worker site."""

    __tablename__ = "messages"

    number: Mapped[int] = mapped_column(primary_key=True)
    worker_number: Mapped[int] = mapped_column(ForeignKey("workers.number"), index=True)
    subject: Mapped[str]
    text: Mapped[str]
    read: Mapped[bool] = mapped_column(default=False)
    sent_at: Mapped[datetime]
