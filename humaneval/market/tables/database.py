"""The marketplace's file: open it, make it on first use, and run transactions in it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import DatabaseError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from humaneval.errors import SettingsError, StoreError
from humaneval.fees import money
from humaneval.market.tables.account import Account, Entry
from humaneval.market.tables.base import MarketTable
from humaneval.store.engine import open_engine
from humaneval.store.files import is_writable, why_not_written
from humaneval.store.migrate import open_current
from humaneval.store.types import now
from humaneval.store.watched_files import WatchedFiles
from humaneval.text import command

Clock = Callable[[], datetime]

VERSIONS = "market_versions"
HEAD = "m0004"
"""The newest revision of the marketplace's file. Its migrations are separate from the toolkit's."""

CHECK = "Check --database: it names the marketplace's own file."

OPENING_BALANCE = Decimal("10000.00")

BUSY = (OperationalError, NoConnectionError)
"""The errors of waiting too long, for the write lock or for a connection."""


class Mode(StrEnum):
    """`local` counts every cent. `sandbox` has a balance that never falls, as MTurk's sandbox had."""

    LOCAL = "local"
    SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of the marketplace: what an operation may use, and the time at which it happens.

    `site` is the worker site's address, if it is known. `request_id` is the id of the call.
    """

    connection: Connection
    now: datetime
    mode: Mode
    site: str = ""
    request_id: str = ""
    _sessions: list[Session] = field(default_factory=list)

    @property
    def session(self) -> Session:
        """For rows as objects. It is made when it is first asked for: most pages do with the connection."""
        if not self._sessions:
            self._sessions.append(Session(self.connection, expire_on_commit=False))
        return self._sessions[0]

    @property
    def opened(self) -> Session | None:
        """The session, if anything asked for it. Without it no object can have changed."""
        return self._sessions[0] if self._sessions else None


def market_engine(path: Path | str) -> Engine:
    """The engine of the marketplace's own SQLite file, at which nobody has looked yet: see `open_account`.

    Durability comes before speed: an acknowledged answer survives a power cut (WAL, `synchronous=FULL`).
    Only its owner may read a new file, because it holds the key that signs workers' links. SQLite gives the
    files beside it the same permissions.
    """
    return open_engine(f"sqlite:///{path}", hint=CHECK)


def open_market(path: Path | str) -> Engine:
    """The same of a file that is there, or is made now. Raises StoreError."""
    engine = market_engine(path)
    try:
        _open_tables(engine)
    except StoreError:
        engine.dispose()
        raise
    return engine


def _open_tables(engine: Engine) -> None:
    try:
        open_current(engine, versions=VERSIONS, head=HEAD, metadata=MarketTable.metadata)
    except DatabaseError as error:
        raise StoreError(
            f"{engine.url.database} cannot be used as the marketplace's database: {error.orig}"
        ) from None


def open_account(
    engine: Engine, mode: Mode, *, balance: Decimal | None = None, public_url: str = "", clock: Clock = now
) -> str:
    """Make sure that the file and the account exist, and return the key that signs cookies and forms.

    The opening balance (10000.00 by default) counts only if the file is new. `public_url` is the address at
    which workers will reach the marketplace. It is kept for invitations. Raises SettingsError if the file was
    made in the other mode, or with another opening balance than `balance`. Raises StoreError if the file
    cannot be written.
    """
    if balance is not None and balance < 0:
        raise SettingsError(f"an account cannot open with {balance}", "Give a balance of 0.00 or more.")
    _open_tables(engine)
    path = Path(str(engine.url.database))
    if not is_writable(path):
        raise StoreError(
            f"the marketplace's database {path} cannot be written: {why_not_written(path)}",
            "Serve a copy in a folder of your own, or ask for the permission.",
        )
    with Session(engine) as session, session.begin():
        make_writer(session)
        account = session.get(Account, 1)
        if account is None:
            opening = money(OPENING_BALANCE if balance is None else balance)
            account = Account(id=1, mode=mode, signing_key=secrets.token_urlsafe(48), made_at=clock())
            account.available = int(opening * 100)
            session.add(account)
            session.add(Entry(kind="opening", available=account.available, made_at=clock()))
        elif account.mode != mode:
            raise SettingsError(
                f"this marketplace was made in {account.mode} mode and cannot be opened in {mode} mode",
                f"Use --mode {account.mode}, or another --database.",
            )
        elif balance is not None and int(money(balance) * 100) != _opened_with(session):
            raise SettingsError(
                "this marketplace has an account already, so its balance cannot be set again",
                f"Leave out --balance. Add money with `{command('market', 'fund', 'SUM')}`.",
            )
        if public_url:
            account.public_url = public_url
        return account.signing_key


def _opened_with(session: Session) -> int | None:
    """The opening balance, in cents."""
    return session.scalar(select(Entry.available).where(Entry.kind == "opening"))


def known_account(engine: Engine) -> Account:
    """The account in the file. Raises StoreError if the marketplace was never served."""
    with Session(engine) as session:
        account = session.get(Account, 1)
    if account is None:
        raise StoreError(
            "this marketplace was never served", f"Start it once with `{command('market', 'serve')}`."
        )
    return account


def make_writer(session: Session) -> None:
    """Ask for the write lock at BEGIN: a transaction that first reads and then writes can lose its write."""
    session.connection(execution_options={"writes": True})


class FileGoneError(NoConnectionError):
    """The marketplace's file was deleted or replaced while it was open: nothing can be stored in it."""


def check_files(files: WatchedFiles) -> None:
    """Raises FileGoneError if somebody else deleted or changed the files of the marketplace's database."""
    if not files.are_the_same():
        raise FileGoneError("its file was deleted or replaced: start the marketplace again")


def written(row: MarketTable, **values: Any) -> None:
    """Let an object know what a statement wrote into its row, so that the session does not write it, too."""
    for name, value in values.items():
        set_committed_value(row, name, value)


@contextmanager
def transaction(engine: Engine, mode: Mode, clock: Clock, *, writes: bool) -> Iterator[Transaction]:
    """One transaction: committed when the block ends, rolled back when it raises."""
    with engine.connect() as connection:
        if writes:
            connection.execution_options(writes=True)
        with connection.begin():
            # The clock is read while the lock is held, so that times in the file never run backwards.
            work = Transaction(connection, clock(), mode)
            try:
                yield work
                if work.opened is not None:
                    work.opened.flush()
            finally:
                if work.opened is not None:
                    work.opened.close()
