"""A study from what is stored: its passages and rows, written down once; what it shows; the key to it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Engine, bindparam, func, select
from sqlalchemy.orm import Session, selectinload

from humaneval.design.rows import Cell, Design, make_design
from humaneval.domain import InfillStatus
from humaneval.errors import DesignError, UsageError
from humaneval.store.engine import reading, writing, writing_alone
from humaneval.store.tables import (
    GeneratorRow,
    InfillRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    RunRow,
    StoryRow,
    StudyAdditionRow,
    StudyRow,
)
from humaneval.study.file import StudyFile
from humaneval.text import shown_hash

SAMPLE = 1
"""Which sample of an infill a study shows."""


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
    lacking: Mapping[str, int]
    """For each generator that has any, the blanks left out for all because it has no infill fit for them."""


class Filled(NamedTuple):
    """An infill that could be shown."""

    infill_id: int
    text: str
    status: str


class Material(NamedTuple):
    """What a study is made from: stories by key, infills by cell, the blanks that all generators have
    filled."""

    stories: Mapping[str, StoryRow]
    filled: Mapping[Cell, Filled]
    blanks: Mapping[str, Collection[int]]
    lacking: Mapping[str, int]


def create_study(engine: Engine, name: str, study: StudyFile, text: str) -> Created:
    """Design and store study `name`. Making it again with the same settings changes nothing.

    Infills whose status is neither `ok` nor allowed by the study make it refuse with a count per generator.
    """
    if not re.fullmatch(r"\w([\w .-]*\w)?", name):
        raise UsageError(
            f"{name!r} cannot be a study's name", "Use letters, digits, hyphens, dots: it also names files."
        )
    with writing_alone(engine, f"study {name!r}") as session:
        existing = session.scalar(select(StudyRow).where(StudyRow.name == name))
        if existing is not None:
            if existing.settings_hash != study.hash:
                raise UsageError(
                    f"study {name!r} exists with other settings",
                    "A study never changes: choose another name.",
                )
            return _summary(session, existing)
        material = material_of(session, study)
        _refuse_unequal_processing(session, study)
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
        store_rows(session, row, study, design, material)
        session.flush()
        return _summary(session, row, material.lacking)


def material_of(session: Session, study: StudyFile, until: datetime | None = None) -> Material:
    """What there is (what there was at `until`) to make the study from; DesignError where some of it is
    not fit."""
    stories = _stories(session, study, until)
    filled = _filled(session, study, stories, until)
    usable = {str(InfillStatus.OK), *map(str, study.design.allow)}
    _refuse_unfit(filled, usable)
    return Material(stories, filled, *_common_blanks(study, stories, filled, usable))


def design_of(study: StudyFile, material: Material, rows: int) -> Design:
    """The study's design with so many rows."""
    return make_design(
        generators=study.design.generators,
        blanks=material.blanks,
        annotators=rows,
        seed=study.design.seed,
        positions=study.design.positions,
        passages_per_row=study.design.passages_per_row,
        responses_per_passage=study.design.responses_per_passage,
        control=study.design.control,
    )


def _refuse_unequal_processing(session: Session, study: StudyFile) -> None:
    """Raise DesignError where the texts of two systems were processed differently: their form would tell them
    apart.

    Ready answers (replay) are as they were brought.
    """
    query = (
        select(GeneratorRow.name, RunRow.settings)
        .join(RunRow, RunRow.generator_id == GeneratorRow.id)
        .where(GeneratorRow.name.in_(study.design.generators))
        .where(GeneratorRow.kind.not_in(("control", "human", "replay")))
        .order_by(GeneratorRow.name)
    )
    found = {
        name: ",".join(settings.get("processing", ())) or "none" for name, settings in session.execute(query)
    }
    if len(set(found.values())) > 1:
        described = "; ".join(f"{name}: {steps}" for name, steps in found.items())
        raise DesignError(
            f"the systems' texts were not processed alike ({described})",
            "Generate all of them with the same --processing; a name of its own (--as) keeps what there is.",
        )


