"""Means and shares preferred, with clusters, against figures by hand and the definition row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.mean_intervals import mean_difference, mean_interval
from humaneval.statistics.sign_test import sign_test
from humaneval.statistics.two_way import two_way
from tests.unit.two_generators import score_interval
from tests.unit.two_way import two_way_variance

RATINGS = [5.0, 4.0, 2.0, 1.0, 3.0, 3.0, 4.0, 2.0]
WORKERS = ["ann", "ann", "bob", "bob", "cat", "cat", "dan", "dan"]
STORIES = [1, 2, 1, 2, 3, 4, 3, 4]


def test_where_nothing_recurs_the_interval_is_students() -> None:
    found = mean_interval(RATINGS, range(8), range(8))
    expected = stats.t.interval(0.95, 7, np.mean(RATINGS), stats.sem(RATINGS))
    assert found.interval == pytest.approx(expected)
    assert (found.method, found.design_effect, found.freedom) == ("t", 1.0, 7.0)


def test_clusters_widen_it_and_few_of_them_take_the_t_quantile() -> None:
    found = mean_interval(RATINGS, WORKERS, STORIES)
    # Residuals 2 1 | -1 -2 | 0 0 | 1 -1. By worker: sums 3 -3 0 0, 4/3 · 18 = 24. By story: sums 1 -1 1 -1,
    # 4/3 · 4. By both: 8/7 · 12. V = (24 + 5.3333 - 13.7143)/64 = 0.24405, t(3) = 3.18245.
    error = ((24 + 16 / 3 - 96 / 7) / 64) ** 0.5
    assert found.standard_error == pytest.approx(error)
    assert found.interval == pytest.approx((3 - 3.182446 * error, 3 + 3.182446 * error), abs=1e-5)
    assert (found.workers, found.stories, found.freedom) == (4, 4, 3.0)


def test_a_mean_of_zeros_and_ones_has_the_variance_of_the_headline() -> None:
    outcomes = [1, 1, 0, 0, 1, 0, 1, 0]
    row = score_interval(outcomes, WORKERS, STORIES)
    assert mean_interval(outcomes, WORKERS, STORIES).design_effect == pytest.approx(row.design_effect)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=50),
    st.randoms(),
)
def test_it_is_never_narrower_than_for_unrelated_values_and_order_changes_nothing(
    rows: list[tuple[int, int, int]], random: Any
) -> None:
    values, workers, stories = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = mean_interval(values, workers, stories, scale=Interval(1.0, 5.0))
    if isinstance(found.standard_error, NotEstimable) or not found.standard_error:
        return
    variance = max(two_way_variance(values, workers, stories), values.var(ddof=1) / values.size)
    assert found.standard_error**2 == pytest.approx(variance)
    assert isinstance(found.interval, Interval)
    assert 1.0 <= found.interval.low <= found.mean <= found.interval.high <= 5.0
    random.shuffle(rows)
    again = mean_interval(*zip(*rows, strict=True), scale=Interval(1.0, 5.0))
    assert again.interval == pytest.approx(found.interval)


def test_values_that_are_all_alike_have_the_widest_interval_of_their_place_on_the_scale() -> None:
    scale = Interval(1.0, 5.0)
    top = mean_interval([5] * 20, range(20), range(20), scale=scale)
    assert top.interval == pytest.approx((1 + 4 * wilson(20, 20).low, 5.0))
    assert "no spread" in top.note
    assert isinstance(mean_interval([5] * 20, range(20), range(20)).interval, NotEstimable)
    middle = mean_interval([3] * 20, range(20), range(20), scale=scale)
    assert middle.interval == pytest.approx([1 + 4 * end for end in wilson(10, 20)])


@pytest.mark.parametrize(
    ("workers", "stories", "why"),
    [(["ann"] * 3, [1, 2, 3], "a single worker"), ([1, 2, 3], ["s"] * 3, "a single story")],
)
def test_one_worker_or_one_story_tells_no_error(workers: Any, stories: Any, why: str) -> None:
    for found in (
        mean_interval([1, 2, 4], workers, stories),
        mean_difference([1, 2, 4], [True, False, True], workers, stories),
    ):
        assert str(found.standard_error) == f"not estimable, because there is {why}"
        assert isinstance(found.interval, NotEstimable)
    assert "a single value" in str(mean_interval([1], ["ann"], [1]).interval)


def test_what_workers_have_in_common_cancels_in_a_difference() -> None:
    # Each worker gives the first one point more, whatever else they give.
    worker = np.repeat(np.arange(10), 2)
    first = np.tile([True, False], 10)
    habits = np.arange(10.0)[worker]
    found = mean_difference(habits + first + 0.2 * (worker % 2) * first, first, worker, np.arange(20))
    assert found.difference == pytest.approx(1.1)
    # Sums by worker are ±0.1/10: 10/9 · 10 · 0.01/100.
    assert found.standard_error == pytest.approx((10 / 9 * 10 * 0.01 / 100) ** 0.5)
    assert found.freedom == pytest.approx(9)


def test_a_difference_of_unrelated_values_is_welchs_but_for_the_correction() -> None:
    found = mean_difference([1, 2, 3, 4, 6], [True, True, True, False, False], range(5), range(5))
    by_hand = (2 / 9 + 2 / 4) * found_factor(3, 2)
    assert found.standard_error == pytest.approx(by_hand**0.5)
    alike = mean_difference([1, 1, 2, 2], [True, True, False, False], range(4), range(4))
    assert (alike.standard_error, str(alike.interval)) == (
        0.0,
        "not estimable, because all values of each side are alike",
    )


def found_factor(first: int, second: int) -> float:
    number = 4 / (1 / first + 1 / second)
    return number / (number - 1)


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(InputError, match="do not belong together"):
        mean_interval([1, 2], [1], [1, 2])
    with pytest.raises(InputError, match="outside the scale from 1 to 5"):
        mean_interval([1, 6], [1, 2], [1, 2], scale=Interval(1, 5))
    with pytest.raises(InputError, match="values on both sides"):
        mean_difference([1, 2], [True, True], [1, 2], [1, 2])
    with pytest.raises(UsageError, match="level of confidence"):
        mean_interval([1, 2], [1, 2], [1, 2], 95)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(86, 103, 0.244421), (106, 66, 0.00283363), (104, 74, 0.0294460), (99, 44, 4.88716e-6)],
)
def test_sign_tests_of_laubli_2018(wins: int, losses: int, p: float) -> None:
    signs = np.repeat([1, -1], [wins, losses])
    found = sign_test(signs, range(signs.size), range(signs.size))
    assert found.test == "exact binomial"
    assert found.p == pytest.approx(p, rel=2e-6)
    assert found.p == pytest.approx(stats.binomtest(wins, wins + losses).pvalue, rel=1e-9)
    assert found.interval == wilson(wins, wins + losses)


def test_ties_are_left_out_or_count_half_and_never_change_p() -> None:
    signs = np.array([1] * 9 + [-1] * 3 + [0] * 8)
    out, half = (sign_test(signs, range(20), range(20), ties=rule) for rule in ("left out", "half"))
    assert (out.wins, out.losses, out.ties, out.share, half.share) == (9, 3, 8, 0.75, 0.65)
    assert out.p == half.p == pytest.approx(stats.binomtest(9, 12).pvalue)
    assert out.interval == wilson(9, 12)
    # The squares of the twenty answers, and of four more of 0 or 1 with their mean.
    spread = (20 * np.var(np.repeat([1, 0, 0.5], [9, 3, 8])) + 4 * 0.65 * 0.35) / 24
    n = 20 * 0.65 * 0.35 / spread
    assert half.interval == pytest.approx(wilson(0.65 * n, n))


def test_answers_of_one_worker_change_sign_together() -> None:
    # Four workers, three answers each, all of them for the first: one sign each, 2/2⁴.
    found = sign_test([1] * 12, np.repeat(range(4), 3), range(12))
    assert found.test == "sign flips of workers"
    assert found.p == pytest.approx(0.125)
    assert found.note.endswith("With so few clusters (4), p cannot fall below 0.125.")
    both = sign_test([1] * 12, np.repeat(range(4), 3), np.tile(range(3), 4))
    assert both.p == pytest.approx(0.25)
    assert both.test.startswith("sign flips of workers, of stories")


def test_where_both_recur_the_two_way_error_counts_if_it_is_the_largest() -> None:
    rng = np.random.default_rng(3)
    worker, story = np.repeat(np.arange(20), 12), np.tile(np.arange(12), 20)
    ahead = rng.normal(0.4, 0.8, 20)[worker] + rng.normal(0, 0.8, 12)[story]
    signs = np.where(rng.normal(size=240) < ahead, 1, -1)
    found, by_worker, by_story = (
        sign_test(signs, *columns) for columns in ((worker, story), (worker, range(240)), (range(240), story))
    )
    by = two_way(worker, story, 240)
    error = float(by.meat(signs[:, None] - signs.mean())[0, 0]) ** 0.5
    expected = 2 * stats.t.sf(abs(signs.sum()) / error, by.freedom())
    assert found.p == pytest.approx(max(expected, by_worker.p, by_story.p))
    assert sign_test(signs, worker, story, alternative="greater").p <= found.p


def test_ties_alone_tell_nothing() -> None:
    found = sign_test([0, 0], [1, 2], [1, 2])
    assert (found.p, found.note) == (1.0, "All answers are ties.")
    assert isinstance(found.share, NotEstimable)
    assert sign_test([0, 0], [1, 2], [1, 2], ties="half").share == 0.5
    with pytest.raises(InputError, match="must be 1, 0 or -1"):
        sign_test([1, 2], [1, 2], [1, 2])
    with pytest.raises(UsageError, match="no rule of ties"):
        sign_test([1, 0], [1, 2], [1, 2], ties="third")
