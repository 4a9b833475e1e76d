"""Two scores from different annotators, compared from their counts: z, χ², Fisher's exact test, Newcombe's
interval.

For scores whose responses are not paired and each come from another worker and story. Where the same
annotators judged both generators, `paired` asks the sharper question.
"""

from __future__ import annotations

from math import exp, sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtrc, gammaln, logsumexp, ndtr

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Floats, NotEstimable, check_counts, check_share
from humaneval.statistics.intervals import Interval, wilson

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
"""What the test looks for in the first score against the second: any difference, a lower score, a higher
one."""


class Significance(NamedTuple):
    """A test statistic, its degrees of freedom (0 where it has none), and p in 0..1."""

    statistic: float
    degrees: int
    p: float


def z_test(x1: int, n1: int, x2: int, n2: int, alternative: Alternative = "two-sided") -> Significance:
    """The z test of two shares `x1/n1` and `x2/n2` with the pooled variance; two-sided it is χ² without
    correction.

    z = (p1 − p2) / √(p(1−p)(1/n1 + 1/n2)), p = (x1 + x2)/(n1 + n2). Where all responses of both are alike z
    is 0. Raises InputError unless the counts are whole and 0 <= x <= n, n > 0; UsageError for an unknown
    alternative.

    >>> round(z_test(45, 100, 41, 100).p, 4)
    0.5678
    """
    _check(x1, n1, x2, n2)
    pooled = (x1 + x2) / (n1 + n2)
    spread = sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    z = (x1 / n1 - x2 / n2) / spread if spread else 0.0
    return Significance(z, 0, normal_p(z, alternative))


def chi_square(x1: int, n1: int, x2: int, n2: int, *, continuity: bool = False) -> Significance:
    """Pearson's χ² test of two shares, two-sided, with Yates' continuity correction if `continuity`.

    χ² = N·(|ad − bc| − c)² / (n1·n2·(a + c)(b + d)) with c = N/2 or 0, never below 0. Where all responses of
    both are alike the statistic is 0 and p is 1. Errors as for `z_test`.

    >>> round(chi_square(43, 95, 39, 95).p, 6), round(chi_square(43, 95, 39, 95, continuity=True).p, 6)
    (0.557948, 0.660358)
    """
    _check(x1, n1, x2, n2)
    total, successes = n1 + n2, x1 + x2
    if successes in (0, total):
        return Significance(0.0, 1, 1.0)
    gap = float(abs(x1 * (n2 - x2) - x2 * (n1 - x1)))
    if continuity:
        gap = max(0.0, gap - total / 2)
    statistic = total * gap**2 / (float(n1) * n2 * successes * (total - successes))
    return Significance(statistic, 1, float(chdtrc(1, statistic)))


def fisher_exact(x1: int, n1: int, x2: int, n2: int, alternative: Alternative = "two-sided") -> float:
    """The p-value of Fisher's exact test of two shares, given both margins.

    Two-sided: the probability of all tables that are no more probable than the one found. Errors as for
    `z_test`.

    >>> round(fisher_exact(43, 95, 39, 95), 6)
    0.660485
    """
    _check(x1, n1, x2, n2)
    check_alternative(alternative)
    support, logs = _hypergeometric(n1, n2, x1 + x2)
    masses = np.exp(logs)
    if alternative == "less":
        chosen = support <= x1
    elif alternative == "greater":
        chosen = support >= x1
    else:  # tables of equal probability may differ in the last bits
        chosen = logs <= logs[x1 - int(support[0])] + 1e-7
    return min(1.0, float(masses[chosen].sum()))


def conditional_odds_ratio(x1: int, n1: int, x2: int, n2: int) -> float | NotEstimable:
    """The conditional maximum-likelihood estimate of the odds ratio, the one that belongs to Fisher's exact
    test.

    The odds ratio under which the expected count, given both margins (Fisher's noncentral hypergeometric
    distribution), is the one found. Not estimable at the edge, where it would be 0 or infinite. Errors as for
    `z_test`.

    >>> round(conditional_odds_ratio(43, 95, 39, 95), 4)
    1.1863
    """
    _check(x1, n1, x2, n2)
    support, logs = _hypergeometric(n1, n2, x1 + x2)
    if support.size == 1:
        return NotEstimable("all responses to both are alike")
    if x1 in (support[0], support[-1]):
        return NotEstimable("the odds of one of the two are 0 or infinite")

    def surplus(log_odds: float) -> float:
        weights = logs + support * log_odds
        return float((support * np.exp(weights - logsumexp(weights))).sum()) - x1

    return exp(brentq(surplus, -60.0, 60.0, xtol=1e-12))


def newcombe(x1: int, n1: int, x2: int, n2: int, level: float = 0.95) -> Interval:
    """Newcombe's interval of the difference of two unpaired shares, p1 − p2, from their Wilson intervals.

    With (l, u) the Wilson ends, p1 − p2 − √((p1 − l1)² + (u2 − p2)²) to p1 − p2 + √((u1 − p1)² + (p2 − l2)²)
    (Newcombe 1998, method 10 for independent proportions). Ends lie in −1..1. Errors as for `wilson`.

    >>> [round(end, 4) for end in newcombe(45, 100, 41, 100)]
    [-0.0957, 0.1736]
    """
    _check(x1, n1, x2, n2)
    p1, p2 = x1 / n1, x2 / n2
    (low1, high1), (low2, high2) = wilson(x1, n1, level), wilson(x2, n2, level)
    return Interval(
        max(-1.0, p1 - p2 - sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2)),
        min(1.0, p1 - p2 + sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2)),
    )


def normal_p(z: float, alternative: Alternative = "two-sided") -> float:
    """The p-value of a statistic that is standard normal under the null. UsageError for an unknown
    alternative."""
    check_alternative(alternative)
    if alternative == "less":
        return float(ndtr(z))
    if alternative == "greater":
        return float(ndtr(-z))
    return float(2.0 * ndtr(-abs(z)))


def _hypergeometric(n1: int, n2: int, successes: int) -> tuple[Floats, Floats]:
    """The possible counts of the first sample given both margins, and the logarithms of their
    probabilities."""
    support = np.arange(max(0, successes - n2), min(n1, successes) + 1, dtype=np.float64)
    logs = -(
        gammaln(support + 1)
        + gammaln(n1 - support + 1)
        + gammaln(successes - support + 1)
        + gammaln(n2 - successes + support + 1)
    )
    return support, logs - logsumexp(logs)


def _check(x1: int, n1: int, x2: int, n2: int) -> None:
    check_counts(x1=x1, n1=n1, x2=x2, n2=n2)
    for x, n in ((x1, n1), (x2, n2)):
        if n == 0:
            raise InputError("a comparison needs at least one response on either side")
        check_share(x, n)


def check_alternative(alternative: str) -> None:
    """Raise UsageError unless it is one of the three alternatives."""
    if alternative not in ("two-sided", "less", "greater"):
        raise UsageError(f"{alternative!r} is not an alternative", "There are: two-sided, less, greater.")
