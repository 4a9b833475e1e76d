"""Power and detectable differences for comparisons of two scores.

For two different sets of annotators: the normal approximation of R's power.prop.test. For the same
annotators: the exact power of McNemar's mid-p test. The far tail is left out, as is usual: finding the wrong
one higher does not count as finding the difference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil, floor, inf, log, sqrt
from statistics import NormalDist

import numpy as np
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrik, expit, gammaln, xlogy

from humaneval.errors import UsageError
from humaneval.statistics.arrays import Floats
from humaneval.statistics.intervals import wilson
from humaneval.statistics.paired_tests import FEW

NORMAL = NormalDist()
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
"""For integrals over a standard normal variable."""
MOST_SPREAD = 5.0
"""The largest standard deviation of annotators on the logit scale: beyond it each gives only one answer."""
COUNTABLE = 20_000
"""With more pairs, Connor's approximation is as good, and the exact power is slow."""


def power_unpaired(a: float, b: float, n: float, alpha: float = 0.05) -> float:
    """The power of the two-sided test of scores `a` and `b`, each of `n` responses by different annotators.

    Φ((√n·|a − b| − z·√(2·m·(1 − m))) / √(a(1 − a) + b(1 − b))), m the mean of both.

    >>> round(power_unpaired(0.45, 0.41, 1000), 4)
    0.439
    """
    _check(a, b, alpha)
    mean, spread = (a + b) / 2, sqrt(a * (1 - a) + b * (1 - b))
    critical = NORMAL.inv_cdf(1 - alpha / 2) * sqrt(2 * mean * (1 - mean))
    return _tail(sqrt(n) * abs(a - b) - critical, spread)


def power_exact(
    share: float,
    difference: float,
    n: float,
    error: float = 0.05,
    *,
    one_sided: bool = False,
    reach: float = 0.0,
) -> float:
    """The probability that McNemar's test finds the higher of two scores if `n` annotators judge both.

    `share` is the discordance, `difference` that of the scores, 0 or more. Of n pairs, Bin(n, share) differ,
    and of these Bin(·, (share + difference) / (2 share)) favour the higher score. It is found if p is `error`
    or less and the Bonett–Price interval of `reach` standard errors excludes 0 (`reach` 0: no such interval
    is required). p is the mid-p, with few annotators the exact p, as in reports. Between whole numbers, n is
    interpolated.

    >>> round(power_exact(0.5, 0.1, 38), 3)
    0.129
    """
    if not 0 <= difference <= share <= 1 or n < 0:
        raise UsageError(
            f"a difference of {difference:g} is impossible with {share:g} of {n:g} pairs discordant",
            "Shares lie between 0 and 1.",
        )
    low = floor(n)
    found = _exactly(share, difference, low, error, one_sided, reach)
    if low == n:
        return found
    return found + (n - low) * (_exactly(share, difference, low + 1, error, one_sided, reach) - found)


def _exactly(share: float, difference: float, n: int, error: float, one_sided: bool, reach: float) -> float:
    if not n or not share:
        return 0.0
    spread = sqrt(n * share * (1 - share))
    m = np.arange(
        max(1, floor(n * share - 9 * spread)), min(n, ceil(n * share + 9 * spread)) + 1, dtype=np.float64
    )
    odds = np.exp(
        gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1) + xlogy(m, share) + xlogy(n - m, 1 - share)
    )
    most = _most_against(m, error if one_sided else error / 2, mid=n >= FEW)
    # Bonett and Price's interval excludes 0 if d exceeds reach·√(share'/(n + 2 + reach²)), share' = (m +
    # 2)/(n + 2).
    least = reach * np.sqrt((m + 2) * (n + 2) / (n + 2 + reach**2))
    most = np.minimum(most, np.ceil((m - least) / 2) - 1)
    lost = (share - difference) / (2 * share)
    return float((odds * np.where(most >= 0, bdtr(np.maximum(most, 0), m.astype(np.int64), lost), 0.0)).sum())


def _most_against(m: Floats, tail: float, *, mid: bool) -> Floats:
    """How many of m discordant pairs may go against the higher score with P(Bin(m, ½) ≤ as many) ≤ `tail`
    (`mid`: as many counted by half); −1: none."""
    return _critical(tail, 1 << int(m.max()).bit_length(), mid)[m.astype(np.int64)]


@cache
def _critical(tail: float, size: int, mid: bool) -> Floats:
    m = np.arange(1, size, dtype=np.float64)
    most = np.ceil(np.nan_to_num(bdtrik(tail, m, 0.5), nan=-1.0)) + 1
    while (over := _lower_tail(most, m, mid) > tail * (1 + 1e-12)).any():
        most = most - over
    return np.concatenate(([-1.0], most))


