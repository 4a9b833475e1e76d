"""Wilson's interval against values that scipy and R agree on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from humaneval.errors import InputError, UsageError
from humaneval.statistics.intervals import Interval, wilson


@pytest.mark.parametrize(
    ("x", "low", "high"),
    [
        (43, 0.356328, 0.552617),
        (39, 0.316962, 0.511046),
        (19, 0.131945, 0.291373),
        (74, 0.685586, 0.850626),
        (0, 0.0, 0.0388649),
        (95, 0.9611351, 1.0),
    ],
)
def test_wilson_gives_the_reference_values(x: int, low: float, high: float) -> None:
    assert wilson(x, 95) == pytest.approx((low, high), abs=5e-7)


def test_the_ends_are_exact_where_everybody_agrees() -> None:
    assert wilson(0, 95).low == 0.0
    assert wilson(95, 95).high == 1.0


@given(
    st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999)
)
def test_wilson_agrees_with_scipy(counts: tuple[int, int], level: float) -> None:
    x, n = counts
    theirs = binomtest(x, n).proportion_ci(confidence_level=level, method="wilson")
    assert wilson(x, n, level) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.floats(0, 1), st.floats(1e-3, 1e9), st.floats(0.01, 0.9999))
def test_wilson_with_real_counts_holds_the_share_and_stays_within_0_and_1(
    share: float, n: float, level: float
) -> None:
    interval = wilson(share * n, n, level)
    assert isinstance(interval, Interval)
    assert 0 <= interval.low <= share * n / n + 1e-12
    assert share * n / n - 1e-12 <= interval.high <= 1


def test_a_smaller_effective_number_widens_the_interval() -> None:
    low, high = wilson(20, 50)
    wide_low, wide_high = wilson(10, 25)
    assert wide_low < low < high < wide_high


@pytest.mark.parametrize(("x", "n"), [(0, 0), (1, -1), (0, float("nan")), (0, float("inf"))])
def test_no_responses_are_an_error(x: float, n: float) -> None:
    with pytest.raises(InputError, match="at least one response"):
        wilson(x, n)


@pytest.mark.parametrize("x", [-1, 96, float("nan")])
def test_a_count_outside_its_total_is_an_error(x: float) -> None:
    with pytest.raises(InputError, match="of 95 is not a share"):
        wilson(x, 95)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_outside_0_and_1_is_an_error(level: float) -> None:
    with pytest.raises(UsageError, match="not a level of confidence"):
        wilson(43, 95, level)
