"""Creates a study from stored stories and infills: its passages and rows, stored once and never changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sqlalchemy import Engine, Table, func, select
from sqlalchemy.orm import Session

from humaneval.domain import LONGEST_NAME, Role, Story, refuse_name
from humaneval.errors import UsageError
from humaneval.infills.doubtful import Doubtful, doubt_about
from humaneval.store.engine import batches, reading, writing_alone
from humaneval.store.meta import PLANNING_KEY, stored_secret
from humaneval.store.responses import rows_in
from humaneval.store.tables import (
    METADATA,
    GeneratorRow,
    PassageRow,
    RowRow,
    StoryRow,
    StudyRow,
)
from humaneval.study.delete import ways_on
from humaneval.study.file import StudyFile
from humaneval.study.laid_out import (
    Planned,
    PlannedPassage,
    by_name,
    design_hash,
    design_of,
    lay_out,
    of_length,
)
from humaneval.study.own_blanks import store_blanks
from humaneval.study.stored import hash_of_rows, length_of_study
from humaneval.study.text_doubts import doubts_of_texts
from humaneval.study.usable_infills import (
    AT_ONCE,
    Only,
    common_blanks,
    length_of,
    refuse_other_kind,
    refuse_unequal_processing,
    shown_by,
)
from humaneval.text import command, listed

PASSAGES: Table = METADATA.tables["passages"]
ROWS: Table = METADATA.tables["rows"]
PLACES: Table = METADATA.tables["row_passages"]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a new study cannot show."""

    stories: int = 0
    """The stories of the design, with infills or without."""
    without_infills: int = 0
    """Stories of which no blank has an infill by every generator that may be shown."""
    same_text: int = 0
    """Ids of stories whose text another story has."""
    lacking: Mapping[str, int] = field(default_factory=dict)
    """For each generator: the blanks of other stories left out for all because it has no suitable infill."""


@dataclass(frozen=True, slots=True)
class Created:
    """What `study create` made."""

    name: str
    rows: int
    passages: int
    stories: int
    design_hash: str
    settings_hash: str
    was_there: bool
    left_out: LeftOut
    doubtful: tuple[Doubtful, ...]
    """The shown infills that may be one sentence or several."""
    doubts: tuple[str, ...] = ()
    """Sentences about settings that hardly fit the stories and infills."""


def create_study(engine: Engine, name: str, study: StudyFile, text: str, only: Only | None = None) -> Created:
    """Design and store study `name`. Making it again with the same settings changes nothing.

    With `only`, it shows these blanks and no others, now and if it is enlarged.

    Raises DesignError, with a count for each generator, if infills have a status that is neither `ok` nor
    allowed by the study.
    """
    refuse_names(name, study)
    with reading(engine) as session:
        _refuse_unknown_studies(session, name, study)
        existing = _existing(session, name, study)
        if existing is not None:
            return _summary(session, existing)
        study = of_length(study, length_of(session, study, only=only))
        common = common_blanks(session, study, only=only)
        refuse_unequal_processing(session, study)
        refuse_other_kind(session, study)
        design = design_of(study, common, study.design.annotators)
        shown = shown_by(session, by_name(study), design.rows)
    planned = lay_out(study, design, shown)
    hashed = design_hash(study, design.rows, shown)
    with writing_alone(engine, f"study {name!r}") as session:
        row = _existing(session, name, study)
        made_now = row is None
        if row is None:
            row = StudyRow(
                name=name,
                is_test=study.design.pilot,
                seed=study.design.seed,
                settings=study.model_dump(mode="json"),
                settings_text=text,
                settings_hash=study.hash,
                design_hash=hashed,
            )
            session.add(row)
            session.flush()
            stored_secret(session, PLANNING_KEY)
            store_rows(session, row.id, planned)
            store_blanks(session, row.id, only or {})
    left_out = LeftOut(common.stories, common.stories - len(common.blanks), common.same_text, common.lacking)
    with reading(engine) as session:
        made = _summary(session, session.get_one(StudyRow, row.id), left_out if made_now else None)
        return replace(made, doubts=tuple(doubts_of_texts(session, row.id, study)))


def refuse_names(name: str, study: StudyFile) -> None:
    """Raise UsageError for what cannot be the name of a study, or of a generator."""
    if not re.fullmatch(r"\w([\w .-]*\w)?", name) or len(name.encode()) > LONGEST_NAME:
        raise UsageError(
            f"{name!r} cannot be the name of a study",
            "Use letters, digits, spaces, hyphens, underscores and dots, with a letter or digit at both ends:"
            " files are named after it.",
        )
    for generator in study.design.generators:
        refuse_name(generator)
    if name in study.participants.exclude_studies:
        raise UsageError(
            f"study {name!r} names itself in participants.exclude_studies",
            "List earlier studies only; design.rows_per_annotator limits how often a person takes part.",
        )


def refuse_study(engine: Engine, name: str, study: StudyFile) -> None:
    """Raise UsageError if the study is refused whatever is stored later."""
    refuse_names(name, study)
    with reading(engine) as session:
        _refuse_unknown_studies(session, name, study)
        _existing(session, name, study)


def _existing(session: Session, name: str, study: StudyFile) -> StudyRow | None:
    """The study of this name, if there is one. UsageError if it has other settings."""
    existing = session.scalar(select(StudyRow).where(StudyRow.name == name))
    if existing is not None and existing.settings_hash != _as_created(session, existing, study).hash:
        raise UsageError(
            f"study {name!r} exists with other settings",
            ways_on(session, existing),
        )
    return existing


