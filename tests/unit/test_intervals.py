"""Intervals of a share against values that scipy and R agree on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from humaneval.errors import InputError, UsageError
from humaneval.statistics.intervals import Interval, clopper_pearson, jeffreys, wilson


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


@pytest.mark.parametrize(
    ("x", "exact", "bayes"),
    [
        (43, (0.350210, 0.558087), (0.355212, 0.552889)),
        (39, (0.310595, 0.516192), (0.315508, 0.510905)),
        (19, (0.124921, 0.294571), (0.129247, 0.288706)),
        (74, (0.682164, 0.857653), (0.687951, 0.853247)),
        (0, (0, 0.0380861), (0, 0.0260272)),
        (95, (0.9619139, 1), (0.9739728, 1)),
    ],
)
def test_the_other_two_give_the_reference_values(
    x: int, exact: tuple[float, float], bayes: tuple[float, float]
) -> None:
    assert clopper_pearson(x, 95) == pytest.approx(exact, abs=5e-7)
    assert jeffreys(x, 95) == pytest.approx(bayes, abs=5e-7)


def test_clopper_pearson_is_that_of_scipys_documentation() -> None:
    assert clopper_pearson(7, 50) == pytest.approx((0.0581917, 0.2673960), abs=5e-8)


@given(st.integers(1, 300), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_exact_interval_holds_the_other_two_or_nearly(n: int, data: st.DataObject, level: float) -> None:
    x = data.draw(st.integers(0, n))
    exact, bayes = clopper_pearson(x, n, level), jeffreys(x, n, level)
    assert exact.low <= bayes.low <= x / n <= bayes.high <= exact.high
    scipy = binomtest(x, n).proportion_ci(level, "exact")
    assert exact == pytest.approx((scipy.low, scipy.high), abs=1e-9)


@given(st.integers(1, 200), st.data())
def test_what_is_counted_as_success_only_mirrors_them(n: int, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, n))
    for interval in (clopper_pearson, jeffreys):
        here, there = interval(x, n), interval(n - x, n)
        assert here == pytest.approx((1 - there.high, 1 - there.low), abs=1e-9)


@pytest.mark.parametrize("interval", [clopper_pearson, jeffreys])
def test_the_other_two_refuse_what_wilson_refuses(interval: Callable[..., Interval]) -> None:
    for x, n in ((1, 0), (-1, 95), (96, 95), (float("nan"), 95)):
        with pytest.raises(InputError):
            interval(x, n)
    with pytest.raises(UsageError, match="not a level of confidence"):
        interval(43, 95, 95)
