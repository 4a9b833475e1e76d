"""Notices that the database under a running server was deleted or replaced: what it stored would be lost."""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, Engine, bindparam, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from humaneval.errors import StoreError
from humaneval.store.engine import reading, shown, writing
from humaneval.store.tables import MetaRow
from humaneval.store.watched_files import WatchedFiles

DATABASE_ID = "database id"
"""Where a database keeps an id that no other one has; copies have it, too."""
_ID = select(MetaRow.value).where(MetaRow.key == bindparam("key"))


class Identity:
    """The database as it was when the server started."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._name = shown(engine.url)
        self._id = _made_id(engine)
        self._files = WatchedFiles(engine)

    def check(self) -> None:
        """Raise StoreError if the database is another one than at the start."""
        self.check_file()
        with reading(self._engine) as session:
            self.check_id(session)

    def check_file(self) -> None:
        """Raise StoreError if somebody else changed its files. A server's database has none."""
        if not self._files.are_the_same():
            raise self._other()

    def check_id(self, connection: Connection | Session) -> None:
        """Raise StoreError if `connection` leads to another database."""
        if connection.scalar(_ID, {"key": DATABASE_ID}) != self._id:
            raise self._other()

    def _other(self) -> StoreError:
        return StoreError(
            f"the database {self._name} was deleted or replaced while the server ran",
            "Stop the server, put the right database in its place, and start again.",
        )


def _made_id(engine: Engine) -> str:
    """The id of a database, made at its first use."""
    with reading(engine) as session:
        known = session.scalar(_ID, {"key": DATABASE_ID})
    if known is not None:
        return known
    try:
        with writing(engine) as session:
            session.execute(insert(MetaRow).values(key=DATABASE_ID, value=secrets.token_hex(16)))
    except IntegrityError:
        pass  # another server was faster
    with reading(engine) as session:
        return session.scalars(_ID, {"key": DATABASE_ID}).one()
