"""The stories and infills that a study can show.

A blank is used only if every generator has an infill for it that may be shown. What is found is small: the
texts are read for the rows of a design alone.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, String, case, cast, func, literal, or_, select
from sqlalchemy.orm import Session

from humaneval.design.rows import Cell
from humaneval.domain import FROM_TABLE, MOST_SENTENCES, SENTENCES, shown_statuses
from humaneval.errors import DesignError
from humaneval.infills.rest_of_story import REST
from humaneval.scoring.questions.question import Condition
from humaneval.store.engine import ASKED_FOR, batches
from humaneval.store.stories import AUTO, STORED_TEXT, of_split, running_text, splits_hint
from humaneval.store.tables import GeneratorRow, InfillRow, RunRow, StoryRow
from humaneval.study.file import StudyFile
from humaneval.study.unusable_infills import refuse_nothing, refuse_unfit, unfit_infills
from humaneval.text import as_read, command, listed

SAMPLE = 1
"""Which sample of an infill a study shows."""
AT_ONCE = 10_000
"""How many lines are read at once: a database may hold millions, and few of them are shown."""


Only = Mapping[str, Collection[int]]
"""The blanks of a study that shows no others: the positions by the story's key."""


class Filled(NamedTuple):
    """An infill that is shown."""

    infill_id: int
    text: str


class Drawn(NamedTuple):
    """A story of a study's design. `text` is the same for two ids of one text."""

    id: int
    key: str
    text: bytes


class CommonBlanks(NamedTuple):
    """The blanks that every generator has filled, by story; a story is its text, whatever its ids."""

    blanks: Mapping[str, Collection[int]]
    lacking: Mapping[str, int]
    """For each generator that lacks an infill in these stories, the blanks left out because of it."""
    stories: int
    """The stories of the design, with infills or without."""
    same_text: int
    """How many other ids have the text of one of these stories; they are left out."""


class Shown(NamedTuple):
    """What the rows of a design show: the stories by key, and the infills by story, position and
    generator."""

    stories: Mapping[str, ShownStory]
    filled: Mapping[Cell, Filled]


class ShownStory(NamedTuple):
    """A story as stored."""

    id: int
    title: str
    sentences: tuple[str, ...]


def common_blanks(
    session: Session, study: StudyFile, until: datetime | None = None, only: Only | None = None
) -> CommonBlanks:
    """What a study can show, as of now or of `until`. Raises DesignError if infills are not suitable.

    With `only`, nothing but these blanks.
    """
    drawn = drawn_stories(session, study, until, only)
    generators = _generators(session, study)
    sentences = length_of(session, study, until, only)
    there = [InfillRow.created_at <= until] if until is not None else []
    infills = [
        InfillRow.generator_id.in_(generators.values()),
        InfillRow.sample == SAMPLE,
        InfillRow.position.in_(study.design.positions),
        InfillRow.story_id.in_(
            select(StoryRow.id).where(
                of_split(session, study.design.split, until), StoryRow.id <= drawn[-1].id
            )
        ),
        *there,
        *_whole_rests(study, generators, sentences),
    ]
    usable = shown_statuses(study.design.allow)
    filled, most, others = _filled(session, list(generators.values()), drawn, infills, usable)
    wanted = _wanted(study, drawn, only)
    unfit = unfit_infills(session, generators, infills, usable, only) if (others & wanted).any() else {}
    # What is left if all is allowed comes first: if that is nothing, allowing would not help.
    common = np.bitwise_and.reduce(filled, axis=0) & wanted
    allowed = np.bitwise_and.reduce(most, axis=0) & wanted
    ids: dict[bytes, list[int]] = defaultdict(list)
    for at, story in enumerate(drawn):
        ids[story.text].append(at)
    if not allowed.any():
        refuse_nothing(session, generators, infills, len(ids))
    if unfit:
        refuse_unfit(study, unfit, allowed)
    # Of several ids of one text, that with the most blanks: no form may show a text twice.
    chosen = [max(same, key=lambda at: int(common[at]).bit_count()) for same in ids.values()]
    kept = [at for at in chosen if common[at]]
    left = np.bitwise_count(wanted[kept] & ~filled[:, kept]).sum(axis=1)
    positions = {
        mask: tuple(at for at in range(1, MOST_SENTENCES + 1) if mask & (1 << at))
        for mask in set(common[kept].tolist())
    }
    return CommonBlanks(
        {drawn[at].key: positions[int(common[at])] for at in kept},
        {name: int(count) for name, count in zip(generators, left, strict=True) if count},
        len(ids),
        len(drawn) - len(ids),
    )


