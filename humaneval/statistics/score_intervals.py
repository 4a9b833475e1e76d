"""The headline: the score of a generator and the difference of two, each with its interval, as reports print
them.

How often the intervals hold the truth, from eight workers to stories judged ten times, is measured by
benchmarks/calibration.py; docs/statistics.md shows its table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import special

from humaneval.errors import UsageError
from humaneval.statistics.arrays import Floats, check_level
from humaneval.statistics.cells import Cells
from humaneval.statistics.intervals import Interval, MeanOutcome, wilson
from humaneval.statistics.paired import bonett_price_at
from humaneval.statistics.paired_tests import paired_test
from humaneval.statistics.sign_flips import Alternative

PLAIN = "wilson"
WIDENED = "wilson, n / design effect"
PAIRED = "bonett-price"
PAIRED_WIDENED = "bonett-price, n / design effect"

FEWEST = 8
"""With fewer workers or stories intervals are wide and p-values coarse; reports say so."""

ROUNDING = 1e-9
"""A spread of pairs below this is 0: all pairs are alike."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Score of `a` minus score of `b`, -1..1, with its interval and a test of no difference."""

    a: Any
    b: Any
    difference: float
    interval: Interval
    method: str
    test: str
    p: float
    p_error: float
    """How far `p` may be from the exact one, by proof: 0 if it is exact."""
    pairs: int
    """Pairs of a response to `a` and one to `b` by the same worker."""
    effective_pairs: float
    """Unrelated pairs that would tell as much: the interval is Bonett and Price's at this number."""
    note: str = ""


def score_intervals(table: Cells, level: float = 0.95) -> tuple[MeanOutcome, ...]:
    """The score of each generator of `table`, in the order of its names, with Wilson's interval. Where
    workers or stories recur, it is taken at an effective number of responses.

    DEFF is the two-way cluster-robust variance V_worker + V_story − V_both (Cameron, Gelbach and Miller 2011)
    over that of unrelated responses, p(1−p)/(n−1). Each V is G/(G−1) · Σ_g (Σ_{i in g} (y_i − ȳ))² / n². G is
    the effective number of clusters, (Σ n_g)²/Σ n_g². DEFF is an estimate, so z becomes t with (fewest
    effective clusters − 1) degrees of freedom. Wilson's ends depend on z²/n alone: t at n/DEFF is z at
    n/(DEFF · t²/z²), which is the effective number, within 1..n. The interval is never narrower than at n.

    Where all outcomes are equal nothing shows DEFF, and it counts as 1: 0 of n is never wider than 1 of n.
    One worker, or one story, counts as one response. Raises UsageError as `wilson` does.

    >>> from humaneval.statistics.cells import cells
    >>> table = cells([1, 1, 0, 0], ["ann", "ann", "bob", "bob"], [1, 2, 3, 4], ["lm"] * 4)
    >>> [(one.mean, one.design_effect, one.effective) for one in score_intervals(table)]
    [(0.5, 3.0, 1.0)]
    """
    check_level(level)
    n, ones = table.n, table.ones
    by_worker, by_story = table.workers.clusters().diagonal(), table.stories.clusters().diagonal()
    variance, freedom = _variances(table).diagonal(), _freedom(table).diagonal()
    results = []
    for code in range(n.size):
        size, x = float(n[code]), float(ones[code])
        workers, stories = int(by_worker[code]), int(by_story[code])
        plain, note = workers == stories == size, ""
        effect = widening = 1.0
        if plain:
            pass
        elif min(workers, stories) == 1:
            effect = widening = size
            note = f"The correlation of the answers cannot be estimated, so {size:g} count as 1."
        elif x in (0.0, size):
            note = "All answers are alike and show no correlation, so they count as unrelated."
        else:
            ratio = float(variance[code]) / (x / size * (1.0 - x / size) / (size - 1.0))
            quantiles = _t(freedom[code], level) / _z(level)
            effect, widening = (min(max(1.0, one), size) for one in (ratio, ratio * quantiles**2))
        effective = size / widening
        interval = wilson(x / widening, effective, level)
        method = PLAIN if plain else WIDENED
        results.append(
            MeanOutcome(int(size), int(x), workers, stories, interval, method, effect, effective, note)
        )
    return tuple(results)


def paired_differences(
    table: Cells,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    level: float = 0.95,
    alternative: Alternative = "two-sided",
    decisive: Sequence[float] = (0.05,),
) -> tuple[PairedDifference, ...]:
    """The differences of `pairs` of generators (all if None), each with interval and p; unadjusted.

    The interval is Bonett and Price's (2012): d·q ± t·√((π̃ − (d·q)²)/(n_e + 2)) with q = n_e/(n_e + 2) and
    π̃ = (n_e·π + 2)/(n_e + 2). π is the share of discordant pairs of answers. n_e is (π − d²)/V, and at most
    twice the number of pairs. V is the two-way cluster-robust variance of d over workers and stories. Their
    clusters reach across both generators. The t distribution has (fewest effective clusters − 1) degrees of
    freedom (Cameron and Miller 2015). Where no worker and no story recurs but in a pair, n_e is the number of
    pairs and t the normal quantile: the published interval. Where all pairs are alike nothing shows V, and
    n_e is the number of pairs, too.

    Where every worker judged both equally often, the pairs are those of one worker, and each worker weighs as
    in d. Elsewhere π is a(1−b) + b(1−a), that of unrelated answers. The few workers who judged both say
    little of π, and V holds what their answers have in common.

    Test: see `humaneval.statistics.paired_tests.paired_test`. It is exact, or its error is below a tenth of
    the distance to the nearest of the p-values that are `decisive`. Where none is, see `sign_flip_test`.

    `alternative` is about a − b. Raises UsageError for names that are not in the table and for a level
    outside 0..1.
    """
    check_level(level)
    chosen = _positions(table.names, pairs)
    facts = _Facts.of(table)
    return tuple(_difference(table, facts, a, b, level, alternative, decisive) for a, b in chosen)


