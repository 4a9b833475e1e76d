"""Fills blanks: finds generators by entry point without importing them, runs them, and can be killed at any
time."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Engine, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from humaneval.domain import (
    Blank,
    ChecksStories,
    Generator,
    GeneratorRequest,
    Infill,
    InfillStatus,
    Provenance,
    Story,
    verdict_on,
)
from humaneval.errors import InputError, PrerequisiteError, UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import GeneratorRow, InfillRow, PassageRow, RunRow, StoryRow, StudyRow
from humaneval.text import normalise, refused_characters

GROUP = "humaneval.generators"
COMMIT_EVERY = 50
"""Infills between commits: what a kill can cost."""

REGISTERING = 0x68756D65
"""The PostgreSQL advisory lock under which a run makes the rows of its generator."""


class Kind(NamedTuple):
    """A kind of generator as it is registered; nothing of it is imported."""

    name: str
    target: str
    distribution: str


def kinds() -> list[Kind]:
    """Every registered kind, by name."""
    return sorted(
        Kind(point.name, point.value, point.dist.name if point.dist else "")
        for point in entry_points(group=GROUP)
    )


def build(request: GeneratorRequest) -> Sequence[Generator]:
    """The generators that `request` stands for: nearly always one."""
    point = _entry_point(request.kind)
    try:
        builder: Callable[[GeneratorRequest], Sequence[Generator]] = point.load()
        return builder(request)
    except ModuleNotFoundError as error:
        ours = point.module.partition(".")[0] == "generators"
        package = "'humaneval-toolkit[models]'" if ours else (error.name or "").partition(".")[0]
        raise PrerequisiteError(
            f"generator {request.kind!r} needs the package {error.name}", f"pip install {package}"
        ) from None


def _entry_point(kind: str) -> EntryPoint:
    found = list(entry_points(group=GROUP, name=kind))
    if not found:
        raise UsageError(
            f"there is no generator kind {kind!r}", f"Kinds: {', '.join(k.name for k in kinds())}."
        )
    return found[0]


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What one run did: infills written now by status, and how many were there before."""

    generator: str
    written: Mapping[str, int]
    already_there: int


def configuration_hash(provenance: Provenance) -> str:
    """Of what makes a generator itself: kind, checkpoint, seed, settings. Not of machine, batch or
    versions."""
    return _hash([provenance.kind, provenance.checkpoint, provenance.seed, dict(provenance.settings)])


def _hash(value: Any) -> str:
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def judge(infill: Infill) -> Infill:
    """Give an `ok` infill the status that its text deserves. Other statuses stay, unless the text cannot be
    stored.

    The machine's sentence must be one printable sentence that differs from the original and its neighbours.
    """
    text = normalise(infill.text)
    if refused_characters(infill.detail):
        infill = replace(infill, detail=infill.detail.encode("unicode_escape").decode())
    verdict = verdict_on(text)
    if verdict.status is InfillStatus.UNPRINTABLE:
        return replace(infill, text="", status=verdict.status, detail=verdict.detail)
    infill = replace(infill, text=text)
    if infill.status is not InfillStatus.OK:
        return infill
    if verdict.status is not InfillStatus.EMPTY:
        if text == normalise(infill.blank.original):
            return replace(infill, status=InfillStatus.SAME_AS_ORIGINAL)
        if text in infill.blank.story.sentences:
            return replace(infill, status=InfillStatus.SAME_AS_NEIGHBOUR)
    return replace(infill, status=verdict.status, detail=verdict.detail or infill.detail)


def select_stories(engine: Engine, *, split: str | None = None, first: int | None = None) -> list[Story]:
    """Stories in the order of their import, of one split or all, the first `first` of them."""
    with reading(engine) as session:
        query = select(StoryRow).order_by(StoryRow.id)
        if split is not None:
            query = query.where(StoryRow.split == split)
        if first is not None:
            query = query.limit(first)
        return [story_value(row) for row in session.scalars(query)]


def story_value(row: StoryRow) -> Story:
    """A stored story as a value."""
    return Story(row.key, row.sentences, row.title, row.source, row.split)


def blanks_of(
    stories: Iterable[Story], positions: Sequence[int], samples: int = 1, *, shard: tuple[int, int] = (1, 1)
) -> list[Blank]:
    """Every blank of `stories`; with `shard` (i, n) the i-th of n parts, cut so that a story stays whole."""
    index, parts = shard
    mine = [story for number, story in enumerate(stories) if number % parts == index - 1]
    return [
        Blank(story, position, sample)
        for story in mine
        for position in positions
        for sample in range(1, samples + 1)
    ]


