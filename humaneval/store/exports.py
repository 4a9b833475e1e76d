"""Which files with people's answers left the database, and where they were written to."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.errors import StoreError
from humaneval.store.engine import writing
from humaneval.store.tables import ExportRow


def note_export(engine: Engine, study_id: int, what: str, place: Path) -> None:
    """Note that `what` of a study was written to `place`. A database that can only be read notes nothing."""
    if not place.is_file():  # a pipe or a terminal: nothing is left there
        return
    where = os.fsencode(place.absolute()).decode("utf-8", "backslashreplace")
    with suppress(StoreError), writing(engine) as session:
        same = select(ExportRow).where(
            ExportRow.study_id == study_id, ExportRow.what == what, ExportRow.place == where
        )
        for earlier in session.scalars(same):
            session.delete(earlier)
        session.add(ExportRow(study_id=study_id, what=what, place=where))


def exports_of(session: Session, study_id: int) -> list[str]:
    """What was written, where and when: one line each, oldest first. The same file is named once."""
    found = select(ExportRow).where(ExportRow.study_id == study_id).order_by(ExportRow.id)
    return [f"{one.what} of {one.made_at:%Y-%m-%d}: {one.place}" for one in session.scalars(found)]