_NAMED = select(StudyRow).where(StudyRow.name == bindparam("name"))
"""Made once: nearly everything begins with it."""


def get_study(session: Session, name: str) -> StudyRow:
    """The study called `name`; UsageError listing those there are."""
    study = session.scalar(_NAMED, {"name": name})
    if study is None:
        names = session.scalars(select(StudyRow.name).order_by(StudyRow.id)).all()
        raise UsageError(
            f"there is no study {name!r}",
            f"Studies: {', '.join(names)}." if names else "Make one with `humaneval study create`.",
        )
    return study


def settings_of(study: StudyRow) -> StudyFile:
    """The settings as they were when the study was made."""
    return StudyFile.model_validate(study.settings)


def study_key(engine: Engine, name: str) -> dict[str, list[dict[str, object]]]:
    """{hash of all the sentences shown on a form, in order → position and generator of each passage}.

    For the researcher and for simulated annotators; nothing that is served to a browser contains any of it.
    """
    with reading(engine) as session:
        study = get_study(session, name)
        rows = session.scalars(
            select(RowRow)
            .where(RowRow.study_id == study.id)
            .order_by(RowRow.ordinal)
            .options(
                selectinload(RowRow.places).joinedload(RowPassageRow.passage).joinedload(PassageRow.generator)
            )
        )
        return {
            row.shown_hash: [
                {"position": place.passage.position, "generator": place.passage.generator.name}
                for place in row.places
            ]
            for row in rows
        }


def _stories(session: Session, study: StudyFile, until: datetime | None) -> dict[str, StoryRow]:
    query = select(StoryRow).order_by(StoryRow.id)
    if until is not None:
        query = query.where(StoryRow.created_at <= until)
    if study.design.split:
        query = query.where(StoryRow.split == study.design.split)
    if study.design.stories:
        query = query.limit(study.design.stories)
    stories = {row.key: row for row in session.scalars(query)}
    if not stories:
        what = f"of split {study.design.split!r}" if study.design.split else "in the database"
        raise DesignError(
            f"there are no stories {what}", "`humaneval stories import FILE --split NAME` brings some in."
        )
    return stories


def _filled(
    session: Session, study: StudyFile, stories: Mapping[str, StoryRow], until: datetime | None
) -> dict[Cell, Filled]:
    known = set(session.scalars(select(GeneratorRow.name)))
    missing = [name for name in study.design.generators if name not in known]
    if missing:
        raise DesignError(
            f"no infills from {', '.join(missing)}",
            f"Run `humaneval generate --generator KIND --as {missing[0]}` first; there are infills from:"
            f" {', '.join(sorted(known)) or 'nobody'}.",
        )
    there = [InfillRow.created_at <= until] if until is not None else []
    lines = session.execute(
        select(
            StoryRow.key,
            InfillRow.position,
            GeneratorRow.name,
            InfillRow.id,
            InfillRow.text,
            InfillRow.status,
        )
        .join(StoryRow, StoryRow.id == InfillRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == InfillRow.generator_id)
        .where(
            GeneratorRow.name.in_(study.design.generators),
            InfillRow.sample == SAMPLE,
            InfillRow.position.in_(study.design.positions),
            *there,
        )
    )
    return {
        Cell(key, position, generator): Filled(infill, text, status)
        for key, position, generator, infill, text, status in lines
        if key in stories
    }


def _refuse_unfit(filled: Mapping[Cell, Filled], usable: Collection[str]) -> None:
    unfit: dict[str, Counter[str]] = defaultdict(Counter)
    for cell, infill in filled.items():
        if infill.status not in usable:
            unfit[cell.generator][infill.status] += 1
    if unfit:
        listed = "; ".join(
            f"{name}: " + ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
            for name, counts in sorted(unfit.items())
        )
        statuses = sorted({status for counts in unfit.values() for status in counts})
        raise DesignError(
            f"some infills are not fit to be shown ({listed})",
            "Mend the generator, or decide to go on with "
            + " ".join(f"--allow '{status}'" for status in statuses)
            + "; the study records it.",
        )


