"""Makes deleted rows unreadable in the files of an SQLite database: its free pages and its log go, too."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from humaneval.store.engine import BUSY_SECONDS, store_errors
from humaneval.store.files import backup_name

WAIT_SECONDS = 5
"""How long others may go on reading old pages of the log, before it is left to them."""
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


def clean_files(engine: Engine) -> tuple[str, ...]:
    """Write the database anew without free pages, and empty its log. Returns what could not be cleaned."""
    if engine.dialect.name != "sqlite":
        return (AFTER_SERVER,)
    with store_errors(engine), closing(engine.raw_connection()) as pooled:
        connection = pooled.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        connection.execute("VACUUM").close()
        connection.execute(f"PRAGMA busy_timeout={WAIT_SECONDS * 1000}").close()
        cursor = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        busy = bool(cursor.fetchone()[0])
        cursor.close()
        connection.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}").close()
    return (LOG_IN_USE,) if busy else ()


def backups_beside(engine: Engine) -> list[Path]:
    """The copies of an SQLite database that lie beside it under the name that `db backup` gives them."""
    if engine.dialect.name != "sqlite":
        return []
    path = Path(str(engine.url.database))
    return sorted(path.absolute().parent.glob(backup_name(path, "*").name))
