"""Deletes a study that nobody has seen, with the sentences of its table that no other study may show."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Engine, Table, delete, exists, func, select
from sqlalchemy.orm import Session

from humaneval.domain import FROM_TABLE
from humaneval.errors import UsageError
from humaneval.store.engine import reading, writing_alone
from humaneval.store.tables import (
    METADATA,
    GeneratorRow,
    InfillRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    RunRow,
    StudyAdditionRow,
    StudyBlankRow,
    StudyRow,
)
from humaneval.study.stored import get_study
from humaneval.text import command

OWN = (PassageRow, RowRow, StudyBlankRow, StudyAdditionRow)
"""What a study consists of. Every other table about it is of what was done with it."""
NOT_LOADED = {"synchronize_session": False}
"""For statements about rows that are not loaded in the session."""


class Deleted(NamedTuple):
    """How many infills were deleted with a study."""

    infills: int


def delete_study(engine: Engine, name: str) -> Deleted:
    """Delete a study. Raises UsageError, and changes nothing, if it was published or used in any way.

    Infills of its table that no other study may show go with it, so that a corrected table can bring others.
    Stories stay, and infills that were generated or imported.
    """
    with writing_alone(engine, f"study {name!r}") as session:
        study = get_study(session, name)
        # As it is once it is ours: a program that publishes it locks the same row.
        session.get_one(StudyRow, study.id, with_for_update=True, populate_existing=True)
        _refuse_used(session, study)
        return Deleted(_delete(session, study))


def used_study(engine: Engine, name: str) -> bool:
    """Whether anything was done with a study, so that it cannot be deleted."""
    with reading(engine) as session:
        return is_used(session, get_study(session, name))


def refuse_deletion(engine: Engine, name: str) -> None:
    """Raise UsageError if `delete_study` would."""
    with reading(engine) as session:
        _refuse_used(session, get_study(session, name))


def _refuse_used(session: Session, study: StudyRow) -> None:
    if is_used(session, study):
        raise UsageError(
            f"study {study.name!r} was published or used",
            "It stays as it is. Make another study under another name.",
        )


def is_used(session: Session, study: StudyRow) -> bool:
    """Whether anything was done with a study: published, answered, paid or exported, here or anywhere.

    Also whether another study keeps its people out, which needs the name.
    """
    own = {METADATA.tables[one.__tablename__] for one in OWN}
    if study.published_at is not None or any(
        session.scalar(select(exists().where(_about(table) == study.id)))
        for table in METADATA.sorted_tables
        if table not in own and _leads_to_studies(table)
    ):
        return True
    others = session.execute(select(StudyRow.id, StudyRow.settings)).all()
    return any(study.name in settings["participants"]["exclude_studies"] for _, settings in others)


def ways_on(session: Session, study: StudyRow) -> str:
    """What to do if a study of this name is there and another one is wanted."""
    if is_used(session, study):
        return "It was published or used, so it never changes: choose another name."
    return (
        f"Nobody has seen it. To replace it, delete it with `{command('study', 'delete', study.name)}`, and"
        " run this command again. Or choose another name."
    )


def _leads_to_studies(table: Table) -> bool:
    return any(key.column.table.name == StudyRow.__tablename__ for key in table.foreign_keys)


def _about(table: Table) -> ColumnElement[int]:
    return next(key.parent for key in table.foreign_keys if key.column.table.name == StudyRow.__tablename__)


def _delete(session: Session, study: StudyRow) -> int:
    from_a_table = session.scalar(select(exists().where(StudyBlankRow.study_id == study.id)))
    names = study.settings["design"]["generators"]
    rows = select(RowRow.id).where(RowRow.study_id == study.id)
    session.execute(delete(RowPassageRow).where(RowPassageRow.row_id.in_(rows)), execution_options=NOT_LOADED)
    for one in OWN:
        session.execute(delete(one).where(one.study_id == study.id), execution_options=NOT_LOADED)
    session.execute(delete(StudyRow).where(StudyRow.id == study.id), execution_options=NOT_LOADED)
    if not from_a_table:
        return 0
    of_tables = select(GeneratorRow).where(GeneratorRow.kind == FROM_TABLE, GeneratorRow.name.in_(names))
    return sum(_delete_infills(session, generator) for generator in session.scalars(of_tables).all())


def _delete_infills(session: Session, generator: GeneratorRow) -> int:
    """Delete a table's infills by a generator that no study may show. Returns how many there were."""
    studies = session.execute(select(StudyRow.id, StudyRow.settings)).all()
    showing = {number for number, settings in studies if generator.name in settings["design"]["generators"]}
    limited = set(session.scalars(select(StudyBlankRow.study_id).distinct()))
    if showing - limited:  # such a study shows every blank that its generators have filled
        return 0
    shown = exists().where(
        StudyBlankRow.study_id.in_(showing),
        StudyBlankRow.story_id == InfillRow.story_id,
        StudyBlankRow.position == InfillRow.position,
    )
    unseen = InfillRow.generator_id == generator.id, ~shown
    number = session.scalar(select(func.count()).select_from(InfillRow).where(*unseen)) or 0
    session.execute(delete(InfillRow).where(*unseen), execution_options=NOT_LOADED)
    left = exists().where(InfillRow.run_id == RunRow.id)
    runs = delete(RunRow).where(RunRow.generator_id == generator.id, ~left)
    session.execute(runs, execution_options=NOT_LOADED)
    if not session.scalar(select(exists().where(RunRow.generator_id == generator.id))):
        session.execute(
            delete(GeneratorRow).where(GeneratorRow.id == generator.id), execution_options=NOT_LOADED
        )
    return number
