"""How sure a share is: the Wilson interval, also for an effective number of responses."""

from __future__ import annotations

from math import isfinite, sqrt
from statistics import NormalDist
from typing import NamedTuple

from humaneval.errors import InputError, UsageError


class Interval(NamedTuple):
    """Two ends of an interval; for shares both lie in 0..1 and `low <= high`."""

    low: float
    high: float


def wilson(x: float, n: float, level: float = 0.95) -> Interval:
    """The Wilson score interval of the share `x/n`, without continuity correction.

    With p = x/n and z the normal quantile at (1 + level)/2, its ends are
    (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n) (Wilson 1927; recommended by Brown, Cai and DasGupta 2001).
    `x` and `n` may be real numbers: with clustered responses n is the effective number and x the same share of it.
    The ends never leave 0..1; at x = 0 the lower end is exactly 0, at x = n the upper end exactly 1.

    Raises InputError unless n > 0 and 0 <= x <= n, UsageError unless 0 < level < 1.

    >>> [round(end, 6) for end in wilson(43, 95)]
    [0.356328, 0.552617]
    """
    if not 0.0 < level < 1.0:
        raise UsageError(
            f"{level} is not a level of confidence", "Give a share between 0 and 1, for example 0.95."
        )
    if not (isfinite(n) and n > 0):
        raise InputError(f"An interval needs at least one response, not {n:g}")
    if not 0 <= x <= n:
        raise InputError(f"{x:g} of {n:g} is not a share: it lies outside 0..1")
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    share = x / n
    centre = share + z * z / (2.0 * n)
    reach = z * sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))
    scale = 1.0 + z * z / n
    low = 0.0 if x == 0 else max(0.0, (centre - reach) / scale)
    high = 1.0 if x == n else min(1.0, (centre + reach) / scale)
    return Interval(low, high)
