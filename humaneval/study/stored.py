"""A stored study, opened once and handed on.

What never changes of a study is in `Study`: its id, name and settings. What can change (rows that were added,
whether programs answer it, what is published) is read in the transaction that needs it.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Select, bindparam, exists, func, select
from sqlalchemy.orm import Session, joinedload, selectinload

from humaneval.domain import FROM_TABLE, PROGRAM
from humaneval.errors import HumanEvalError, UsageError
from humaneval.scoring.questions.question import DETECT, load_question
from humaneval.store.addresses import KEY as ADDRESSES
from humaneval.store.engine import gone, reading, writing
from humaneval.store.meta import stored_secret
from humaneval.store.responses import answerers
from humaneval.store.tables import (
    AssignmentRow,
    GeneratorRow,
    HitRow,
    MetaRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    StoryRow,
    StudyAdditionRow,
    StudyRow,
)
from humaneval.study.file import StudyFile
from humaneval.text import Answerers, command

MOST_PARSED = 64
"""How many parsed study files are kept."""


@dataclass(frozen=True, slots=True)
class Study:
    """A stored study as opened: everything about it that never changes."""

    engine: Engine
    id: int
    name: str
    settings: StudyFile
    design_hash: str
    """Of the design without rows that were added later."""

    @property
    def row_ids(self) -> Select[int]:
        """The query for the ids of all its rows, in order."""
        return select(RowRow.id).where(RowRow.study_id == self.id).order_by(RowRow.ordinal)


def open_study(engine: Engine, name: str) -> Study:
    """The study called `name`. Raises UsageError with the names that there are."""
    with reading(engine) as session:
        return study_of(engine, get_study(session, name))


def study_of(engine: Engine, row: StudyRow) -> Study:
    """The study whose row has been read."""
    return Study(engine, row.id, row.name, settings_of(row), row.design_hash)


_NAMED = select(StudyRow).where(StudyRow.name == bindparam("name"))
"""Made once, because nearly every command begins with it."""


def get_study(session: Session, name: str) -> StudyRow:
    """The row of the study called `name`. Raises UsageError with the names that there are."""
    study = session.scalar(_NAMED, {"name": name})
    if study is None:
        names = session.scalars(select(StudyRow.name).order_by(StudyRow.id)).all()
        raise UsageError(
            f"there is no study {name!r}",
            f"Studies: {', '.join(names)}."
            if names
            else f"Make one with `{command('study', 'create', 'NAME')}`.",
        )
    return study


_parsed: dict[str, StudyFile] = {}
"""Parsed settings by their stored hash: checking a study file again takes longer than a request should."""


def settings_of(study: StudyRow) -> StudyFile:
    """The settings as they were when the study was made. They are parsed once for each stored hash."""
    return _parsed.get(study.settings_hash) or _parse(study.settings_hash, study.settings)


_SETTINGS = select(StudyRow.__table__.c.settings).where(StudyRow.__table__.c.id == bindparam("id"))


def settings_by_hash(connection: Connection, study_id: int, settings_hash: str) -> StudyFile:
    """The same, read from the database only if they were not parsed yet."""
    known = _parsed.get(settings_hash)
    return known or _parse(settings_hash, connection.execute(_SETTINGS, {"id": study_id}).scalar_one())


def _parse(settings_hash: str, stored: Mapping[str, Any]) -> StudyFile:
    settings = StudyFile.model_validate(stored)
    if len(_parsed) >= MOST_PARSED:
        _parsed.clear()
    _parsed[settings_hash] = settings
    return settings


def without_question(session: Session) -> dict[str, HumanEvalError]:
    """The studies whose question cannot be loaded, with the reason: their forms cannot be shown."""
    found: dict[str, HumanEvalError] = {}
    for name, settings in session.execute(select(StudyRow.name, StudyRow.settings)):
        try:
            load_question(settings.get("question", DETECT))
        except HumanEvalError as error:
            found[name] = error
    return found


def hash_of_rows(session: Session, study: StudyRow) -> str:
    """The hash of the design with all its rows, those of `study enlarge` too. `StudyRow.design_hash` covers
    the first rows only."""
    added = select(StudyAdditionRow.design_hash).where(StudyAdditionRow.study_id == study.id)
    return session.scalars(added.order_by(StudyAdditionRow.id.desc())).first() or study.design_hash


def length_of_study(session: Session, study_id: int) -> int:
    """How many sentences each story of a study has. Raises StoreError if it was deleted meanwhile."""
    found: int | None = session.scalar(
        select(func.json_array_length(StoryRow.sentences))
        .join(PassageRow, PassageRow.story_id == StoryRow.id)
        .where(PassageRow.study_id == study_id)
        .limit(1)
    )
    if found is None:
        raise gone()
    return found


def is_simulated(study: Study) -> bool:
    """Whether programs have answered this study, or were sent to it and nobody has answered."""
    with reading(study.engine) as session:
        row = session.get_one(StudyRow, study.id)
        who = answerers(session, row)
        return who.programs > 0 or (row.simulated and not who.people)


def who_answered(study: Study) -> Answerers:
    """How many programs and how many people have answered this study, as of now."""
    with reading(study.engine) as session:
        return answerers(session, session.get_one(StudyRow, study.id))


def program_key(session: Session) -> bytes:
    """The secret of this database by which its form server knows simulated annotators."""
    return stored_secret(session, "program key")


def program_name(key: bytes, study_id: int) -> str:
    """How the browsers of a study's simulated annotators name themselves. Nobody else can make it up."""
    return f"{PROGRAM}/{hmac.digest(key, str(study_id).encode(), 'sha256').hex()}"


