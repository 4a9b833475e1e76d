"""Fills blanks on a Ray cluster: actors build the generator and fill; only this process stores the infills.

So an SQLite file is enough, and nothing is written twice. If an actor dies, another one does its part again.
It writes the same text, because random numbers depend only on seed, story, position and sample.
"""

from __future__ import annotations

import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from humaneval.domain import Blank, Generator, GeneratorRequest, Infill, Provenance, Story
from humaneval.errors import HumanEvalError, InputError, PrerequisiteError, UsageError
from humaneval.infills.asked import in_order, let_check
from humaneval.infills.generate import COMMIT_EVERY, RunSummary, Written, open_run, store
from humaneval.infills.processing import Form
from humaneval.kinds import build

if TYPE_CHECKING:
    from sqlalchemy import Engine

DEATHS = 3
"""After this many dead actors the part itself is to blame."""
BATCHES = 4
"""Batches in a part. Models sort this many by length, so the batches are those of a single process."""
OPENING = -1
"""The task of an actor that builds the generators; other tasks are numbers of parts."""


class Described(NamedTuple):
    """A generator in an actor."""

    name: str
    provenance: Provenance


class Given(NamedTuple):
    """What the generators are checked against: all stories by id, and the blanks to fill."""

    stories: Mapping[str, Story]
    blanks: Sequence[Blank]


class Actor:
    """Runs in a process of the cluster. The constructor does no work: its errors would look like deaths."""

    def __init__(self, request: GeneratorRequest, form: Form) -> None:
        self.request, self.form = request, form
        self.generators: Sequence[Generator] = ()

    def open(self, given: Given) -> list[Described]:
        """Build the generators once, and let them check the stories and blanks."""
        built = build(self.request)
        for generator in built:
            let_check(generator, given.stories, given.blanks)
        self.generators = self.form.of(built, tuple(given.stories.values()))
        return [Described(generator.name, generator.provenance) for generator in self.generators]

    def fill(self, index: int, blanks: Sequence[Blank]) -> list[Infill]:
        """The infills by generator number `index`, one a blank, in order."""
        return list(in_order(self.generators[index], blanks))


class Cluster:
    """Actors that have built the generators of one request, which are in `generators`."""

    def __init__(
        self,
        ray: Any,
        request: GeneratorRequest,
        form: Form,
        given: Given,
        actors: int | None,
        gpus: float | None,
    ) -> None:
        there = ray.cluster_resources()
        if gpus is None:
            gpus = 1 if there.get("GPU", 0) >= 1 else 0
        self.size = min(actors or _room(there, gpus), _room(there, gpus))
        self.generators: list[Described] = []
        self._ray = ray
        self._new = ray.remote(Actor).options(num_cpus=1, num_gpus=gpus)
        self._asked, self._given = (request, form), ray.put(given)
        self._idle: list[Any] = []
        self._at_work: dict[Any, tuple[Any, int]] = {}
        self._deaths: Counter[int] = Counter()
        self._parts: list[Sequence[Blank]] = []
        self._kept = 0

    def open(self) -> None:
        """Wait for the first actor. Raises what building the generators or checking the stories raises."""
        while not self.generators:
            self._hire(1)
            self._next()

    def fill(self, index: int, blanks: Sequence[Blank]) -> Iterator[list[Infill]]:
        """The infills by generator number `index` for `blanks`, in parts, in the order of their arrival."""
        self._parts = parts_of(blanks, self.generators[index].provenance, self.size)
        self._deaths.clear()
        waiting = deque(range(len(self._parts)))
        left = len(self._parts)
        while left:
            self._hire(min(self.size, left))
            while self._idle and waiting:
                actor, number = self._idle.pop(), waiting.popleft()
                self._at_work[actor.fill.remote(index, self._parts[number])] = (actor, number)
            task, infills = self._next()
            if task == OPENING:
                continue
            if infills is None:
                waiting.appendleft(task)
                continue
            left -= 1
            yield infills
            self._kept += len(infills)

    def close(self) -> None:
        """End the actors."""
        for actor in [*self._idle, *(actor for actor, _ in self._at_work.values())]:
            self._ray.kill(actor)

    def _hire(self, count: int) -> None:
        while len(self._idle) + len(self._at_work) < count:
            actor = self._new.remote(*self._asked)
            self._at_work[actor.open.remote(self._given)] = (actor, OPENING)

    def _next(self) -> tuple[int, list[Infill] | None]:
        """Wait for any actor: its task and its infills, which are None if it died or only opened."""
        (done,), _ = self._ray.wait(list(self._at_work), num_returns=1)
        actor, task = self._at_work.pop(done)
        try:
            answer = self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            # The generator raised it. Our errors and missing files become one line; bugs keep a traceback.
            if isinstance(error.cause, (HumanEvalError, OSError)):
                raise error.cause from None
            raise
        except self._ray.exceptions.RayError as error:
            self._ray.kill(actor)  # it may still run, out of reach
            self._count_death(task, error)
            return task, None
        self._idle.append(actor)
        if task != OPENING:
            return task, answer
        self._deaths[OPENING] = 0
        self._compare(answer)
        return task, None

    def _count_death(self, task: int, error: Exception) -> None:
        self._deaths[task] += 1
        if self._deaths[task] < DEATHS:
            return
        doing = "building the generator"
        if task != OPENING:
            part = self._parts[task]
            doing = f"filling the {len(part)} blanks from {part[0].story.id} position {part[0].position} on"
        raise InputError(
            f"{DEATHS} Ray actors in a row died while {doing} ({' '.join(str(error).split())[:200]})",
            f"{self._kept} infills of this run are stored; the same command continues from there. If memory"
            " is short, try fewer --actors.",
        ) from error

    def _compare(self, found: list[Described]) -> None:
        """Raise InputError unless all actors have the same generators, down to package versions."""
        self.generators = self.generators or found
        for first, other in zip(self.generators, found, strict=True):
            if first != other:
                fields = [
                    name
                    for name in Provenance.__dataclass_fields__
                    if getattr(first.provenance, name) != getattr(other.provenance, name)
                ]
                raise InputError(
                    f"the Ray actors have generators {first.name!r} that differ in"
                    f" {', '.join(fields) or 'name'}",
                    "Install the same packages, files and devices on every node.",
                )


