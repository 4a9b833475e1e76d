"""Paired comparisons against published tables, statsmodels and each other."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.paired import (
    Pairs,
    bonett_price,
    cochran_q,
    mcnemar_chi_square,
    mcnemar_exact,
    mcnemar_mid_p,
    newcombe_paired,
    pairs,
)
from humaneval.statistics.two_samples import Significance, newcombe

QUICK = settings(max_examples=40, deadline=None)

tables = st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(sum).map(lambda cells: Pairs(*cells))
outcomes = st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1, max_size=20)


def test_mcnemar_on_agrestis_approval_table() -> None:
    corrected = mcnemar_chi_square(86, 150, continuity=True)
    assert (round(corrected.statistic, 4), round(corrected.p, 9)) == (16.8178, 4.1146e-5)
    assert mcnemar_chi_square(86, 150).statistic == pytest.approx(17.355932, abs=5e-7)
    assert mcnemar_exact(86, 150) == pytest.approx(3.71594e-5, abs=5e-11)


def test_mcnemar_on_few_discordant_pairs() -> None:
    assert mcnemar_exact(4, 0) == 0.125
    assert mcnemar_exact(25, 21) == pytest.approx(0.658738, abs=5e-7)
    assert mcnemar_chi_square(25, 21).p == pytest.approx(0.555346, abs=5e-7)
    assert bonett_price(25, 21, 95) == pytest.approx((-0.098512, 0.180986), abs=5e-7)


@pytest.mark.parametrize(
    ("wins", "of", "p"),
    [(86, 189, 0.244421), (106, 172, 0.00283363), (104, 178, 0.0294460), (99, 143, 4.88716e-6)],
)
def test_a_sign_test_is_the_exact_test_of_wins_and_losses(wins: int, of: int, p: float) -> None:
    # Läubli, Sennrich and Volk 2018, ties out
    assert mcnemar_exact(wins, of - wins) == pytest.approx(p, rel=2e-6)


def test_at_95_pairs_the_exact_test_is_cautious_and_mid_p_is_near_its_level() -> None:
    # two scores of 45 % without correlation: 49.5 % of pairs are discordant, on either side with odds of one
    # half
    exact, mid = 0.0, 0.0
    for discordant in range(96):
        b = np.arange(discordant + 1)
        odds = binom.pmf(discordant, 95, 0.495) * binom.pmf(b, discordant, 0.5)
        exact += odds[[mcnemar_exact(one, discordant - one) <= 0.05 for one in b]].sum()
        mid += odds[[mcnemar_mid_p(one, discordant - one) <= 0.05 for one in b]].sum()
    # 1,000 simulated studies gave .034 and .051
    assert (round(exact, 3), round(mid, 3)) == (0.036, 0.049)


@QUICK
@given(st.integers(0, 80), st.integers(0, 80))
def test_mid_p_lies_below_exact_p_and_sides_add_up(b: int, c: int) -> None:
    assert 0 < mcnemar_mid_p(b, c) <= mcnemar_exact(b, c) <= 1
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)
    assert mcnemar_exact(b, c, "greater") == mcnemar_exact(c, b, "less")
    assert mcnemar_mid_p(b, c, "greater") + mcnemar_mid_p(b, c, "less") == pytest.approx(1)
    both = mcnemar_exact(b, c, "greater") + mcnemar_exact(b, c, "less")
    assert 1 - 1e-12 <= both <= 2


def test_greater_means_that_the_first_score_is_higher() -> None:
    assert mcnemar_exact(9, 1, "greater") < 0.05 < mcnemar_exact(9, 1, "less")
    assert mcnemar_mid_p(9, 1, "greater") < 0.05 < mcnemar_mid_p(9, 1, "less")


def test_without_discordant_pairs_p_is_1() -> None:
    assert mcnemar_exact(0, 0) == mcnemar_mid_p(0, 0) == 1.0
    assert mcnemar_chi_square(0, 0) == Significance(0.0, 1, 1.0)
    assert bonett_price(0, 0, 20).low < 0 < bonett_price(0, 0, 20).high


def test_newcombes_paired_interval_on_a_worked_example() -> None:
    # airway reactivity before and after, 21 pairs: the worked example of Fagerland, Lydersen and Laake (2014)
    assert newcombe_paired(Pairs(1, 1, 7, 12)) == pytest.approx((-0.507, -0.026), abs=5e-4)


def test_newcombes_paired_interval_without_correlation_is_the_unpaired_one() -> None:
    assert newcombe_paired(Pairs(10, 10, 10, 10)) == pytest.approx(newcombe(20, 40, 20, 40))


@QUICK
@given(tables)
def test_paired_intervals_hold_the_difference_and_turn_with_it(table: Pairs) -> None:
    a, b, c, d = table
    here, there = newcombe_paired(table), newcombe_paired(Pairs(a, c, b, d))
    assert -1 <= here.low <= table.difference <= here.high <= 1
    assert here == pytest.approx((-there.high, -there.low), abs=1e-12)
    one, other = bonett_price(b, c, table.n), bonett_price(c, b, table.n)
    assert one == pytest.approx((-other.high, -other.low), abs=1e-12)
    assert -1 <= one.low <= one.high <= 1


def test_cochrans_q_is_that_of_statsmodels() -> None:
    table = [
        [1, 1, 0, 1],
        [1, 0, 0, 1],
        [1, 1, 0, 0],
        [0, 1, 0, 1],
        [1, 1, 1, 1],
        [0, 0, 0, 0],
        [1, 0, 0, 1],
        [1, 1, 0, 1],
        [0, 1, 0, 0],
        [1, 0, 1, 1],
    ]
    q = cochran_q(table)  # statsmodels 0.15.0, cochrans_q
    assert q == pytest.approx((7.285714285714286, 3, 0.06332769224771805)) if isinstance(q, tuple) else False


@QUICK
@given(outcomes, st.randoms())
def test_cochrans_q_does_not_know_order_nor_names(rows: list[list[int]], random: Random) -> None:
    before = cochran_q(rows)
    random.shuffle(rows)
    after = cochran_q([[row[2], row[0], row[3], row[1]] for row in rows])
    assert isinstance(after, NotEstimable) == isinstance(before, NotEstimable)
    if not isinstance(before, NotEstimable):
        assert after == pytest.approx(before)


@QUICK
@given(outcomes)
def test_cochrans_q_of_two_is_mcnemars(rows: list[list[int]]) -> None:
    two = [row[:2] for row in rows]
    table = pairs([one for one, _ in two], [other for _, other in two])
    q = cochran_q(two)
    if isinstance(q, NotEstimable):
        assert table.first_only == table.second_only == 0
    else:
        assert q == pytest.approx(mcnemar_chi_square(table.first_only, table.second_only))


def test_pairs_are_counted() -> None:
    table = pairs([True, True, False, False, False], [1, 0, 1, 1, 0])
    assert table == (1, 1, 2, 1)
    assert table.n == 5
    assert table.difference == pytest.approx(2 / 5 - 3 / 5)


def test_what_are_no_pairs_is_refused() -> None:
    with pytest.raises(InputError, match="1 first, 2 second"):
        pairs([1], [1, 0])
    with pytest.raises(InputError, match="no first and no second"):
        pairs([], [])
    with pytest.raises(InputError, match="1 of 2 first outcomes are neither 0 nor 1, the first is entry 2"):
        pairs([1, 3], [1, 0])
    with pytest.raises(InputError, match="are not finite numbers, the first is entry 1"):
        pairs([float("nan"), 1], [1, 0])
    with pytest.raises(InputError, match="the first outcomes are not numbers"):
        pairs(["yes", "no"], [1, 0])
    with pytest.raises(InputError, match="30 and 20 discordant pairs of 40 do not form a table"):
        bonett_price(30, 20, 40)
    with pytest.raises(InputError, match="at least one pair"):
        newcombe_paired(Pairs(0, 0, 0, 0))
    with pytest.raises(InputError, match="first_only = -1 is not a count"):
        mcnemar_exact(-1, 3)
    with pytest.raises(UsageError, match="not a level"):
        bonett_price(1, 2, 40, 95)


@pytest.mark.parametrize("table", [[], [1, 0], [[1], [0]], np.empty((0, 3))])
def test_cochrans_q_needs_a_table(table: object) -> None:
    with pytest.raises(InputError, match="needs a table"):
        cochran_q(table)


def test_cochrans_q_says_when_nobody_differs() -> None:
    q = cochran_q([[1, 1, 1], [0, 0, 0]])
    assert str(q) == "not estimable, because no annotator judged the generators differently"