def _as_created(session: Session, existing: StudyRow, study: StudyFile) -> StudyFile:
    """The settings with the positions that stories as long as those of `existing` have by default."""
    return study.with_sentences(length_of_study(session, existing.id))


def _refuse_unknown_studies(session: Session, name: str, study: StudyFile) -> None:
    there = list(session.scalars(select(StudyRow.name).order_by(StudyRow.name)))
    for other in study.participants.exclude_studies:
        if other not in there:
            raise UsageError(
                f"participants.exclude_studies names {other!r}, and there is no study of this name",
                (f"Studies: {listed(there)}. " if there else "")
                + "Exclude single workers once this study is there: "
                + f"`{command('worker', 'exclude', name, 'WORKER')}`.",
            )


def store_rows(
    session: Session, study_id: int, planned: Planned, known: Mapping[PassageKey, int] | None = None
) -> None:
    """Store rows, and the passages that are not `known`: in one transaction, some thousand a statement. The
    known ones are all that the study has."""
    known = known or {}
    generators = dict(session.execute(select(GeneratorRow.name, GeneratorRow.id)).all())
    keys = {cell: _key(one, generators) for cell, one in planned.passages.items()}
    # By key: what a person wrote may be one passage for several cells.
    new = {key: planned.passages[cell] for cell, key in keys.items() if key not in known}
    stored_passages = (
        {
            **passage.columns,
            "study_id": study_id,
            "generator_id": key.generator,
            "other_generator_id": key.other,
        }
        for key, passage in new.items()
    )
    numbered = list(enumerate(planned.rows, planned.first + 1))
    rows = (
        {"study_id": study_id, "ordinal": ordinal, "shown_hash": shown}
        for (ordinal, _), shown in zip(numbered, planned.shown_hashes, strict=True)
    )
    _insert(session, PASSAGES, stored_passages)
    _insert(session, ROWS, rows)
    there = {**known, **passage_ids(session, study_id, after=max(known.values(), default=0))}
    stored = select(RowRow.ordinal, RowRow.id).where(RowRow.study_id == study_id)
    ids = dict(session.execute(stored.where(RowRow.ordinal > planned.first)).all())
    places = (
        {"row_id": ids[ordinal], "place": place, "passage_id": there[keys[cell]]}
        for ordinal, cells in numbered
        for place, cell in enumerate(cells, 1)
    )
    _insert(session, PLACES, places)


def _insert(session: Session, into: Table, lines: Iterable[Mapping[str, Any]]) -> None:
    for some in batches(lines, AT_ONCE):
        session.execute(into.insert(), some)


class PassageKey(NamedTuple):
    """What no two passages of a study share."""

    story: int
    position: int
    generator: int
    other: int | None


def _key(passage: PlannedPassage, generators: Mapping[str, int]) -> PassageKey:
    first, *others = (generators[name] for name in passage.generators)
    return PassageKey(passage.story_id, passage.position, first, next(iter(others), None))


def passage_ids(session: Session, study_id: int, after: int = 0) -> dict[PassageKey, int]:
    """The stored passages of a study, of those with larger ids than `after`."""
    lines = session.execute(
        select(
            PassageRow.story_id,
            PassageRow.position,
            PassageRow.generator_id,
            PassageRow.other_generator_id,
            PassageRow.id,
        ).where(PassageRow.study_id == study_id, PassageRow.id > after)
    )
    return {
        PassageKey(story, position, generator, other): passage
        for story, position, generator, other, passage in lines
    }


def _summary(session: Session, study: StudyRow, left_out: LeftOut | None = None) -> Created:
    passages = (
        session.scalar(select(func.count()).select_from(PassageRow).where(PassageRow.study_id == study.id))
        or 0
    )
    stories = (
        session.scalar(
            select(func.count(PassageRow.story_id.distinct())).where(PassageRow.study_id == study.id)
        )
        or 0
    )
    return Created(
        study.name,
        rows_in(session, study.id),
        passages,
        stories,
        hash_of_rows(session, study),
        study.settings_hash,
        left_out is None,
        left_out or LeftOut(),
        tuple(_doubtful(session, study)),
    )


def _doubtful(session: Session, study: StudyRow) -> list[Doubtful]:
    """The machines' sentences among the passages that may be one sentence or several, by generator."""
    query = (
        select(
            PassageRow.position,
            PassageRow.sentences,
            GeneratorRow.name,
            PassageRow.story_id,
            StoryRow.key,
            StoryRow.title,
            StoryRow.source,
            StoryRow.split,
            StoryRow.sentences.label("story"),
        )
        .join(StoryRow, StoryRow.id == PassageRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .where(
            PassageRow.study_id == study.id,
            PassageRow.role != Role.HUMAN,
            GeneratorRow.name != study.settings["design"]["human"],
        )
        # A story's passages come together: its language is found out once.
        .order_by(PassageRow.story_id, PassageRow.position)
    )
    lines = session.execute(query, execution_options={"yield_per": AT_ONCE})
    found: list[_Place] = []
    for position, shown, generator, story_id, key, title, source, split, sentences in lines:
        story = Story(key, tuple(sentences), title, source, split)
        if doubt := doubt_about(story, position, generator, shown[position - 1]):
            found.append(_Place(generator, story_id, position, doubt))
    return [one.doubt for one in sorted(found)]


class _Place(NamedTuple):
    """A doubtful infill by what it is listed by."""

    generator: str
    story: int
    position: int
    doubt: Doubtful
