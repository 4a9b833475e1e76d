"""Generators judged by the same annotators, compared within them: McNemar, Cochran's Q, intervals of the
difference."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, chdtrc

from humaneval.errors import InputError
from humaneval.statistics.arrays import (
    NotEstimable,
    check_counts,
    check_level,
    same_length,
    zeros_and_ones,
)
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.two_samples import Alternative, Significance, check_alternative


class Pairs(NamedTuple):
    """How often both outcomes were 1, the first only, the second only, neither: a, b, c, d of the 2 × 2
    table."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return sum(self)

    @property
    def difference(self) -> float:
        """First share minus second, in −1..1."""
        return (self.first_only - self.second_only) / self.n


def pairs(first: ArrayLike, second: ArrayLike) -> Pairs:
    """Count pairs of outcomes (0 or 1); entry i of both columns belongs to one annotator.

    Raises InputError if the lengths differ, nothing is given, or an outcome is neither 0 nor 1.

    >>> pairs([1, 1, 0, 0], [1, 0, 0, 0])
    Pairs(both=1, first_only=1, second_only=0, neither=2)
    """
    one, two = zeros_and_ones(first, "first outcomes"), zeros_and_ones(second, "second outcomes")
    same_length(first=one, second=two)
    counts = np.bincount((3 - 2 * one - two).astype(np.int64), minlength=4)
    return Pairs(*(int(count) for count in counts))


def mcnemar_exact(first_only: int, second_only: int, alternative: Alternative = "two-sided") -> float:
    """The p-value of McNemar's exact test: discordant pairs fall on either side with odds of one half.

    Two-sided 2·P(Bin(b + c, ½) <= min(b, c)), at most 1; "greater" asks whether the first share is the higher
    one. Without discordant pairs p is 1. It is the same as flipping signs within annotators. Being discrete
    it rejects less often than its level says. Raises InputError unless the counts are whole numbers from 0.

    >>> mcnemar_exact(4, 0), round(mcnemar_exact(25, 21), 6)
    (0.125, 0.658738)
    """
    b, c = _discordant(first_only, second_only, alternative)
    if alternative == "two-sided":
        return min(1.0, 2.0 * _half(min(b, c), b + c))
    return _half(c, b + c) if alternative == "greater" else _half(b, b + c)


def mcnemar_mid_p(first_only: int, second_only: int, alternative: Alternative = "two-sided") -> float:
    """McNemar's exact test with half the probability of the result found taken off each tail (Lancaster's
    mid-p).

    It keeps near its level where the exact test is cautious, but may exceed it a little (Fagerland et al.
    2013). Arguments and errors as for `mcnemar_exact`.

    >>> mcnemar_mid_p(4, 0)
    0.0625
    """
    b, c = _discordant(first_only, second_only, alternative)
    if alternative == "two-sided":
        return min(1.0, 2.0 * _half_mid(min(b, c), b + c))
    return _half_mid(c, b + c) if alternative == "greater" else _half_mid(b, b + c)


def mcnemar_chi_square(first_only: int, second_only: int, *, continuity: bool = False) -> Significance:
    """McNemar's χ² test, (|b − c| − k)²/(b + c) with k = 1 if `continuity`, else 0. For many pairs.

    Without discordant pairs the statistic is 0 and p is 1. Errors as for `mcnemar_exact`.

    >>> round(mcnemar_chi_square(25, 21).p, 6)
    0.555346
    """
    b, c = _discordant(first_only, second_only, "two-sided")
    if b + c == 0:
        return Significance(0.0, 1, 1.0)
    statistic = max(0, abs(b - c) - int(continuity)) ** 2 / (b + c)
    return Significance(statistic, 1, float(chdtrc(1, statistic)))


def bonett_price(first_only: int, second_only: int, n: int, level: float = 0.95) -> Interval:
    """The Bonett–Price interval of a paired difference, first share minus second, of `n` pairs.

    With p12 = (b + 1)/(n + 2), p21 = (c + 1)/(n + 2) and d = p12 − p21 it is d ± z·√((p12 + p21 − d²)/(n +
    2)), cut at −1 and 1 (Bonett and Price 2012). Raises InputError unless b + c <= n and n > 0, UsageError
    for a wrong level.

    >>> [round(end, 6) for end in bonett_price(25, 21, 95)]
    [-0.098512, 0.180986]
    """
    check_level(level)
    b, c = _discordant(first_only, second_only, "two-sided")
    check_counts(n=n)
    if n == 0 or b + c > n:
        raise InputError(f"{b} and {c} discordant pairs of {n} do not form a table")
    return bonett_price_at((b - c) / n, (b + c) / n, n, NormalDist().inv_cdf((1.0 + level) / 2.0))