def _wanted(study: StudyFile, drawn: Sequence[Drawn], only: Only | None) -> NDArray[np.int64]:
    """For each story, the positions that the study may show: bit p for position p."""
    wanted = np.full(len(drawn), _bits(study.design.positions), dtype=np.int64)
    if only is not None:
        wanted &= np.array([_bits(only[story.key]) for story in drawn], dtype=np.int64)
    return wanted


def _bits(positions: Iterable[int]) -> int:
    return sum(1 << position for position in positions)


def infills_of(cell: Cell, conditions: Mapping[str, Condition]) -> tuple[Cell, ...]:
    """A cell of each generator of a cell's condition, in their order."""
    return tuple(cell._replace(generator=name) for name in conditions[cell.generator].generators)


def shown_by(
    session: Session,
    conditions: Mapping[str, Condition],
    rows: Iterable[Sequence[Cell]],
    until: datetime | None = None,
) -> Shown:
    """The texts that `rows` of a design show, as of now or of `until`."""
    cells = {one for row in rows for cell in row for one in infills_of(cell, conditions)}
    there = [InfillRow.created_at <= until] if until is not None else []
    generators = dict(session.execute(select(GeneratorRow.id, GeneratorRow.name)).all())
    wanted = [number for number, name in generators.items() if name in {cell.generator for cell in cells}]
    stories: dict[str, ShownStory] = {}
    filled: dict[Cell, Filled] = {}
    for keys in batches(sorted({cell.story for cell in cells}), ASKED_FOR):
        told = session.execute(
            select(StoryRow.key, StoryRow.id, StoryRow.title, StoryRow.sentences).where(
                StoryRow.key.in_(keys)
            )
        )
        here = {key: ShownStory(id, title, tuple(sentences)) for key, id, title, sentences in told}
        stories |= here
        of = {story.id: key for key, story in here.items()}
        lines = session.execute(
            select(
                InfillRow.story_id, InfillRow.position, InfillRow.generator_id, InfillRow.id, InfillRow.text
            ).where(
                InfillRow.story_id.in_(of),
                InfillRow.generator_id.in_(wanted),
                InfillRow.sample == SAMPLE,
                *there,
            )
        )
        for story, position, generator, infill, text in lines:
            cell = Cell(of[story], position, generators[generator])
            if cell in cells:
                filled[cell] = Filled(infill, text)
    return Shown(stories, filled)


def refuse_other_kind(session: Session, study: StudyFile) -> None:
    """Raise DesignError if a generator wrote one sentence where the question shows the rest of a story, or
    the other way round."""
    query = (
        select(GeneratorRow.name, RunRow.settings)
        .join(RunRow, RunRow.generator_id == GeneratorRow.id)
        .where(GeneratorRow.name.in_(study.design.generators), GeneratorRow.kind != "human")
    )
    rest = study.asked.rest
    wrong = sorted({name for name, made in session.execute(query) if bool(made.get(REST)) != rest})
    if wrong:
        raise DesignError(
            f"question = {study.question!r} shows {'the rest of a story' if rest else 'one sentence'}, and"
            f" {listed(wrong)} wrote {'one sentence' if rest else 'the rest of a story'}",
            f"Generate it {'with' if rest else 'without'} --rest, under a name of its own (--as).",
        )


