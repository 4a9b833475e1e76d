"""The cumulative-link mixed model against ordinal::clmm and lme4 (see tests/r_oracles.R)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

from humaneval.errors import InputError
from humaneval.statistics.agreement import krippendorff_alpha, tally
from humaneval.statistics.crossed_fit import fitted
from humaneval.statistics.mixed_model import mixed_model
from humaneval.statistics.ordinal import CrossedRatings, Ordinal, cumulative_link, ordinal_omnibus
from tests.made_up_answers import few_ratings, ratings, uneven_ratings
from tests.r_oracles import VALUES


def model(answers: pd.DataFrame, **others: Any) -> Ordinal:
    answers = answers.assign(**others)
    return cumulative_link(answers.rating, answers.generator, answers.worker, answers.story)


def test_it_is_clmms() -> None:
    found = model(ratings())
    assert found.converged
    assert found.names == ("ilm", "lm", "sa", "bert", "human")
    assert found.effects[1:] == pytest.approx(VALUES["clmm effects"], abs=3e-5)
    assert np.sqrt(found.covariance.diagonal()[1:]) == pytest.approx(VALUES["clmm errors"], rel=1e-4)
    assert found.thresholds == pytest.approx(VALUES["clmm thresholds"], abs=3e-5)
    assert found.threshold_errors == pytest.approx(VALUES["clmm threshold errors"], rel=1e-4)
    assert (found.worker_sd, found.story_sd) == pytest.approx(VALUES["clmm deviations"], rel=1e-4)
    assert found.log_likelihood == pytest.approx(VALUES["clmm log likelihood"][0], abs=1e-5)
    pair = found.contrast("human", "bert")
    assert pair.estimate == pytest.approx(found.effects[4] - found.effects[3])
    assert pair.p < 0.001


def test_the_test_of_generators_is_twice_the_gain_in_likelihood() -> None:
    r = ratings()
    full, null = VALUES["clmm log likelihood"]
    test = ordinal_omnibus(r.rating, r.generator, r.worker, r.story)
    assert test.statistic == pytest.approx(2 * (full - null), abs=1e-4)
    assert (test.degrees, test.p) == (4, pytest.approx(float(special.chdtrc(4, 2 * (full - null))), rel=1e-4))
    with pytest.raises(InputError, match="two of them or more"):
        ordinal_omnibus(r.rating, ["ilm"] * len(r), r.worker, r.story)


# Randall's ratings of wines (1989) by nine judges: cold or warm, with contact of juice and skins or without.
WINE = "233444551213235423325544323232532343333332322454112223232223333412323244"


def test_the_published_fit_of_the_wines() -> None:
    rating = np.array([int(one) - 1 for one in WINE])
    judge, place = np.divmod(np.arange(72), 8)
    x = np.column_stack([place > 3, place % 4 > 1]).astype(float)
    data = CrossedRatings(rating, x, judge, np.zeros(72, dtype=np.int64))
    fit = fitted(data, np.concatenate([np.zeros(2), [-1.0], np.zeros(3), [0.0, -2.0]]))
    # Thresholds, effects of temperature and contact, deviation of the judges, log likelihood.
    *thresholds, warm, contact, deviation, value = VALUES["wine"]
    assert fit.fixed[:2] == pytest.approx([warm, contact], abs=1e-4)
    assert np.cumsum([fit.fixed[2], *np.exp(fit.fixed[3:])]) == pytest.approx(thresholds, abs=2e-4)
    assert fit.deviations[0] == pytest.approx(deviation, abs=2e-4)
    assert fit.evaluation.value == pytest.approx(value, abs=1e-5)
    errors = np.sqrt(np.linalg.inv(data.information(fit.fixed, fit.deviations)).diagonal()[:2])
    assert errors == pytest.approx(VALUES["wine errors"][4:], rel=0.05)


def test_value_and_gradient_are_those_of_the_definition() -> None:
    r = ratings(workers=8, each=10, stories=12, points=4)
    codes = [pd.factorize(r[name])[0] for name in ("story", "worker", "generator")]
    x = (codes[2][:, None] == np.arange(1, 5)).astype(float)
    data = CrossedRatings(r.rating.to_numpy() - 1, x, codes[0], codes[1])
    at = np.array([0.1, -0.2, 0.3, 0.4, -1.0, 0.1, -0.3, np.log(0.5), np.log(0.9)])

    def value(point: Any) -> float:
        return data.evaluate(point[:-2], np.exp(point[-2:])).value

    slopes = [(value(at + step) - value(at - step)) / 2e-5 for step in 1e-5 * np.eye(at.size)]
    assert data.evaluate(at[:-2], np.exp(at[-2:])).gradient == pytest.approx(slopes, abs=1e-5)
    # With the modes at 0 (no spread) the likelihood is the plain one.
    ends = np.array([-np.inf, -1.0, -1.0 + np.exp(0.1), -1.0 + np.exp(0.1) + np.exp(-0.3), np.inf])
    eta = x @ at[:4]
    plain = special.expit(ends[r.rating] - eta) - special.expit(ends[r.rating - 1] - eta)
    assert data.evaluate(at[:-2], np.full(2, 1e-4)).value == pytest.approx(np.log(plain).sum(), abs=1e-4)


def test_with_two_points_it_is_the_logistic_model() -> None:
    r = ratings()
    found = model(r, rating=(r.rating > 3).astype(int))
    same = mixed_model(r.rating > 3, r.worker, r.story, r.generator)
    assert found.log_likelihood == pytest.approx(same.log_likelihood, abs=1e-6)
    # lme4 stops a little below the maximum.
    assert 0 < found.log_likelihood - VALUES["glmer log likelihood"][0] < 2e-3
    assert found.effects[1:] == pytest.approx(VALUES["glmer effects"], abs=0.02)
    assert found.effects == pytest.approx(same.effects - same.effects[0], abs=1e-3)
    assert found.contrast("lm", "sa").standard_error == pytest.approx(
        same.contrast("lm", "sa").standard_error, rel=1e-3
    )
    assert (found.worker_sd, found.story_sd) == pytest.approx((same.worker_sd, same.story_sd), rel=1e-3)


def test_a_point_that_nobody_gave_and_a_single_rating_leave_it_clmms() -> None:
    r = uneven_ratings()
    with pytest.raises(InputError, match="not estimable, because all ratings of bert are 1"):
        model(r)
    r = r[r.generator != "bert"]
    found = model(r)
    assert found.ratings == (1.0, 2.0, 4.0, 5.0)
    assert found.effects[1:] == pytest.approx(VALUES["uneven clmm effects"], abs=3e-5)
    assert np.sqrt(found.covariance.diagonal()[1:]) == pytest.approx(VALUES["uneven clmm errors"], rel=1e-4)
    assert found.thresholds == pytest.approx(VALUES["uneven clmm thresholds"], abs=3e-5)
    assert (found.worker_sd, found.story_sd) == pytest.approx(VALUES["uneven clmm deviations"], rel=1e-4)
    assert found.log_likelihood == pytest.approx(VALUES["uneven clmm log likelihood"][0], abs=1e-5)
    logistic = mixed_model(r.rating > 4, r.worker, r.story, r.generator)
    # lme4 stops a little below the maximum, at a story sd of 0 in the place of .008.
    assert 0 < logistic.log_likelihood - VALUES["uneven glmer log likelihood"][0] < 5e-4
    assert logistic.effects[1:] - logistic.effects[0] == pytest.approx(
        VALUES["uneven glmer effects"], abs=3e-4
    )


def test_where_neither_workers_nor_stories_vary_it_is_clms() -> None:
    found = model(few_ratings())
    assert found.worker_sd < 0.01
    assert found.story_sd == 0.0
    assert found.effects[1:] == pytest.approx(VALUES["few clm effects"], abs=3e-5)
    assert found.thresholds == pytest.approx(VALUES["few clm thresholds"], abs=3e-5)
    assert found.log_likelihood == pytest.approx(VALUES["few clm log likelihood"][0], abs=1e-5)


def test_ratings_that_follow_from_their_worker_alone_have_no_model() -> None:
    worker, generator = np.tile(np.arange(12), 3), np.repeat(["a", "b", "c"], 12)
    rating = 1 + worker % 4 + (generator == "a")
    with pytest.raises(InputError, match="because answers follow from their worker or story alone"):
        cumulative_link(rating, generator, worker, worker)


def test_a_turned_scale_turns_the_effects_and_only_the_order_counts() -> None:
    r = ratings()
    found, turned = model(r), model(r, rating=6 - r.rating)
    assert turned.effects == pytest.approx(-found.effects, abs=1e-3)
    assert turned.thresholds == pytest.approx(-found.thresholds[::-1], abs=1e-3)
    other = model(r, rating=r.rating.map({1: 0, 2: 1, 3: 10, 4: 50, 5: 100}))
    assert other.effects == pytest.approx(found.effects)
    assert other.ratings == (0.0, 1.0, 10.0, 50.0, 100.0)


def test_what_never_recurs_has_no_effect_in_the_model() -> None:
    r = ratings()
    found = model(r, story=np.arange(len(r)))
    assert found.story_sd == 0.0
    assert found.worker_sd > 0.5
    assert "No story has a second rating" in found.statement
    assert found.converged


def test_what_is_not_estimable_is_said() -> None:
    r = ratings()
    alone = np.arange(len(r))
    low = r.generator.isin(["bert", "sa"])
    for others, why in (
        ({"worker": "ann"}, "there is a single worker"),
        ({"story": "s"}, "there is a single story"),
        ({"worker": alone, "story": alone}, "no worker and no story has a second rating"),
        ({"rating": 3}, "all ratings are 3"),
        ({"rating": r.rating.mask(r.generator == "bert", 1)}, "all ratings of bert are 1"),
        (
            {"rating": np.where(low, 1 + r.rating % 2, 3 + r.rating % 3)},
            r"the ratings of some generators do not overlap: sa, bert \| ilm, lm, human",
        ),
    ):
        with pytest.raises(InputError, match=f"not estimable, because {why}"):
            model(r, **others)
    # A generator whose ratings are all in the middle is bounded from both sides.
    assert model(r, rating=r.rating.mask(r.generator == "bert", 3)).converged


def test_ordinal_agreement_counts_what_lies_between_two_ratings() -> None:
    r = ratings(workers=40, each=10, stories=25)
    counts = tally(r.story + r.generator, r.rating)
    alphas = [krippendorff_alpha(counts, metric) for metric in ("nominal", "ordinal", "interval")]
    turned = tally(r.story + r.generator, 6 - r.rating)
    assert krippendorff_alpha(turned, "ordinal") == pytest.approx(alphas[1])
    stretched = tally(r.story + r.generator, r.rating**3)
    assert krippendorff_alpha(stretched, "ordinal") == pytest.approx(alphas[1])
    assert krippendorff_alpha(stretched, "interval") != pytest.approx(alphas[2])