def _lower_tail(most: Floats, m: Floats, mid: bool) -> Floats:
    """P(Bin(m, ½) ≤ most); 0 below 0."""
    up_to, below = (
        np.where(k >= 0, bdtr(np.clip(k, 0, m), m.astype(np.int64), 0.5), 0.0) for k in (most, most - 1)
    )
    return np.asarray((up_to + below) / 2 if mid else up_to)


def detectable(power_at: Callable[[float], float], score: float, power: float = 0.8) -> float | None:
    """The smallest difference above `score` that `power_at(other score)` finds with `power`; None if 1 is too
    close.

    0 if no difference at all is found this often by chance: if `power` is at most half the error.

    >>> round(0.41 + detectable(lambda b: power_unpaired(0.41, b, 95), 0.41), 4)
    0.6119
    """
    _check(score, score, power=power)
    most = 1 - 1e-9
    if power_at(most) < power:
        return None
    if power_at(score + 1e-9) >= power:
        return 0.0
    found = brentq(lambda other: power_at(other) - power, score + 1e-9, most, xtol=1e-7)
    return float(found) - score


def answers_correlation(sd: float, a: float, b: float) -> float:
    """The correlation of an annotator's answers to two generators of scores `a` and `b`; for one score twice,
    the ICC.

    `sd` is the spread of annotators on the logit scale, as mixed models give it. The correlation of two
    answers is cov(p, q) / √(a(1−a)b(1−b)), with p and q the annotator's own shares, which vary with the same
    normal deviate.

    >>> round(answers_correlation(0.54, 0.45, 0.41), 3)
    0.063
    """
    return answers_covariance(sd, a, b) / (sqrt(a * (1 - a)) * sqrt(b * (1 - b)))


def answers_covariance(sd: float, a: float, b: float) -> float:
    """The covariance of an annotator's answers to two generators; see `answers_correlation`."""
    _check(a, b)
    if not 0 <= sd < inf:
        raise UsageError(f"{sd:g} is not a standard deviation", "Give 0 or more; 0.5 is usual.")
    weights = WEIGHTS / WEIGHTS.sum()
    first, second = (expit(location(score, sd) + sd * NODES) for score in (a, b))
    return float((weights * first * second).sum()) - a * b


def sd_of_icc(icc: float, score: float) -> float:
    """The spread on the logit scale that gives answers to generators of `score` the correlation `icc`.

    >>> round(sd_of_icc(answers_correlation(0.54, 0.45, 0.45), 0.45), 6)
    0.54
    """
    if icc == 0:
        return 0.0
    if not 0 < icc < answers_correlation(MOST_SPREAD, score, score):
        raise UsageError(
            f"{icc:g} cannot be the correlation of one annotator's answers",
            "Measured values are 0.02 to 0.10.",
        )
    return float(
        brentq(lambda sd: answers_correlation(sd, score, score) - icc, 1e-6, MOST_SPREAD, xtol=1e-12)
    )


@cache
def location(score: float, sd: float) -> float:
    """The logit of the median annotator if the mean over annotators is `score`."""
    weights = WEIGHTS / WEIGHTS.sum()
    middle = log(score / (1 - score))
    reach = 1 + 4 * sd * sd + 4 * abs(middle)
    return float(
        brentq(
            lambda at: float((weights * expit(at + sd * NODES)).sum()) - score,
            middle - reach,
            middle + reach,
        )
    )


def half_width(score: float, n: float, level: float = 0.95) -> float:
    """Half the length of Wilson's interval near `score` with `n` responses.

    >>> round(half_width(0.45, 95), 3), round(half_width(0.4, 1), 3)
    (0.098, 0.444)
    """
    low, high = wilson(score * n, n, level)
    return (high - low) / 2


def _tail(distance: float, spread: float) -> float:
    if spread == 0:
        return 1.0 if distance > 0 else 0.0
    return NORMAL.cdf(distance / spread)


def _check(a: float, b: float, alpha: float = 0.05, power: float = 0.8) -> None:
    for score in (a, b):
        if not 0 < score < 1:
            raise UsageError(f"{score:g} is not a score for a plan", "Give a share between 0 and 1.")
    if not 0 < alpha < 1 or not 0 < power < 1:
        raise UsageError("alpha and power must lie between 0 and 1", "The usual values are 0.05 and 0.8.")
