"""Picking bias, position and learning: by hand, against statsmodels, and simulated."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency, chisquare

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.position_effects import Learning, learning, picking_bias, position_effect
from humaneval.statistics.two_samples import Significance

QUICK = settings(max_examples=40, deadline=None)


@QUICK
@given(st.lists(st.integers(1, 5), min_size=1, max_size=60))
def test_picking_bias_is_goodness_of_fit(choices: list[int]) -> None:
    found = picking_bias(choices)
    expected = chisquare(np.bincount(choices, minlength=6)[1:])
    assert found.significance == pytest.approx((expected.statistic, 4, expected.pvalue))
    assert sum(found.picks) == len(choices)
    assert found.few == (len(choices) < 25)


def expand(tables: list[list[list[int]]]) -> tuple[list[int], list[int], list[int]]:
    """Tables of [detected, missed] by position as columns: detected, positions, strata."""
    rows = [
        (outcome, position, stratum)
        for stratum, table in enumerate(tables)
        for position, cells in enumerate(table, start=1)
        for outcome, n in zip((1, 0), cells, strict=True)
        for _ in range(n)
    ]
    detected, positions, strata = zip(*rows, strict=True)
    return list(detected), list(positions), list(strata)


def test_two_positions_in_three_strata_are_the_mantel_haenszel_test() -> None:
    detected, positions, strata = expand([[[12, 8], [5, 15]], [[20, 10], [11, 9]], [[3, 7], [6, 14]]])
    found = position_effect(detected, positions, strata)
    # statsmodels 0.15.0, StratifiedTable.test_null_odds
    assert found.significance == pytest.approx((3.5104473791634816, 1, 0.060982985987686256))
    assert (found.positions, found.responses, found.detected) == ((1, 2), (60, 60), (35, 22))


@QUICK
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=2, max_size=5))
def test_one_stratum_is_pearsons_test(table: list[tuple[int, int]]) -> None:
    detected, positions, _ = expand([[list(cells) for cells in table]])
    found = position_effect(detected, positions).significance
    pearson = chi2_contingency(table, correction=False)
    n = len(detected)
    assert isinstance(found, Significance)
    assert found.degrees == len(table) - 1
    assert found.statistic == pytest.approx(pearson.statistic * (n - 1) / n, abs=1e-9)


@QUICK
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=60),
    st.randoms(),
)
def test_order_and_numbering_change_nothing(rows: list[tuple[int, int, int]], random: Random) -> None:
    before = position_effect(*zip(*rows, strict=True)).significance
    random.shuffle(rows)
    after = position_effect(
        [outcome for outcome, _, _ in rows],
        [5 - place for _, place, _ in rows],
        [f"g{name}" for _, _, name in rows],
    ).significance
    assert isinstance(after, NotEstimable) == isinstance(before, NotEstimable)
    if isinstance(before, Significance):
        assert after == pytest.approx(before, abs=1e-8)
        assert 0 <= before.p <= 1


def test_strata_hide_a_difference_between_generators_that_stand_at_different_positions() -> None:
    # each generator has one rate at both positions; the easy one stands mostly at position 1
    detected, positions, strata = expand([[[72, 8], [18, 2]], [[2, 18], [8, 72]]])
    pooled = position_effect(detected, positions).significance
    within = position_effect(detected, positions, strata).significance
    assert isinstance(pooled, Significance)
    assert isinstance(within, Significance)
    assert pooled.p < 1e-6
    assert within.p == pytest.approx(1)


def test_where_nothing_varies_position_is_not_estimable() -> None:
    assert (
        str(position_effect([1, 0], [2, 2]).significance)
        == "not estimable, because the sentence is at position 2 in each of these passages"
    )
    assert isinstance(position_effect([1, 1, 1], [1, 2, 3]).significance, NotEstimable)


def test_learning_on_real_responses_is_that_of_statsmodels(test_data: Path) -> None:
    frame = pd.read_csv(test_data / "responses" / "deepfake3" / "derived_long_anon.csv")
    found = learning(frame["ok"], frame["item"], frame["w"], frame["g"])
    assert isinstance(found, Learning)
    assert found.workers == 57
    # statsmodels 0.15.0, GLM(Binomial).fit(cov_type="cluster"), which corrects by (n − 1)/(n − 3) besides
    assert found.slope == pytest.approx(0.0024234012446055463, abs=1e-10)
    assert found.standard_error == pytest.approx(0.0039059555709674734, abs=1e-9)


def simulated(slope: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    workers, order = np.repeat(np.arange(200), 8), np.tile(np.arange(1, 9), 200)
    generators = rng.permuted(np.tile(np.arange(8), (200, 1)), axis=1).ravel()
    skill = rng.normal(0, 0.5, 200)[workers] + np.linspace(-1, 1, 8)[generators]
    found = rng.random(1600) < 1 / (1 + np.exp(-(skill + slope * (order - 4.5))))
    return found | (generators == 7), order, workers, generators


def test_annotators_who_learn_are_seen_to() -> None:
    outcomes, order, workers, generators = simulated(0.15, 3)
    found = learning(outcomes, order, workers, generators)
    assert isinstance(found, Learning)
    assert found.p < 0.001
    assert found.interval.low < 0.15 < found.interval.high
    assert found.left_out == 200  # the generator that everybody notices
    assert found.odds_ratio == pytest.approx(np.exp(found.slope))
    backwards = learning(outcomes, -order, workers, generators)
    assert isinstance(backwards, Learning)
    assert backwards.slope == pytest.approx(-found.slope)


def test_annotators_who_do_not_learn_are_rarely_said_to() -> None:
    p = []
    for seed in range(100):
        found = learning(*simulated(0.0, seed))
        assert isinstance(found, Learning)
        p.append(found.p)
    assert 1 <= sum(one < 0.05 for one in p) <= 12


def test_learning_says_why_it_is_not_estimable() -> None:
    because = "not estimable, because"
    assert str(learning([1, 0, 1], [1, 2, 3], ["a"] * 3)).startswith(f"{because} one worker is too few")
    assert str(learning([1, 0, 1], [1, 2, 3], ["a", "b", "a"])).startswith(
        f"{because} two workers are too few"
    )
    assert str(learning([1, 1, 1], [1, 2, 3], ["a", "b", "c"])) == f"{because} outcomes are all alike"
    assert "same place" in str(learning([1, 0, 1], [2, 2, 2], ["a", "b", "c"]))


def test_X11_why_learning_is_not_estimable_is_true_of_the_data() -> None:
    people, generators = ["a", "b", "c", "d", "e"], ["x", "x", "x", "y", "y"]
    # Each generator has a place of its own: passages were not all shown at the same one.
    assert str(learning([1, 0, 1, 0, 1], [1, 1, 1, 2, 2], people, generators)) == (
        "not estimable, because no generator with outcomes of both kinds was shown at several places of the"
        " order"
    )
    # Only y varies in its places, but it was always found.
    why = str(learning([1, 0, 1, 1, 1], [1, 1, 1, 1, 2], people, generators))
    assert "no generator with outcomes of both kinds" in why
    why = str(learning([1, 1, 1, 1, 0], [1, 2, 3, 1, 2], people, generators))
    assert "two workers who judged a generator with outcomes of both kinds are too few" in why
    assert str(learning([1, 1, 1, 0, 0], [1, 2, 3, 1, 2], people, generators)) == (
        "not estimable, because the outcomes of each generator are all alike"
    )
    assert "separates" in str(learning([0, 0, 1, 1], [1, 2, 3, 4], ["a", "b", "c", "d"]))


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(InputError, match="no choices"):
        picking_bias([])
    with pytest.raises(InputError, match="whole numbers from 1 to 5"):
        picking_bias([0])
    with pytest.raises(UsageError, match="leave no choice"):
        picking_bias([1], 1)
    with pytest.raises(InputError, match="2 outcomes, 1 positions"):
        position_effect([1, 0], [1])
    with pytest.raises(InputError, match="2 positions, 1 strata"):
        position_effect([1, 0], [1, 2], ["lm"])
    with pytest.raises(InputError, match="2 outcomes, 2 places, 1 workers"):
        learning([1, 0], [1, 2], ["a"])
    with pytest.raises(InputError, match="neither 0 nor 1"):
        learning([1, 2], [1, 2], ["a", "b"])
    with pytest.raises(UsageError, match="not a level"):
        learning([1, 0], [1, 2], ["a", "b"], level=0)
