"""What an hour pays at the median time of a form: one way to count for `status`, pages and reports."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from statistics import median


def median_minutes(seconds: Sequence[float]) -> float | None:
    """The median time of a form in minutes, from the seconds from opening to sending each. Those below 0 are
    left out: two clocks told them, or a file that people edited.

    >>> median_minutes([60, 90, 300, -5])
    1.5
    """
    known = [each for each in seconds if each >= 0]
    return round(median(known) / 60, 2) if known else None


def hourly_at(reward: Decimal, minutes: float | None) -> Decimal | None:
    """What an hour pays a person who takes so long for a form; None if nothing is paid, or no time is known.

    >>> hourly_at(Decimal("0.80"), 4)
    Decimal('12.00')
    """
    return (reward * 60 / Decimal(str(minutes))).quantize(Decimal("0.01")) if reward and minutes else None
