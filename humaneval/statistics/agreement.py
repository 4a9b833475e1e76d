"""How far annotators of the same stimuli agree: percentage, Krippendorff's α, Fleiss' κ, Gwet's AC1.

All of them need stimuli that were rated at least twice. Where a task is hard by design, such as finding a
good infill, low agreement says little about the annotators (Amidei et al. 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Floats, NotEstimable, check_level, labels, same_length
from humaneval.statistics.intervals import Interval

Metric: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]
ALONE = "no stimulus has two ratings"
ALIKE = "all ratings are the same value, so that agreement cannot be told from chance"
MOST_LEFT_OUT = 0.05
"""Share of a bootstrap's replicates that may lack a coefficient."""
MOST_CELLS = 100_000_000
"""Numbers that a tally may hold: 800 MB."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What the coefficients need to know of ratings: sums over the stimuli, and the parts to resample
    them from."""

    values: tuple[Any, ...]
    coincidences: Floats
    """Ordered pairs of ratings of a stimulus by their values, (values, values); m ratings weigh 1/(m − 1)
    a pair."""
    agreeing: float
    """Shares of agreeing pairs, summed over the stimuli with two ratings or more."""
    rated_twice: int
    """How many stimuli have two ratings or more."""
    shares: Floats
    """Shares of each value among a stimulus's ratings, summed over all stimuli."""
    counts: Floats
    """How often stimuli got each value, (distinct lines, values); stimuli with equal lines are put
    together."""
    stimuli: Floats
    """How many stimuli have each line."""


Coefficient: TypeAlias = Callable[[Tally], "float | NotEstimable"]


@dataclass(frozen=True, slots=True)
class AgreementInterval:
    """A percentile interval over resampled stimuli.

    `left_out` of the `replicates` gave no coefficient (all their ratings were alike) and are not part of it.
    """

    interval: Interval
    replicates: int
    left_out: int


def tally(
    stimuli: ArrayLike,
    ratings: ArrayLike,
    raters: ArrayLike | None = None,
    *,
    scale: Sequence[Any] | None = None,
) -> Tally:
    """Count ratings, one entry a rating; missing ratings are simply not there, stimuli may have any number.

    `scale` lists all values that could have been given, in any order. Without it, the values that were given
    are the scale. That matters for AC1 and Randolph's κ only. Raises InputError if lengths differ, nothing is
    given, a label is missing, or a value is not on the scale. With `raters`, also if a rater rated a stimulus
    twice: such pairs are no agreement between people.
    """
    by_stimulus, by_value = labels(stimuli, "stimuli"), labels(ratings, "ratings")
    same_length(stimuli=by_stimulus.codes, ratings=by_value.codes)
    if raters is not None:
        by_rater = labels(raters, "raters")
        same_length(stimuli=by_stimulus.codes, raters=by_rater.codes)
        pairs = by_rater.codes * by_stimulus.number + by_stimulus.codes
        again = pairs.size - np.unique(pairs).size
        if again:
            raise InputError(
                f"{again} ratings are by a rater who had rated the same stimulus before",
                "Keep the first rating of each rater; agreement is between different raters.",
            )
    values = _ordered(by_value.names if scale is None else tuple(scale))
    unknown = [name for name in by_value.names if name not in values]
    if unknown:
        raise InputError(f"the rating {unknown[0]!r} is not on the scale: {', '.join(map(str, values))}")
    place = np.array([values.index(name) for name in by_value.names], dtype=np.int64)
    table = np.bincount(
        by_stimulus.codes * len(values) + place[by_value.codes], minlength=by_stimulus.number * len(values)
    ).reshape(-1, len(values))
    lines, frequency = np.unique(table, axis=0, return_counts=True)
    if len(lines) * len(values) ** 2 > MOST_CELLS:
        raise InputError(
            f"{len(values)} different ratings of {by_stimulus.number} stimuli are too many to compare pair by"
            " pair",
            "Round the ratings to fewer values, or give fewer stimuli.",
        )
    counts, stimuli = lines.astype(np.float64), frequency.astype(np.float64)
    return _summed(values, counts, stimuli, stimuli @ _parts(counts))


def percentage_agreement(counts: Tally) -> float | NotEstimable:
    """The share of agreeing pairs of ratings of a stimulus, averaged over the stimuli with two ratings or
    more."""
    if not counts.rated_twice:
        return NotEstimable(ALONE)
    return counts.agreeing / counts.rated_twice


def krippendorff_alpha(counts: Tally, metric: Metric = "nominal") -> float | NotEstimable:
    """Krippendorff's α = 1 − observed / expected disagreement, over all pairs of ratings of one stimulus.

    Each stimulus with m >= 2 ratings gives its ordered pairs of values the weight 1/(m − 1). The expected
    disagreement is that of the pairs of all these values, whatever their stimulus. The difference of values c
    and k counts 0 or 1 (nominal), (c − k)² (interval) or ((c − k)/(c + k))² (ratio). On an ordinal scale it
    counts the squared number of ratings between them, with the ends counted half (Krippendorff 2011). Other
    metrics than nominal need numbers as values: InputError. UsageError for another metric.
    """
    if not counts.rated_twice:
        return NotEstimable(ALONE)
    coincidences = counts.coincidences
    totals = coincidences.sum(axis=0)
    distance = _distance(counts.values, totals, metric)
    expected = float(totals @ distance @ totals) / (totals.sum() - 1)
    if expected == 0:
        return NotEstimable(ALIKE)
    return float(1 - (coincidences * distance).sum() / expected)


