"""Says whether the database can be written, by writing to it: a full disk still answers every question."""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlalchemy import Engine, text

from humaneval.errors import StoreError
from humaneval.store.engine import writing

LEAST_BYTES = 1024 * 1024
"""Free space that a database file needs. With less, SQLite may still write into a log that it has already."""


def beat(engine: Engine) -> None:
    """Write the revision over itself and commit it. Raises StoreError if that fails, or will soon."""
    with writing(engine) as session:
        session.execute(text("UPDATE alembic_version SET version_num = version_num"))
    if engine.dialect.name != "sqlite":
        return
    folder = Path(str(engine.url.database)).absolute().parent
    if shutil.disk_usage(folder).free < LEAST_BYTES:
        raise StoreError(f"the disk of {folder} is full", "Free some space: answers cannot be stored.")