def bonett_price_at(difference: float, discordant: float, n: float, quantile: float) -> Interval:
    """The same from shares of `n` pairs, which need not be whole, with any quantile in the place of z."""
    centre, share = n * difference / (n + 2.0), (n * discordant + 2.0) / (n + 2.0)
    reach = quantile * sqrt(max(share - centre * centre, 0.0) / (n + 2.0))
    return Interval(max(-1.0, centre - reach), min(1.0, centre + reach))


def newcombe_paired(table: Pairs, level: float = 0.95) -> Interval:
    """Newcombe's interval of a paired difference, first share minus second, from two Wilson intervals.

    The unpaired interval's roots with −2φ times the product of their parts, φ the correlation of the pairs,
    whose numerator ad − bc is lowered by n/2, not below 0, where it is positive (Newcombe 1998, method 10 for
    paired proportions). Raises InputError if the table is empty or holds no counts, UsageError for a wrong
    level.

    >>> [round(end, 4) for end in newcombe_paired(Pairs(1, 1, 7, 12))]
    [-0.5069, -0.0256]
    """
    a, b, c, d = table
    check_counts(both=a, first_only=b, second_only=c, neither=d)
    n = a + b + c + d
    if n == 0:
        raise InputError("a comparison needs at least one pair")
    p1, p2 = (a + b) / n, (a + c) / n
    (low1, high1), (low2, high2) = wilson(a + b, n, level), wilson(a + c, n, level)
    margins = float(a + b) * (c + d) * (a + c) * (b + d)
    moment = a * d - b * c
    phi = (max(0.0, moment - n / 2) if moment > 0 else moment) / sqrt(margins) if margins else 0.0

    def root(one: float, two: float) -> float:
        return sqrt(max(0.0, one**2 - 2 * phi * one * two + two**2))

    difference = (b - c) / n
    return Interval(
        max(-1.0, difference - root(p1 - low1, high2 - p2)),
        min(1.0, difference + root(high1 - p1, p2 - low2)),
    )


def cochran_q(outcomes: ArrayLike) -> Significance | NotEstimable:
    """Cochran's Q: whether any of k generators differ, from an n × k table of outcomes (0 or 1), one line an
    annotator.

    Q = (k−1)(k·ΣG² − T²)/(kT − ΣL²) with G the column sums, L the row sums and T the total; χ² with k − 1
    degrees of freedom (Cochran 1950). For two generators it is McNemar's χ². Not estimable where every
    annotator's outcomes are all alike. Raises InputError unless the table has two columns or more, a row, and
    holds zeros and ones.

    >>> round(cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]).statistic, 6)
    4.5
    """
    table = zeros_and_ones(outcomes, "outcomes")
    if table.ndim != 2 or table.shape[0] == 0 or table.shape[1] < 2:
        raise InputError(
            "Cochran's Q needs a table with a row for each annotator and at least two generators"
        )
    k = table.shape[1]
    by_generator, by_annotator = table.sum(axis=0), table.sum(axis=1)
    total = float(table.sum())
    within = k * total - float(np.square(by_annotator).sum())
    if within == 0:
        return NotEstimable("no annotator judged the generators differently")
    statistic = (k - 1) * (k * float(np.square(by_generator).sum()) - total**2) / within
    return Significance(statistic, k - 1, float(chdtrc(k - 1, statistic)))


def _discordant(first_only: int, second_only: int, alternative: Alternative) -> tuple[int, int]:
    check_alternative(alternative)
    check_counts(first_only=first_only, second_only=second_only)
    return int(first_only), int(second_only)


def _half(k: int, n: int) -> float:
    """P(Bin(n, ½) <= k)."""
    return float(bdtr(k, n, 0.5)) if n else 1.0


def _half_mid(k: int, n: int) -> float:
    below = float(bdtr(k - 1, n, 0.5)) if k > 0 else 0.0
    return (below + _half(k, n)) / 2 if n else 0.5
