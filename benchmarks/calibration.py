"""How often headline intervals contain the truth, and how often tests report a difference that is not there.

Prints JSON lines, and to stderr the table of docs/statistics.md.

    python benchmarks/calibration.py [--studies 2000] [--shuffles 400] [--responses derived_long_anon.csv] \\
        > benchmarks/results/calibration.jsonl

Simulated studies: worker sd 0.5 and story sd 0.7 on the logit unless the design says otherwise, in each HIT
one passage by each of two generators, about the same stories. The targets are the marginal probability and
the difference of two of them: in the middle (0.43 and 0.39), near 5 % (0.05 and 0.08) and near 95 % (0.95 and
0.92). Naive intervals stand beside: Wilson's at n, and Wald's for two unrelated shares. Null studies have two
equal generators. Label shuffles: generators permuted within worker in the published table, and with
--responses groups among workers in that file (columns g, w, item, ok). About two minutes; seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import brentq

from humaneval.statistics.cells import Cells, cells
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.score_intervals import paired_differences, score_intervals

LEVELS = {"middle": (0.4266, 0.3878), "near 5 %": (0.05, 0.08), "near 95 %": (0.95, 0.92)}
"""Marginal probabilities of the two generators."""
PUBLISHED = {
    "Control": 0,
    "BERT": 19,
    "SA": 28,
    "LM scratch": 38,
    "LM": 39,
    "ILM scratch": 37,
    "ILM": 43,
    "Human": 74,
}
ANNOTATORS = 95
FIGURE = "coverage of 95 %"


@dataclass(frozen=True, slots=True)
class Design:
    """`workers` do `each` HITs each, or 1 to `each` in turn if `uneven`; every generator is judged on each of
    `stories` equally often."""

    name: str
    workers: int
    each: int
    stories: int
    uneven: bool = False
    worker_sd: float = 0.5
    story_sd: float = 0.7
    taste_sd: float = 0.0
    """How much workers differ in what they think of one generator."""

    @property
    def spread(self) -> float:
        """Of the logits of all responses to one generator."""
        return float(np.sqrt(self.worker_sd**2 + self.story_sd**2 + self.taste_sd**2))


DESIGNS = (
    Design("paper: 96 workers × 1, stories once", 96, 1, 96),
    Design("96 workers × 1, stories × 4", 96, 1, 24),
    Design("24 workers × 4, stories once", 24, 4, 96),
    Design("40 workers × 8, stories × 4", 40, 8, 80),
    Design("200 workers × 5, stories × 10", 200, 5, 100),
    Design("8 workers × 10, stories once", 8, 10, 80),
    Design("10 workers × 8, stories once", 10, 8, 80),
    Design("15 workers × 4, 20 stories", 15, 4, 20),
    Design("60 workers × 1, 10 stories", 60, 1, 10),
    Design("30 workers × 4, 40 stories", 30, 4, 40),
    Design("40 workers × 1 to 12, 64 stories", 40, 12, 64, uneven=True),
    Design("30 workers × 8, 50 stories, sd 1 and 1", 30, 8, 50, worker_sd=1.0, story_sd=1.0),
    Design("the same, sd 0.7 between tastes", 30, 8, 50, worker_sd=1.0, story_sd=1.0, taste_sd=0.7),
)


def marginal(logit: float, spread: float) -> float:
    """The expected score at this logit, over workers and stories (Gauss–Hermite quadrature)."""
    at, weight = np.polynomial.hermite_e.hermegauss(80)
    return float((weight / weight.sum()) @ (1.0 / (1.0 + np.exp(-logit - spread * at))))


def logit_of(score: float, spread: float) -> float:
    """The logit at which the expected score is `score`."""
    return float(brentq(lambda logit: marginal(logit, spread) - score, -20.0, 20.0))


def studies(design: Design, scores: tuple[float, float], count: int, seed: int) -> Iterator[Cells]:
    """Simulated studies of two generators, "a" and "b", with these expected scores."""
    rng = np.random.default_rng(seed)
    people = np.arange(design.workers)
    one = np.repeat(people, people % design.each + 1 if design.uneven else design.each)
    worker, first = np.tile(one, 2), np.arange(one.size) % design.stories
    # Half-way round, no worker meets a story twice.
    story = np.concatenate([first, (first + design.stories // 2) % design.stories])
    generator = np.repeat([0, 1], one.size)
    centres = np.array([logit_of(score, design.spread) for score in scores])
    for _ in range(count):
        logit = (
            centres[generator]
            + rng.normal(0.0, design.worker_sd, design.workers)[worker]
            + rng.normal(0.0, design.story_sd, design.stories)[story]
            + rng.normal(0.0, design.taste_sd, (2, design.workers))[generator, worker]
        )
        outcomes = rng.random(worker.size) < 1.0 / (1.0 + np.exp(-logit))
        yield cells(outcomes, worker, story, generator)


@dataclass(slots=True)
class Coverage:
    """Share of studies whose interval contained the truth, 0..1, and the mean width in points."""

    held: float = 0.0
    width: float = 0.0

    def count(self, interval: Interval, truth: float, studies: int) -> None:
        self.held += (interval.low <= truth <= interval.high) / studies
        self.width += 100 * (interval.high - interval.low) / studies


def coverage(design: Design, count: int, seed: int = 20, level: str = "middle") -> dict[str, Coverage]:
    """Coverage of scores and differences, by the headline method and naively."""
    found = {name: Coverage() for name in ("score", "naive score", "difference", "naive difference")}
    truth, other = LEVELS[level]
    gap = truth - other
    for table in studies(design, (truth, other), count, seed):
        row = score_intervals(table)[0]
        found["score"].count(row.interval, truth, count)
        found["naive score"].count(wilson(int(row.total), row.n), truth, count)
        pair = paired_differences(table)[0]
        found["difference"].count(pair.interval, gap, count)
        means, n = table.means, table.n
        reach = 1.959964 * float(np.sqrt((means * (1 - means) / n).sum()))
        found["naive difference"].count(
            Interval(pair.difference - reach, pair.difference + reach), gap, count
        )
    return found


def rejections(design: Design, count: int, seed: int = 21) -> float:
    """Share of null studies in which the default paired test rejects at level .05."""
    score, _ = LEVELS["middle"]
    null = studies(design, (score, score), count, seed)
    return sum(paired_differences(table)[0].p <= 0.05 for table in null) / count


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's adjusted p-values, independent of those of the toolkit."""
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    result = np.empty_like(p)
    result[order] = np.minimum(adjusted, 1.0)
    return result


