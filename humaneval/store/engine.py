"""Opens databases, SQLite by file or PostgreSQL by URL, and sessions that read or write.

An SQLite file that cannot be written is opened to be read. A new one belongs to its owner alone.
SQLite runs in WAL mode with `synchronous=FULL` (NORMAL can lose acknowledged commits in a power cut) and with
foreign keys on. Writers begin with BEGIN IMMEDIATE: a deferred transaction that turns into a writer fails at
once with "database is locked", whatever the busy timeout.
"""

from __future__ import annotations

import logging
import math
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import (
    DatabaseError,
    IntegrityError,
    InvalidatePoolError,
    NoResultFound,
    OperationalError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as NoConnectionError
from sqlalchemy.orm import Session
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from humaneval.errors import GoneError, PrerequisiteError, StoreError
from humaneval.request_turns import MOST_POOLED
from humaneval.store.files import is_writable, make_private, read_only_address, why_not_written
from humaneval.text import command, without_password

T = TypeVar("T")

BUSY_SECONDS = 30
REACHES = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""For how long a PostgreSQL server may be silent that is no longer reached, in seconds and at last in
milliseconds. Without these, a network that drops everything holds a command for many minutes."""
_AS_WE_READ = r"-c datestyle=ISO -c default_transaction_isolation=read\ committed"
"""Somebody may have set another for the database or the role: dates that psycopg cannot read, and
transactions that have to be tried again."""
REFUSED, ONLY_READ = "42501", "25006"
"""PostgreSQL's codes for a role without the permission, and for a database that can only be read. Its words
may be in any language."""
LED_NOWHERE = "23503"
"""PostgreSQL's code for a row that leads to one that is gone, and for one that is to go while others lead to
it."""
LOCKED = "55P03"
"""PostgreSQL's code for a lock that another session held too long."""
FULL = re.compile("too many (clients|connections)|remaining connection slots")
ALMOST_UP = re.compile("starting up|shutting down|recovery mode|not yet accepting")
"""What PostgreSQL says to those who connect at a bad moment. It gives them no code."""
NO_BUGS = frozenset({REFUSED, ONLY_READ, "25P03", "25P04", "3F000", "42P01", "42703"})
"""Codes that psycopg counts among errors of programs, and that are none: the two above, a transaction that
was idle or took too long, and a schema, table or column that is gone because another database stands in its
place."""
STOPPED = ("25P", "40", "57014")
"""How codes begin of work that the server ended, because it took too long or met other work."""
PAUSE = 0.05
"""The longest pause, in seconds, between two transactions of a verb that writes many."""
IDLE_SECONDS = 0.1
"""In less, no server is started again. A crowd need not ask each time whether it is there."""
USED = "used at"
WHERE = "`{}` says where this address comes from: correct it there, or name another with --database."
ASKED_FOR = 500
"""How many ids are looked up by one query. SQLite takes at most 32,766 parameters."""


def shown(url: URL) -> str:
    """The address of a database as people write it, without its passwords. SQLAlchemy writes `/` as `%2F` in
    the folder of a socket."""
    return without_password(url.render_as_string(hide_password=True)).replace("%2F", "/")


def open_engine(url: str, *, pool: bool = True, make: bool = True, hint: str = "") -> Engine:
    """An engine for `url`, without a connection yet. `pool=False` closes each connection after use.

    The first connection makes a file that is not there, unless `make` is false: then it is an error.
    `hint` is what to do if the database cannot be used; by default, to check --database.
    """
    try:
        url.encode()
    except UnicodeEncodeError:
        raise StoreError(
            "the name of the database is not in UTF-8", "Rename the file, or choose another with --database."
        ) from None
    # None is closed between two requests: a new connection costs more than what is done with it.
    pooled = {"pool_size": MOST_POOLED, "max_overflow": 0, "pool_use_lifo": True}
    options: dict[str, Any] = pooled if pool else {"poolclass": NullPool}
    options["hide_parameters"] = True  # they hold answers, keys and workers' ids, and errors are logged
    options["execution_options"] = {"hint": hint, "make": make}
    if url.startswith("sqlite"):
        asked = make_url(url)
        if asked.database in (None, "", ":memory:") or asked.query.get("mode") == "memory":
            raise StoreError(f"{url} would be in memory, and gone after each command", "Name a file.")
        file = Path(url.removeprefix("sqlite:///"))
        folder = file.parent
        if not file.name:
            raise StoreError(f"{file} is a folder", "Name a file in it with --database.")
        if not folder.is_dir():
            raise StoreError(
                f"the folder {folder} for the database does not exist",
                "Create it, or choose another with --database.",
            )
        engine = create_engine(
            url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, **options
        )
        event.listen(engine, "do_connect", partial(_connect_sqlite, make))
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    logging.getLogger("psycopg").setLevel(logging.ERROR)  # what it warns of is raised, too
    given = make_url(url).query
    asked_for = given.get("options", "")
    theirs = asked_for if isinstance(asked_for, str) else " ".join(asked_for)
    own = f"-c timezone=UTC -c lock_timeout={BUSY_SECONDS}s {_AS_WE_READ} {theirs}".strip()
    try:
        reaches = {name: value for name, value in REACHES.items() if name not in given}
        settings = {**reaches, "client_encoding": "utf8", "options": own}
        engine = create_engine(url, connect_args=settings, **options)
    except ModuleNotFoundError as error:
        raise PrerequisiteError(
            f"the database URL needs the package {error.name}", "pip install 'humaneval-toolkit[postgres]'"
        ) from None
    event.listen(engine, "connect", partial(_refuse_encoding, engine), insert=True)
    event.listen(engine, "checkin", _used)
    event.listen(engine, "checkout", partial(_ask_if_idle, engine))
    return engine


def _refuse_encoding(engine: Engine, connection: Any, _record: object) -> None:
    """Refuse a database that cannot hold every character, before anything is stored there."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in ("UTF8", None):
        connection.close()
        raise StoreError(
            f"the database {shown(engine.url)} has the encoding {encoding}, which cannot hold all texts",
            "Make another with `createdb -E UTF8 -T template0 NAME`, and name it with --database. What this"
            " one holds, pg_dump and psql bring there.",
        )


def _used(_connection: object, record: ConnectionPoolEntry) -> None:
    record.info[USED] = time.monotonic()


def _ask_if_idle(engine: Engine, connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    """Ask a server that had nothing to do whether it is still there: it may have been started again."""
    if time.monotonic() - record.info.get(USED, math.inf) < IDLE_SECONDS:
        return
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error as error:
        raise InvalidatePoolError from error


def _connect_sqlite(
    make: bool, _dialect: object, _record: object, arguments: list[Any], options: dict[str, Any]
) -> sqlite3.Connection | None:
    """Connect to an SQLite file: made private if it is missing, read only if it cannot be written."""
    if options.get("uri"):
        return None  # as SQLAlchemy does it
    path = Path(arguments[0])
    if make:
        make_private(path)
    writable = is_writable(path) or not path.exists()
    address = f"{path.absolute().as_uri()}?mode=rw" if writable else read_only_address(path)
    connection: sqlite3.Connection = sqlite3.connect(address, uri=True, **options)
    return connection


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = (
        None  # _begin_sqlite sends BEGIN; the attribute `autocommit` needs Python 3.12
    )
    for pragma in (f"busy_timeout={BUSY_SECONDS * 1000}", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}").close()
    if is_writable(Path(connection.execute("PRAGMA database_list").fetchone()[2])):
        _use_wal(connection)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch a new file to WAL. If two programs do so at once, SQLite refuses one despite the timeout."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("alone", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes", False) else "BEGIN")


@lru_cache(maxsize=16)
def _of_one_moment(engine: Engine) -> Engine:
    if engine.dialect.name == "sqlite":
        return engine
    return engine.execution_options(isolation_level="REPEATABLE READ")


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """A session for reading. Its changes are not kept.

    All its statements see the database as it was at the first one. So tables agree, whatever others write
    meanwhile.
    """
    with store_errors(engine), Session(_of_one_moment(engine), autoflush=False) as session:
        yield session


@lru_cache(maxsize=16)
def _alone(engine: Engine) -> Engine:
    if engine.dialect.name == "sqlite":
        return engine.execution_options(alone=True)
    return engine.execution_options(isolation_level="AUTOCOMMIT")


@contextmanager
def connected(engine: Engine) -> Iterator[Connection]:
    """A connection for reading, without a session: for statements that a server runs again and again.

    Each statement stands alone: the database is not asked to begin and end a transaction around it.
    """
    with store_errors(engine), _alone(engine).connect() as made:
        yield made


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """A session whose changes are committed together at the end, or not at all."""
    with (
        store_errors(engine),
        Session(engine.execution_options(writes=True), expire_on_commit=False) as session,
        session.begin(),
    ):
        yield session


def batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """`values` in lists of `size`; the last may be shorter.

    Work that grows with the data takes one transaction a list: on SQLite nobody else can write meanwhile.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch


def in_turns(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """As `batches`, with a pause after each that is as long as its work was, up to `PAUSE`.

    SQLite has no queue: who waits asks again ten times a second or more often. Without pauses, a verb that
    writes one batch after the other would be the first again each time.
    """
    for batch in batches(values, size):
        began = time.monotonic()
        yield batch
        time.sleep(min(PAUSE, time.monotonic() - began))


@contextmanager
def writing_alone(engine: Engine, what: str) -> Iterator[Session]:
    """As `writing`, for what two programs may add at the same time. The slower one gets a StoreError."""
    try:
        with writing(engine) as session:
            yield session
    except IntegrityError as error:
        raise StoreError(
            f"another program added {what} at the same time; this one changed nothing",
            "Run the command again.",
        ) from error


@contextmanager
def store_errors(engine: Engine) -> Iterator[None]:
    """Turn the driver's errors about a busy, missing, full or damaged database into a StoreError. Also that a
    row is gone which was there a moment ago."""
    try:
        yield
    except NoResultFound as error:
        raise gone() from error
    except NoConnectionError as error:  # all that are pooled are in use
        raise _busy(engine) from error
    except (DatabaseError, sqlite3.OperationalError) as error:  # without SQLAlchemy it is the driver's own
        # sqlite3 has no class for damage. A broken constraint or a wrong statement is a bug, nothing else.
        wrapped = error if isinstance(error, DatabaseError) else OperationalError("", None, error)
        told = _told(engine, wrapped)
        if told is None:
            raise
        raise told from error


def gone() -> GoneError:
    """The error if a row is no longer there whose id was read before."""
    return GoneError(
        "another program has deleted what this command is about",
        "Run the command again to see the present state.",
    )


def _busy(engine: Engine) -> StoreError:
    return StoreError(
        f"the database {shown(engine.url)} was busy for {BUSY_SECONDS} s",
        "Another program is using it. Try again.",
    )


def _told(engine: Engine, error: DatabaseError) -> StoreError | None:
    """What a person reads about an error of the driver; None for what is no trouble with the database."""
    reason = str(error.orig).strip().splitlines()[0]
    code = getattr(error.orig, "sqlstate", None)
    if code == LED_NOWHERE or "FOREIGN KEY" in reason:
        return StoreError(
            "another program has deleted what this command is about, or has begun to use it",
            "Run the command again to see the present state.",
        )
    read_only = code == ONLY_READ or "readonly database" in reason
    wrong_address = type(error) is ProgrammingError and error.statement is None  # nothing was asked yet
    if not wrong_address and type(error) not in (OperationalError, DatabaseError) and code not in NO_BUGS:
        return None
    where = shown(engine.url)
    if code == REFUSED:
        return StoreError(
            f"the database {where} does not let you do this: {reason}",
            "Ask for the permission, or name another role with --database.",
        )
    if code == LOCKED or "locked" in reason:
        return _busy(engine)
    if engine.dialect.name == "sqlite":
        path = Path(str(engine.url.database))
        told = engine.get_execution_options()
        unmade = why_not_written(path) if told.get("make") else ""
        if not path.exists() and not unmade:
            return StoreError(
                f"there is no database {path}",
                "Name yours with --database, or make one from a table of stories and infills:"
                f" `{command('study', 'create', 'NAME', '--from', 'FILE')}`.\n"
                f"Also, to import stories alone: `{command('stories', 'import', 'FILE')}`.\n"
                f"Also, to try it with ours: `{command('stories', 'import', '--bundled')}`.",
            )
        if read_only or "unable to open" in reason or "disk I/O" in reason:
            reason = unmade or why_not_written(path) or reason
    if any(cause in reason for cause in ("full", "No space left", "disk I/O")):
        return StoreError(
            f"the database {where} cannot be written: {reason}",
            "Free some space on its disk, and try again.",
        )
    if read_only or "can only be read" in reason or "may not write" in reason:
        return StoreError(
            f"the database {where} cannot be written: {reason}",
            "This command writes to it. Work on a copy in a folder of your own, or ask for the permission.",
        )
    return StoreError(f"the database {where} cannot be used: {reason}", _way_out(engine, error, reason))


def _way_out(engine: Engine, error: DatabaseError, reason: str) -> str:
    """What to do if a database cannot be used."""
    own = engine.get_execution_options().get("hint")
    if own or engine.dialect.name == "sqlite":
        return str(own or WHERE.format(command("config", "show")))
    if error.connection_invalidated or ALMOST_UP.search(reason):
        return "Its server ends or starts. Run the command again in a moment: what was stored is there."
    if str(getattr(error.orig, "sqlstate", None)).startswith(STOPPED):
        return "Run the command again. If that does not help, ask those who run this server about its limits."
    if FULL.search(reason):
        return "Other programs have all of its connections. Try again, or raise max_connections there."
    return WHERE.format(command("config", "show")) + " Or start its server."
