"""Two effects of a fitted model compared, and a model compared with a simpler one."""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, inf, isinf, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from humaneval.errors import UsageError
from humaneval.statistics.arrays import Floats, check_level
from humaneval.statistics.intervals import Interval
from humaneval.statistics.two_way import t_quantile


class Contrast(NamedTuple):
    """Effect of `a` minus effect of `b` on the logit, with Wald's standard error, z, two-sided p and
    interval."""

    a: Any
    b: Any
    estimate: float
    standard_error: float
    z: float
    p: float
    interval: Interval


class LikelihoodRatio(NamedTuple):
    """Twice the difference of log likelihoods, and its p by χ² with `degrees` of freedom."""

    statistic: float
    degrees: int
    p: float


def wald(
    a: Any, b: Any, estimate: float, error: float, level: float = 0.95, freedom: float = inf
) -> Contrast:
    """The comparison of two effects; `freedom` is that of t, and infinite for the normal distribution."""
    check_level(level)
    z = estimate / error if error else 0.0
    if isinf(freedom):
        p = erfc(abs(z) / sqrt(2.0))
        reach = float(special.ndtri((1.0 + level) / 2.0)) * error
    else:
        p = min(1.0, 2.0 * float(special.stdtr(freedom, -abs(z))))
        reach = t_quantile(freedom, level) * error
    return Contrast(a, b, estimate, error, z, p, Interval(estimate - reach, estimate + reach))


def difference_of(names: Sequence[Any], a: Any, b: Any) -> Floats:
    """What the effects of `names` are multiplied by for that of `a` less that of `b`. Raises UsageError."""
    along = np.zeros(len(names))
    for name, sign in ((a, 1.0), (b, -1.0)):
        if name not in names:
            raise UsageError(f"no generator is called {name!r}", f"There are: {', '.join(map(str, names))}.")
        along[list(names).index(name)] += sign
    return along


def likelihood_ratio(full: float, restricted: float, degrees: int) -> LikelihoodRatio:
    """From the log likelihoods of a model and of a simpler one with `degrees` fewer parameters."""
    statistic = max(0.0, 2.0 * (full - restricted))
    return LikelihoodRatio(statistic, degrees, float(special.chdtrc(degrees, statistic)))
