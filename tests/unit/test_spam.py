"""Spammers by their Control passages: the gate's arithmetic and the empirical-Bayes posterior."""

from __future__ import annotations

import numpy as np
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.spam import SpamPosterior, spam_given_pass, spam_posterior


def test_five_failures_of_a_hundred_imply_what_the_paper_does_not_say() -> None:
    # 6.25 who click anywhere fail the one Control passage 5 times; 1.25 of the 95 who pass are among them
    assert float(spam_given_pass(0.0625, 1)) == pytest.approx(1.25 / 95)
    # two Control passages would cut the share of spammers among those who pass to .3 %
    assert round(100 * float(spam_given_pass(0.0625, 2)), 1) == 0.3


def test_the_formula_by_hand_and_for_many_at_once() -> None:
    # 10 spammers of 100 with chance 1/5 pass two with 1/25; 90 honest ones with .9 each pass with .81
    assert spam_given_pass(0.1, 2, 0.9) == pytest.approx(0.1 / 25 / (0.1 / 25 + 0.9 * 0.81))
    assert spam_given_pass(0.1, [0, 1, 30]) == pytest.approx([0.1, 0.02 / 0.92, 0], abs=1e-12)


def crowd(share: float, n: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    spams = rng.random(n) < share
    controls = rng.integers(max(1, k - 3), k + 1, size=n)
    return rng.binomial(controls, np.where(spams, 0.2, rng.beta(18, 2, size=n))), controls, spams


def test_C51_a_posterior_tells_spammers_from_people_who_missed_one() -> None:
    noticed, controls, spams = crowd(0.2, 1500, 10, 4)
    found = spam_posterior(noticed, controls)
    assert isinstance(found, SpamPosterior)
    assert found.share == pytest.approx(0.2, abs=0.04)
    assert found.honest_mean == pytest.approx(0.9, abs=0.03)
    assert ((found.probability > 0.5) == spams).mean() > 0.98
    # calibrated: among those with some probability about that share spams
    assert found.probability.mean() == pytest.approx(spams.mean(), abs=0.02)
    one_miss = found.probability[(noticed == 9) & (controls == 10)]
    assert (one_miss < 0.01).all()
    assert (found.probability[noticed == 0] > 0.9).all()


def test_the_posterior_falls_with_every_passage_noticed_and_order_changes_nothing() -> None:
    noticed = np.repeat([0, 1, 2, 3, 4, 5], [4, 9, 4, 3, 20, 60])
    found = spam_posterior(noticed, np.full(100, 5))
    assert isinstance(found, SpamPosterior)
    assert (np.diff(found.probability) <= 1e-12).all()
    order = np.random.default_rng(1).permutation(100)
    shuffled = spam_posterior(noticed[order], np.full(100, 5))
    assert isinstance(shuffled, SpamPosterior)
    assert shuffled.probability == pytest.approx(found.probability[order], abs=1e-6)


def test_one_control_each_needs_to_be_told_what_honest_people_notice() -> None:
    noticed, controls = np.array([1] * 95 + [0] * 5), np.ones(100)
    refused = spam_posterior(noticed, controls)
    assert "no annotator saw more than 1 Control passages" in str(refused)
    found = spam_posterior(noticed, controls, honest_pass=0.9999)
    assert isinstance(found, SpamPosterior)
    # nearly the gate's arithmetic, 1.3 %, drawn a little by the prior
    assert found.share == pytest.approx(0.0625, abs=0.01)
    assert found.probability[0] == pytest.approx(float(spam_given_pass(found.share, 1, 0.9999)), rel=0.02)
    assert found.probability[-1] > 0.99


def test_where_everybody_passes_nobody_is_certain_to_have_read() -> None:
    forty, one = (spam_posterior([1] * n, [1] * n, honest_pass=0.95) for n in (40, 1))
    assert isinstance(forty, SpamPosterior)
    assert isinstance(one, SpamPosterior)
    # By hand: the share's posterior is Beta(1, 3) times (0.2 s + 0.95 (1 - s))^n.
    grid = (np.arange(200_000) + 0.5) / 200_000
    for n, found in ((40, forty), (1, one)):
        mixed = 0.2 * grid + 0.95 * (1 - grid)
        weight = (1 - grid) ** 2 * mixed**n
        assert found.probability[0] == pytest.approx(
            (weight * 0.2 * grid / mixed).sum() / weight.sum(), rel=1e-4
        )
        assert found.share == pytest.approx((weight * grid).sum() / weight.sum(), rel=1e-4)
    assert 0.005 < forty.probability[0] < 0.01 < 0.05 < one.probability[0] < 0.1


def test_annotators_without_controls_keep_the_share() -> None:
    found = spam_posterior([0, 5, 0], [0, 5, 5])
    assert isinstance(found, SpamPosterior)
    assert found.probability[0] == pytest.approx(found.share)


@pytest.mark.parametrize("noticed", [0, 5])
def test_all_right_and_all_wrong_have_a_posterior(noticed: int) -> None:
    found = spam_posterior([noticed] * 50, [5] * 50)
    assert isinstance(found, SpamPosterior)
    assert np.isfinite(found.probability).all()
    assert (found.probability < 0.01).all() if noticed else (found.probability > 0.5).all()


def test_certain_honesty_has_a_posterior_too() -> None:
    found = spam_posterior([1, 1, 0], [1, 1, 1], honest_pass=1.0)
    assert isinstance(found, SpamPosterior)
    assert found.probability[2] == pytest.approx(1)


def test_what_makes_no_sense_is_refused() -> None:
    assert spam_posterior([0, 0], [0, 0]) == NotEstimable("no annotator saw a Control passage")
    with pytest.raises(InputError, match="2 numbers of noticed and 1 of shown"):
        spam_posterior([1, 1], [1])
    with pytest.raises(InputError, match="0 numbers of noticed"):
        spam_posterior([], [])
    with pytest.raises(InputError, match="from 0 to the numbers shown"):
        spam_posterior([2], [1])
    with pytest.raises(InputError, match="are not finite numbers"):
        spam_posterior([float("nan")], [1])
    with pytest.raises(UsageError, match="do better than chance"):
        spam_posterior([1], [1], honest_pass=0.1)
    with pytest.raises(UsageError, match="shares and probabilities must lie"):
        spam_given_pass(1.5, 1)
    with pytest.raises(UsageError, match="nobody passes"):
        spam_given_pass(0.0, 1, 0.0)
