"""Unpaired comparisons against values that scipy, R and statsmodels agree on."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.statistics.two_samples import chi_square, newcombe, normal_p, z_test

QUICK = settings(max_examples=40, deadline=None)

counts = st.tuples(st.integers(1, 60), st.integers(1, 60)).flatmap(
    lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
)


def test_ilm_against_lm_gives_the_reference_values() -> None:
    assert chi_square(43, 95, 39, 95).p == pytest.approx(0.557948, abs=5e-7)


def test_the_published_gap_of_four_points_gives_the_reference_values() -> None:
    z = z_test(45, 100, 41, 100)
    assert (round(z.statistic, 4), round(z.p, 4)) == (0.5713, 0.5678)
    assert newcombe(45, 100, 41, 100) == pytest.approx((-0.0957, 0.1736), abs=5e-5)


@pytest.mark.parametrize(
    ("x1", "x2", "interval"),  # statsmodels 0.15.0, confint_proportions_2indep(method="newcomb")
    [
        (43, 39, (-0.0971017552, 0.1790414135)),
        (74, 43, (0.1895183523, 0.4463671081)),
        (28, 19, (-0.0282078825, 0.2142237735)),
    ],
)
def test_newcombes_interval_is_that_of_statsmodels(x1: int, x2: int, interval: tuple[float, float]) -> None:
    assert newcombe(x1, 95, x2, 95) == pytest.approx(interval, abs=1e-9)


@QUICK
@given(counts)
def test_z_and_chi_square_are_one_test(table: tuple[int, int, int, int]) -> None:
    z, chi = z_test(*table), chi_square(*table)
    assert z.statistic**2 == pytest.approx(chi.statistic, abs=1e-9)
    assert z.p == pytest.approx(chi.p, abs=1e-9)


@QUICK
@given(counts)
def test_exchanging_the_two_turns_the_signs(table: tuple[int, int, int, int]) -> None:
    x1, n1, x2, n2 = table
    here, there = newcombe(*table), newcombe(x2, n2, x1, n1)
    assert here == pytest.approx((-there.high, -there.low), abs=1e-12)
    assert -1 <= here.low <= x1 / n1 - x2 / n2 <= here.high <= 1
    assert z_test(*table, "less").p == pytest.approx(z_test(x2, n2, x1, n1, "greater").p)


def test_where_all_are_alike_nothing_differs() -> None:
    for x in (0, 20):
        assert chi_square(x, 20, x, 20) == (0.0, 1, 1.0)
        assert z_test(x, 20, x, 20).p == 1.0


def test_an_infinite_statistic_has_a_p_value_of_0_or_1() -> None:
    assert (normal_p(inf, "greater"), normal_p(inf, "less"), normal_p(-inf)) == (0.0, 1.0, 0.0)


def test_what_is_no_comparison_is_refused() -> None:
    with pytest.raises(InputError, match="at least one response on either side"):
        chi_square(0, 0, 5, 10)
    with pytest.raises(InputError, match="x1 = nan is not a count"):
        z_test(float("nan"), 10, 5, 10)
    with pytest.raises(InputError, match=r"x2 = 2\.5 is not a count"):
        chi_square(1, 10, 2.5, 10)
    with pytest.raises(InputError, match="11 of 10 is not a share"):
        newcombe(11, 10, 5, 10)
    with pytest.raises(UsageError, match="'higher' is not an alternative"):
        z_test(1, 2, 1, 2, "higher")
