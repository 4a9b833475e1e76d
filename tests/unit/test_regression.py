"""Logistic regression with clusters: what can be computed another way. Real data:
integration/test_deepfake3.py."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from humaneval.errors import InputError
from humaneval.statistics.arrays import Floats
from humaneval.statistics.regression import (
    Logistic,
    cluster_covariance,
    cr2_covariance,
    design_matrix,
    gee,
    logistic,
    two_way_covariance,
)

RNG = np.random.default_rng(9)
CLUSTER = np.repeat(np.arange(15), RNG.integers(1, 12, 15))
N = CLUSTER.size
X = np.column_stack([np.ones(N), CLUSTER % 2, RNG.normal(size=N)])
Y = (RNG.random(N) < 0.4 + 0.03 * (CLUSTER % 7)).astype(float)
FIT = logistic(Y, X)


def test_with_an_intercept_alone_the_estimate_is_the_logit_of_the_share() -> None:
    fit = logistic([1, 0, 0, 0], np.ones((4, 1)))
    assert fit.coefficients == pytest.approx([np.log(1 / 3)])
    assert fit.standard_errors == pytest.approx([np.sqrt(1 / (4 * 0.25 * 0.75))])


def test_the_scores_are_zero_at_the_estimate() -> None:
    assert X.T @ (Y - FIT.fitted) == pytest.approx(np.zeros(3), abs=1e-8)


def test_every_response_its_own_cluster_is_the_robust_sandwich() -> None:
    scores = X * (Y - FIT.fitted)[:, None]
    expected = FIT.covariance @ scores.T @ scores @ FIT.covariance
    assert cluster_covariance(FIT, Y, X, np.arange(N), "none") == pytest.approx(expected)


def cr2_by_definition(fit: Logistic) -> Floats:
    """A_g = D'B^(−½)D with full matrices."""
    weight = fit.fitted * (1 - fit.fitted)
    hat = X @ fit.covariance @ (X * weight[:, None]).T
    meat = np.zeros((3, 3))
    for number in range(15):
        mine = np.flatnonzero(number == CLUSTER)
        root = np.diag(np.sqrt(weight[mine]))
        # Pearson units: residual e/√W has working variance I.
        middle = np.eye(mine.size) - np.diag(np.sqrt(weight[mine])) @ hat[np.ix_(mine, mine)] @ np.diag(
            weight[mine] ** -0.5
        )
        values, vectors = linalg.eigh((middle + middle.T) / 2)
        power = vectors @ np.diag([value**-0.5 if value > 1e-10 else 0.0 for value in values]) @ vectors.T
        score = X[mine].T @ root @ power @ ((Y - fit.fitted)[mine] / np.sqrt(weight[mine]))
        meat += np.outer(score, score)
    return np.asarray(fit.covariance @ meat @ fit.covariance)


def test_cr2_is_that_of_the_definition() -> None:
    assert cr2_covariance(FIT, Y, X, CLUSTER) == pytest.approx(cr2_by_definition(FIT), rel=1e-8)


def test_two_way_with_stories_all_different_is_one_way() -> None:
    one = cluster_covariance(FIT, Y, X, CLUSTER)
    assert two_way_covariance(FIT, Y, X, CLUSTER, np.arange(N)) == pytest.approx(one)


def test_gee_solves_the_equations_of_full_matrices() -> None:
    fit = gee(Y, X, CLUSTER)
    mean = 1 / (1 + np.exp(-X @ fit.coefficients))
    weight = np.sqrt(mean * (1 - mean))
    total, bread = np.zeros(3), np.zeros((3, 3))
    for number in range(15):
        mine = np.flatnonzero(number == CLUSTER)
        correlation = (1 - fit.correlation) * np.eye(mine.size) + fit.correlation
        inverse = np.linalg.inv(correlation * np.outer(weight[mine], weight[mine]))
        slope = X[mine] * (weight[mine] ** 2)[:, None]
        total += slope.T @ inverse @ (Y - mean)[mine]
        bread += slope.T @ inverse @ slope
    assert total == pytest.approx(np.zeros(3), abs=1e-6)
    assert (np.linalg.inv(bread).diagonal() > 0).all()


def test_a_design_matrix_has_a_column_for_each_label_but_the_reference() -> None:
    matrix, others = design_matrix(["b", "a", "c", "a"], "a")
    assert others == ("b", "c")
    assert matrix.tolist() == [[1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 0]]
    with pytest.raises(InputError, match="nothing is labelled 'd'"):
        design_matrix(["a"], "d")


def test_what_is_not_estimable_is_said() -> None:
    with pytest.raises(InputError, match="outcomes are all equal"):
        logistic([0, 0, 1, 0], design_matrix(["a", "a", "b", "a"]).columns)
    with pytest.raises(InputError, match="columns determine each other"):
        logistic(Y, np.column_stack([X, X[:, 1]]))
    with pytest.raises(InputError, match="a single cluster"):
        cluster_covariance(FIT, Y, X, np.zeros(N))
    with pytest.raises(InputError, match="none recurs"):
        gee(Y, X, np.arange(N))
    with pytest.raises(InputError, match="do not match"):
        logistic([1, 0], np.ones((3, 1)))
