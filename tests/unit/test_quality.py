"""Signs of not reading: flags for everything, exclusions of nothing."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.statistics.quality import speed, straight_lining

QUICK = settings(max_examples=40, deadline=None)
nan = float("nan")


def of_counts(counts: list[int], options: int = 5) -> float:
    choices = [option for option, n in enumerate(counts, start=1) for _ in range(n)]
    return float(straight_lining(["ann"] * len(choices), choices, options).p[0])


def test_C49_the_same_answer_eight_times_is_odd() -> None:
    assert of_counts([8, 0, 0, 0, 0]) == pytest.approx(5 / 5**8)
    assert of_counts([1, 7, 0, 0, 0]) == pytest.approx(5 * (8 * 4 + 1) / 5**8)


@pytest.mark.parametrize(("n", "options"), [(1, 5), (5, 3), (7, 3), (6, 4), (8, 2)])
def test_the_tail_is_that_of_all_sequences_counted(n: int, options: int) -> None:
    largest = [
        max(sequence.count(option) for option in range(options))
        for sequence in product(range(options), repeat=n)
    ]
    for most in range(-(-n // options), n + 1):
        counts = [most]  # any counts with that maximum
        while sum(counts) < n:
            counts.append(min(most, n - sum(counts)))
        assert of_counts(counts, options) == pytest.approx(np.mean([one >= most for one in largest]))


def test_many_responses_have_a_tail_too() -> None:
    assert of_counts([2000] * 5) == pytest.approx(1)
    assert 0 < of_counts([2200, 1950, 1950, 1950, 1950]) < 1e-5
    assert 0 <= of_counts([6000, 1000, 1000, 1000, 1000]) < 1e-100


def test_workers_by_chance_are_flagged_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(2)
    workers, choices = np.repeat(np.arange(4000), 40), rng.integers(1, 6, size=160_000)
    found = straight_lining(workers, choices)
    assert found.flags(0.05).mean() == pytest.approx(0.03, abs=0.02)  # discrete, so below
    assert found.flags(0.05).mean() <= 0.055
    assert found.responses.tolist() == [40] * 4000


@QUICK
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=40), st.randoms())
def test_order_and_numbering_change_nothing(rows: list[tuple[int, int]], random: Random) -> None:
    before = straight_lining(*zip(*rows, strict=True))
    random.shuffle(rows)
    after = straight_lining([f"w{worker}" for worker, _ in rows], [6 - choice for _, choice in rows])
    p = dict(zip(after.workers, after.p.tolist(), strict=True))
    for worker, one in zip(before.workers, before.p.tolist(), strict=True):
        assert p[f"w{worker}"] == pytest.approx(one)
        assert 0 < one <= 1


def test_C49_faster_than_anybody_reads_is_flagged_and_unknown_times_are_not() -> None:
    found = speed([48, 48, 48, 48, nan], [4.0, 3.9, 0.0, nan, 1.0])
    assert found.too_fast.tolist() == [False, True, True, False, False]
    assert found.unknown.tolist() == [False, False, False, True, True]
    assert found.words_per_second[0] == 12
    assert found.words_per_second[2] == np.inf
    assert speed([48], [4.0], limit=5).too_fast.tolist() == [True]


def test_what_cannot_be_looked_at_is_refused() -> None:
    with pytest.raises(InputError, match="2 workers, 1 choices"):
        straight_lining(["a", "b"], [1])
    with pytest.raises(InputError, match="no workers and no choices"):
        straight_lining([], [])
    with pytest.raises(
        InputError, match="1 of 2 choices are not whole numbers from 1 to 5, the first is entry 2"
    ):
        straight_lining(["a", "b"], [1, 6])
    with pytest.raises(UsageError, match="leave no choice"):
        straight_lining(["a"], [1], 1)
    with pytest.raises(InputError, match="1 of 2 seconds are below 0 or infinite"):
        speed([1, 2], [1, -2])
    with pytest.raises(InputError, match="2 words, 1 seconds"):
        speed([1, 2], [1])
    with pytest.raises(UsageError, match="0 words per second is not a limit"):
        speed([1], [1], limit=0)
    with pytest.raises(InputError, match="1 of 1 workers are missing"):
        straight_lining([None], [1])
