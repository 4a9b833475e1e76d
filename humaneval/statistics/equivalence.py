"""Whether a generator is as good as Human, or two as good as each other: equivalence within a margin set
beforehand.

That no difference was found is no evidence that there is none. Here the null hypothesis is a difference as
large as the margin. An interval within the margin says that the difference is smaller.
"""

from __future__ import annotations

from math import isfinite

from humaneval.errors import InputError, UsageError
from humaneval.statistics.intervals import Interval


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


def _check_margin(margin: float) -> None:
    if not 0 < margin <= 1:
        raise UsageError(
            f"{margin:g} is not a margin of equivalence",
            "Give the largest difference in scores that would not matter, for example 0.1.",
        )
