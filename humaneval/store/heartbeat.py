"""Says whether the database can be written, by writing to it: a full disk still answers every question."""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlalchemy import Engine

from humaneval.errors import StoreError
from humaneval.store.engine import writing
from humaneval.store.tables import MetaRow
from humaneval.store.types import now

KEY = "heartbeat"
"""The one value of the table `meta` that means nothing: when somebody last asked."""
LEAST_BYTES = 1024 * 1024
"""Free space that a database file needs. With less, SQLite may still write into a log that it has already."""


def beat(engine: Engine, *, keep: bool = True) -> None:
    """Write the time to the database and commit it. Raises StoreError if that fails, or will soon.

    Without `keep` the write is taken back: nothing is left of it, and less of the disk is tried.
    """
    with writing(engine) as session:
        session.merge(MetaRow(key=KEY, value=now().isoformat()))
        session.flush()
        if not keep:
            session.rollback()
    if engine.dialect.name != "sqlite":
        return
    folder = Path(str(engine.url.database)).absolute().parent
    if shutil.disk_usage(folder).free < LEAST_BYTES:
        raise StoreError(f"the disk of {folder} is full", "Free some space: answers cannot be stored.")
