"""Fills blanks: runs a generator in small commits, so that it can be stopped and continued."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Engine, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from humaneval.domain import (
    FROM_TABLE,
    LONGEST_EXTRA,
    LONGEST_SENTENCE,
    Blank,
    ChecksStories,
    Generator,
    Infill,
    InfillStatus,
    Provenance,
    Story,
    depends_on_batch,
    refuse_name,
)
from humaneval.errors import UsageError
from humaneval.infills.asked import in_order, let_check
from humaneval.infills.blanks import READ_TOGETHER, select_stories
from humaneval.infills.doubtful import Doubtful, doubt_about
from humaneval.infills.rest_of_story import REST, judge_rest
from humaneval.infills.statuses import judge
from humaneval.store.engine import gone, reading, writing
from humaneval.store.tables import (
    GeneratorRow,
    InfillRow,
    RunRow,
    StoryRow,
)

COMMIT_EVERY = 50
"""The fewest infills between two commits."""
QUICK, MOST_TOGETHER = 0.2, 2_000
"""If more than those come within so many seconds, they are committed together, up to so many."""

REGISTERING = 0x68756D65
"""Number of the PostgreSQL advisory lock under which a run registers its generator."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What one run did: new infills by status, and how many blanks were already filled."""

    generator: str
    written: Mapping[str, int]
    already_there: int
    doubtful: tuple[Doubtful, ...] = ()
    """The new ones that may be one sentence or several."""


def configuration_hash(provenance: Provenance) -> str:
    """A hash of a generator's kind, checkpoint, seed and settings, not of machine, batch or versions.

    If the precision is below fp32, texts depend on their batch: then its size and the precision belong to the
    configuration.
    """
    made = [provenance.kind, provenance.checkpoint, provenance.seed, dict(provenance.settings)]
    if depends_on_batch(provenance):
        made.append({name: provenance.batch.get(name) for name in ("size", "precision")})
    return _hash(made)


