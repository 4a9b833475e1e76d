"""Paired comparisons against published tables, statsmodels and each other."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtrc

from humaneval.errors import InputError
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.paired import bonett_price_at, cochran_q
from humaneval.statistics.sign_flips import sign_flip_test
from tests.unit.mcnemar import bonett_price_low, mcnemar_exact

QUICK = settings(max_examples=40, deadline=None)
Z = 1.959963984540054

outcomes = st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1, max_size=20)


def sign_flips(wins: int, losses: int, **settings: Any) -> float:
    """The p-value of as many pairs won and lost, as the headline computes it."""
    return sign_flip_test(np.repeat([1, -1], [wins, losses]), **settings).p


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [
        (86, 150, 3.71594e-5),  # Agresti's approval table
        (25, 21, 0.658738),
        (4, 0, 0.125),
        (0, 0, 1.0),
        # Läubli, Sennrich and Volk 2018, ties out
        (86, 103, 0.244421),
        (106, 66, 0.00283363),
        (104, 74, 0.0294460),
        (99, 44, 4.88716e-6),
    ],
)
def test_flipping_signs_of_pairs_is_mcnemars_exact_test(wins: int, losses: int, p: float) -> None:
    assert sign_flips(wins, losses) == pytest.approx(p, rel=2e-6)
    assert mcnemar_exact(wins, losses) == pytest.approx(p, rel=2e-6)


@QUICK
@given(st.integers(0, 80), st.integers(0, 80))
def test_sign_flips_are_mcnemars_for_any_table_and_their_sides_add_up(b: int, c: int) -> None:
    assert sign_flips(b, c) == pytest.approx(mcnemar_exact(b, c), rel=1e-6, abs=1e-11)
    greater, less = sign_flips(b, c, alternative="greater"), sign_flips(b, c, alternative="less")
    assert greater == pytest.approx(sign_flips(c, b, alternative="less"))
    assert 1 - 1e-9 <= greater + less <= 2


def test_greater_means_that_the_first_score_is_higher() -> None:
    assert sign_flips(9, 1, alternative="greater") < 0.05 < sign_flips(9, 1, alternative="less")


@QUICK
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(sum))
def test_the_interval_of_a_difference_is_that_of_the_table_and_turns_with_it(table: list[int]) -> None:
    _, b, c, _ = table
    n = sum(table)
    here = bonett_price_at((b - c) / n, (b + c) / n, n, Z)
    there = bonett_price_at((c - b) / n, (b + c) / n, n, Z)
    assert here.low == pytest.approx(max(-1, bonett_price_low(b, c, n)))
    assert here == pytest.approx((-there.high, -there.low), abs=1e-12)
    assert -1 <= here.low <= here.high <= 1


def test_the_interval_of_a_difference_on_a_worked_table() -> None:
    assert bonett_price_at(4 / 95, 46 / 95, 95, Z) == pytest.approx((-0.098512, 0.180986), abs=5e-7)
    none = bonett_price_at(0, 0, 20, Z)
    assert none.low < 0 < none.high


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
    b, c = two.count([1, 0]), two.count([0, 1])
    q = cochran_q(two)
    if isinstance(q, NotEstimable):
        assert b == c == 0
    else:
        statistic = (b - c) ** 2 / (b + c)
        assert q == pytest.approx((statistic, 1, chdtrc(1, statistic)))


@pytest.mark.parametrize("table", [[], [1, 0], [[1], [0]], np.empty((0, 3))])
def test_cochrans_q_needs_a_table(table: object) -> None:
    with pytest.raises(InputError, match="needs a table"):
        cochran_q(table)


def test_cochrans_q_says_when_nobody_differs() -> None:
    q = cochran_q([[1, 1, 1], [0, 0, 0]])
    assert str(q) == "not estimable, because every annotator gave the generators compared the same answers"


def test_cochrans_q_takes_zeros_and_ones_only() -> None:
    with pytest.raises(InputError, match="outcomes are neither 0 nor 1"):
        cochran_q([[1, 3]])
    with pytest.raises(InputError, match="outcomes are not finite numbers"):
        cochran_q([[float("nan"), 1]])
    with pytest.raises(InputError, match="the outcomes are not numbers"):
        cochran_q([["yes", "no"]])
