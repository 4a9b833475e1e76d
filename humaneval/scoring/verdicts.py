"""When one generator is called higher than another, equivalent to it, or neither.

"Higher" needs both an adjusted p of 1 − level or less and an interval that excludes 0. "Equivalent" needs the
interval at level 2·level − 1 (two one-sided tests) within ± the declared margin.
"""

from __future__ import annotations

from typing import Literal

from humaneval.statistics.equivalence import within_margin
from humaneval.statistics.intervals import Interval

ROUNDING = 1e-12
"""A p-value so little above the error of a level is not above it."""
Verdict = Literal["a_higher", "b_higher", "equivalent", "inconclusive"]


def inner_level(level: float) -> float:
    """The level of the two-sided interval whose ends are one-sided bounds at `level`: 0.90 for 0.95."""
    return max(2 * level - 1, 1e-6)


def decide(
    interval: Interval,
    narrow: Interval,
    p: float,
    margin: float,
    level: float,
    *,
    one_sided: bool = False,
    width: float = 1.0,
) -> Verdict:
    """The verdict of a difference with its interval, that at `inner_level`, and its adjusted p.

    `one_sided`: p is that of the test whether the difference is below 0. `width` is that of the scale.
    """
    if p <= 1 - level + ROUNDING:
        if one_sided:
            return "b_higher" if narrow.high < 0 else _otherwise(narrow, margin, width)
        if interval.low > 0:
            return "a_higher"
        if interval.high < 0:
            return "b_higher"
    return _otherwise(narrow, margin, width)


def _otherwise(narrow: Interval, margin: float, width: float) -> Verdict:
    shares = Interval(narrow.low / width, narrow.high / width)
    return "equivalent" if margin and within_margin(shares, margin / width) else "inconclusive"
