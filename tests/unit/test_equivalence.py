"""Equivalence: as near as the margin, or not known to be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.statistics.equivalence import (
    equivalence,
    equivalence_of_counts,
    non_inferiority,
    within_margin,
)
from humaneval.statistics.intervals import Interval

QUICK = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize(
    ("x1", "x2", "p"),  # statsmodels 0.15.0, tost_proportions_2indep(method="agresti-caffo")
    [(43, 39, 0.20422075422), (74, 43, 0.99955697406), (28, 19, 0.45369392102)],
)
def test_counts_give_the_p_value_of_statsmodels(x1: int, x2: int, p: float) -> None:
    assert equivalence_of_counts(x1, 95, x2, 95, 0.1).p == pytest.approx(p, abs=1e-10)


@QUICK
@given(st.floats(-0.5, 0.5), st.floats(1e-3, 0.3), st.floats(0.01, 0.5))
def test_the_interval_and_the_test_agree(difference: float, error: float, margin: float) -> None:
    result = equivalence(difference, error, margin)
    if abs(result.p - 0.05) > 1e-9:
        assert result.equivalent == within_margin(result.interval, margin) == (result.p < 0.05)
    mirrored = equivalence(-difference, error, margin)
    assert (mirrored.p_below, mirrored.p_above) == pytest.approx((result.p_above, result.p_below))
    assert non_inferiority(difference, error, margin) == result.p_below


def test_the_interval_of_a_test_at_5_percent_has_90_percent() -> None:
    assert equivalence(0, 1 / 1.6448536269514722, 0.9).interval == pytest.approx((-1, 1))


def test_without_any_error_the_margin_decides() -> None:
    assert equivalence(0.05, 0, 0.1).p == 0
    assert equivalence(0.2, 0, 0.1).p == 1
    assert not equivalence(0.1, 0, 0.1).equivalent


def test_all_right_and_all_wrong_still_have_an_error() -> None:
    assert equivalence_of_counts(95, 95, 95, 95, 0.1).equivalent
    assert equivalence_of_counts(95, 95, 95, 95, 0.1).standard_error > 0
    assert not equivalence_of_counts(3, 3, 3, 3, 0.1).equivalent
    assert equivalence_of_counts(95, 95, 0, 95, 0.1).p == pytest.approx(1)


def test_within_the_margin_is_strictly_within() -> None:
    assert within_margin(Interval(-0.09, 0.09), 0.1)
    assert not within_margin(Interval(-0.1, 0.09), 0.1)
    assert not within_margin(Interval(-0.09, 0.11), 0.1)


def test_what_makes_no_sense_is_refused() -> None:
    for margin in (0, -0.1, 10, float("nan")):
        with pytest.raises(UsageError, match="not a margin of equivalence"):
            equivalence(0.0, 0.1, margin)
    with pytest.raises(InputError, match="is not a difference of scores"):
        equivalence(float("nan"), 0.1, 0.1)
    with pytest.raises(InputError, match="is not a difference of scores"):
        equivalence(0.1, -1, 0.1)
    with pytest.raises(InputError, match="is not an interval of a difference"):
        within_margin(Interval(float("nan"), 0.1), 0.1)
    with pytest.raises(InputError, match="11 of 10 is not a share"):
        equivalence_of_counts(11, 10, 5, 10, 0.1)
    with pytest.raises(UsageError, match="not a level"):
        equivalence(0.1, 0.1, 0.1, level=95)
