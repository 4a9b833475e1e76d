"""Equivalence: as near as the margin, or not known to be."""

from __future__ import annotations

from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.statistics.equivalence import within_margin
from humaneval.statistics.intervals import Interval
from humaneval.statistics.two_samples import normal_p

QUICK = settings(max_examples=40, deadline=None)


@QUICK
@given(st.floats(-0.5, 0.5), st.floats(1e-3, 0.3), st.floats(0.01, 0.5))
def test_a_90_percent_interval_within_the_margin_is_two_one_sided_tests_at_5_percent(
    difference: float, error: float, margin: float
) -> None:
    # Schuirmann 1987: both p-values are below .05.
    below = normal_p((difference + margin) / error, "greater")
    above = normal_p((difference - margin) / error, "less")
    reach = NormalDist().inv_cdf(0.95) * error
    if abs(max(below, above) - 0.05) > 1e-9:
        interval = Interval(difference - reach, difference + reach)
        assert within_margin(interval, margin) == (max(below, above) < 0.05)


def test_within_the_margin_is_strictly_within() -> None:
    assert within_margin(Interval(-0.09, 0.09), 0.1)
    assert not within_margin(Interval(-0.1, 0.09), 0.1)
    assert not within_margin(Interval(-0.09, 0.11), 0.1)


def test_what_makes_no_sense_is_refused() -> None:
    for margin in (0, -0.1, 10, float("nan")):
        with pytest.raises(UsageError, match="not a margin of equivalence"):
            within_margin(Interval(-0.1, 0.1), margin)
    for interval in (Interval(float("nan"), 0.1), Interval(-0.1, float("inf"))):
        with pytest.raises(InputError, match="is not an interval of a difference"):
            within_margin(interval, 0.1)
