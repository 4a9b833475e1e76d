"""Sign flips without random draws: exact against all sign vectors, bounded where sums are too many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.scoring.scores import score
from humaneval.statistics import sign_flips
from humaneval.statistics.cells import cells
from humaneval.statistics.multiplicity import decisive_p_values
from humaneval.statistics.paired_tests import MCNEMAR, contributions, paired_test
from humaneval.statistics.sign_flips import FlipTest, sign_flip_test
from tests.unit.mcnemar import mcnemar_exact, mcnemar_mid

QUICK = settings(max_examples=60, deadline=None)


def by_all_signs(weights: np.ndarray, *, mid: bool = False) -> float:
    """The two-sided p from all sign vectors; the mid-p is twice that of one side, so 1 at a sum of 0."""
    if not weights.sum():
        return 1.0
    sums = np.abs(np.array(list(product([1, -1], repeat=weights.size))) @ weights)
    seen = abs(int(weights.sum()))
    return min(1.0, float((sums > seen).mean() + (sums == seen).mean() * (0.5 if mid else 1.0)))


@QUICK
@given(st.lists(st.integers(-9000, 9000), min_size=1, max_size=10), st.booleans())
@example([1, -1], True)
def test_sign_flips_agree_with_all_sign_vectors(weights: list[int], mid: bool) -> None:
    found = sign_flip_test(np.array(weights), mid=mid)
    expected = by_all_signs(np.array(weights), mid=mid)
    assert found.p == pytest.approx(expected, abs=1e-11)
    assert found.error == 0


def test_a_common_factor_changes_nothing_and_the_sides_add_up() -> None:
    weights = np.random.default_rng(1).integers(-30, 60, 25)
    assert sign_flip_test(weights * 96_000_000) == sign_flip_test(weights)
    less, greater = (sign_flip_test(weights, side, mid=True).p for side in ("less", "greater"))
    assert less + greater == pytest.approx(1)
    assert sign_flip_test(weights).p == pytest.approx(2 * sign_flip_test(weights, "greater").p)


def test_sums_of_few_large_clusters_are_all_listed() -> None:
    weights = np.random.default_rng(2).integers(10**8, 10**9, 12) * np.repeat([1, -1], [9, 3])
    found = sign_flip_test(weights, decisive=[by_all_signs(weights)])
    assert (found.p, found.error) == (pytest.approx(by_all_signs(weights), abs=1e-12), 0)


@pytest.mark.parametrize(("clusters", "largest"), [(70, 400), (300, 40), (2000, 6)])
def test_bounds_hold_the_exact_p_and_close_in(
    clusters: int, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(clusters)
    weights = rng.integers(-largest, largest + 1, clusters)
    few = int(2 * clusters**0.5)
    weights[:few] = np.abs(weights[:few])
    exact = sign_flip_test(weights)
    assert exact.error == 0
    monkeypatch.setattr(sign_flips, "LATTICE", 0)
    monkeypatch.setattr(sign_flips, "STATES", 0)
    for near in (0.5, 1e-3):
        cut = exact.p * (1 + near)
        found = sign_flip_test(weights, decisive=[cut])
        assert abs(found.p - exact.p) <= found.error + 1e-12
        assert found.error * 10 <= cut - found.p
        assert found.p == pytest.approx(exact.p, rel=1e-2)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 300), st.integers(2, 400), st.booleans())
def test_where_nothing_is_decided_bounds_from_few_frequencies_hold_the_exact_p(
    seed: int, clusters: int, largest: int, mid: bool
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-largest, largest + 1, clusters) + rng.integers(0, largest // 2 + 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sign_flips, "LATTICE", 10**9)
        for side in ("two-sided", "less", "greater"):
            exact = sign_flip_test(weights, side, mid=mid)
            patch.setattr(sign_flips, "LISTED", 0)
            found = sign_flip_test(weights, side, mid=mid, decisive=())
            assert abs(found.p - exact.p) <= found.error + 1e-12
            assert found.error <= max(1.1e-2 * found.p, 2.1e-5)


@pytest.mark.parametrize("clusters", [8, 14, 26, 34])
def test_few_large_contributions_have_the_digits_that_reports_show(clusters: int) -> None:
    weights = np.random.default_rng(clusters).integers(-(10**6), 10**6, clusters)
    found = sign_flip_test(weights, decisive=())
    assert found.error <= max(1.1e-2 * found.p, 2.1e-5)
    if clusters < 16:
        sums = np.array([0])
        for weight in weights:
            sums = np.concatenate([sums - weight, sums + weight])
        assert found == (pytest.approx(float((np.abs(sums) >= abs(weights.sum())).mean())), 0.0)


def test_where_no_bound_decides_the_upper_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(3).integers(-300, 400, 60)
    exact = sign_flip_test(weights)
    for name in ("LATTICE", "STATES"):
        monkeypatch.setattr(sign_flips, name, 0)
    monkeypatch.setattr(sign_flips, "FINEST", sign_flips.COARSEST)
    found = sign_flip_test(weights, decisive=[exact.p])
    assert exact.p < found.p <= exact.p + found.error


def test_what_cannot_be_flipped_is_refused() -> None:
    for nothing in (np.zeros(4, dtype=np.int64), np.empty(0, dtype=np.int64)):
        assert sign_flip_test(nothing) == FlipTest(1.0)
    with pytest.raises(UsageError, match="no alternative"):
        sign_flip_test(np.ones(3, dtype=np.int64), "larger")
    with pytest.raises(InputError, match="whole numbers"):
        sign_flip_test(np.array([0.5]))


def test_a_verdict_turns_at_the_declared_error_or_at_a_share_of_it() -> None:
    assert decisive_p_values(0.05, 1, "holm") == decisive_p_values(0.05, 9, "none") == (0.05,)
    assert min(decisive_p_values(0.05, 15, "holm")) == pytest.approx(0.05 / 15)
    assert decisive_p_values(0.05, 2, "benjamini-hochberg") == (0.025, 0.05)


def test_contributions_are_whole_however_many_responses_there_are() -> None:
    rng = np.random.default_rng(4)
    worker, generator = rng.integers(0, 30, 400), rng.integers(0, 2, 400)
    table = cells(rng.random(400) < 0.4, worker, np.arange(400), generator)
    whole = contributions(table, table.workers, 0, 1)
    means, sums = table.ones.sum() / table.n.sum(), table.workers
    real = [(sums.ones[:, at] - means * sums.counts[:, at]) / table.n[at] for at in (0, 1)]
    scale = float(np.abs(whole).max() / np.abs(real[0] - real[1]).max())
    assert whole == pytest.approx((real[0] - real[1]) * scale)
    assert whole.sum() / scale == pytest.approx(table.means[0] - table.means[1])


def test_X01_the_p_values_of_a_study_are_the_exact_ones(test_data: Path) -> None:
    frame = pd.read_csv(test_data / "faults" / "holm_study.csv")
    found = {(one.a, one.b): one for one in score(frame).comparisons}
    expected = {
        ("sysA", "sysF"): 0.001078,
        ("sysA", "sysB"): 0.499199,
        ("sysB", "sysE"): 0.005100,
        ("sysF", "human"): 0.004414,
    }
    assert {pair: round(found[pair].p, 6) for pair in expected} == expected


def sizes(n: int, share: float) -> Iterator[tuple[int, int, float]]:
    """All tables of n pairs with their odds, if a `share` of pairs differ, to either side alike."""
    for m in range(n + 1):
        odds = comb(n, m) * share**m * (1 - share) ** (n - m)
        yield from ((b, m - b, odds * comb(m, b) / 2**m) for b in range(m + 1))


@pytest.mark.parametrize(("n", "share", "least"), [(60, 0.095, 0.028), (95, 0.095, 0.039), (95, 0.48, 0.048)])
def test_X04_near_the_ends_the_paired_test_rejects_nearly_as_often_as_it_may(
    n: int, share: float, least: float
) -> None:
    """Scores of 5 or 95 % differ in 9.5 % of the pairs, scores near 50 % in about a half."""
    mid, exact = (
        sum(odds for b, c, odds in sizes(n, share) if p(b, c) <= 0.05) for p in (mcnemar_mid, mcnemar_exact)
    )
    assert exact < least <= mid <= 0.05


def test_X04_few_pairs_that_differ_among_many_count_by_the_mid_p() -> None:
    for n, p in ((60, mcnemar_mid(5, 0)), (11, mcnemar_exact(5, 0))):
        outcomes = np.concatenate([np.arange(n) < 5, np.zeros(n, dtype=bool)])
        table = cells(outcomes, np.tile(np.arange(n), 2), np.arange(2 * n), np.repeat([0, 1], n))
        found = paired_test(table, 0, 1, "two-sided")
        assert (found.name, found.p) == (MCNEMAR, pytest.approx(p))
