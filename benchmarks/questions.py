"""How often the intervals of each question contain the truth, and how often its tests find what is not there.

Prints JSON lines, and to stderr the table of docs/statistics.md.

    python benchmarks/questions.py [--studies 2000] > benchmarks/results/questions.jsonl

The lines are the same in two runs at once, `--question detect rate boundary` and `--question prefer`, the
second's after the first's.

Each study has three systems: a and b are equal, c is another. It is scored as `score` does, from a table of
responses. Counted are: whether the interval of a's score holds the true score, whether that of a − c holds
the true difference, and whether the test of a against b has p of .05 or less. Two coverages of 95 % by 2,000
studies differ by chance by one point. Annotators and stories differ with sd 0.5 and 0.7 on a logit. With
tastes, what they make of each generator differs as well, so that differences of two vary with sd 0.5 and 0.7;
in `prefer` nothing else does. About ten minutes of one core. Each line has a fixed seed of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import permutations
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

from humaneval.scoring.asked import TableQuestion
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.questions.boundary import points
from humaneval.scoring.questions.question import load_question
from humaneval.scoring.scores import ScoreTable, score
from humaneval.statistics.arrays import Codes, Floats

WORKER_SD, STORY_SD = 0.5, 0.7
EVERYBODY = Rule(control="none", incomplete=False, duplicates=False)
PAIRS = Declared((("a", "b"), ("a", "c")), below_human=False, adjust="none")
SENTENCES, LONG = 5, 10
NAMES = ("a", "b", "c")


@dataclass(frozen=True, slots=True)
class Design:
    """`workers` fill in `each` forms; every condition is judged on each of `stories` equally often."""

    name: str
    workers: int
    each: int
    stories: int


DESIGNS = (
    Design("96 × 1, stories once", 96, 1, 96),
    Design("24 × 4, stories once", 24, 4, 96),
    Design("40 × 8, stories × 4", 40, 8, 80),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """A line for each response: who answers, about which story, under which condition."""

    worker: Codes
    story: Codes
    condition: Codes


def layout(design: Design, conditions: int) -> Layout:
    """The responses of a design with so many conditions in each form."""
    form = np.arange(design.workers * design.each)
    condition = np.repeat(np.arange(conditions), form.size)
    # Spread over the stories, so that no worker meets one twice.
    shift = (condition * design.stories) // conditions
    story = (np.tile(form, conditions) + shift) % design.stories
    return Layout(np.tile(form // design.each, conditions), story, condition)


@dataclass(frozen=True, slots=True)
class Truth:
    """The score of a, and that of a less that of c."""

    score: float
    difference: float


@dataclass(frozen=True, slots=True)
class Case:
    """One question at one level of scores: what is asked, how answers are drawn, and what is true."""

    name: str
    level: str
    asked: TableQuestion
    conditions: int
    draw: Callable[[Layout, np.random.Generator], pd.DataFrame]
    truth: Truth


def logistic(values: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-values))


@cache
def normal(sd: float) -> tuple[Floats, Floats]:
    """Nodes and weights of a normal variable."""
    at, weight = np.polynomial.hermite_e.hermegauss(80)
    return sd * at, weight / weight.sum()


SPREAD = float(np.hypot(WORKER_SD, STORY_SD))
TASTES = (WORKER_SD / np.sqrt(2.0), STORY_SD / np.sqrt(2.0))
"""Sd of what a worker and a story make of one generator."""


def spread(tastes: bool) -> float:
    """Sd of the logits of all responses to one generator."""
    return float(np.hypot(SPREAD, np.hypot(*TASTES))) if tastes else SPREAD


def shifted(by: float, at: Floats) -> Floats:
    """The probability at a logit that lies so far from `at`."""
    return np.asarray(logistic(by + at))


def mean(of: Callable[[Floats], Floats], sd: float = SPREAD) -> float:
    """The mean over annotators and stories of a function of their logit."""
    at, weight = normal(sd)
    return float(weight @ of(at))


def leanings(where: Layout, rng: np.random.Generator, tastes: bool = False) -> Floats:
    """The logit that each response has from its worker and its story, and from their tastes."""
    workers, stories = int(where.worker.max()) + 1, int(where.story.max()) + 1
    found = rng.normal(0.0, WORKER_SD, workers)[where.worker]
    found += rng.normal(0.0, STORY_SD, stories)[where.story]
    if tastes:
        for sd, number, code in zip(TASTES, (workers, stories), (where.worker, where.story), strict=True):
            found += rng.normal(0.0, sd, (number, len(NAMES)))[code, where.condition]
    return np.asarray(found)


def table(where: Layout, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"worker": where.worker, "story": where.story, **columns})


def detect(level: str, centres: tuple[float, float, float]) -> Case:
    """The machine's sentence goes unnoticed with a logistic probability."""

    def draw(where: Layout, rng: np.random.Generator) -> pd.DataFrame:
        missed = rng.random(where.worker.size) < logistic(
            np.take(centres, where.condition) + leanings(where, rng)
        )
        position = rng.integers(1, SENTENCES + 1, where.worker.size)
        names = np.array(NAMES, dtype=object)[where.condition]
        return table(
            where,
            generator=names,
            position=position,
            choice=np.where(missed, position % SENTENCES + 1, position),
        )

    one, _, other = (mean(partial(shifted, centre)) for centre in centres)
    return Case("detect", level, TableQuestion(load_question("detect"), {}), 3, draw, Truth(one, one - other))