def _positions(names: Sequence[Any], pairs: Iterable[tuple[Any, Any]] | None) -> list[tuple[int, int]]:
    if pairs is None:
        return list(combinations(range(len(names)), 2))
    place = {name: code for code, name in enumerate(names)}
    chosen = []
    for pair in pairs:
        for name in pair:
            if name not in place:
                raise UsageError(
                    f"no generator is called {name!r}", f"There are: {', '.join(map(str, names))}."
                )
        if pair[0] == pair[1]:
            raise UsageError(f"{pair[0]!r} cannot be compared with itself")
        chosen.append((place[pair[0]], place[pair[1]]))
    return chosen


@dataclass(frozen=True, slots=True)
class _Facts:
    """Matrices generators × generators from which every pair is read off."""

    variances: Floats
    discordant: Floats
    """Share of the pairs of answers by one worker that differ, each worker weighing as in a score; where all
    workers judged both equally often."""
    by_worker: Floats
    by_story: Floats
    freedom: Floats

    @classmethod
    def of(cls, table: Cells) -> _Facts:
        ones, counts = table.workers.ones, table.workers.counts
        share = ones / np.maximum(counts, 1)
        one_way = ones.T @ (1.0 - share)
        return cls(
            _variances(table),
            (one_way + one_way.T) / np.maximum(table.n, 1)[:, None],
            table.workers.clusters(),
            table.stories.clusters(),
            _freedom(table),
        )


def _freedom(table: Cells) -> Floats:
    """Degrees of freedom of the variances: fewest effective clusters − 1, at least 1."""
    fewest = np.minimum(table.workers.effective(table.n), table.stories.effective(table.n))
    return np.maximum(fewest - 1.0, 1.0)


def _t(freedom: float, level: float) -> float:
    return float(special.stdtrit(freedom, (1.0 + level) / 2.0))


def _z(level: float) -> float:
    return float(special.ndtri((1.0 + level) / 2.0))


def _variances(table: Cells) -> Floats:
    """Two-way variance of each score (diagonal) and of each difference of two scores (elsewhere)."""
    means, n = table.means, table.n
    total = np.zeros((n.size, n.size))
    by_worker, by_story = (sums.residuals(means) for sums in (table.workers, table.stories))
    for meat, clusters, sign in (
        (by_worker.T @ by_worker, table.workers.effective(n), 1.0),
        (by_story.T @ by_story, table.stories.effective(n), 1.0),
        (table.both_meat(), table.both_effective(), -1.0),
    ):
        covariance = meat / np.outer(n, n)
        own = covariance.diagonal().copy()
        part = own[:, None] + own[None, :] - 2.0 * covariance
        np.fill_diagonal(part, own)
        # A part with a single cluster has no variance to tell of.
        more = np.maximum(clusters - 1.0, ROUNDING)
        total += sign * part * np.where(more > ROUNDING, clusters / more, 0.0)
    return np.maximum(total, 0.0)


def _difference(
    table: Cells,
    facts: _Facts,
    a: int,
    b: int,
    level: float,
    alternative: Alternative,
    decisive: Sequence[float],
) -> PairedDifference:
    means, n = table.means, table.n
    d = float(means[a] - means[b])
    pairs = int(np.minimum(table.workers.counts[:, a], table.workers.counts[:, b]).sum())
    counts = table.workers.counts
    if np.array_equal(counts[:, a], counts[:, b]):
        discordant = float(facts.discordant[a, b])
    else:
        discordant = float(means[a] * (1.0 - means[b]) + means[b] * (1.0 - means[a]))
    spread = max(discordant - d * d, 0.0)
    workers, stories = int(facts.by_worker[a, b]), int(facts.by_story[a, b])
    fewest, most = min(workers, stories), float(min(n[a], n[b]))
    paired_once = pairs == n[a] == n[b] == workers
    note, method, t = "", PAIRED_WIDENED, _t(facts.freedom[a, b], level)
    if paired_once and stories == n[a] + n[b]:
        effective, method, t = most, PAIRED, _z(level)
    elif fewest == 1:
        effective = 1.0
        note = f"The correlation of the answers cannot be estimated, so {most:g} pairs count as 1."
    elif spread < ROUNDING:
        effective = most
        note = "All pairs are alike and show no correlation, so they count as unrelated."
    else:
        effective = min(spread / max(float(facts.variances[a, b]), ROUNDING**2), 2.0 * most)
    if not pairs:
        note = f"{note} No worker judged both.".strip()
    tested = paired_test(table, a, b, alternative, decisive)
    note = f"{note} {tested.note}".strip()
    return PairedDifference(
        table.names[a],
        table.names[b],
        d,
        bonett_price_at(d, max(discordant, d * d), effective, t),
        method,
        tested.name,
        tested.p,
        tested.error,
        pairs,
        effective,
        note,
    )
