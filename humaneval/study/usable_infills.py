"""The stories and infills that a study can show.

A blank is used only if every generator has an infill for it that may be shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.design.partial import refuse_few
from humaneval.design.rows import Cell
from humaneval.domain import InfillStatus, shown_statuses
from humaneval.errors import DesignError
from humaneval.store.stories import AUTO, of_split, splits_hint
from humaneval.store.tables import GeneratorRow, InfillRow, RunRow, StoryRow
from humaneval.study.file import StudyFile
from humaneval.text import as_read, command

SAMPLE = 1
"""Which sample of an infill a study shows."""


class Filled(NamedTuple):
    """An infill that could be shown."""

    infill_id: int
    text: str
    status: str


class CommonBlanks(NamedTuple):
    """The blanks that every generator has filled, by story; a story is its text, whatever its ids."""

    blanks: Mapping[str, Collection[int]]
    lacking: Mapping[str, int]
    """For each generator that lacks an infill in these stories, the blanks left out because of it."""
    stories: int
    """The stories of the design, with infills or without."""
    same_text: int
    """How many other ids have the text of one of these stories; they are left out."""


class Material(NamedTuple):
    """What a study is made from: stories by key, infills by cell, and the blanks that a study can show."""

    stories: Mapping[str, StoryRow]
    filled: Mapping[Cell, Filled]
    common: CommonBlanks


def material_of(session: Session, study: StudyFile, until: datetime | None = None) -> Material:
    """The stories and infills for the study, as of now or of `until`. Raises DesignError if some are not
    suitable."""
    stories = drawn_stories(session, study, until)
    filled = _filled(session, study, stories, until)
    usable = shown_statuses(study.design.allow)
    # What is left if all is allowed comes first: if that is nothing, allowing would not help.
    _refuse_none(study, stories, filled)
    _refuse_unfit(study, stories, filled, usable)
    blanks, without = _common_blanks(study, stories, filled, usable)
    texts: dict[str, list[str]] = defaultdict(list)
    for key, row in stories.items():
        texts[as_read(row.sentences)].append(key)
    # Of several ids of one text, that with the most blanks: no form may show a text twice.
    chosen = [max(keys, key=lambda key: len(blanks.get(key, ()))) for keys in texts.values()]
    lacking: Counter[str] = Counter()
    for key in chosen:
        lacking.update(without[key] if key in blanks else ())
    kept = {key: blanks[key] for key in chosen if key in blanks}
    common = CommonBlanks(kept, dict(lacking), len(texts), len(stories) - len(texts))
    return Material(stories, filled, common)


def refuse_unequal_processing(session: Session, study: StudyFile) -> None:
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


def drawn_stories(session: Session, study: StudyFile, until: datetime | None = None) -> dict[str, StoryRow]:
    """The stories of the study's design by id, as of now or of `until`. Raises DesignError without any."""
    query = select(StoryRow).where(of_split(session, study.design.split, until)).order_by(StoryRow.id)
    stories, texts = {}, set()
    for row in session.scalars(query):
        texts.add(as_read(row.sentences))
        if study.design.stories and len(texts) > study.design.stories:
            break
        stories[row.key] = row
    if not stories:
        split = study.design.split
        what = f"of split {split!r}" if split not in ("", AUTO) else "in the database"
        raise DesignError(f"there are no stories {what}", splits_hint(session))
    return stories


def _filled(
    session: Session, study: StudyFile, stories: Mapping[str, StoryRow], until: datetime | None
) -> dict[Cell, Filled]:
    known = set(session.scalars(select(GeneratorRow.name)))
    missing = [name for name in study.design.generators if name not in known]
    if missing:
        raise DesignError(
            f"there are no infills from {', '.join(missing)}",
            f"Run `{command('generate', '--generator', 'KIND', '--as', missing[0])}` first. There are"
            f" infills from: {', '.join(sorted(known)) or 'no generator'}.",
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


def _refuse_none(study: StudyFile, stories: Mapping[str, StoryRow], filled: Mapping[Cell, Filled]) -> None:
    """Raise DesignError if no blank has infills by every generator, whatever became of them."""
    if _common_blanks(study, stories, filled, tuple(InfillStatus)).common:
        return
    texts = {as_read(row.sentences) for row in stories.values()}
    filled_by = {
        name: len({cell.story for cell, infill in filled.items() if cell.generator == name and infill.text})
        for name in study.design.generators
    }
    raise DesignError(
        f"none of the {len(texts):,} stories has infills by every generator",
        f"Stories with infills: {', '.join(f'{name} {n:,}' for name, n in filled_by.items())}."
        f" `{command('generate', '--generator', 'KIND', '--as', 'NAME')}` fills the others.",
    )


def _refuse_unfit(
    study: StudyFile, stories: Mapping[str, StoryRow], filled: Mapping[Cell, Filled], usable: Collection[str]
) -> None:
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
        allowed = _common_blanks(study, stories, filled, (*usable, *statuses)).common
        for position in study.design.positions:
            refuse_few(position, sum(position in each for each in allowed.values()), study.design.row_size)
        raise DesignError(
            f"some infills cannot be shown ({listed})",
            "Correct the generator, or accept these infills with "
            + " ".join(f"--allow '{status}'" for status in statuses)
            + f"; the study records it. It then has {len(allowed):,} of {len(stories):,} stories: blanks"
            " without any text are left out.",
        )


class _Blanks(NamedTuple):
    common: Mapping[str, Collection[int]]
    lacking: Mapping[str, Counter[str]]


def _common_blanks(
    study: StudyFile, stories: Mapping[str, StoryRow], filled: Mapping[Cell, Filled], usable: Collection[str]
) -> _Blanks:
    """By story, the blanks that the study can show and what others lack. None is left out for one generator
    alone."""
    blanks: dict[str, set[int]] = {}
    lacking: dict[str, Counter[str]] = defaultdict(Counter)
    for story in stories:
        for position in study.design.positions:
            without = []
            for generator in study.design.generators:
                infill = filled.get(Cell(story, position, generator))
                # Nobody can mark an empty sentence, whatever statuses are allowed.
                if infill is None or infill.status not in usable or not infill.text:
                    without.append(generator)
            lacking[story].update(without)
            if not without:
                blanks.setdefault(story, set()).add(position)
    return _Blanks(blanks, lacking)
