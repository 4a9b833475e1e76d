"""How often headline intervals contain the truth, and how often tests report a difference that is not there.

Prints a table, then JSON lines.

    python benchmarks/calibration.py [--studies 2000] [--shuffles 400] [--responses derived_long_anon.csv]

Simulated studies of five designs: worker sd 0.5 and story sd 0.7 on the logit, in each HIT one passage by
each of two generators, about the same stories. The targets are the marginal probability and the difference of
two of them. Naive intervals stand beside: Wilson's at n, and Wald's for two unrelated shares. Null studies
have two equal generators. Label shuffles: generators permuted within worker in the published table, and with
--responses groups among workers in that file (columns g, w, item, ok). About a minute and a half; seeds are
fixed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from humaneval.statistics.cells import Cells, cells
from humaneval.statistics.headline import paired_differences, score_intervals
from humaneval.statistics.intervals import Interval, wilson

WORKER_SD, STORY_SD = 0.5, 0.7
SCORE_LOGIT, OTHER_LOGIT = -0.35, -0.53
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


@dataclass(frozen=True, slots=True)
class Design:
    """`workers` do `each` HITs each; every generator is judged on each of `stories` equally often."""

    name: str
    workers: int
    each: int
    stories: int


DESIGNS = (
    Design("paper: 96 workers × 1, stories once", 96, 1, 96),
    Design("96 workers × 1, stories × 4", 96, 1, 24),
    Design("24 workers × 4, stories once", 24, 4, 96),
    Design("40 workers × 8, stories × 4", 40, 8, 80),
    Design("200 workers × 5, stories × 10", 200, 5, 100),
)


def marginal(logit: float) -> float:
    """The expected score at this logit, over workers and stories (Gauss–Hermite quadrature)."""
    at, weight = np.polynomial.hermite_e.hermegauss(80)
    spread = np.hypot(WORKER_SD, STORY_SD)
    return float((weight / weight.sum()) @ (1.0 / (1.0 + np.exp(-logit - spread * at))))


def studies(design: Design, logits: tuple[float, float], count: int, seed: int) -> Iterator[Cells]:
    """Simulated studies of two generators, "a" and "b"."""
    rng = np.random.default_rng(seed)
    hits = design.workers * design.each
    worker = np.tile(np.repeat(np.arange(design.workers), design.each), 2)
    first = np.arange(hits) % design.stories
    # Half-way round, no worker meets a story twice.
    story = np.concatenate([first, (first + design.stories // 2) % design.stories])
    generator = np.repeat([0, 1], hits)
    for _ in range(count):
        logit = (
            np.array(logits)[generator]
            + rng.normal(0.0, WORKER_SD, design.workers)[worker]
            + rng.normal(0.0, STORY_SD, design.stories)[story]
        )
        outcomes = rng.random(2 * hits) < 1.0 / (1.0 + np.exp(-logit))
        yield cells(outcomes, worker, story, generator)


@dataclass(slots=True)
class Coverage:
    """Share of studies whose interval contained the truth, 0..1, and the mean width in points."""

    held: float = 0.0
    width: float = 0.0

    def count(self, interval: Interval, truth: float, studies: int) -> None:
        self.held += (interval.low <= truth <= interval.high) / studies
        self.width += 100 * (interval.high - interval.low) / studies


def coverage(design: Design, count: int, seed: int = 20) -> dict[str, Coverage]:
    """Coverage of scores and differences, by the headline method and naively."""
    found = {name: Coverage() for name in ("score", "naive score", "difference", "naive difference")}
    truth = marginal(SCORE_LOGIT)
    gap = truth - marginal(OTHER_LOGIT)
    for table in studies(design, (SCORE_LOGIT, OTHER_LOGIT), count, seed):
        row = score_intervals(table)[0]
        found["score"].count(row.interval, truth, count)
        found["naive score"].count(wilson(row.x, row.n), truth, count)
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
    null = studies(design, (SCORE_LOGIT, SCORE_LOGIT), count, seed)
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--shuffles", type=int, default=400)
    parser.add_argument("--responses")
    options = parser.parse_args()
    lines: list[dict[str, Any]] = []
    columns = ("score", "naive score", "difference", "naive difference")
    print(
        f"{'% held (width in points)':38}" + "".join(f"{name:>20}" for name in columns) + f"{'rejects':>10}"
    )
    for design in DESIGNS:
        found, rejected = coverage(design, options.studies), rejections(design, options.studies)
        shown = [f"{100 * found[name].held:.1f} ({found[name].width:.1f})" for name in columns]
        print(
            f"{design.name:38}" + "".join(f"{text:>20}" for text in shown) + f"{rejected:>10.4f}", flush=True
        )
        lines.append(
            {
                "figure": "coverage of 95 %",
                **asdict(design),
                "studies": options.studies,
                **{name: asdict(found[name]) for name in columns},
                "null_rejected": rejected,
            }
        )
    lines.append(
        {"figure": "published table, labels shuffled", "any": share(published_shuffle, options.shuffles)}
    )
    if options.responses:
        shuffle = groups_shuffle(pd.read_csv(options.responses, dtype=dict.fromkeys(("w", "item", "g"), str)))
        lines.append({"figure": "groups shuffled", "any": share(shuffle, options.shuffles)})
    for line in lines:
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
