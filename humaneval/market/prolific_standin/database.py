"""The stand-in's own file: opened, made on first use, and the transactions in it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine, inspect
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

from humaneval.errors import StoreError
from humaneval.market.prolific_standin.tables import VERSION, Entry, Project, ProlificTable, Workspace
from humaneval.market.prolific_standin.terms import Terms
from humaneval.market.tables.database import Clock
from humaneval.store.engine import open_engine, writing
from humaneval.store.files import why_not_written
from humaneval.store.types import now

HINT = "Name a file of its own with --database."


@dataclass(frozen=True, slots=True)
class Work:
    """One transaction: what an operation may use, and the moment at which it happens."""

    session: Session
    now: datetime
    terms: Terms

    @property
    def workspace(self) -> Workspace:
        """The account's workspace. Most operations do without."""
        return self.session.get_one(Workspace, 1)


def new_id() -> str:
    """An id as public samples have it: 24 hexadecimal digits."""
    return secrets.token_hex(12)


def open_prolific(path: Path | str) -> Engine:
    """The engine of the stand-in's SQLite file, for `Books`, which make the file if it does not exist."""
    return open_engine(f"sqlite:///{path}", hint=HINT)


def _make_tables(engine: Engine) -> None:
    """Make the tables of a new file. Raises StoreError for a file that is not the stand-in's, or of another
    version: there is no migration."""
    path = str(engine.url.database)
    try:
        tables = set(inspect(engine).get_table_names())
        if not tables:
            with writing(engine) as session:
                ProlificTable.metadata.create_all(session.connection())
        elif not set(ProlificTable.metadata.tables) <= tables:
            raise StoreError(
                f"{path} has tables that are not the stand-in's, or are of another version", HINT
            )
    except DatabaseError as error:
        why = why_not_written(Path(path)) or error.orig
        raise StoreError(f"{path} cannot be used as the stand-in's database: {why}", HINT) from None


class Books:
    """One stand-in in one file, which is made if it does not exist. `clock` gives the time, so that tests can
    set it."""

    def __init__(
        self, engine: Engine, *, terms: Terms | None = None, clock: Clock = now, token: str | None = None
    ) -> None:
        """`token`: what clients must send; by default a new file gets a random one and keeps it."""
        self.engine, self.terms, self.clock = engine, terms or Terms(), clock
        _make_tables(engine)
        with writing(engine) as session:
            workspace = session.get(Workspace, 1) or self._opened(session)
            if workspace.version != VERSION:
                raise StoreError(f"the file is of version {workspace.version}, not {VERSION}", HINT)
            if token is not None:
                workspace.token = token
            self.workspace_id, self.token = workspace.id, workspace.token
            self.signing_key = workspace.signing_key

    def _opened(self, session: Session) -> Workspace:
        """The workspace of a new file, with its money and its first project."""
        moment = self.clock()
        workspace = Workspace(
            number=1,
            version=VERSION,
            id=new_id(),
            user_id=new_id(),
            token=secrets.token_urlsafe(32),
            signing_key=secrets.token_urlsafe(32),
            currency=self.terms.currency,
            made_at=moment,
        )
        session.add(workspace)
        session.add(Project(id=new_id(), title="Project", made_at=moment))
        session.add(Entry(kind="opening", available=self.terms.opening, made_at=moment))
        return workspace

    @contextmanager
    def writing(self) -> Iterator[Work]:
        """One transaction: committed when the block ends, undone when it raises.

        Readers write, too, since what is due happens first.
        """
        with writing(self.engine) as session:
            yield Work(session, self.clock(), self.terms)
