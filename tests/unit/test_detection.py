"""Detection with luck taken off: ceilings, k and d′."""

from __future__ import annotations

from math import exp, pi, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.detection import chance_ceiling, d_prime, detection, share_correct
from humaneval.statistics.intervals import Interval, wilson

QUICK = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize(
    ("share", "m", "expected"),  # R 4.2.2, psyphy 0.2.3: its root is exact to about 2e-5 only
    [
        (0.8, 5, 2.052784),
        (0.547368, 5, 1.164473),
        (0.589474, 5, 1.295502),
        (0.705263, 5, 1.680089),
        (0.221053, 5, 0.087878),
        (0.99, 5, 3.919582),
        (0.75, 2, 0.953873),
        (0.5, 4, 0.836775),
        (0.4492, 3, 0.391255),
    ],
)
def test_d_prime_gives_the_reference_values(share: float, m: int, expected: float) -> None:
    assert d_prime(share, m) == pytest.approx(expected, abs=2e-5)


def test_with_two_alternatives_it_has_a_closed_form() -> None:
    assert d_prime(0.75, 2) == pytest.approx(sqrt(2) * ndtri(0.75), abs=1e-10)


@QUICK
@given(st.floats(-6, 8), st.integers(2, 20))
def test_the_share_is_the_integral_and_d_prime_its_inverse(value: float, m: int) -> None:
    integral = quad(
        lambda x: exp(-((x - value) ** 2) / 2) / sqrt(2 * pi) * ndtr(x) ** (m - 1), -12, 20, epsabs=1e-12
    )[0]
    assert share_correct(value, m) == pytest.approx(integral, abs=1e-9)
    if 1e-4 < integral < 1 - 1e-4:
        assert d_prime(share_correct(value, m), m) == pytest.approx(value, abs=1e-7)


def test_guessing_has_no_sensitivity_and_worse_than_guessing_a_negative_one() -> None:
    assert d_prime(0.2, 5) == pytest.approx(0, abs=1e-9)
    below = d_prime(0.1, 5)
    assert not isinstance(below, NotEstimable)
    assert below < 0


def test_d_prime_says_where_it_is_infinite() -> None:
    assert str(d_prime(1.0)) == "not estimable, because all answers are right, so d′ has no finite value"
    assert str(d_prime(0.0)) == "not estimable, because no answers are right, so d′ has no finite value"
    assert isinstance(d_prime(1e-300), NotEstimable)


def test_C58_a_score_is_measured_against_the_chance_line() -> None:
    ilm = detection(43 / 95, wilson(43, 95))
    assert (round(ilm.normalised, 3), round(ilm.detected, 3)) == (0.566, 0.434)
    assert ilm.normalised_interval == pytest.approx((0.356328 / 0.8, 0.552617 / 0.8), abs=1e-6)
    assert ilm.detected_interval == pytest.approx((1 - 0.552617 / 0.8, 1 - 0.356328 / 0.8), abs=1e-6)
    assert not ilm.above_ceiling
    lucky = detection(0.9, Interval(0.8, 0.95))
    assert lucky.above_ceiling
    assert lucky.detected < 0


def test_uniform_positions_make_the_ceiling_four_fifths_whatever_is_picked() -> None:
    assert chance_ceiling([90, 1, 2, 3, 4], [7] * 5) == pytest.approx(0.8)
    assert chance_ceiling([7] * 5, [90, 1, 2, 3, 4]) == pytest.approx(0.8)
    assert chance_ceiling([1, 0], [1, 0]) == 0.0
    assert chance_ceiling([0, 0], [1, 0]) == NotEstimable("no passage was judged")


def test_real_choices_among_three_have_nearly_the_nominal_ceiling(test_data: Path) -> None:
    frame = pd.read_csv(test_data / "responses" / "deepfake3" / "derived_long_anon.csv")
    lucky = []
    for _, batch in frame.groupby("f"):
        ceiling = chance_ceiling(np.bincount(batch["pick"])[1:], np.bincount(batch["gold"])[1:])
        assert not isinstance(ceiling, NotEstimable)
        lucky.append(round(1 - ceiling, 3))
    assert sorted(lucky) == [0.325, 0.325, 0.330, 0.332]  # 1/3 would be nominal


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="is not a score with its interval"):
        detection(0.5, Interval(0.6, 0.7))
    with pytest.raises(InputError, match="is not a score with its interval"):
        detection(float("nan"), Interval(0.6, 0.7))
    with pytest.raises(UsageError, match="not a chance ceiling"):
        detection(0.5, Interval(0.4, 0.6), ceiling=0)
    with pytest.raises(InputError, match="2 counts of picks and 3 of positions"):
        chance_ceiling([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="1 sentences leave no choice"):
        d_prime(0.5, 1)
    with pytest.raises(UsageError, match="not a probability"):
        d_prime(1.5)
    with pytest.raises(UsageError, match="not a sensitivity"):
        share_correct(float("inf"))
