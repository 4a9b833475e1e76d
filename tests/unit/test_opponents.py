"""Shares against several opponents: these are held apart, and nothing is certain because it was seen once."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import MeanOutcome, wilson
from humaneval.statistics.opponents import share_against
from humaneval.statistics.score_intervals import score_intervals

OUTCOMES = st.sampled_from([0.0, 0.5, 1.0])


def test_gaps_between_opponents_are_no_error() -> None:
    # Two workers and two stories, both opponents each time. Deviations are ±½ from the mean of an opponent.
    worker, story = np.repeat([0, 1], 4), np.tile([0, 0, 1, 1], 2)
    y, opponents = np.array([1, 0, 1, 1, 1, 0, 0, 1]), np.tile(["sa", "lm"], 4)
    found = share_against(y, worker, story, opponents)
    away = y - np.where(opponents == "sa", 0.75, 0.5)
    parts = [
        count / (count - 1) * np.square(np.bincount(codes, away)).sum()
        for codes, count in ((worker, 2), (story, 2), (2 * worker + story, 4))
    ]
    variance = (parts[0] + parts[1] - parts[2]) / 64
    unrelated = sum(4 * (x + 2) / 8 * (1 - (x + 2) / 8) for x in (3, 2)) / 64
    assert found.design_effect == pytest.approx(max(1.0, variance / unrelated))
    assert (found.n, found.mean, found.workers, found.stories) == (8, 0.625, 2, 2)


def test_with_one_opponent_and_no_ties_it_is_the_headlines() -> None:
    y = np.array([1] * 13 + [0] * 7)
    for opponents in (None, ["lm"] * 20):
        assert share_against(y, range(20), range(20), opponents).interval == pytest.approx(wilson(13, 20))
    worker, story = np.arange(20) % 5, np.arange(20) // 2
    found = share_against(y, worker, story)
    (headline,) = score_intervals(cells(y, worker, story, np.zeros(20)))
    assert found.effective == pytest.approx(headline.effective * 19 / 20)


def test_one_that_always_beats_an_opponent_and_never_the_other_is_not_certain_to() -> None:
    once, again = (
        share_against([1, 0] * 20, who, range(40), ["sa", "lm"] * 20)
        for who in (range(40), np.arange(40) // 4)
    )
    assert once.interval == again.interval
    assert 0.35 < once.interval.low < 0.42
    assert "show no correlation" in again.note
    assert not once.note


def test_answers_about_one_opponent_each_vary_less_than_about_all() -> None:
    y, opponents = [1] * 19 + [0] * 21, ["sa"] * 20 + ["lm"] * 20
    assert share_against(y, range(40), range(40), opponents).effective > 40.0


def share_of(rows: list[tuple[float, int, int, str]]) -> MeanOutcome:
    outcomes, workers, stories, opponents = map(list, zip(*rows, strict=True))
    return share_against(outcomes, workers, stories, opponents)


@given(
    st.lists(
        st.tuples(OUTCOMES, st.integers(0, 3), st.integers(0, 3), st.sampled_from("ab")),
        min_size=1,
        max_size=24,
    ),
    st.randoms(),
)
def test_it_is_a_part_of_the_scale_that_holds_the_share_and_order_changes_nothing(
    rows: list[tuple[float, int, int, str]], random: Any
) -> None:
    found = share_of(rows)
    low, high = found.interval
    assert 0.0 <= low <= found.mean <= high <= 1.0
    assert high - low > 0.01
    assert isfinite(found.effective)
    assert found.effective >= 1.0
    assert 1.0 <= found.design_effect <= found.n
    random.shuffle(rows)
    assert share_of(rows) == found


@pytest.mark.parametrize(("workers", "stories"), [([1, 1], [1, 2]), ([1, 2], [1, 1])])
def test_one_worker_or_one_story_counts_as_one_answer(workers: list[int], stories: list[int]) -> None:
    found = share_against([1, 0], workers, stories, ["sa", "lm"])
    assert (found.effective, found.design_effect) == (1.0, 2.0)
    assert found.note == "The correlation of the answers cannot be estimated, so 2 count as 1."


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(InputError, match="2 outcomes and 1 opponents do not belong together"):
        share_against([1, 0], [1, 2], [1, 2], ["sa"])
    with pytest.raises(InputError, match="between 0 and 1"):
        share_against([1, 2], [1, 2], [1, 2], ["sa", "sa"])
    with pytest.raises(UsageError, match="level of confidence"):
        share_against([1, 0], [1, 2], [1, 2], ["sa", "sa"], 95)