def fleiss_kappa(counts: Tally) -> float | NotEstimable:
    """Fleiss' κ = (p − e)/(1 − e): p the percentage agreement, e = Σ π² from the mean share π of each value.

    For stimuli with unequal numbers of ratings it is Gwet's generalisation (2014): single ratings count for
    π.
    """
    shares = _mean_shares(counts)
    return _beyond_chance(counts, float(np.square(shares).sum()))


def gwet_ac1(counts: Tally) -> float | NotEstimable:
    """Gwet's AC1 = (p − e)/(1 − e) with e = Σ π(1 − π)/(q − 1) for a scale of q values (Gwet 2008).

    It keeps its meaning where nearly all ratings are one value and κ falls to 0. The scale needs two values.
    """
    values = len(counts.values)
    if values < 2:
        return NotEstimable("all ratings are the same value, and no scale names another")
    shares = _mean_shares(counts)
    return _beyond_chance(counts, float((shares * (1 - shares)).sum()) / (values - 1))


def bootstrap_agreement(
    counts: Tally, coefficient: Coefficient, *, seed: int, replicates: int = 2000, level: float = 0.95
) -> AgreementInterval | NotEstimable:
    """A percentile interval of any of the coefficients above, by resampling stimuli with all their ratings.

    Replicates in which the coefficient cannot be estimated are counted and left out; where they are more than
    one in twenty there is no interval. With one stimulus rated twice there is none either. The seed fixes the
    result. Raises UsageError for a wrong level or no replicates.
    """
    check_level(level)
    if replicates < 1:
        raise UsageError(f"the number of replicates is {replicates}", "Give 1 or more, for example 2,000.")
    whole = coefficient(counts)
    if isinstance(whole, NotEstimable):
        return whole
    if counts.rated_twice < 2:
        return NotEstimable("only one stimulus has two ratings")
    rng = np.random.default_rng(seed)
    parts, total = _parts(counts.counts), int(counts.stimuli.sum())
    found = []
    for _ in range(replicates):
        drawn = rng.multinomial(total, counts.stimuli / total).astype(np.float64)
        one = coefficient(_summed(counts.values, counts.counts, drawn, drawn @ parts))
        if not isinstance(one, NotEstimable):
            found.append(one)
    left_out = replicates - len(found)
    if left_out > MOST_LEFT_OUT * replicates:
        return NotEstimable(f"{left_out} of {replicates} resamples of the stimuli gave no coefficient")
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return AgreementInterval(Interval(float(low), float(high)), replicates, left_out)


def _beyond_chance(counts: Tally, chance: float) -> float | NotEstimable:
    observed = percentage_agreement(counts)
    if isinstance(observed, NotEstimable):
        return observed
    if chance >= 1:
        return NotEstimable(ALIKE)
    return (observed - chance) / (1 - chance)


def _mean_shares(counts: Tally) -> Floats:
    """The share of each value, averaged over the stimuli."""
    return np.asarray(counts.shares / counts.shares.sum())


def _parts(counts: Floats) -> Floats:
    """What one stimulus with each line of counts adds to the sums of a tally, side by side."""
    ratings = counts.sum(axis=1, keepdims=True)
    rated = ratings >= 2
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(counts.shape[1])
    coincidences = pairs.reshape(len(counts), -1) / np.where(rated, ratings - 1, 1)
    agreeing = np.einsum("ukk->u", pairs)[:, None] / np.where(rated, ratings * (ratings - 1), 1)
    return np.concatenate([coincidences, agreeing, rated, counts / ratings], axis=1)


def _summed(values: tuple[Any, ...], counts: Floats, stimuli: Floats, sums: Floats) -> Tally:
    k = len(values)
    coincidences, (agreeing, rated), shares = sums[: k * k], sums[k * k : k * k + 2], sums[k * k + 2 :]
    return Tally(
        values, coincidences.reshape(k, k), float(agreeing), round(float(rated)), shares, counts, stimuli
    )


def _distance(values: tuple[Any, ...], totals: Floats, metric: Metric) -> Floats:
    if metric == "nominal":
        return 1.0 - np.eye(len(values))
    if metric not in ("ordinal", "interval", "ratio"):
        raise UsageError(
            f"{metric!r} is not a metric of ratings", "There are: nominal, ordinal, interval, ratio."
        )
    try:
        numeric = np.array([float(value) for value in values])
    except (TypeError, ValueError) as error:
        raise InputError(f"the {metric} metric needs ratings that are numbers") from error
    one, other = numeric[:, None], numeric[None, :]
    if metric == "interval":
        return np.asarray(np.square(one - other))
    if metric == "ratio":
        if (numeric < 0).any():
            raise InputError("the ratio metric needs ratings that are not below 0")
        sums = one + other
        ratios = np.divide(one - other, sums, out=np.zeros_like(sums), where=sums > 0)
        return np.asarray(np.square(ratios))
    middle = (
        np.cumsum(totals) - totals / 2
    )  # values are in order: ratings up to the middle of each value's own
    return np.asarray(np.square(middle[:, None] - middle[None, :]))


def _ordered(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The distinct values, numbers by size and before anything else."""
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct, key=float))
    except (TypeError, ValueError):
        return tuple(sorted(distinct, key=str))
