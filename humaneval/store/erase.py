"""Makes deleted rows unreadable in the files of an SQLite database: its free pages and its log go, too.

SQLite overwrites what is deleted, but not what it moved from page to page before. Only a rewritten file is
free of that, and nobody can write meanwhile. So a large file that others have open is left as it is until a
person says so.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from humaneval.store.engine import BUSY_SECONDS, store_errors
from humaneval.store.files import backup_name
from humaneval.text import command

WAIT_SECONDS = 5
"""How long others may still read old pages of the log, before it is left to them."""
QUICK, MB_A_SECOND = 100 * 1024**2, 100
"""How many bytes are rewritten while others wait, and how fast that is. A page should not wait longer
than a second."""
AFTER_SERVER = (
    "PostgreSQL keeps deleted rows in its files until VACUUM FULL, and longer in its own logs and backups."
)
LOG_IN_USE = (
    "Another program reads the database, so its log still holds deleted rows. SQLite removes the log when the"
    " last program closes the database."
)


def overwrite_deleted(session: Session) -> None:
    """Let SQLite overwrite what this transaction deletes, at once."""
    connection = session.connection()
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete=ON")


def clean_files(engine: Engine, *, whoever_waits: bool = False) -> tuple[str, ...]:
    """Rewrite the database without free pages, and empty its log. Returns what could not be cleaned.

    A file of more than `QUICK` bytes that others have open is only written with `whoever_waits`.
    """
    if engine.dialect.name != "sqlite":
        return (AFTER_SERVER,)
    left = []
    with store_errors(engine), closing(engine.raw_connection()) as pooled:
        connection = pooled.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        if _nobody_else(connection):
            connection.execute("VACUUM").close()
            pooled.invalidate()  # the next connection uses a log again
            return ()
        size = _number(connection, "page_count") * _number(connection, "page_size")
        if size <= QUICK or whoever_waits:
            connection.execute("VACUUM").close()
        else:
            left.append(_too_large(size))
        connection.execute(f"PRAGMA busy_timeout={WAIT_SECONDS * 1000}").close()
        if _number(connection, "wal_checkpoint(TRUNCATE)"):
            left.append(LOG_IN_USE)
        connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}").close()
    return tuple(left)


def _nobody_else(connection: sqlite3.Connection) -> bool:
    """Whether no other connection has the database open. If so, it is without a log from now on, which SQLite
    allows only then."""
    connection.execute("PRAGMA busy_timeout=0").close()
    try:
        connection.execute("PRAGMA journal_mode=DELETE").close()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}").close()
    return True


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    with closing(connection.execute(f"PRAGMA {pragma}")) as cursor:
        return int(cursor.fetchone()[0])


def _too_large(size: int) -> str:
    megabytes = size / 1e6
    return (
        f"The file has {megabytes:,.0f} MB, and other programs have it open. What was deleted is overwritten,"
        " but traces may be left where SQLite moved rows before. To write the file anew:"
        f" `{command('db', 'clean')}`. Nobody can write meanwhile, for {megabytes / MB_A_SECOND:,.0f} s"
        " or more, so stop the servers first if that is too long."
    )


def backups_beside(engine: Engine) -> list[Path]:
    """The copies of an SQLite database that lie beside it under the name that `db backup` gives them.

    Those that were never finished, too.
    """
    if engine.dialect.name != "sqlite":
        return []
    path = Path(str(engine.url.database))
    return sorted(path.absolute().parent.glob(f"{backup_name(path, '*').name}*"))
