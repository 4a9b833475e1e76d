"""How sure a mean is, and the difference of two, where workers and stories recur: ratings, points, shares
with halves."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Flags, Floats, NotEstimable, check_level, numbers
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.two_way import TwoWay, t_quantile, two_way, z_quantile

PLAIN = "t"
CLUSTERED = "t, two-way clustered"
BY_SCALE = "wilson, of the place on the scale"
BY_SCALE_CLUSTERED = "wilson, of the place on the scale, clustered"
ROUNDING = 1e-18
"""A variance below so much of that of unrelated values is 0."""
ALIKE = "All values are alike and show no spread; the interval is that of the widest spread on the scale."


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean with its standard error and interval, and how they were made."""

    n: int
    workers: int
    stories: int
    mean: float
    standard_error: float | NotEstimable
    interval: Interval | NotEstimable
    method: str
    freedom: float
    """Degrees of freedom of the t quantile: fewest effective clusters − 1."""
    design_effect: float
    """Variance over that of unrelated values: at least 1."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """One mean less another, with its standard error and interval."""

    difference: float
    standard_error: float | NotEstimable
    interval: Interval | NotEstimable
    freedom: float
    note: str = ""


def mean_interval(
    values: ArrayLike,
    workers: ArrayLike,
    stories: ArrayLike,
    level: float = 0.95,
    *,
    scale: Interval | None = None,
) -> MeanInterval:
    """The mean ± t standard errors, three columns of one length.

    The variance is V_worker + V_story − V_both (see `statistics.two_way`), but never below s²/n, that of
    unrelated values. The t distribution has (fewest effective clusters − 1) degrees of freedom, as in
    `statistics.score_intervals`. Where each worker and each story occurs once, this is Student's interval.

    `scale` gives the lowest and the highest possible value. The ends of the interval never leave it. Where
    all values are alike nothing shows their spread. Then the interval is Wilson's of the mean's place on the
    scale: no spread is wider than that of values at both ends. Without a scale there is none.

    With one worker, or one story, the error is not estimable. Raises InputError if lengths differ, nothing is
    given, or a value is not finite or not on the scale, UsageError for a wrong level.

    >>> found = mean_interval([1, 2, 3, 4], ["ann", "bob", "cat", "dan"], [1, 2, 3, 4])
    >>> found.mean, round(found.standard_error, 4), [round(end, 4) for end in found.interval]
    (2.5, 0.6455, [0.4457, 4.5543])
    """
    check_level(level)
    y = numbers(values, "values")
    by = two_way(workers, stories, y.size)
    if scale is not None and (y.min() < scale.low or y.max() > scale.high):
        raise InputError(f"values lie outside the scale from {scale.low:g} to {scale.high:g}")
    n, mean, freedom = y.size, float(y.mean()), by.freedom()
    plain = float(np.square(y - mean).sum()) / (n * max(n - 1, 1))
    method, note = PLAIN if by.once else CLUSTERED, ""
    error: float | NotEstimable
    interval: Interval | NotEstimable
    effect = 1.0
    if reason := _single(by):
        error = interval = NotEstimable(reason)
        effect = float(n)
    elif not y.max() > y.min():
        error = 0.0
        interval = NotEstimable("all values are alike")
        if scale is not None:
            method, note, interval = BY_SCALE, ALIKE, _on_scale(mean, n, scale, level)
    else:
        clustered = float(by.meat((y - mean)[:, None])[0, 0]) / n**2
        effect = max(1.0, clustered / plain)
        error = sqrt(plain * effect)
        interval = _around(mean, t_quantile(freedom, level) * error, scale)
    return MeanInterval(n, by.workers, by.stories, mean, error, interval, method, freedom, effect, note)


def wilson_on_scale(
    mean: float, error: float, scale: Interval, level: float, freedom: float | None = None
) -> Interval:
    """Wilson's interval of the mean's place p on the scale, at n_e = p(1 − p)/V, with V its squared error.

    With `freedom` it is at n_e·z²/t². It never leaves the scale; far from its ends it is mean ± t errors.
    """
    width = scale.high - scale.low
    place = (mean - scale.low) / width
    n = place * (1.0 - place) * (width / error) ** 2
    if freedom is not None:
        n *= (z_quantile(level) / t_quantile(freedom, level)) ** 2
    ends = wilson(place * n, n, level)
    return Interval(scale.low + width * ends.low, scale.low + width * ends.high)


def mean_difference(
    values: ArrayLike, first: ArrayLike, workers: ArrayLike, stories: ArrayLike, level: float = 0.95
) -> MeanDifference:
    """The mean of the values that are `first` less the mean of the others, in the same columns.

    Clusters reach across both: what a worker's or a story's values have in common cancels. The variance is
    never below half of the least of three: clustered by worker, by story, and not at all. Where it is 0, as
    all differences are alike, there is no interval. Errors as for `mean_interval`, and InputError if all
    values are on one side.
    """
    check_level(level)
    y = numbers(values, "values")
    mine: Flags = np.asarray(first, dtype=np.bool_)
    by = two_way(workers, stories, y.size)
    if mine.shape != y.shape or mine.all() or not mine.any():
        raise InputError("a difference of means needs values on both sides")
    n_first, n_second = int(mine.sum()), int((~mine).sum())
    means = float(y[mine].mean()), float(y[~mine].mean())
    residuals = np.where(mine, (y - means[0]) / n_first, (means[1] - y) / n_second)
    weights = np.where(mine, 1.0 / n_first, 1.0 / n_second)
    freedom, difference = by.freedom(weights), means[0] - means[1]
    if reason := _single(by):
        unknown = NotEstimable(reason)
        return MeanDifference(difference, unknown, unknown, freedom)
    if not np.abs(residuals).max() > 0.0:
        alike = NotEstimable("all values of each side are alike")
        return MeanDifference(difference, 0.0, alike, freedom)
    alone = [float(_one_way(residuals, codes)) for codes in (by.worker, by.story, by.both)]
    variance = max(float(by.meat(residuals[:, None], weights)[0, 0]), min(alone) / 2.0)
    if variance <= ROUNDING * float(residuals @ residuals):
        alike = NotEstimable("the differences of all workers or of all stories are alike")
        return MeanDifference(difference, 0.0, alike, freedom)
    error = sqrt(variance)
    reach = t_quantile(freedom, level) * error
    return MeanDifference(difference, error, Interval(difference - reach, difference + reach), freedom)


def _single(by: TwoWay) -> str:
    """Why there is no error; empty if there is one."""
    if by.worker.size == 1:
        return "there is a single value"
    if by.workers == 1:
        return "there is a single worker"
    return "there is a single story" if by.stories == 1 else ""


def _around(mean: float, reach: float, scale: Interval | None) -> Interval:
    low, high = mean - reach, mean + reach
    return Interval(low, high) if scale is None else Interval(max(low, scale.low), min(high, scale.high))


def _on_scale(mean: float, n: int, scale: Interval, level: float) -> Interval:
    width = scale.high - scale.low
    if width <= 0.0:
        return Interval(mean, mean)
    share = min(max((mean - scale.low) / width, 0.0), 1.0)
    ends = wilson(share * n, n, level)
    return Interval(scale.low + width * ends.low, scale.low + width * ends.high)


def _one_way(residuals: Floats, codes: Codes) -> float:
    return float(np.square(np.bincount(codes, residuals)).sum())