def check_stories(engine: Engine, generator: Generator) -> None:
    """Raise InputError where `generator` can tell that it does not fit the stories that there are."""
    if isinstance(generator, ChecksStories):
        generator.check({story.id: story for story in select_stories(engine)})


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is registered: what it has still to fill, and where its infills go."""

    generator: str
    kind: str
    generator_id: int
    run_id: int
    story_ids: Mapping[str, int]
    blanks: Sequence[Blank]
    """Without an infill of this generator so far."""


def run(
    engine: Engine,
    generator: Generator,
    blanks: Sequence[Blank],
    advance: Callable[[int], None] = lambda amount: None,
) -> RunSummary:
    """Fill the blanks that `generator` has not filled yet, committing as it goes. Run again after a kill: it
    goes on."""
    check_stories(engine, generator)
    opened = open_run(engine, generator.name, generator.provenance, blanks)
    there = len(blanks) - len(opened.blanks)
    advance(there)
    written: Counter[str] = Counter()
    for infills in _batches(in_order(generator, opened.blanks)):
        written.update(store(engine, opened, infills))
        advance(len(infills))
    return RunSummary(generator.name, dict(written), there)


def open_run(engine: Engine, name: str, provenance: Provenance, blanks: Sequence[Blank]) -> OpenRun:
    """Register a run of the generator `name`, and find which of `blanks` it has not filled yet."""
    with writing(engine) as session:
        if engine.dialect.name == "postgresql":  # shards that start together register one after the other
            session.execute(select(func.pg_advisory_xact_lock(REGISTERING)))
        generator_id, run_id = _register(session, name, provenance)
        story_ids = dict(session.execute(select(StoryRow.key, StoryRow.id)).all())
        there = set(
            session.execute(
                select(InfillRow.story_id, InfillRow.position, InfillRow.sample).where(
                    InfillRow.generator_id == generator_id
                )
            )
        )
    unfilled = [
        blank for blank in blanks if (story_ids[blank.story.id], blank.position, blank.sample) not in there
    ]
    return OpenRun(name, provenance.kind, generator_id, run_id, story_ids, unfilled)


def store(engine: Engine, opened: OpenRun, infills: Sequence[Infill]) -> list[str]:
    """Judge infills and commit them together; the statuses of those that are new."""
    judged = infills if opened.kind == "human" else [judge(infill) for infill in infills]
    lines = [
        {
            "generator_id": opened.generator_id,
            "run_id": opened.run_id,
            "story_id": opened.story_ids[infill.blank.story.id],
            "position": infill.blank.position,
            "sample": infill.blank.sample,
            "text": infill.text,
            "status": str(infill.status),
            "detail": infill.detail,
            "extra": dict(infill.extra),
        }
        for infill in judged
    ]
    insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert
    with writing(engine) as session:
        # The same command may be running twice: the infill that came first stays.
        new = insert(InfillRow).on_conflict_do_nothing().returning(InfillRow.status)
        return list(session.scalars(new, lines))


def forget(engine: Engine, name: str) -> int:
    """Delete a generator with its infills, where no study shows any; returns how many infills there were."""
    with writing(engine) as session:
        generator = session.scalar(select(GeneratorRow).where(GeneratorRow.name == name))
        if generator is None:
            known = session.scalars(select(GeneratorRow.name).order_by(GeneratorRow.name)).all()
            raise UsageError(
                f"there are no infills from {name!r}", f"There are from: {', '.join(known) or 'nobody'}."
            )
        shown = session.scalar(
            select(StudyRow.name)
            .join(PassageRow, PassageRow.study_id == StudyRow.id)
            .where(PassageRow.generator_id == generator.id)
            .limit(1)
        )
        if shown is not None:
            raise UsageError(
                f"study {shown!r} shows infills from {name!r}",
                "What a study shows stays. Generate under another name with --as.",
            )
        mine = InfillRow.generator_id == generator.id
        deleted = session.scalar(select(func.count()).select_from(InfillRow).where(mine)) or 0
        session.execute(delete(InfillRow).where(mine))
        session.execute(delete(RunRow).where(RunRow.generator_id == generator.id))
        session.delete(generator)
    return deleted


def in_order(generator: Generator, blanks: Sequence[Blank]) -> Iterator[Infill]:
    """The generator's infills, checked against the promise of one infill a blank in the blanks' order."""
    given = iter(generator.infill(blanks))
    for blank in blanks:
        infill = next(given, None)
        if infill is None or infill.blank != blank:
            got = "nothing" if infill is None else f"{infill.blank.story.id} position {infill.blank.position}"
            raise InputError(
                f"generator {generator.name!r} owed an infill for {blank.story.id} position {blank.position}"
                f" and gave {got}",
                "A generator answers every blank, in order. This is a fault of its code.",
            )
        yield infill


def _batches(infills: Iterator[Infill]) -> Iterator[list[Infill]]:
    while batch := list(islice(infills, COMMIT_EVERY)):
        yield batch


def _register(session: Session, name: str, provenance: Provenance) -> tuple[int, int]:
    """The ids of the generator's and the run's rows, made if new; a name keeps one configuration for ever."""
    if not name.strip() or name != name.strip() or "," in name or not name.isprintable():
        raise UsageError(f"{name!r} cannot be a generator's name", "Choose letters, digits and hyphens.")
    wanted = configuration_hash(provenance)
    generator = session.scalar(select(GeneratorRow).where(GeneratorRow.name == name))
    if generator is None:
        generator = GeneratorRow(name=name, kind=provenance.kind, configuration_hash=wanted)
        session.add(generator)
        session.flush()
    elif generator.configuration_hash != wanted:
        raise UsageError(
            f"generator {name!r} already has infills made with another checkpoint, seed or settings",
            "Give this configuration a name of its own with --as NAME.",
        )
    whole = asdict(provenance)
    run = session.scalar(
        select(RunRow).where(RunRow.generator_id == generator.id, RunRow.hash == _hash(whole))
    )
    if run is None:
        run = RunRow(
            generator_id=generator.id,
            checkpoint=provenance.checkpoint,
            seed=provenance.seed,
            settings=dict(provenance.settings),
            batch=dict(provenance.batch),
            versions=dict(provenance.versions),
            hash=_hash(whole),
        )
        session.add(run)
        session.flush()
    return generator.id, run.id
