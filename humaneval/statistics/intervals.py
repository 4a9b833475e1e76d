"""How sure a share is: Wilson, also for an effective number of responses; Clopper–Pearson; Jeffreys."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

from humaneval.statistics.arrays import check_level, check_share


class Interval(NamedTuple):
    """Two ends of an interval; for shares both lie in 0..1 and `low <= high`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MeanOutcome:
    """The mean of `n` outcomes with its interval, and how that was made. Of 0 and 1 it is a share."""

    n: int
    total: float
    workers: int
    stories: int
    interval: Interval
    method: str
    """Its name, with "n / design effect" if workers or stories recur."""
    design_effect: float
    """Of the layout and the answers, 1..n: how many related outcomes tell as much as one unrelated."""
    effective: float
    """Unrelated outcomes that would tell as much: the interval is Wilson's at this number."""
    note: str = ""
    """What the interval cannot know, in a sentence; empty if there is nothing to say."""

    @property
    def mean(self) -> float:
        return self.total / self.n


def wilson(x: float, n: float, level: float = 0.95) -> Interval:
    """The Wilson score interval of the share `x/n`, without continuity correction.

    Its ends are (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n). Here p is x/n, and z is the normal
    quantile at (1 + level)/2 (Wilson 1927; recommended by Brown, Cai and DasGupta 2001). `x` and `n` may be
    real numbers: for clustered responses, n is the effective number and x the same share of it. The ends
    never leave 0..1. At x = 0 the lower end is exactly 0, and at x = n the upper end is exactly 1.

    Raises InputError unless n > 0 and 0 <= x <= n, UsageError unless 0 < level < 1.

    >>> [round(end, 6) for end in wilson(43, 95)]
    [0.356328, 0.552617]
    """
    check_level(level)
    check_share(x, n)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    share = x / n
    centre = share + z * z / (2.0 * n)
    reach = z * sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))
    scale = 1.0 + z * z / n
    low = 0.0 if x == 0 else max(0.0, (centre - reach) / scale)
    high = 1.0 if x == n else min(1.0, (centre + reach) / scale)
    return Interval(low, high)


def clopper_pearson(x: float, n: float, level: float = 0.95) -> Interval:
    """The exact interval of the share `x/n`: it holds the true share at least as often as `level` says.

    With α = 1 − level, the lower end is the α/2 quantile of Beta(x, n − x + 1), or 0 at x = 0. The upper end
    is the 1 − α/2 quantile of Beta(x + 1, n − x), or 1 at x = n (Clopper and Pearson 1934). The guarantee
    makes it wide: prefer Wilson unless a guarantee is asked for. It holds for unrelated responses. Errors as
    for `wilson`.

    >>> [round(end, 6) for end in clopper_pearson(43, 95)]
    [0.35021, 0.558087]
    """
    check_level(level)
    check_share(x, n)
    tail = (1.0 - level) / 2.0
    low = 0.0 if x == 0 else _beta_quantile(tail, x, n - x + 1.0)
    high = 1.0 if x == n else _beta_quantile(1.0 - tail, x + 1.0, n - x)
    return Interval(low, high)


def jeffreys(x: float, n: float, level: float = 0.95) -> Interval:
    """The equal-tailed posterior interval of the share `x/n` under Jeffreys' prior Beta(½, ½).

    Its ends are quantiles of Beta(x + ½, n − x + ½). But at x = 0 the lower end is 0, and at x = n the upper
    end is 1: else the interval would miss shares at the edge (Brown, Cai and DasGupta 2001). Errors as for
    `wilson`.

    >>> [round(end, 6) for end in jeffreys(43, 95)]
    [0.355212, 0.552889]
    """
    check_level(level)
    check_share(x, n)
    tail = (1.0 - level) / 2.0
    low = 0.0 if x == 0 else _beta_quantile(tail, x + 0.5, n - x + 0.5)
    high = 1.0 if x == n else _beta_quantile(1.0 - tail, x + 0.5, n - x + 0.5)
    return Interval(low, high)


def _beta_quantile(probability: float, a: float, b: float) -> float:
    from scipy.special import betaincinv  # here, because Wilson alone should not have to wait for scipy

    return float(betaincinv(a, b, probability))