@contextmanager
def cluster(
    request: GeneratorRequest,
    form: Form,
    stories: Sequence[Story],
    blanks: Sequence[Blank],
    actors: int | None = None,
    gpus: float | None = None,
) -> Iterator[Cluster]:
    """Actors for `request`, on the cluster that RAY_ADDRESS names, on one that runs here, or on a new one.

    Their generators are checked against `stories` and `blanks` before any is filled. There are at most
    `actors` of them, each with `gpus` GPUs; None means one for each GPU, or else for each CPU. They end with
    the context.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise PrerequisiteError(
            "--ray needs the package ray", "pip install 'humaneval-toolkit[ray]'"
        ) from None
    with redirect_stdout(sys.stderr), _started(ray):  # Ray prints to stdout that an actor died
        if request.checkpoint and Path(request.checkpoint).exists():  # actors run in other folders
            request = replace(request, checkpoint=str(Path(request.checkpoint).absolute()))
        given = Given({story.id: story for story in stories}, blanks)
        found = Cluster(ray, request, form, given, actors, gpus)
        try:
            found.open()
            yield found
        finally:
            found.close()


@contextmanager
def _started(ray: Any) -> Iterator[None]:
    """Connect to a cluster. An existing connection of the program is left alone."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # otherwise Ray sends usage reports
    try:
        ray.init(logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, RuntimeError) as error:
        raise PrerequisiteError(
            f"the Ray cluster cannot be reached ({' '.join(str(error).split())[:300]})",
            "Set RAY_ADDRESS to its address, or to local to start one here.",
        ) from None
    try:
        yield
    finally:
        ray.shutdown()


def run_on(
    engine: Engine, found: Cluster, index: int, blanks: Sequence[Blank], advance: Callable[[int], None]
) -> RunSummary:
    """As `generate.run`, with the actors of `found` and their generator number `index`."""
    name, provenance = found.generators[index]
    opened = open_run(engine, name, provenance, blanks)
    there = len(blanks) - len(opened.blanks)
    advance(there)
    written = Written()
    for infills in found.fill(index, opened.blanks):
        written.add(store(engine, opened, infills))
        advance(len(infills))
    return written.summary(name, there)


def parts_of(blanks: Sequence[Blank], provenance: Provenance, actors: int) -> list[Sequence[Blank]]:
    """Blanks in parts of whole batches: four batches, or fewer if otherwise an actor had no work."""
    size = provenance.batch.get("size")
    batch, longest = (size, BATCHES * size) if isinstance(size, int) and size > 0 else (1, COMMIT_EVERY)
    share = -(-len(blanks) // (actors * batch)) * batch
    length = max(batch, min(longest, share))
    return [blanks[at : at + length] for at in range(0, len(blanks), length)]


def _room(there: Mapping[str, float], gpus: float) -> int:
    """How many actors a cluster has room for."""
    room = int(there.get("CPU", 0))
    if gpus:
        room = min(room, int(there.get("GPU", 0) / gpus))
    if not room:
        raise UsageError(
            f"the Ray cluster has no room for an actor: {there.get('CPU', 0):g} CPUs, {there.get('GPU', 0):g}"
            " GPUs",
            f"Each actor needs 1 CPU and {gpus:g} GPUs (--gpus-per-actor).",
        )
    return room