def published_shuffle(rng: np.random.Generator) -> bool:
    """Does any Holm-adjusted difference show if the labels of the published table are permuted within worker?

    Which of the 95 annotators missed which generator is not known: it is drawn. The two families are the
    fifteen pairs of systems, and each system below Human, one-sided.
    """
    names = list(PUBLISHED)
    outcomes = np.array([rng.permutation(np.arange(ANNOTATORS) < count) for count in PUBLISHED.values()]).T
    shuffled = rng.permuted(outcomes, axis=1)
    worker, generator = np.divmod(np.arange(shuffled.size), len(names))
    table = cells(
        shuffled.ravel(), worker, (worker + generator) % ANNOTATORS, np.array(names, dtype=object)[generator]
    )
    systems = names[1:-1]
    among = [(a, b) for at, a in enumerate(systems) for b in systems[at + 1 :]]
    below = [(system, "Human") for system in systems]
    families = (
        [row.p for row in paired_differences(table, among)],
        [row.p for row in paired_differences(table, below, alternative="less")],
    )
    return any(bool((holm(np.array(family)) <= 0.05).any()) for family in families)


def groups_shuffle(frame: pd.DataFrame) -> Callable[[np.random.Generator], bool]:
    """The same for groups permuted among the workers of `frame`."""
    worker, workers = pd.factorize(frame["w"])
    group = frame.groupby("w")["g"].first().loc[workers].to_numpy(dtype=object)

    def once(rng: np.random.Generator) -> bool:
        table = cells(frame["ok"], worker, frame["item"], rng.permutation(group)[worker])
        return paired_differences(table)[0].p <= 0.05

    return once


def share(shuffle: Callable[[np.random.Generator], bool], count: int, seed: int = 22) -> float:
    """The share of `count` shuffles in which a difference shows."""
    rng = np.random.default_rng(seed)
    return sum(shuffle(rng) for _ in range(count)) / count


def measured(design: Design, level: str, count: int) -> dict[str, Any]:
    """A line of results. The test of equal generators is measured in the middle."""
    found = coverage(design, count, level=level)
    null = {"null_rejected": rejections(design, count)} if level == "middle" else {}
    shares = {name: {"held": round(one.held, 6), "width": round(one.width, 3)} for name, one in found.items()}
    return {"figure": FIGURE, **asdict(design), "level": level, "studies": count, **shares, **null}


def table_of(lines: Sequence[dict[str, Any]]) -> str:
    """The table of docs/statistics.md: how many per cent hold the truth, and widths in points."""
    by = {(line["name"], line["level"]): line for line in lines if line["figure"] == FIGURE}
    heads = ["design", "score", *(f"score {level}" for level in list(LEVELS)[1:]), "plain Wilson"]
    rows = [[*heads, "difference", "rejects"], ["---"] * 7]
    for name in dict.fromkeys(name for name, _ in by):
        middle = by[name, "middle"]
        cells = [by[name, level]["score"] for level in LEVELS] + [middle["naive score"], middle["difference"]]
        shown = [f"{100 * one['held']:.1f} ({one['width']:.1f})" for one in cells]
        rows.append([name, *shown, f"{100 * middle['null_rejected']:.1f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--shuffles", type=int, default=400)
    parser.add_argument("--responses")
    options = parser.parse_args()
    lines: list[dict[str, Any]] = [
        measured(design, level, options.studies) for design in DESIGNS for level in LEVELS
    ]
    lines.append(
        {"figure": "published table, labels shuffled", "any": share(published_shuffle, options.shuffles)}
    )
    if options.responses:
        shuffle = groups_shuffle(pd.read_csv(options.responses, dtype=dict.fromkeys(("w", "item", "g"), str)))
        lines.append({"figure": "groups shuffled", "any": share(shuffle, options.shuffles)})
    for line in lines:
        print(json.dumps(line, ensure_ascii=False))
    print(table_of(lines), file=sys.stderr)


if __name__ == "__main__":
    main()