def mark_simulated(study: Study) -> None:
    """Record that programs answer this study. The mark stays, once a program has opened a form."""
    with writing(study.engine) as session:
        session.get_one(StudyRow, study.id).simulated = True


def unmark_unanswered(study: Study) -> None:
    """Take the mark back if no program has got as far as a form: people would read of programs that never
    came."""
    with writing(study.engine) as session:
        opened = exists().where(AssignmentRow.study_id == study.id, AssignmentRow.by_program)
        session.get_one(StudyRow, study.id).simulated = bool(session.scalar(select(opened)))


def study_key(study: Study) -> dict[str, list[dict[str, object]]]:
    """The hash of all sentences shown on a form, in order → the position and the generator of each passage,
    and the `other` generator of a second sentence.

    For the researcher and for simulated annotators. Nothing that is served to a browser contains any of it.
    """
    with reading(study.engine) as session:
        rows = session.scalars(
            select(RowRow)
            .where(RowRow.study_id == study.id)
            .order_by(RowRow.ordinal)
            .options(
                selectinload(RowRow.places)
                .joinedload(RowPassageRow.passage)
                .options(joinedload(PassageRow.generator), joinedload(PassageRow.other_generator))
            )
        )
        return {row.shown_hash: [_key_of(place.passage) for place in row.places] for row in rows}


def _key_of(passage: PassageRow) -> dict[str, object]:
    key: dict[str, object] = {"position": passage.position, "generator": passage.generator.name}
    if passage.other_generator is not None:
        key["other"] = passage.other_generator.name
    return key


def put_up_command(session: Session, study: StudyRow) -> str:
    """The command that puts a study up on this machine: `up`, unless this database is published by hand. No
    marketplace pays in another currency than dollars."""
    if study.settings.get("hit", {}).get("currency", "USD") != "USD":
        return command("publish", study.name, "--to", "prolific")
    by_hand = (
        session.get(MetaRow, ADDRESSES) is None
        and session.scalar(select(HitRow.id).limit(1)) is not None
        and session.scalar(
            select(GeneratorRow.id)
            .join(PassageRow, PassageRow.generator_id == GeneratorRow.id)
            .where(PassageRow.study_id == study.id, GeneratorRow.kind == FROM_TABLE)
            .limit(1)
        )
        is None
    )
    return command("publish", study.name, "--to", "local") if by_hand else command("up", study.name)


def fetch_command(study: str, endpoint: str) -> str:
    """The command that fetches what people have sent at an endpoint."""
    file = ("--from", "RESULTS.csv") if endpoint == "csv" else ()
    return command("collect", study, "--to", endpoint, *file)


def longer_command(study: str, endpoint: str) -> str:
    """The command after which people find forms again whose time is over."""
    return command("extend", study, "--to", endpoint, "--days", "7")


def put_up(study: Study) -> str:
    """The same for an opened study."""
    with reading(study.engine) as session:
        return put_up_command(session, session.get_one(StudyRow, study.id))
