"""Says whether the database can be written, by writing to it: a full disk still answers every question."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from time import monotonic

from sqlalchemy import Engine, text

from humaneval.errors import StoreError
from humaneval.store.engine import writing

LEAST_BYTES = 1024 * 1024
"""Free space that a database file needs. With less, SQLite may still write into a log that it has already."""


FRESH_SECONDS = 1.0
"""How long a beat counts. Anybody may ask a server, and each beat is a write to the disk."""


class Pulse:
    """Beats of a server's database, at most one a second, however often somebody asks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._at: float | None = None
        self._error: StoreError | None = None

    def check(self) -> None:
        """Raise StoreError if the last beat failed."""
        with self._lock:
            if self._at is None or monotonic() - self._at > FRESH_SECONDS:
                try:
                    beat(self._engine)
                    self._error = None
                except StoreError as error:
                    self._error = error
                self._at = monotonic()
            if self._error is not None:
                raise self._error


def beat(engine: Engine) -> None:
    """Write the revision over itself and commit it. Raises StoreError if that fails, or will soon."""
    with writing(engine) as session:
        session.execute(text("UPDATE alembic_version SET version_num = version_num"))
    if engine.dialect.name != "sqlite":
        return
    folder = Path(str(engine.url.database)).absolute().parent
    if shutil.disk_usage(folder).free < LEAST_BYTES:
        raise StoreError(f"the disk of {folder} is full", "Free some space: answers cannot be stored.")
