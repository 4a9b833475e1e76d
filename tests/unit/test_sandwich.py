"""The two-way cluster-robust variance by hand, and the design effect that scores are widened by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.errors import InputError
from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import wilson
from tests.unit.two_generators import score_interval
from tests.unit.two_way import two_way_variance


def design_effect(outcomes: Any, workers: Any, stories: Any) -> float:
    """As scores have it."""
    return score_interval(outcomes, workers, stories).design_effect


# Two workers, two stories, mean 1/2, residuals ±1/2. By worker: sums (1/2 + 1/2, −1/2 − 1/2) = (1, −1), so
# 2/1 · 2 / 4² = 1/4. By story: sums (0, 0), so 0. By pair: four residuals of 1/4 squared, 4/3 · 1 / 16 =
# 1/12.
OUTCOMES = [1, 1, 0, 0]
WORKERS = ["ann", "ann", "bob", "bob"]
STORIES = ["s1", "s2", "s1", "s2"]


def test_the_variance_is_that_computed_by_hand() -> None:
    assert two_way_variance(OUTCOMES, WORKERS, STORIES) == pytest.approx(1 / 4 + 0 - 1 / 12)


def test_the_design_effect_compares_with_unrelated_responses() -> None:
    # unrelated: p(1−p)/(n−1) = 1/12, so (1/6) / (1/12) = 2: each worker counts about once.
    assert design_effect(OUTCOMES, WORKERS, STORIES) == pytest.approx(2)


def test_workers_and_stories_may_change_places() -> None:
    assert two_way_variance(OUTCOMES, STORIES, WORKERS) == pytest.approx(1 / 6)


def test_without_repeats_the_variance_is_the_plain_one_and_the_effect_is_1() -> None:
    outcomes, labels = [1, 0, 0, 1, 0], [1, 2, 3, 4, 5]
    assert two_way_variance(outcomes, labels, labels) == pytest.approx(0.4 * 0.6 / 4)
    assert design_effect(outcomes, labels, labels) == 1.0


def test_with_clusters_in_one_direction_the_variance_is_the_one_way_sandwich() -> None:
    outcomes = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0])
    workers = np.repeat([0, 1, 2], 3)
    sums = np.array([3, 1, 0]) - 3 * outcomes.mean()
    one_way = 3 / 2 * (sums**2).sum() / 81
    # stories are all different, so V_story and V_both cancel
    assert two_way_variance(outcomes, workers, np.arange(9)) == pytest.approx(one_way)


def test_disagreement_within_clusters_never_narrows() -> None:
    assert design_effect([1, 0, 1, 0], ["a", "a", "b", "b"], [1, 2, 3, 4]) == 1.0
    assert two_way_variance([1, 0, 1, 0], ["a", "a", "b", "b"], [1, 2, 3, 4]) == 0.0


def test_one_worker_counts_as_one_response() -> None:
    assert design_effect([1, 0, 1], ["ann"] * 3, [1, 2, 3]) == 3.0


def test_one_story_counts_as_one_response() -> None:
    assert design_effect([1, 0, 1], [1, 2, 3], ["s"] * 3) == 3.0


def test_one_response_has_no_design_effect() -> None:
    assert design_effect([1], ["ann"], ["s"]) == 1.0


@pytest.mark.parametrize("outcome", [0, 1])
def test_equal_outcomes_show_no_design_effect_and_the_note_says_so(outcome: int) -> None:
    row = score_interval([outcome] * 6, [1, 1, 1, 2, 2, 2], [1, 2, 3, 1, 2, 3])
    assert (row.design_effect, row.interval) == (1.0, wilson(6 * outcome, 6))
    assert "All answers are alike" in row.note
    assert score_interval([outcome] * 3, [1, 2, 3], [1, 2, 3]).note == ""
    assert design_effect([outcome] * 3, ["ann"] * 3, [1, 2, 3]) == 3.0


def width(outcomes: Any, workers: Any, stories: Any) -> float:
    row = score_interval(outcomes, workers, stories)
    return row.interval.high - row.interval.low


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=60),
    st.integers(0, 59),
    st.booleans(),
)
def test_X03_no_miss_is_never_wider_than_one(rows: list[tuple[int, int]], at: int, other: bool) -> None:
    workers, stories = zip(*rows, strict=True)
    one = np.zeros(len(rows))
    one[at % len(rows)] = 1
    outcomes = (1 - one, np.ones(len(rows))) if other else (one, np.zeros(len(rows)))
    some, none = (width(column, workers, stories) for column in outcomes)
    assert none <= some + 1e-12


def test_X03_each_miss_by_another_annotator_about_another_story_widens_the_interval() -> None:
    workers, stories = np.repeat(np.arange(30), 4), np.arange(120) % 40
    # Every seventh: 17 annotators, 17 stories.
    missed = [np.isin(np.arange(120), 7 * np.arange(count)) for count in range(7)]
    widths = [width(column, workers, stories) for column in missed]
    assert widths == sorted(widths)
    assert score_interval(missed[0], workers, stories).interval == wilson(0, 120)


def test_X02_few_clusters_take_the_t_quantile_and_never_less_than_wilsons() -> None:
    # 2 workers × 2: DEFF 3 · (12.7/1.96)² is more than all four responses, which count as one.
    few = score_interval([1, 1, 0, 0], WORKERS, [1, 2, 3, 4])
    assert (few.effective, few.interval) == (1.0, wilson(0.5, 1))
    # Nine workers × 4, residual sums ±2 and one 0: V = 9/8 · 32/36², DEFF V/(1/140) = 35/9 = 3.889.
    outcomes = np.repeat([1, 1, 1, 1, 0, 0, 0, 0, 1], 4)
    outcomes[-2:] = 0
    row = score_interval(outcomes, np.repeat(np.arange(9), 4), np.arange(36))
    assert row.design_effect == pytest.approx(35 / 9)
    assert row.effective == pytest.approx(36 / (35 / 9) * (1.959964 / 2.306004) ** 2, rel=1e-6)
    assert row.interval == pytest.approx(wilson(row.effective / 2, row.effective))
    even = score_interval([1, 0] * 18, np.repeat(np.arange(9), 4), np.arange(36))
    assert (even.effective, even.interval) == (36.0, wilson(18, 36))


def test_X02_uneven_work_counts_as_fewer_clusters() -> None:
    table = cells([1, 0, 1, 0, 1, 0], ["a", "a", "a", "a", "b", "c"], range(6), ["m"] * 6)
    assert table.workers.effective(table.n)[0, 0] == pytest.approx(36 / 18)
    assert table.stories.effective(table.n)[0, 0] == pytest.approx(6)
    # Of a difference, the shares in the responses to both count: a 2/3 + 1, b and c 1/6 each.
    pair = cells([1] * 7, ["a", "a", "a", "a", "b", "c", "a"], range(7), ["m"] * 6 + ["k"])
    assert pair.workers.effective(pair.n)[0, 1] == pytest.approx(4 / ((5 / 3) ** 2 + 2 / 36))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60))
def test_the_design_effect_lies_between_1_and_n(rows: list[tuple[bool, int, int]]) -> None:
    outcomes, workers, stories = zip(*rows, strict=True)
    assert 1 <= design_effect(outcomes, workers, stories) <= len(rows)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40),
    st.randoms(),
)
def test_order_and_labels_change_nothing(rows: list[tuple[bool, int, int]], random: Any) -> None:
    before = design_effect(*zip(*rows, strict=True))
    random.shuffle(rows)
    relabelled = [(outcome, f"w{9 - worker}", f"s{story}") for outcome, worker, story in rows]
    assert design_effect(*zip(*relabelled, strict=True)) == pytest.approx(before)


def test_columns_of_different_lengths_are_an_error() -> None:
    with pytest.raises(InputError, match="2 outcomes, 1 workers, 2 stories"):
        design_effect([1, 0], ["a"], ["s", "t"])
    with pytest.raises(InputError, match="at least one response"):
        design_effect([], [], [])
