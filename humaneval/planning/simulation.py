"""Power by simulation: studies drawn from a mixed model, each tested as the real one will be. Annotators here are simulated.

An annotator overlooks generator m's sentence with the probability expit(β_m + u + v): u of the annotator, v of the
story, both normal. β_m is such that the mean over both is the score that is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np
from numpy.typing import NDArray

from humaneval.errors import UsageError
from humaneval.planning.outlook import Plan
from humaneval.planning.power import location
from humaneval.statistics.cells import cells
from humaneval.statistics.headline import paired_differences

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
    *,
    worker_sd: float = 0.5,
    story_sd: float = 0.7,
    alpha: float = 0.05,
    studies: int = 400,
    seed: int = 0,
) -> Power:
    """In what share of `studies` simulated studies the first two generators' difference is found.

    Tested as reports test it: `humaneval.statistics.headline.paired_differences`, p at most `alpha`, unadjusted.
    """
    if studies < 1:
        raise UsageError(f"{studies} studies tell nothing", "Give 100 or more.")
    rng = np.random.default_rng([seed, studies])
    found = 0
    for _ in range(studies):
        outcomes = draw(where, scores, worker_sd, story_sd, rng)
        (one,) = paired_differences(cells(outcomes, where.workers, where.stories, where.generators), [(0, 1)])
        found += one.p <= alpha
    return Power(found / studies, studies, seed)


def simulate(plan: Plan, studies: int, seed: int = 0) -> Power:
    """The power of `plan` for its smallest effect of interest, of annotators who pass the gate.

    Raises UsageError for rows that show only some of the generators.
    """
    if plan.passages_per_row < plan.generators:
        raise UsageError(
            "only designs in which everybody judges every generator are simulated",
            "The figures by formula know rows that show some of them.",
        )
    passed = max(1, round(plan.annotators * plan.gate.passed))
    # Where the stories are not known yet none recurs.
    stories = max(plan.stories or passed * plan.rows_per_annotator * plan.generators, plan.generators)
    where = layout(passed, plan.rows_per_annotator, stories, plan.generators)
    other = [plan.expected_score] * (plan.generators - 2)
    return simulated_power(
        where, [plan.expected_score + plan.smallest_effect, plan.expected_score, *other], worker_sd=plan.worker_sd,
        story_sd=plan.story_sd, alpha=1 - plan.level, studies=studies, seed=seed,
    )  # fmt: skip
