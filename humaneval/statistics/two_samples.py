"""Two scores from different annotators, compared from their counts: z, χ², Newcombe's interval.

For scores whose responses are not paired and each come from another worker and story. Where the same
annotators judged both generators, `paired` asks the sharper question.
"""

from __future__ import annotations

from math import sqrt
from typing import Literal, NamedTuple, TypeAlias

from scipy.special import chdtrc, ndtr

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import check_counts, check_share
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


def chi_square(x1: int, n1: int, x2: int, n2: int) -> Significance:
    """Pearson's χ² test of two shares, two-sided, without continuity correction.

    χ² = N·(ad − bc)² / (n1·n2·(a + c)(b + d)). Where all responses of both are alike the statistic is 0 and
    p is 1. Errors as for `z_test`.

    >>> round(chi_square(43, 95, 39, 95).p, 6)
    0.557948
    """
    _check(x1, n1, x2, n2)
    total, successes = n1 + n2, x1 + x2
    if successes in (0, total):
        return Significance(0.0, 1, 1.0)
    gap = float(x1 * (n2 - x2) - x2 * (n1 - x1))
    statistic = total * gap**2 / (float(n1) * n2 * successes * (total - successes))
    return Significance(statistic, 1, float(chdtrc(1, statistic)))


def newcombe(x1: int, n1: int, x2: int, n2: int, level: float = 0.95) -> Interval:
    """Newcombe's interval of the difference of two unpaired shares, p1 − p2, from their Wilson intervals.

    It runs from p1 − p2 − √((p1 − l1)² + (u2 − p2)²) to p1 − p2 + √((u1 − p1)² + (p2 − l2)²), where l and u
    are the Wilson ends (Newcombe 1998, method 10 for independent proportions). Ends lie in −1..1. Errors as
    for `wilson`.

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
