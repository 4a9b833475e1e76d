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
from humaneval.statistics.ranks import groups_of_ties, jeffreys_draws, ranks

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


def test_draws_have_the_moments_of_their_beta() -> None:
    draws = jeffreys_draws([0, 43], [95, 95], 20_000, rng=np.random.default_rng(3))
    assert draws.shape == (20_000, 2)
    assert draws.mean(axis=0) == pytest.approx([0.5 / 96, 43.5 / 96], abs=1e-3)
    assert (draws == jeffreys_draws([0, 43], [95, 95], 20_000, rng=np.random.default_rng(3))).all()


def test_groups_split_only_where_all_above_differ_from_all_below() -> None:
    told = np.zeros((4, 4), dtype=bool)
    for one, other in ((0, 2), (0, 3), (1, 3), (1, 2)):
        told[one, other] = told[other, one] = True
    assert groups_of_ties([0.9, 0.8, 0.4, 0.3], told) == ((0, 1), (2, 3))
    told[1, 2] = told[2, 1] = False  # the chain closes: nobody can be set apart
    assert groups_of_ties([0.9, 0.8, 0.4, 0.3], told) == ((0, 1, 2, 3),)
    assert groups_of_ties([0.3, 0.9, 0.8, 0.4], ~np.eye(4, dtype=bool)) == ((1,), (2,), (3,), (0,))


def test_what_cannot_be_ranked_is_refused() -> None:
    rng = np.random.default_rng(1)
    for empty in ([], [[]], [0.1, 0.2]):
        with pytest.raises(InputError, match="need a table of replicates"):
            ranks(empty)
    with pytest.raises(InputError, match="are not finite numbers"):
        ranks([[0.1, float("nan")]])
    with pytest.raises(InputError, match="2 counts and 1 numbers of responses"):
        jeffreys_draws([1, 2], [95], rng=rng)
    with pytest.raises(InputError, match="between 0 and their number of responses"):
        jeffreys_draws([96], [95], rng=rng)
    with pytest.raises(UsageError, match="the number of draws is 0"):
        jeffreys_draws([1], [95], 0, rng=rng)
    with pytest.raises(InputError, match="in both directions"):
        groups_of_ties([0.1, 0.2], [[0, 1], [0, 0]])
    with pytest.raises(InputError, match="as many rows and columns"):
        groups_of_ties([0.1, 0.2], [[0]])
    with pytest.raises(UsageError, match="not a level"):
        ranks([[0.1]], level=2)


def test_a_tie_reaches_from_its_better_rank_to_its_worse() -> None:
    assert ranks([[0.5, 0.5, 0.1]]) == ((1.5, 1, 2, 0.5), (1.5, 1, 2, 0.5), (3.0, 3, 3, 0.0))
