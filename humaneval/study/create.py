"""Creates a study from stored stories and infills: its passages and rows, stored once and never changed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from humaneval.design.rows import Cell, Design, make_design
from humaneval.domain import Role, refuse_name
from humaneval.errors import UsageError
from humaneval.infills.doubtful import Doubtful, doubt_about
from humaneval.infills.generate import story_value
from humaneval.store.engine import writing_alone
from humaneval.store.queries import rows_in
from humaneval.store.tables import (
    GeneratorRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    StoryRow,
    StudyRow,
)
from humaneval.study.file import StudyFile
from humaneval.study.stored import hash_of_rows
from humaneval.study.text_doubts import doubts_of_texts
from humaneval.study.usable_infills import Material, material_of, refuse_unequal_processing
from humaneval.text import command, listed, shown_hash


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


def create_study(engine: Engine, name: str, study: StudyFile, text: str) -> Created:
    """Design and store study `name`. Making it again with the same settings changes nothing.

    Raises DesignError, with a count for each generator, if infills have a status that is neither `ok` nor
    allowed by the study.
    """
    if not re.fullmatch(r"\w([\w .-]*\w)?", name):
        raise UsageError(
            f"{name!r} cannot be the name of a study",
            "Use letters, digits, hyphens and dots: files are named after it.",
        )
    for generator in study.design.generators:
        refuse_name(generator)
    if name in study.participants.exclude_studies:
        raise UsageError(
            f"study {name!r} names itself in participants.exclude_studies",
            "List earlier studies only; design.rows_per_annotator limits how often a person takes part.",
        )
    with writing_alone(engine, f"study {name!r}") as session:
        _refuse_unknown_studies(session, name, study)
        existing = session.scalar(select(StudyRow).where(StudyRow.name == name))
        if existing is not None:
            if existing.settings_hash != study.hash:
                raise UsageError(
                    f"study {name!r} exists with other settings",
                    "A study never changes: choose another name.",
                )
            return _summary(session, existing)
        material = material_of(session, study)
        refuse_unequal_processing(session, study)
        design = design_of(study, material, study.design.annotators)
        row = StudyRow(
            name=name,
            is_test=study.design.pilot,
            seed=study.design.seed,
            settings=study.model_dump(mode="json"),
            settings_text=text,
            settings_hash=study.hash,
            design_hash=design_hash(design.rows, material),
        )
        session.add(row)
        session.flush()
        store_rows(session, row.id, study, design, material)
        session.flush()
        common = material.common
        left_out = LeftOut(
            common.stories, common.stories - len(common.blanks), common.same_text, common.lacking
        )
        made = _summary(session, row, left_out)
        return replace(made, doubts=tuple(doubts_of_texts(session, row.id, study)))


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


def design_of(study: StudyFile, material: Material, rows: int) -> Design:
    """The study's design with `rows` rows."""
    return make_design(
        generators=study.design.generators,
        blanks=material.common.blanks,
        annotators=rows,
        seed=study.design.seed,
        positions=study.design.positions,
        passages_per_row=study.design.passages_per_row,
        responses_per_passage=study.design.responses_per_passage,
        control=study.design.control,
    )


def store_rows(
    session: Session, study_id: int, study: StudyFile, design: Design, material: Material, first: int = 0
) -> None:
    """Store the design's rows from index `first` on, and the passages that are not stored yet."""
    generator_ids = dict(session.execute(select(GeneratorRow.name, GeneratorRow.id)).all())
    there = session.scalars(select(PassageRow).where(PassageRow.study_id == study_id)).all()
    names = {number: name for name, number in generator_ids.items()}
    keys = {story.id: key for key, story in material.stories.items()}
    passages = {Cell(keys[one.story_id], one.position, names[one.generator_id]): one for one in there}
    rows_of_cells = design.rows[first:]
    for cell in dict.fromkeys(cell for cells in rows_of_cells for cell in cells):
        if cell in passages:
            continue
        infill, story = material.filled[cell], material.stories[cell.story]
        sentences = list(story.sentences)
        sentences[cell.position - 1] = infill.text
        passages[cell] = PassageRow(
            study_id=study_id,
            story_id=story.id,
            generator_id=generator_ids[cell.generator],
            infill_id=infill.infill_id,
            position=cell.position,
            role=str(study.design.role(cell.generator)),
            sentences=sentences,
            shown_hash=shown_hash([sentences]),
        )
        session.add(passages[cell])
    rows = [
        RowRow(
            study_id=study_id,
            ordinal=ordinal,
            shown_hash=shown_hash([passages[cell].sentences for cell in cells]),
        )
        for ordinal, cells in enumerate(rows_of_cells, first + 1)
    ]
    session.add_all(rows)
    session.flush()
    session.add_all(
        RowPassageRow(row_id=stored.id, place=place, passage_id=passages[cell].id)
        for stored, cells in zip(rows, rows_of_cells, strict=True)
        for place, cell in enumerate(cells, 1)
    )


def design_hash(rows: Sequence[Sequence[Cell]], material: Material) -> str:
    """SHA-256 over the rows and every text they show, in hex."""
    shown = [[[*cell, material.filled[cell].text] for cell in cells] for cells in rows]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()


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


def _doubtful(session: Session, study: StudyRow) -> Iterator[Doubtful]:
    """The machines' sentences among the passages that may be one sentence or several."""
    query = (
        select(PassageRow, StoryRow, GeneratorRow.name)
        .join(StoryRow, StoryRow.id == PassageRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .where(PassageRow.study_id == study.id, PassageRow.role != Role.HUMAN)
        .order_by(GeneratorRow.name, PassageRow.story_id, PassageRow.position)
    )
    for passage, story, generator in session.execute(query):
        text = passage.sentences[passage.position - 1]
        if doubt := doubt_about(story_value(story), passage.position, generator, text):
            yield doubt
