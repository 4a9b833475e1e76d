"""Power by simulation: studies drawn from a mixed model, each tested as the real one will be. Annotators here are simulated.

An annotator overlooks generator m's sentence with the probability expit(β_m + u + v): u of the annotator, v of the
story, both normal. β_m is such that the mean over both is the score that is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from humaneval.errors import UsageError
from humaneval.planning.power import location

Outcomes = NDArray[np.bool_]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Layout:
    """Who judges what, one entry a response: three arrays of one length, codes from 0."""

    workers: Codes
    stories: Codes
    generators: Codes

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of workers, stories, generators."""
        workers, stories, generators = (
            int(codes.max()) + 1 for codes in (self.workers, self.stories, self.generators)
        )
        return workers, stories, generators


def layout(workers: int, rows: int, stories: int, generators: int) -> Layout:
    """Workers with `rows` forms each, a form one passage a generator, stories dealt in turn so that none recurs in a form."""
    if min(workers, rows, stories, generators) < 1 or stories < generators:
        raise UsageError(
            f"{workers} workers, {rows} rows each, {stories} stories and {generators} generators make no study",
            "A form needs a story for each generator.",
        )
    form = np.repeat(np.arange(workers * rows), generators)
    generator = np.tile(np.arange(generators), workers * rows)
    return Layout(form // rows, (form * generators + generator) % stories, generator)


def draw(
    where: Layout, scores: Sequence[float], worker_sd: float, story_sd: float, rng: np.random.Generator
) -> Outcomes:
    """One simulated study: whether each response overlooks the machine's sentence."""
    workers, stories, _ = where.sizes
    spread = hypot(worker_sd, story_sd)
    levels = np.array([location(score, spread) for score in scores])
    logits = levels[where.generators]
    logits = logits + rng.normal(0, worker_sd, workers)[where.workers] if worker_sd else logits
    logits = logits + rng.normal(0, story_sd, stories)[where.stories] if story_sd else logits
    overlooked: Outcomes = rng.random(logits.size) < 1 / (1 + np.exp(-logits))
    return overlooked


@dataclass(frozen=True, slots=True)
class Power:
    """A power found by simulation, with the number of studies behind it."""

    power: float
    studies: int
    seed: int

    @property
    def error(self) -> float:
        """Its standard error, √(p(1 − p)/studies)."""
        return float(np.sqrt(self.power * (1 - self.power) / self.studies))


def simulated_power(
    where: Layout,
    scores: Sequence[float],
    test: Callable[[Outcomes, Layout], float],
    *,
    worker_sd: float = 0.5,
    story_sd: float = 0.7,
    alpha: float = 0.05,
    studies: int = 400,
    seed: int = 0,
) -> Power:
    """The share of `studies` simulated studies whose p, as `test` gives it, is at most `alpha`."""
    rng = np.random.default_rng([seed, studies])
    found = sum(test(draw(where, scores, worker_sd, story_sd, rng), where) <= alpha for _ in range(studies))
    return Power(found / studies, studies, seed)