def _common_blanks(
    study: StudyFile, stories: Mapping[str, StoryRow], filled: Mapping[Cell, Filled], usable: Collection[str]
) -> tuple[dict[str, set[int]], dict[str, int]]:
    """For each story the positions that every generator has filled: no passage is dropped for one generator
    alone.

    And for each generator the number of blanks that are left out for want of its infill.
    """
    blanks: dict[str, set[int]] = {}
    lacking: Counter[str] = Counter()
    for story in stories:
        for position in study.design.positions:
            without = []
            for generator in study.design.generators:
                infill = filled.get(Cell(story, position, generator))
                # An empty sentence cannot be marked by anyone, whatever was allowed.
                if infill is None or infill.status not in usable or not infill.text:
                    without.append(generator)
            lacking.update(without)
            if not without:
                blanks.setdefault(story, set()).add(position)
    return blanks, dict(lacking)


def store_rows(
    session: Session, row: StudyRow, study: StudyFile, design: Design, material: Material, first: int = 0
) -> None:
    """Write down the design's rows from number `first` (from 0) on, and the passages that are not there
    yet."""
    generator_ids = dict(session.execute(select(GeneratorRow.name, GeneratorRow.id)).all())
    there = session.scalars(select(PassageRow).where(PassageRow.study_id == row.id)).all()
    names = {number: name for name, number in generator_ids.items()}
    keys = {story.id: key for key, story in material.stories.items()}
    passages = {Cell(keys[one.story_id], one.position, names[one.generator_id]): one for one in there}
    rows_of_cells = design.rows[first:]
    for cell in dict.fromkeys(cell for cells in rows_of_cells for cell in cells):
        if cell in passages:
            continue
        infill, story = material.filled[cell], material.stories[cell.story]
        sentences = list(_shown(story, cell.position, infill.text))
        passages[cell] = PassageRow(
            study_id=row.id,
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
            study_id=row.id,
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


def _shown(story: StoryRow, position: int, text: str) -> Iterable[str]:
    sentences = [story.sentence1, story.sentence2, story.sentence3, story.sentence4, story.sentence5]
    sentences[position - 1] = text
    return sentences


def design_hash(rows: Sequence[Sequence[Cell]], material: Material) -> str:
    """SHA-256 over the rows and every text they show, in hex."""
    shown = [[[*cell, material.filled[cell].text] for cell in cells] for cells in rows]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()


def hash_of_rows(session: Session, study: StudyRow) -> str:
    """The hash of the design with all its rows, those of `study enlarge` too; `StudyRow.design_hash` is of
    the first ones."""
    added = select(StudyAdditionRow.design_hash).where(StudyAdditionRow.study_id == study.id)
    return session.scalars(added.order_by(StudyAdditionRow.id.desc())).first() or study.design_hash


def _summary(session: Session, study: StudyRow, lacking: Mapping[str, int] | None = None) -> Created:
    rows = session.scalar(select(func.count()).select_from(RowRow).where(RowRow.study_id == study.id)) or 0
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
        rows,
        passages,
        stories,
        hash_of_rows(session, study),
        study.settings_hash,
        lacking is None,
        lacking or {},
    )


def settings_of_study(engine: Engine, name: str) -> StudyFile:
    """The settings of the study called `name`."""
    with reading(engine) as session:
        return settings_of(get_study(session, name))


def row_count(engine: Engine, name: str) -> int:
    """How many rows the study called `name` has."""
    with reading(engine) as session:
        study = get_study(session, name)
        return (
            session.scalar(select(func.count()).select_from(RowRow).where(RowRow.study_id == study.id)) or 0
        )


def mark_simulated(engine: Engine, name: str) -> None:
    """Say for good that programs answer this study."""
    with writing(engine) as session:
        get_study(session, name).simulated = True