def rate(level: str, centres: tuple[float, float, float], tastes: bool = False) -> Case:
    """A rating of 1 to 5 is how many of four thresholds a latent logistic variable is above, and one."""
    thresholds = np.array([-2.0, -0.7, 0.7, 2.0])

    def draw(where: Layout, rng: np.random.Generator) -> pd.DataFrame:
        latent = (
            np.take(centres, where.condition)
            + leanings(where, rng, tastes)
            + rng.logistic(size=where.worker.size)
        )
        rating = 1 + (latent[:, None] > thresholds).sum(axis=1)
        names = np.array(NAMES, dtype=object)[where.condition]
        position = rng.integers(1, SENTENCES + 1, where.worker.size)
        return table(where, generator=names, position=position, choice=rating, quality=rating)

    def expected(centre: float) -> float:
        return 1.0 + sum(mean(partial(shifted, centre - edge), spread(tastes)) for edge in thresholds)

    question = load_question("rate")
    one, other = expected(centres[0]), expected(centres[2])
    return Case(
        "rate", level, TableQuestion(question, question.settings({})), 3, draw, Truth(one, one - other)
    )


def boundary(level: str, centres: tuple[float, float, float], tastes: bool = False) -> Case:
    """The beginning is known with a logistic probability, else any answer is given, in ten sentences."""
    choices, positions = np.arange(2, LONG + 2), np.arange(2, LONG + 1)

    def draw(where: Layout, rng: np.random.Generator) -> pd.DataFrame:
        knows = rng.random(where.worker.size) < logistic(
            np.take(centres, where.condition) + leanings(where, rng, tastes)
        )
        position = rng.choice(positions, where.worker.size)
        names = np.array(NAMES, dtype=object)[where.condition]
        choice = np.where(knows, position, rng.choice(choices, where.worker.size))
        return table(where, generator=names, position=position, choice=choice)

    luck = float(np.mean([points(at, choice) for at in positions.tolist() for choice in choices.tolist()]))

    def expected(centre: float) -> float:
        known = mean(partial(shifted, centre), spread(tastes))
        return 5.0 * known + (1.0 - known) * luck

    one, other = expected(centres[0]), expected(centres[2])
    asked = TableQuestion(load_question("boundary"), {}, LONG)
    return Case("boundary", level, asked, 3, draw, Truth(one, one - other))


