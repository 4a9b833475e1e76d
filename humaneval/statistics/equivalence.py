"""Whether a generator is as good as Human, or two as good as each other: equivalence within a margin set
beforehand.

That no difference was found is no evidence that there is none. These tests turn the question round: the null
is a difference as large as the margin, and rejecting it says that the difference is smaller.
"""

from __future__ import annotations

from math import inf, isfinite, sqrt
from statistics import NormalDist
from typing import NamedTuple

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import check_counts, check_level, check_share
from humaneval.statistics.intervals import Interval
from humaneval.statistics.two_samples import normal_p


class Equivalence(NamedTuple):
    """Two one-sided tests of a difference against ±margin; `p` is the larger of the two.

    `interval` has the level 1 − 2·(1 − level): it lies within the margin exactly where p is below 1 − level.
    """

    difference: float
    standard_error: float
    margin: float
    p_below: float
    """Against the null that the difference is −margin or less."""
    p_above: float
    """Against the null that the difference is +margin or more."""
    interval: Interval
    equivalent: bool

    @property
    def p(self) -> float:
        """The p-value of equivalence."""
        return max(self.p_below, self.p_above)


def equivalence(difference: float, standard_error: float, margin: float, level: float = 0.95) -> Equivalence:
    """Two one-sided tests (TOST) from an estimated difference and its standard error, both in shares.

    p_below = 1 − Φ((d + margin)/se), p_above = Φ((d − margin)/se) (Schuirmann 1987). The standard error may
    come from paired or clustered data. Raises InputError unless d is finite and se is finite and not below 0,
    UsageError unless 0 < margin <= 1 and 0 < level < 1.

    >>> round(equivalence(0.04, 0.02, 0.1).p, 5)
    0.00135
    """
    check_level(level)
    _check_margin(margin)
    if not isfinite(difference) or not (isfinite(standard_error) and standard_error >= 0):
        raise InputError(
            f"{difference:g} with standard error {standard_error:g} is not a difference of scores"
        )
    p_below = normal_p(_ratio(difference + margin, standard_error), "greater")
    p_above = normal_p(_ratio(difference - margin, standard_error), "less")
    reach = NormalDist().inv_cdf(level) * standard_error
    return Equivalence(
        difference,
        standard_error,
        margin,
        p_below,
        p_above,
        Interval(difference - reach, difference + reach),
        max(p_below, p_above) < 1 - level,
    )


def equivalence_of_counts(
    x1: int, n1: int, x2: int, n2: int, margin: float, level: float = 0.95
) -> Equivalence:
    """Two one-sided tests from the counts of two unpaired scores, `x1/n1` − `x2/n2`.

    Difference and standard error are those of Agresti and Caffo (2000), a success and a failure added to
    either side, so that all right or all wrong still has an error. Raises InputError unless 0 <= x <= n, n >
    0 and whole.

    >>> round(equivalence_of_counts(43, 95, 39, 95, margin=0.1).p, 2)
    0.2
    """
    check_counts(x1=x1, n1=n1, x2=x2, n2=n2)
    check_share(x1, n1)
    check_share(x2, n2)
    p1, p2 = (x1 + 1) / (n1 + 2), (x2 + 1) / (n2 + 2)
    error = sqrt(p1 * (1 - p1) / (n1 + 2) + p2 * (1 - p2) / (n2 + 2))
    return equivalence(p1 - p2, error, margin, level)


def non_inferiority(difference: float, standard_error: float, margin: float) -> float:
    """The p-value against the null that the first score is lower than the second by `margin` or more.

    For "not worse than Human by more than the margin": the difference is generator − Human. Errors as for
    `equivalence`.

    >>> round(non_inferiority(-0.02, 0.04, 0.1), 5)
    0.02275
    """
    return equivalence(difference, standard_error, margin).p_below


def within_margin(interval: Interval, margin: float) -> bool:
    """Whether an interval of a difference lies strictly within ±margin.

    For a test at 5 % give the 90 % interval, of whatever method: Newcombe's, Bonett and Price's, a
    bootstrap's. The 95 % interval is the more cautious reading. Raises InputError if an end is no number,
    UsageError for a margin outside 0..1.
    """
    _check_margin(margin)
    if not (isfinite(interval.low) and isfinite(interval.high)):
        raise InputError(f"{interval.low:g} to {interval.high:g} is not an interval of a difference")
    return -margin < interval.low and interval.high < margin


def _ratio(gap: float, error: float) -> float:
    if error:
        return gap / error
    return inf if gap > 0 else -inf if gap < 0 else 0.0


def _check_margin(margin: float) -> None:
    if not 0 < margin <= 1:
        raise UsageError(
            f"{margin:g} is not a margin of equivalence",
            "Give the largest difference in scores that would not matter, for example 0.1.",
        )
