"""Adjusted p-values against R's, statsmodels' and those of Benjamini and Hochberg's paper."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from humaneval.errors import InputError
from humaneval.statistics.arrays import Floats
from humaneval.statistics.multiplicity import Adjust, benjamini_hochberg, holm, turning_point

QUICK = settings(max_examples=40, deadline=None)

# the 15 p-values of Benjamini and Hochberg (1995)
PAPER = [
    0.0001,
    0.0004,
    0.0019,
    0.0095,
    0.0201,
    0.0278,
    0.0298,
    0.0344,
    0.0459,
    0.3240,
    0.4262,
    0.5719,
    0.6528,
    0.7590,
    1.0,
]
p_values = st.lists(st.floats(0, 1), max_size=30)


def test_five_p_values() -> None:
    p = [0.01, 0.02, 0.03, 0.04, 0.05]
    assert holm(p) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert benjamini_hochberg(p) == pytest.approx([0.05] * 5)


def test_fifteen_p_values_of_the_paper() -> None:
    rates = [0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.063857, 0.063857, 0.0645, 0.0765]
    rates += [0.486, 0.581182, 0.714875, 0.753231, 0.813214, 1]
    assert benjamini_hochberg(PAPER) == pytest.approx(rates, abs=5e-7)
    steps = [0.0015, 0.0056, 0.0247, 0.1140, 0.2211, 0.2780, 0.2780, 0.2780, 0.3213] + [1] * 6
    assert holm(PAPER) == pytest.approx(steps, abs=5e-5)


@QUICK
@given(p_values, st.randoms())
def test_each_p_value_keeps_its_place(p: list[float], random: Random) -> None:
    order = list(range(len(p)))
    random.shuffle(order)
    for adjust in (holm, benjamini_hochberg):
        assert adjust([p[i] for i in order]) == pytest.approx(adjust(p)[order])


@QUICK
@given(p_values)
def test_the_three_come_in_order_of_strictness(p: list[float]) -> None:
    own, rates, steps = np.array(p), benjamini_hochberg(p), holm(p)
    all_at_once = np.minimum(1.0, own.size * own)  # Bonferroni
    assert (own <= rates + 1e-12).all()
    assert (rates <= steps + 1e-12).all()
    assert (steps <= all_at_once + 1e-12).all()
    assert (all_at_once <= 1).all()
    if p:
        assert rates == pytest.approx(false_discovery_control(p))


def test_no_p_values_give_none() -> None:
    assert holm([]).size == benjamini_hochberg([]).size == 0


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_what_is_no_p_value_is_refused(adjust: object) -> None:
    with pytest.raises(InputError, match="1 of 2 p-values are not finite numbers, the first is entry 2"):
        adjust([0.1, float("nan")])
    with pytest.raises(InputError, match=r"1\.2 is not a p-value"):
        adjust([0.1, 1.2])
    with pytest.raises(InputError, match="as one column"):
        adjust([[0.1, 0.2]])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 0.1), st.floats(0, 0.02), st.floats(0, 1)), min_size=1, max_size=12),
    st.sampled_from(["holm", "benjamini-hochberg", "none"]),
)
def test_where_no_p_has_the_turning_point_between_its_bounds_none_changes_a_verdict(
    drawn: list[tuple[float, float, float]], adjust: Adjust
) -> None:
    low = np.array([p for p, _, _ in drawn])
    width, place = (np.array(column) for column in list(zip(*drawn, strict=True))[1:])

    def rejected(p: Floats) -> list[bool]:
        how = {"holm": holm, "benjamini-hochberg": benjamini_hochberg, "none": np.asarray}[adjust]
        return [bool(one <= 0.05 + 1e-12) for one in how(p)]

    high = low + width
    while ((low <= (turn := turning_point(low, high, 0.05, adjust))) & (turn < high)).any():
        # As if they were found exactly.
        near = (low <= turn) & (turn < high)
        high[near] = low[near] = (low + place * (high - low))[near]
    assert rejected(low) == rejected(high) == rejected(low + place * (high - low))
