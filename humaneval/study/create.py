"""Creates a study from stored stories and infills: its passages and rows, stored once and never changed."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from humaneval.design.rows import Cell, Design, make_design
from humaneval.domain import shown_statuses
from humaneval.errors import DesignError, UsageError
from humaneval.store.engine import writing_alone
from humaneval.store.queries import rows_in
from humaneval.store.tables import (
    GeneratorRow,
    InfillRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    RunRow,
    StoryRow,
    StudyRow,
)
from humaneval.study.file import StudyFile
from humaneval.study.stored import hash_of_rows
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
    """For each generator, if there are any: the blanks left out for all because it has no suitable infill."""


class Filled(NamedTuple):
    """An infill that could be shown."""

    infill_id: int
    text: str
    status: str


class CommonBlanks(NamedTuple):
    """The blanks that every generator has filled, by story; and for each generator that lacks an infill, the
    number of blanks left out because of it."""

    blanks: Mapping[str, Collection[int]]
    lacking: Mapping[str, int]


class Material(NamedTuple):
    """What a study is made from: stories by key, infills by cell, and the blanks that a study can show."""

    stories: Mapping[str, StoryRow]
    filled: Mapping[Cell, Filled]
    common: CommonBlanks


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
        store_rows(session, row.id, study, design, material)
        session.flush()
        return _summary(session, row, material.common.lacking)


def material_of(session: Session, study: StudyFile, until: datetime | None = None) -> Material:
    """The stories and infills for the study, as of now or of `until`. Raises DesignError if some are not
    suitable."""
    stories = _stories(session, study, until)
    filled = _filled(session, study, stories, until)
    usable = shown_statuses(study.design.allow)
    _refuse_unfit(filled, usable)
    return Material(stories, filled, _common_blanks(study, stories, filled, usable))


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


def _refuse_unequal_processing(session: Session, study: StudyFile) -> None:
    """Raise DesignError if the texts of two systems were processed differently: annotators could tell them
    apart by their form.

    Replayed infills are left as they were imported.
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
            f"the systems' texts were processed differently ({described})",
            "Generate all of them with the same --processing. A new name (--as) keeps the existing infills.",
        )


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
            f"there are no stories {what}", "Import some: `humaneval stories import FILE --split NAME`."
        )
    return stories


def _filled(
    session: Session, study: StudyFile, stories: Mapping[str, StoryRow], until: datetime | None
) -> dict[Cell, Filled]:
    known = set(session.scalars(select(GeneratorRow.name)))
    missing = [name for name in study.design.generators if name not in known]
    if missing:
        raise DesignError(
            f"there are no infills from {', '.join(missing)}",
            f"Run `humaneval generate --generator KIND --as {missing[0]}` first. There are infills from:"
            f" {', '.join(sorted(known)) or 'no generator'}.",
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
            f"some infills cannot be shown ({listed})",
            "Correct the generator, or accept these infills with "
            + " ".join(f"--allow '{status}'" for status in statuses)
            + "; the study records it.",
        )


def _common_blanks(
    study: StudyFile, stories: Mapping[str, StoryRow], filled: Mapping[Cell, Filled], usable: Collection[str]
) -> CommonBlanks:
    """The blanks that the study can show. No passage is left out for one generator alone."""
    blanks: dict[str, set[int]] = {}
    lacking: Counter[str] = Counter()
    for story in stories:
        for position in study.design.positions:
            without = []
            for generator in study.design.generators:
                infill = filled.get(Cell(story, position, generator))
                # Nobody can mark an empty sentence, whatever statuses are allowed.
                if infill is None or infill.status not in usable or not infill.text:
                    without.append(generator)
            lacking.update(without)
            if not without:
                blanks.setdefault(story, set()).add(position)
    return CommonBlanks(blanks, dict(lacking))


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


def _summary(session: Session, study: StudyRow, lacking: Mapping[str, int] | None = None) -> Created:
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
        lacking is None,
        lacking or {},
    )
