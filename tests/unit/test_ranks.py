"""Ranks from replicates: by hand, and whatever the order."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from humaneval.errors import InputError, UsageError
from humaneval.statistics.ranks import compact_letters, jeffreys_ranks, ranks

QUICK = settings(max_examples=40, deadline=None)

replicates = arrays(
    np.float64, st.tuples(st.integers(1, 30), st.integers(1, 5)), elements=st.integers(0, 6).map(float)
)


def test_ranks_by_hand() -> None:
    # replicate 1: b, a, c; 2: a, b, c; 3: a and b tie, c; 4: c, b, a
    table = [[0.4, 0.5, 0.1], [0.6, 0.5, 0.1], [0.5, 0.5, 0.1], [0.1, 0.2, 0.3]]
    a, b, c = ranks(table, level=0.4)
    assert (a.mean, b.mean, c.mean) == ((2 + 1 + 1.5 + 3) / 4, (1 + 2 + 1.5 + 2) / 4, (3 + 3 + 3 + 1) / 4)
    assert (a.best, b.best, c.best) == ((1 + 0.5) / 4, (1 + 0.5) / 4, 1 / 4)
    # a's better ranks 1 1 2 3, worse ranks 1 2 2 3: the quantiles .3 and .7 are the second and the third
    assert (a.low, a.high) == (1, 2)


@QUICK
@given(replicates)
def test_mean_ranks_are_those_of_scipy_and_best_sums_to_1(table: np.ndarray) -> None:
    found = ranks(table)
    assert [one.mean for one in found] == pytest.approx(rankdata(-table, axis=1).mean(axis=0).tolist())
    assert sum(one.best for one in found) == pytest.approx(1)
    assert all(1 <= one.low <= one.high <= table.shape[1] for one in found)


@QUICK
@given(replicates, st.randoms())
def test_order_of_generators_and_replicates_changes_nothing(table: np.ndarray, random: Random) -> None:
    columns = list(range(table.shape[1]))
    random.shuffle(columns)
    before, after = ranks(table), ranks(table[::-1, columns])
    assert all(after[to] == pytest.approx(before[column]) for to, column in enumerate(columns))


def test_one_generator_is_best_and_first() -> None:
    assert ranks([[0.5], [0.1]]) == ((1.0, 1, 1, 1.0),)


def test_ranks_under_posteriors_are_those_of_many_draws() -> None:
    x, n = np.array([19, 28, 38, 39, 37, 43]), np.full(6, 95)
    found = jeffreys_ranks(x, n)
    draws = np.random.default_rng(3).beta(x + 0.5, n - x + 0.5, (100_000, 6))
    for exact, drawn in zip(found, ranks(draws), strict=True):
        assert (exact.mean, exact.best) == pytest.approx((drawn.mean, drawn.best), abs=0.01)
        assert (exact.low, exact.high) == (drawn.low, drawn.high)
    assert sum(one.best for one in found) == pytest.approx(1, abs=1e-5)
    assert sum(one.mean for one in found) == pytest.approx(21, abs=1e-4)
    assert jeffreys_ranks([5], [9]) == ((pytest.approx(1), 1, 1, pytest.approx(1)),)


def pairs(*apart: tuple[int, int], of: int) -> np.ndarray:
    told = np.zeros((of, of), dtype=bool)
    for one, other in apart:
        told[one, other] = told[other, one] = True
    return told


def test_X11_systems_that_were_told_apart_share_no_letter() -> None:
    told = pairs((0, 2), (0, 3), (1, 3), (1, 2), of=4)
    assert compact_letters([0.9, 0.8, 0.4, 0.3], told) == ("a", "a", "b", "b")
    chain = pairs((0, 2), (0, 3), (1, 3), of=4)
    assert compact_letters([0.9, 0.8, 0.4, 0.3], chain) == ("a", "ab", "bc", "c")
    assert compact_letters([0.3, 0.9, 0.8, 0.4], ~np.eye(4, dtype=bool)) == ("d", "a", "b", "c")
    assert compact_letters([0.3, 0.9], pairs(of=2)) == ("a", "a")
    many = compact_letters(np.arange(60.0), ~np.eye(60, dtype=bool))
    assert len(set(many)) == 60


@QUICK
@given(st.integers(2, 7), st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_X11_letters_say_of_every_pair_whether_it_was_told_apart(k: int, drawn: set[tuple[int, int]]) -> None:
    apart = [(one, other) for one, other in drawn if max(one, other) < k]
    told = pairs(*((one, other) for one, other in apart if one != other), of=k)
    letters = compact_letters(np.linspace(0.1, 0.9, k), told)
    for one in range(k):
        for other in range(one):
            assert bool(set(letters[one]) & set(letters[other])) != told[one, other]


def test_what_cannot_be_ranked_is_refused() -> None:
    for empty in ([], [[]], [0.1, 0.2]):
        with pytest.raises(InputError, match="need a table of replicates"):
            ranks(empty)
    with pytest.raises(InputError, match="are not finite numbers"):
        ranks([[0.1, float("nan")]])
    with pytest.raises(InputError, match="2 counts and 1 numbers of responses"):
        jeffreys_ranks([1, 2], [95])
    with pytest.raises(InputError, match="between 0 and their number of responses"):
        jeffreys_ranks([96], [95])
    with pytest.raises(InputError, match="in both directions"):
        compact_letters([0.1, 0.2], [[0, 1], [0, 0]])
    with pytest.raises(InputError, match="as many rows and columns"):
        compact_letters([0.1, 0.2], [[0]])
    with pytest.raises(UsageError, match="not a level"):
        ranks([[0.1]], level=2)
    with pytest.raises(UsageError, match="not a level"):
        jeffreys_ranks([1], [95], level=2)


def test_a_tie_reaches_from_its_better_rank_to_its_worse() -> None:
    assert ranks([[0.5, 0.5, 0.1]]) == ((1.5, 1, 2, 0.5), (1.5, 1, 2, 0.5), (3.0, 3, 3, 0.0))


def test_letters_are_few_where_largest_sets_are_very_many() -> None:
    """Of a hundred pairs that are told apart, one of each can be taken in 2^100 ways."""
    told = pairs(*((one, one + 1) for one in range(0, 200, 2)), of=200)
    letters = compact_letters(np.arange(200.0), told)
    assert max(map(len, letters)) < 100
    shared = [[bool(set(one) & set(other)) for other in letters[:20]] for one in letters[:20]]
    assert shared == (~told[:20, :20]).tolist()
