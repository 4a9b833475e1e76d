"""Deletes a generator with its infills, a part at a time: nobody waits for all of them."""

from __future__ import annotations

import time

from sqlalchemy import Engine, delete, or_, select
from sqlalchemy.orm import Session

from humaneval.errors import UsageError
from humaneval.store.engine import PAUSE, reading, writing
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, RunRow, StudyRow

TOGETHER = 2_000
"""Infills that are deleted in one transaction."""
NOT_LOADED = {"synchronize_session": False}
"""For statements about rows that are not loaded in the session."""


def forget(engine: Engine, name: str) -> int:
    """Delete a generator and its infills unless a study shows one. Returns how many infills there were."""
    with reading(engine) as session:
        generator = session.scalar(select(GeneratorRow).where(GeneratorRow.name == name))
        if generator is None:
            known = session.scalars(select(GeneratorRow.name).order_by(GeneratorRow.name)).all()
            raise UsageError(
                f"there are no infills by {name!r}", f"Generators with infills: {', '.join(known) or 'none'}."
            )
        generator_id = generator.id
    deleted = 0
    while True:
        with writing(engine) as session:
            _refuse_shown(session, generator_id, name)
            some = select(InfillRow.id).where(InfillRow.generator_id == generator_id).limit(TOGETHER)
            ids = session.scalars(some).all()
            session.execute(delete(InfillRow).where(InfillRow.id.in_(ids)), execution_options=NOT_LOADED)
            deleted += len(ids)
            if len(ids) < TOGETHER:
                session.execute(delete(RunRow).where(RunRow.generator_id == generator_id))
                session.execute(delete(GeneratorRow).where(GeneratorRow.id == generator_id))
                return deleted
        time.sleep(PAUSE)


def _refuse_shown(session: Session, generator_id: int, name: str) -> None:
    """Raise UsageError if a study shows infills of a generator, also as the second of two sentences."""
    shown = session.scalar(
        select(StudyRow.name)
        .join(PassageRow, PassageRow.study_id == StudyRow.id)
        .where(or_(PassageRow.generator_id == generator_id, PassageRow.other_generator_id == generator_id))
        .limit(1)
    )
    if shown is not None:
        raise UsageError(
            f"study {shown!r} shows infills by {name!r}",
            "They cannot be deleted. Generate under another name with --as.",
        )