def prefer(level: str, centres: tuple[float, float, float], ties: float = 0.0) -> Case:
    """The first is preferred by the difference of what its worker and its story make of the two, which is a
    tie now and then; the first on the page has an advantage."""
    pairs = np.array(list(permutations(range(3), 2)))
    ahead, own = 0.2, TASTES

    def draw(where: Layout, rng: np.random.Generator) -> pd.DataFrame:
        workers, stories = int(where.worker.max()) + 1, int(where.story.max()) + 1
        by_worker, by_story = rng.normal(0.0, own[0], (workers, 3)), rng.normal(0.0, own[1], (stories, 3))
        first, second = pairs[where.condition].T
        worth = np.array(centres) + by_worker[where.worker] + by_story[where.story]
        rows = np.arange(where.worker.size)
        logit = worth[rows, first] - worth[rows, second] + ahead
        choice = np.where(rng.random(rows.size) < logistic(logit), 1, 2)
        choice = np.where(rng.random(rows.size) < ties, 3, choice)
        names = np.array(NAMES, dtype=object)
        position = rng.integers(1, SENTENCES + 1, rows.size)
        return table(where, generator=names[first], other=names[second], position=position, choice=choice)

    def share(a: int, b: int) -> float:
        gaps = [centres[a] - centres[b] + sign * ahead for sign in (1.0, -1.0)]
        won = sum(mean(partial(shifted, gap)) for gap in gaps) / 2.0
        return (1.0 - ties) * won + ties / 2.0

    question = load_question("prefer")
    asked = TableQuestion(question, question.settings({"ties": ties > 0}))
    truth = Truth((share(0, 1) + share(0, 2)) / 2.0, 2.0 * share(0, 2) - 1.0)
    return Case("prefer, ties" if ties else "prefer", level, asked, 6, draw, truth)


CASES = (
    detect("middle", (-0.3, -0.3, 0.1)),
    detect("near 95 %", (3.2, 3.2, 2.6)),
    rate("middle", (0.2, 0.2, 0.7)),
    rate("middle, tastes", (0.2, 0.2, 0.7), tastes=True),
    rate("near 5", (4.2, 4.2, 3.5)),
    boundary("middle", (0.0, 0.0, 0.5)),
    boundary("middle, tastes", (0.0, 0.0, 0.5), tastes=True),
    boundary("near 5", (3.0, 3.0, 2.4)),
    prefer("middle", (0.0, 0.0, 0.4)),
    prefer("90 %", (1.0, 1.0, -1.55)),
    prefer("97 %", (1.5, 1.5, -2.5)),
    prefer("middle", (0.0, 0.0, 0.4), ties=0.2),
)


def studies(case: Case, design: Design, count: int, seed: int) -> Iterator[ScoreTable]:
    """Simulated studies, scored."""
    line = crc32(f"{case.name}, {case.level}, {design.name}".encode())
    where, rng = layout(design, case.conditions), np.random.default_rng([seed, line])
    for _ in range(count):
        yield score(case.draw(where, rng), EVERYBODY, declared=PAIRS, told=case.asked)


def measured(case: Case, design: Design, count: int, seed: int = 23) -> dict[str, Any]:
    """A line of results: shares of studies, and the mean width of the score's interval."""
    held = difference = rejected = width = 0.0
    for found in studies(case, design, count, seed):
        row = next(one for one in found.scores if one.generator == "a")
        assert row.interval is not None
        equal, unequal = found.comparisons
        held += row.interval.low <= case.truth.score <= row.interval.high
        difference += unequal.interval.low <= case.truth.difference <= unequal.interval.high
        rejected += equal.p <= 0.05
        width += row.interval.high - row.interval.low
    return {
        "question": case.name,
        "level": case.level,
        **asdict(design),
        "studies": count,
        "truth": round(case.truth.score, 4),
        "score": round(held / count, 4),
        "difference": round(difference / count, 4),
        "rejects": round(rejected / count, 4),
        "width": round(width / count, 4),
    }


def table_of(lines: Sequence[dict[str, Any]]) -> str:
    """The table of docs/statistics.md, in per cent."""
    rows = [["question", "scores", "design", "score holds", "difference holds", "rejects"], ["---"] * 6]
    for line in lines:
        shares = [f"{100 * line[name]:.1f}" for name in ("score", "difference", "rejects")]
        rows.append([line["question"], line["level"], line["name"], *shares])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--question", nargs="+", help="Measure these alone.")
    options = parser.parse_args()
    lines = []
    for case in CASES:
        if not options.question or case.name.partition(",")[0] in options.question:
            for design in DESIGNS:
                lines.append(measured(case, design, options.studies))
                print(json.dumps(lines[-1], ensure_ascii=False), flush=True)
    print(table_of(lines), file=sys.stderr)


if __name__ == "__main__":
    main()
