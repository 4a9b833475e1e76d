"""Clustered inference on real detection data: 57 workers, 50 items, 1,560 answers (real data, see
`test_data`).

The table is read off the four raw files: ten HITs each in the order of the articles, five articles a HIT,
whose machine-written paragraph articles_gold.csv names. "A0Q1" is a control and does not count. Figures: R
4.2.2 (stats, sandwich, clubSandwich 0.5.8, geepack 1.3.9, lme4 1.1-31, glmmTMB 1.1.5) and statsmodels 0.15.0.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import calibration
from humaneval.statistics.bootstrap import By, bootstrap
from humaneval.statistics.mixed_model import mixed_model, omnibus
from humaneval.statistics.regression import (
    Correction,
    cluster_covariance,
    cr2_covariance,
    design_matrix,
    gee,
    logistic,
    two_way_covariance,
)
from tests.unit.two_generators import paired_difference


@pytest.fixture(scope="module")
def answers(test_data: Path) -> pd.DataFrame:
    folder = test_data / "responses" / "deepfake3"
    labels = pd.read_csv(folder / "articles_gold.csv", encoding="utf-8-sig")["label"]
    rows = []
    for group, form in product(("group1", "group2"), ("select", "write")):
        hits = json.loads((folder / f"{group}_v_{form}.json").read_text())
        for number, hit in enumerate(hits.values()):
            for answer, question in product(hit["Answers"], range(5)):
                item = 5 * number + question
                ok = answer[f"A{question + 1}Q1"][-1] == labels[item][-1]
                rows.append((group, answer["WorkerID"], item, int(ok)))
    return pd.DataFrame(rows, columns=["g", "w", "item", "ok"])


def test_the_table_is_the_one_described(answers: pd.DataFrame) -> None:
    assert (len(answers), answers.w.nunique(), answers.item.nunique()) == (1560, 57, 50)
    shares = answers.groupby("g").ok.mean()
    assert (shares["group1"], shares["group2"]) == pytest.approx((0.479245, 0.509804), abs=5e-7)
    assert shares["group2"] - shares["group1"] == pytest.approx(0.030559, abs=5e-7)


def test_the_naive_regression(answers: pd.DataFrame) -> None:
    fit = logistic(answers.ok, design_matrix(answers.g, "group1").columns)
    assert fit.coefficients[1] == pytest.approx(0.122287, abs=5e-7)
    assert fit.standard_errors[1] == pytest.approx(0.101345, abs=5e-7)


@pytest.mark.parametrize(
    ("correction", "one_way", "two_way"),
    [
        ("none", 0.233485, 0.228101),
        ("clusters", 0.235561, 0.230653),
        ("clusters and rows", 0.235636, 0.230727),
    ],
)
def test_clustered_errors(
    answers: pd.DataFrame, correction: Correction, one_way: float, two_way: float
) -> None:
    x = design_matrix(answers.g, "group1").columns
    fit = logistic(answers.ok, x)
    one = cluster_covariance(fit, answers.ok, x, answers.w, correction)
    assert np.sqrt(one[1, 1]) == pytest.approx(one_way, abs=5e-7)
    two = two_way_covariance(fit, answers.ok, x, answers.w, answers.item, correction)
    assert np.sqrt(two[1, 1]) == pytest.approx(two_way, abs=5e-7)


def test_cr2_is_clubsandwichs(answers: pd.DataFrame) -> None:
    x = design_matrix(answers.g, "group1").columns
    covariance = cr2_covariance(logistic(answers.ok, x), answers.ok, x, answers.w)
    assert np.sqrt(covariance[1, 1]) == pytest.approx(0.247324, abs=5e-7)


@pytest.mark.parametrize(
    ("adjust", "alpha", "beta", "error"),
    [(True, 0.06801, 0.096886, 0.181895), (False, 0.06809, 0.096877, 0.181887)],
    ids=["statsmodels", "geepack"],
)
def test_exchangeable_gee(
    answers: pd.DataFrame, adjust: bool, alpha: float, beta: float, error: float
) -> None:
    x = design_matrix(answers.g, "group1").columns
    fit = gee(answers.ok, x, answers.w, adjust=adjust)
    assert fit.correlation == pytest.approx(alpha, abs=5e-6)
    assert fit.coefficients[1] == pytest.approx(beta, abs=5e-7)
    assert fit.standard_errors[1] == pytest.approx(error, abs=5e-7)


def test_the_mixed_model_is_lme4s(answers: pd.DataFrame) -> None:
    fit = mixed_model(answers.ok, answers.w, answers.item, answers.g)
    pair = fit.contrast("group2", "group1")
    assert fit.converged
    assert pair.estimate == pytest.approx(0.149275, abs=2e-6)  # glmmTMB .149276, lme4 .149256
    assert pair.standard_error == pytest.approx(0.20897, abs=5e-6)
    assert (fit.worker_sd, fit.story_sd) == pytest.approx((0.53965, 0.71324), abs=1e-5)
    assert fit.log_likelihood == pytest.approx(-1009.6043, abs=5e-5)
    # With one difference, likelihood ratio and Wald tell the same.
    test = omnibus(answers.ok, answers.w, answers.item, answers.g)
    assert test.p == pytest.approx(pair.p, abs=0.005)


@pytest.mark.parametrize(
    ("by", "low", "high"),
    [
        ("responses", -0.019, 0.080),
        ("stories", -0.022, 0.079),
        ("workers", -0.079, 0.148),
        ("both", -0.111, 0.175),
    ],
)
def test_bootstrap_intervals(answers: pd.DataFrame, by: By, low: float, high: float) -> None:
    drawn = bootstrap(answers.ok, answers.w, answers.item, answers.g, by, replicates=10_000)
    # The reference is of one run with 2,000 replicates: the ends of the widest have a standard error of
    # .0045.
    assert drawn.difference("group2", "group1") == pytest.approx((low, high), abs=0.012)


def test_the_headline_says_that_nobody_is_in_both_groups(answers: pd.DataFrame) -> None:
    one, other = (answers[answers.g == name] for name in ("group2", "group1"))
    row = paired_difference(one.ok, one.w, one.item, other.ok, other.w, other.item)
    assert "No worker judged both." in row.note
    assert row.p > 0.3
    # The two-way error of the difference, .2307 on the logit, is about .0577 on this scale. The 57 workers,
    # some with ten times the answers of others, count as 23.7 even ones: t has 22.7 degrees.
    assert (row.interval.high - row.interval.low) / 2 == pytest.approx(0.0577 * 2.07, rel=0.03)


def test_groups_shuffled_among_workers_show_no_difference(answers: pd.DataFrame) -> None:
    assert calibration.share(calibration.groups_shuffle(answers), 40) <= 0.1