def refuse_unequal_processing(session: Session, study: StudyFile) -> None:
    """Raise DesignError if the texts of two systems were processed differently: annotators could tell them
    apart by their form.

    Infills from elsewhere, replayed or from a table, are left as they were imported.
    """
    query = (
        select(GeneratorRow.name, RunRow.settings)
        .join(RunRow, RunRow.generator_id == GeneratorRow.id)
        .where(GeneratorRow.name.in_(study.design.generators))
        .where(GeneratorRow.kind.not_in(("control", "human", "replay", FROM_TABLE)))
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


def drawn_stories(
    session: Session, study: StudyFile, until: datetime | None = None, only: Only | None = None
) -> list[Drawn]:
    """The stories of the study's design, as of now or of `until`. Raises DesignError without any."""
    query = select(StoryRow.id, StoryRow.key, STORED_TEXT).where(of_split(session, study.design.split, until))
    stories: list[Drawn] = []
    texts: set[bytes] = set()
    lines = session.execute(query.order_by(StoryRow.id), execution_options={"yield_per": AT_ONCE})
    for number, key, stored in lines:
        if only is not None and key not in only:
            continue
        text = text_hash(stored)
        texts.add(text)
        if study.design.stories and len(texts) > study.design.stories:
            break
        stories.append(Drawn(number, key, text))
    lines.close()
    if not stories:
        split = study.design.split
        what = f"of split {split!r}" if split not in ("", AUTO) else "in the database"
        raise DesignError(f"there are no stories {what}", splits_hint(session))
    return stories


def text_hash(stored: str) -> bytes:
    """The hash of a story's text, from its `STORED_TEXT`: of two stories that read alike, the same."""
    read = as_read([running_text(stored)]).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(read, digest_size=16).digest()


def length_of(
    session: Session, study: StudyFile, until: datetime | None = None, only: Only | None = None
) -> int:
    """How many sentences each story of the study's split has. Raises DesignError, with counts, if they
    differ."""
    length = func.json_array_length(StoryRow.sentences)
    there = of_split(session, study.design.split, until)
    counts: Mapping[int, int]
    if only is None:
        counts = dict(session.execute(select(length, func.count()).where(there).group_by(length)).all())
    else:
        told = session.execute(select(StoryRow.key, length).where(there))
        counts = Counter(number for key, number in told if key in only)
    if len(counts) > 1:
        each = ", ".join(f"{counts[one]:,} of {one}" for one in sorted(counts))
        raise DesignError(
            f"the stories have different numbers of sentences ({each}), and those of a study have the same",
            _of_one_length(session),
        )
    return next(iter(counts), SENTENCES)


def _of_one_length(session: Session) -> str:
    """What to do if stories of several lengths are in one split."""
    length = func.json_array_length(StoryRow.sentences)
    splits = session.execute(
        select(StoryRow.split, func.min(length))
        .group_by(StoryRow.split)
        .having(func.min(length) == func.max(length))
    ).all()
    if named := [f"{split} ({number})" for split, number in splits if split]:
        return f"Splits with stories of one length: {listed(named)}. Name one with --split."
    return "Keep the stories of each length in a database of their own: --database FILE, before the command."


def _whole_rests(
    study: StudyFile, generators: Mapping[str, int], sentences: int
) -> list[ColumnElement[bool]]:
    """The condition that an infill is the rest of its story, as long as the story's own."""
    if not study.asked.rest:
        return []
    lines = func.length(InfillRow.text) - func.length(func.replace(InfillRow.text, "\n", ""))
    whole = lines == sentences - InfillRow.position
    human = generators.get(study.design.human)  # whose infills are not shown: the whole story is
    return [whole if human is None else or_(InfillRow.generator_id == human, whole)]


def _generators(session: Session, study: StudyFile) -> dict[str, int]:
    """The ids of the study's generators, in its order. Raises DesignError if one has no infills."""
    known = dict(session.execute(select(GeneratorRow.name, GeneratorRow.id)).all())
    missing = [name for name in study.design.generators if name not in known]
    if missing:
        raise DesignError(
            f"there are no infills from {', '.join(missing)}",
            f"Run `{command('generate', '--generator', 'KIND', '--as', missing[0])}` first. There are"
            f" infills from: {', '.join(sorted(known)) or 'no generator'}.",
        )
    return {name: known[name] for name in study.design.generators}


class _Filled(NamedTuple):
    """For each generator and story, the positions that can be shown: bit p for position p."""

    usable: NDArray[np.int64]
    allowed: NDArray[np.int64]
    """The same if every status was allowed."""
    others: NDArray[np.int64]
    """The positions of infills with another status."""


def _filled(
    session: Session,
    generators: Sequence[int],
    drawn: Sequence[Drawn],
    infills: Sequence[ColumnElement[bool]],
    usable: Collection[str],
) -> _Filled:
    fits = InfillRow.status.in_(usable)
    # Nobody can mark an empty sentence, whatever statuses are allowed.
    place = literal(1).bitwise_lshift(InfillRow.position)
    bit = case((InfillRow.text != "", place), else_=0)
    of_stories = (
        select(
            InfillRow.generator_id,
            InfillRow.story_id,
            func.sum(case((fits, bit), else_=0)).label("usable"),
            func.sum(bit).label("allowed"),
            func.sum(case((fits, 0), else_=place)).label("others"),
        )
        .where(*infills)
        .group_by(InfillRow.generator_id, InfillRow.story_id)
        .subquery()
    )
    # Most stories are alike, so a few lines tell of all: a line each would take most of the time.
    alike = tuple(of_stories.c[name] for name in ("generator_id", "usable", "allowed", "others"))
    stories = func.aggregate_strings(cast(of_stories.c.story_id, String), ",")
    query = select(*alike, stories).group_by(*alike)
    found = np.zeros((3, len(generators), len(drawn)), dtype=np.int64)
    ids = np.array([story.id for story in drawn])
    row = {number: at for at, number in enumerate(generators)}
    for generator, *masks, listed_ids in session.execute(query):
        there = np.fromstring(listed_ids, dtype=np.int64, sep=",")
        at = np.searchsorted(ids, there)
        at = at[ids[at] == there]  # the others are stories that the study does not show
        for one, mask in zip(found, masks, strict=True):
            one[row[generator], at] = int(mask)
    return _Filled(*found)
