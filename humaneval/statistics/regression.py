"""Logistic regression whose standard errors know of clusters: sandwich, CR2, two-way, and GEE."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from humaneval.errors import InputError
from humaneval.statistics.arrays import Floats, encoded

Correction: TypeAlias = Literal["none", "clusters", "clusters and rows"]


class Logistic(NamedTuple):
    """A fitted logistic regression: `covariance` is the naive one, as if all responses were unrelated."""

    coefficients: Floats
    covariance: Floats
    fitted: Floats
    log_likelihood: float

    @property
    def standard_errors(self) -> Floats:
        """Naive ones."""
        return np.sqrt(self.covariance.diagonal())


class Gee(NamedTuple):
    """Population-average logistic regression with exchangeable correlation `correlation` within clusters."""

    coefficients: Floats
    covariance: Floats
    correlation: float
    scale: float

    @property
    def standard_errors(self) -> Floats:
        """Robust ones (sandwich, no small-sample correction)."""
        return np.sqrt(self.covariance.diagonal())


class DesignMatrix(NamedTuple):
    """The columns of a regression on labels: the intercept, and one for each of `others`."""

    columns: Floats
    others: tuple[Any, ...]
    """The labels but the reference, in the order of their columns."""


def design_matrix(labels: ArrayLike, reference: Any = None) -> DesignMatrix:
    """Intercept and one column for each label but the reference (the first to appear if None)."""
    found = encoded(labels)
    codes, names = found.codes, found.names
    if reference is not None and reference not in names:
        raise InputError(f"nothing is labelled {reference!r}", f"There are: {', '.join(map(str, names))}.")
    base = names.index(reference) if reference is not None else 0
    others = [code for code in range(len(names)) if code != base]
    columns = [np.ones(codes.size), *((codes == code).astype(np.float64) for code in others)]
    return DesignMatrix(np.column_stack(columns), tuple(names[code] for code in others))


def logistic(outcomes: ArrayLike, x: Floats) -> Logistic:
    """Maximum likelihood by Newton's method; outcomes 0 or 1 (n), `x` the design matrix (n × p) with its
    intercept.

    Raises InputError if it is not estimable: the others determine a column, or a combination of columns
    separates the outcomes (a group with equal outcomes, say). A coefficient would then run off to infinity.
    """
    y, x = _checked(outcomes, x)
    beta = np.zeros(x.shape[1])
    likelihood = _likelihood(y, x, beta)
    for _ in range(50):
        fitted = special.expit(x @ beta)
        information = (x * (fitted * (1.0 - fitted))[:, None]).T @ x
        score = x.T @ (y - fitted)
        step = np.linalg.solve(information, score)
        gain, share = float(score @ step), 1.0
        if gain < 1e-16 * (1.0 + abs(likelihood)):
            break
        while _likelihood(y, x, beta + share * step) < likelihood - 1e-12 * abs(likelihood) and share > 1e-8:
            share /= 2.0
        beta = beta + share * step
        likelihood = _likelihood(y, x, beta)
        if np.abs(x @ beta).max() > 30.0:
            raise InputError(
                "the regression is not estimable, because some group's outcomes are all equal",
                "Leave that group out, or report only its interval.",
            )
    return Logistic(beta, np.asarray(np.linalg.inv(information), dtype=np.float64), fitted, likelihood)


def cluster_covariance(
    fit: Logistic, outcomes: ArrayLike, x: Floats, clusters: ArrayLike, correction: Correction = "clusters"
) -> Floats:
    """Sandwich A⁻¹BA⁻¹ with B = Σ_g s_g·s_g', s_g the sum of the scores in cluster g (Liang and Zeger 1986).

    Times 1 ("none", called HC0), G/(G−1) ("clusters", as R's vcovCL), or G/(G−1)·(n−1)/(n−p) ("clusters and
    rows", as Stata and statsmodels). Raises InputError with a single cluster.
    """
    y, x = _checked(outcomes, x)
    by_cluster = encoded(clusters)
    codes, number = by_cluster.codes, by_cluster.number
    if number < 2:
        raise InputError(
            "a cluster-robust standard error is not estimable, because there is a single cluster"
        )
    scores = np.column_stack([np.bincount(codes, column * (y - fit.fitted)) for column in x.T])
    factor = 1.0 if correction == "none" else number / (number - 1.0)
    if correction == "clusters and rows":
        factor *= (y.size - 1.0) / (y.size - x.shape[1])
    return np.asarray(factor * fit.covariance @ (scores.T @ scores) @ fit.covariance)


def two_way_covariance(
    fit: Logistic,
    outcomes: ArrayLike,
    x: Floats,
    workers: ArrayLike,
    stories: ArrayLike,
    correction: Correction = "clusters",
) -> Floats:
    """V_worker + V_story − V_both, each with its own correction (Cameron, Gelbach and Miller 2011).

    The difference need not be positive definite in small samples. Then InputError says so.
    """
    by_story = encoded(stories)
    worker, story = encoded(workers).codes, by_story.codes
    both = worker * by_story.number + story
    total = cluster_covariance(fit, outcomes, x, worker, correction)
    total = total + cluster_covariance(fit, outcomes, x, story, correction)
    total = total - cluster_covariance(fit, outcomes, x, both, correction)
    if float(total.diagonal().min()) <= 0.0:
        raise InputError(
            "the two-way standard error is not estimable, because its variance is negative",
            "Use the one-way standard errors, and report the larger.",
        )
    return np.asarray(total)


def cr2_covariance(fit: Logistic, outcomes: ArrayLike, x: Floats, clusters: ArrayLike) -> Floats:
    """Bias-reduced sandwich CR2: unbiased were responses unrelated (Bell and McCaffrey 2002; Pustejovsky and
    Tipton 2018).

    The weights W = μ(1−μ) are the working covariance, too. Before the residuals of cluster g enter the
    sandwich, they are multiplied by A_g = D' B_g^(−½) D. Here D = W_g^½ and B_g = D·(I − H)·W_g·D', with H
    the hat matrix of the cluster. In the units of D⁻¹, e_g/√W is multiplied by (I − Q_g·Q_g')^(−½), where Q_g
    are the cluster's rows of W^½·X·A^(−½). So a p × p eigenproblem for each cluster is enough. A direction
    that a cluster alone determines carries no information, and is left as it is.
    """
    y, x = _checked(outcomes, x)
    by_cluster = encoded(clusters)
    codes, number = by_cluster.codes, by_cluster.number
    if number < 2:
        raise InputError(
            "a cluster-robust standard error is not estimable, because there is a single cluster"
        )
    weight = fit.fitted * (1.0 - fit.fitted)
    rows = np.sqrt(weight)[:, None] * x
    pearson = (y - fit.fitted) / np.sqrt(weight)
    root = np.linalg.cholesky(fit.covariance)
    q = rows @ root
    meat = np.zeros((x.shape[1], x.shape[1]))
    order = np.argsort(codes, kind="stable")
    for members in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        mine, e = q[members], pearson[members]
        values, vectors = np.linalg.eigh(mine.T @ mine)
        # (I − QQ')^(−½)·Q = Q·(I − Q'Q)^(−½): both share eigenvectors.
        stretch = np.where(values < 1.0 - 1e-10, 1.0 / np.sqrt(np.maximum(1.0 - values, 1e-12)), 1.0)
        score = vectors @ (stretch * (vectors.T @ (mine.T @ e)))
        meat += np.outer(score, score)
    return np.asarray(root @ meat @ root.T)


def gee(outcomes: ArrayLike, x: Floats, clusters: ArrayLike, *, adjust: bool = True) -> Gee:
    """Generalized estimating equations, logit link, exchangeable working correlation (Liang and Zeger 1986).

    The correlation is the moment estimator (Σ_g Σ_{j<k} r_j·r_k)/(pairs − p)/φ of Pearson residuals r, with φ
    = Σr²/(n − p), as in statsmodels. Without `adjust`, p is not subtracted, as in geepack. Raises InputError
    with a single cluster, or where no cluster has two responses: then there is no correlation to estimate.
    """
    y, x = _checked(outcomes, x)
    by_cluster = encoded(clusters)
    codes = by_cluster.codes
    sizes = np.bincount(codes).astype(np.float64)
    n, p = x.shape
    pairs = float((sizes * (sizes - 1.0)).sum() / 2.0)
    if by_cluster.number < 2 or pairs <= p:
        raise InputError("a correlation is not estimable, because there are too few clusters or none recurs")
    beta, alpha, scale = logistic(y, x).coefficients, 0.0, 1.0
    lost = p if adjust else 0
    for _ in range(100):
        fitted = special.expit(x @ beta)
        weight = fitted * (1.0 - fitted)
        pearson = (y - fitted) / np.sqrt(weight)
        sums = np.bincount(codes, pearson)
        scale = float(pearson @ pearson) / (n - lost)
        alpha = float(sums @ sums - pearson @ pearson) / 2.0 / (pairs - lost) / scale
        # R⁻¹ = (I − c·11')/(1 − α), c = α/(1 + (m − 1)α), so that all sums are sums over clusters.
        c = alpha / (1.0 + (sizes - 1.0) * alpha)
        rows = np.sqrt(weight)[:, None] * x
        totals = np.column_stack([np.bincount(codes, column) for column in rows.T])
        bread = (rows.T @ rows - (c[:, None] * totals).T @ totals) / (1.0 - alpha)
        own = np.column_stack([np.bincount(codes, column * pearson) for column in rows.T])
        scores = (own - totals * (c * sums)[:, None]) / (1.0 - alpha)
        step = np.linalg.solve(bread, scores.sum(axis=0))
        beta = beta + step
        if float(np.abs(step).max()) < 1e-10:
            break
    else:
        raise InputError("the estimating equations did not converge in 100 steps")
    inverse = np.linalg.inv(bread)
    return Gee(beta, inverse @ (scores.T @ scores) @ inverse, alpha, scale)


def _likelihood(y: Floats, x: Floats, beta: Floats) -> float:
    eta = x @ beta
    return float(y @ eta - np.logaddexp(0.0, eta).sum())


def _checked(outcomes: ArrayLike, x: Floats) -> tuple[Floats, Floats]:
    y, x = np.asarray(outcomes, dtype=np.float64), np.asarray(x, dtype=np.float64)
    if not y.size or x.ndim != 2 or x.shape[0] != y.size:
        raise InputError(f"{y.size} outcomes and a design matrix of shape {x.shape} do not match")
    if not bool(((y == 0) | (y == 1)).all()):
        raise InputError("outcomes must be 0 or 1: identified, or not identified")
    if np.linalg.matrix_rank(x.T @ x) < x.shape[1]:
        raise InputError("the regression is not estimable, because its columns determine each other")
    return y, x