def _hash(value: Any) -> str:
    return hashlib.sha256(
        json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


def check_stories(engine: Engine, generator: Generator, blanks: Sequence[Blank]) -> None:
    """Raise InputError if `generator` can tell that it does not fit the stored stories or any of `blanks`."""
    if isinstance(generator, ChecksStories):
        let_check(generator, {story.id: story for story in select_stories(engine)}, blanks)


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A registered run: the blanks that it still has to fill, and where its infills go."""

    generator: str
    kind: str
    generator_id: int
    run_id: int
    run_hash: str
    story_ids: Mapping[str, int]
    blanks: Sequence[Blank]
    """Those without an infill of this generator."""
    rest: bool = False
    """Whether its infills are the rest of a story."""


def run(
    engine: Engine,
    generator: Generator,
    blanks: Sequence[Blank],
    advance: Callable[[int], None] = lambda amount: None,
    *,
    of: Sequence[Blank] = (),
) -> RunSummary:
    """Fill the blanks that `generator` has not filled yet, with many commits. After a kill, run it again.

    `of` are the blanks of all shards together, if `blanks` are those of one.
    """
    check_stories(engine, generator, of or blanks)
    opened = open_run(engine, generator.name, generator.provenance, blanks)
    there = len(blanks) - len(opened.blanks)
    advance(there)
    written = Written()
    for infills in filter(None, _batches(in_order(generator, opened.blanks))):
        written.add(store(engine, opened, infills))
        advance(len(infills))
    return written.summary(generator.name, there)


def open_run(engine: Engine, name: str, provenance: Provenance, blanks: Sequence[Blank]) -> OpenRun:
    """Register a run of the generator `name`, and find the `blanks` that it has not filled yet."""
    with writing(engine) as session:
        if engine.dialect.name == "postgresql":  # shards that start together register one by one
            session.execute(select(func.pg_advisory_xact_lock(REGISTERING)))
        generator_id, run_id = _register(session, name, provenance)
    run_hash = _hash(asdict(provenance))
    with reading(engine) as session:
        story_ids = dict(session.execute(select(StoryRow.key, StoryRow.id)).all())
        mine = select(InfillRow.story_id, InfillRow.position, InfillRow.sample).where(
            InfillRow.generator_id == generator_id
        )
        there = {
            _number(*line) for line in session.execute(mine, execution_options={"yield_per": READ_TOGETHER})
        }
    unfilled = [
        blank
        for blank in blanks
        if _number(story_ids[blank.story.id], blank.position, blank.sample) not in there
    ]
    rest = bool(provenance.settings.get(REST))
    return OpenRun(name, provenance.kind, generator_id, run_id, run_hash, story_ids, unfilled, rest)


def _number(story_id: int, position: int, sample: int) -> int:
    """A blank as one number, of which millions are small."""
    return (story_id << 5 | position) << 24 | sample


class Stored(NamedTuple):
    """A new infill: its status, and the doubt about it."""

    status: str
    doubt: Doubtful | None


class Written:
    """What a run has stored so far."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.doubtful: list[Doubtful] = []

    def add(self, infills: Iterable[Stored]) -> None:
        """Count these, too."""
        for status, doubt in infills:
            self.statuses[status] += 1
            self.doubtful += [doubt] if doubt else []

    def summary(self, generator: str, already_there: int) -> RunSummary:
        """The summary of the run."""
        return RunSummary(generator, dict(self.statuses), already_there, tuple(self.doubtful))


def store(engine: Engine, opened: OpenRun, infills: Sequence[Infill]) -> list[Stored]:
    """Judge infills and commit them together. Returns the new ones. Raises StoreError if the generator was
    forgotten meanwhile."""
    judging = judge_rest if opened.rest else judge
    judged = infills if opened.kind == "human" else [judging(infill) for infill in infills]
    lines = [
        {
            "generator_id": opened.generator_id,
            "run_id": opened.run_id,
            "story_id": opened.story_ids[infill.blank.story.id],
            "position": infill.blank.position,
            "sample": infill.blank.sample,
            "text": infill.text,
            "status": str(infill.status),
            "detail": infill.detail[:LONGEST_SENTENCE],
            "extra": _kept(infill.extra),
        }
        for infill in judged
    ]
    insert = postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert
    with writing(engine) as session:
        _refuse_forgotten(session, opened)
        # The same command may run twice at once: the first infill stays.
        new = (
            insert(InfillRow)
            .on_conflict_do_nothing()
            .returning(InfillRow.status, InfillRow.story_id, InfillRow.position, InfillRow.text)
        )
        stories = {opened.story_ids[infill.blank.story.id]: infill.blank.story for infill in infills}
        return [
            Stored(
                status, _doubt(opened, stories[story], position, text) if status == InfillStatus.OK else None
            )
            for status, story, position, text in session.execute(new, lines)
        ]


def _refuse_forgotten(session: Session, opened: OpenRun) -> None:
    """Raise StoreError unless the run is there. SQLite gives its id to another, once it is gone."""
    mine = select(RunRow.id).join(GeneratorRow, GeneratorRow.id == RunRow.generator_id)
    ours = (RunRow.id == opened.run_id, RunRow.hash == opened.run_hash)
    named = (GeneratorRow.id == opened.generator_id, GeneratorRow.name == opened.generator)
    if session.scalar(mine.where(*ours, *named)) is None:
        raise gone()


def _kept(extra: Mapping[str, Any]) -> dict[str, Any]:
    """What a generator reports about an infill, or how large it is if that is no report. NaN and infinity, as
    models of half precision compute, are nothing: no JSON has them."""
    size = len(str(extra))
    if size > LONGEST_EXTRA:
        return {"not kept": f"{size:,} characters"}
    kept: dict[str, Any] = json.loads(json.dumps(dict(extra)), parse_constant=lambda _: None)
    return kept


def _doubt(opened: OpenRun, story: Story, position: int, text: str) -> Doubtful | None:
    """The doubt about a sentence that a machine wrote."""
    return (
        None
        if opened.kind == "human" or opened.rest
        else doubt_about(story, position, opened.generator, text)
    )


def _batches(infills: Iterator[Infill]) -> Iterator[list[Infill]]:
    """The infills of one commit each. What came before a fault or an interrupt is kept."""
    batch: list[Infill] = []
    until = monotonic() + QUICK
    try:
        for infill in infills:
            batch.append(infill)
            enough = len(batch) % COMMIT_EVERY == 0 and monotonic() >= until
            if enough or len(batch) == MOST_TOGETHER:
                yield batch
                batch, until = [], monotonic() + QUICK
    except GeneratorExit:
        raise
    except BaseException:
        yield batch
        raise
    yield batch


def taken_names(engine: Engine, generators: Iterable[Generator]) -> list[str]:
    """The names of those generators under which another configuration has infills."""
    with reading(engine) as session:
        there = dict(session.execute(select(GeneratorRow.name, GeneratorRow.configuration_hash)).all())
    return [
        one.name
        for one in generators
        if there.get(one.name, wanted := configuration_hash(one.provenance)) != wanted
    ]


def _register(session: Session, name: str, provenance: Provenance) -> tuple[int, int]:
    """The ids of the generator's and the run's row, made if new. A name has a single configuration, but
    several tables may bring sentences of one system."""
    refuse_name(name)
    wanted = configuration_hash(provenance)
    generator = session.scalar(select(GeneratorRow).where(GeneratorRow.name == name))
    if generator is None:
        generator = GeneratorRow(name=name, kind=provenance.kind, configuration_hash=wanted)
        session.add(generator)
        session.flush()
    elif generator.configuration_hash != wanted and not provenance.kind == generator.kind == FROM_TABLE:
        raise UsageError(
            f"generator {name!r} already has infills made with another checkpoint, seed or settings",
            "Give this configuration its own name with --as NAME.",
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
            # A model may have been trained without a limit: JSON has no infinity, and PostgreSQL takes none.
            settings=json.loads(json.dumps(dict(provenance.settings)), parse_constant=str),
            batch=dict(provenance.batch),
            versions=dict(provenance.versions),
            hash=_hash(whole),
        )
        session.add(run)
        session.flush()
    return generator.id, run.id
