"""The crossed logistic mixed model in Laplace's approximation."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from humaneval.design.rows import make_design
from humaneval.errors import InputError, UsageError
from humaneval.statistics import crossed_fit
from humaneval.statistics.arrays import Floats, encoded
from humaneval.statistics.laplace import Crossed
from humaneval.statistics.mixed_model import likelihood_ratio, mixed_model, omnibus
from humaneval.statistics.multifrontal import fronts_of
from humaneval.statistics.ordinal import cumulative_link
from tests.pace import slowness

Columns = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def simulated(worker_sd: float = 0.8, story_sd: float = 0.6) -> Columns:
    """40 workers judge 30 of 60 stories, half of them by each of two generators 0.5 apart."""
    rng = np.random.default_rng(7)
    worker = np.repeat(np.arange(40), 30)
    story = np.concatenate([rng.choice(60, 30, replace=False) for _ in range(40)])
    generator = np.tile([0, 1], 600)
    eta = 0.5 * generator - 0.2 + rng.normal(0, worker_sd, 40)[worker] + rng.normal(0, story_sd, 60)[story]
    return (rng.random(1200) < special.expit(eta)).astype(np.int64), worker, story, generator


def dense_laplace(data: Crossed, beta: Floats, deviations: Floats) -> float:
    """The same approximation with dense matrices, straight from its definition."""
    z = np.concatenate(
        [data.large[:, None] == np.arange(data.larges), data.small[:, None] == np.arange(data.smalls)],
        axis=1,
    ).astype(float)
    precision = np.repeat(deviations**-2.0, [data.larges, data.smalls])
    b = np.zeros(precision.size)
    for _ in range(60):
        mean = special.expit(data.x @ beta + z @ b)
        hessian = z.T @ (z * (mean * (1 - mean))[:, None]) + np.diag(precision)
        b = b + np.linalg.solve(hessian, z.T @ (data.y - mean) - precision * b)
    eta = data.x @ beta + z @ b
    value = data.y @ eta - np.logaddexp(0, eta).sum() - 0.5 * b @ (precision * b)
    return float(value - 0.5 * np.linalg.slogdet(hessian)[1] + 0.5 * np.log(precision).sum())


def test_value_and_gradient_are_those_of_the_definition() -> None:
    y, worker, story, generator = simulated()
    x = (generator[:, None] == [0, 1]).astype(float)
    data = Crossed(y.astype(float), x, story, worker)
    beta, deviations = np.array([-0.1, 0.4]), np.array([0.5, 0.9])
    found = data.evaluate(beta, deviations)
    assert found.value == pytest.approx(dense_laplace(data, beta, deviations), abs=1e-6)
    for place in range(4):
        moved = [np.concatenate([beta, np.log(deviations)]) for _ in range(2)]
        moved[0][place] += 1e-5
        moved[1][place] -= 1e-5
        ends = [dense_laplace(data, point[:2], np.exp(point[2:])) for point in moved]
        assert found.gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-4)


def test_known_effects_are_found_again() -> None:
    fit = mixed_model(*simulated())
    pair = fit.contrast(1, 0)
    assert fit.converged
    assert abs(pair.estimate - 0.5) < 3 * pair.standard_error
    assert fit.worker_sd == pytest.approx(0.8, abs=0.25)
    assert fit.story_sd == pytest.approx(0.6, abs=0.25)
    assert (len(fit.worker_modes), len(fit.story_modes)) == (40, 60)
    assert fit.worker_modes.std() < fit.worker_sd  # modes are shrunk
    assert pair.p < 0.01


def test_workers_and_stories_may_change_places() -> None:
    y, worker, story, generator = simulated()
    one, other = mixed_model(y, worker, story, generator), mixed_model(y, story, worker, generator)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)
    assert (other.story_sd, other.worker_sd) == pytest.approx((one.worker_sd, one.story_sd), abs=1e-3)
    assert other.story_modes == pytest.approx(one.worker_modes, abs=1e-3)


def test_marginal_probabilities_are_nearer_to_a_half_than_those_of_the_average_worker() -> None:
    fit = mixed_model(*simulated())
    for row, effect in zip(fit.marginals(), fit.effects, strict=True):
        assert row.interval.low < row.probability < row.interval.high
        assert abs(row.probability - 0.5) < abs(special.expit(effect) - 0.5)


def test_without_variation_the_standard_deviations_go_to_the_boundary_and_the_fit_says_so() -> None:
    rng = np.random.default_rng(1)
    worker, story = np.divmod(np.arange(900), 30)
    # Every worker and every story has the same share of ones: fewer differences than chance alone gives.
    y = (worker + story + rng.integers(0, 1, 900)) % 2
    fit = mixed_model(y, worker, story, (worker // 2 + story) % 2)
    assert (fit.worker_sd, fit.story_sd) == (0.0, 0.0)
    assert "boundary" in fit.statement
    assert fit.effects == pytest.approx([0.0, 0.0], abs=0.2)


def test_the_omnibus_test_is_twice_the_gain_in_likelihood() -> None:
    y, worker, story, generator = simulated()
    full, null = mixed_model(y, worker, story, generator), mixed_model(y, worker, story, generator * 0)
    test = omnibus(y, worker, story, generator)
    assert test.statistic == pytest.approx(2 * (full.log_likelihood - null.log_likelihood), abs=1e-6)
    assert test.degrees == 1
    # Wald and likelihood ratio agree in such a sample.
    assert np.sqrt(test.statistic) == pytest.approx(full.contrast(1, 0).z, rel=0.1)
    with pytest.raises(UsageError, match="simpler one"):
        likelihood_ratio(null, full)


def test_what_is_not_estimable_is_said() -> None:
    y, worker, story, generator = simulated()
    for columns, why in (
        ((y, worker * 0, story, generator), "there is a single worker"),
        ((y, worker, story * 0, generator), "there is a single story"),
        ((y, np.arange(1200), story, generator), "no worker has a second response"),
        ((y[:1] * 0 + np.arange(50_000) % 2, *(np.arange(50_000) // 2,) * 3), "a matrix of 25,000"),
        ((np.where(generator == 1, 1, y), worker, story, generator), "all outcomes of 1 are 1"),
    ):
        with pytest.raises(InputError, match=f"not estimable, because {why}"):
            mixed_model(*columns)
    with pytest.raises(UsageError, match="no generator is called 'z'"):
        mixed_model(y, worker, story, generator).contrast(0, "z")


# lme4's example data cbpp: cases of a cattle disease among the animals of fifteen herds in four periods.
CASES = (
    "2 3 4 0 3 1 1 8 2 0 2 2 0 2 0 5 0 0 1 3 0 0 1 8 1 3 0 12 2 0 0 0 1 1 0 2 0 5 3 1 2 1 0 0 1 2 0 0 11 0 0"
    " 0 1 1 1 0"
)
ANIMALS = (
    "14 12 9 5 22 18 21 22 16 16 20 10 10 9 6 18 25 24 4 17 17 18 20 16 10 9 5 34 9 6 8 6 22 22 18 22 25 27"
    " 22 22 10 8 6 5 21 24 19 23 19 2 3 2 19 15 15 15"
)


def test_lme4s_estimates_of_cbpp_are_the_maximum_here_too() -> None:
    cases, animals = (np.array(text.split(), dtype=int) for text in (CASES, ANIMALS))
    herd = np.repeat(np.arange(15), [4, 3, 4, 4, 4, 4, 4, 1, 4, 4, 4, 4, 4, 4, 4])
    period = np.concatenate([np.arange(count) for count in np.bincount(herd)])
    row = np.repeat(np.arange(56), animals)
    sick = np.concatenate([np.arange(count) < ill for ill, count in zip(cases, animals, strict=True)])
    x = np.column_stack([np.ones(56), *((period == later) for later in (1, 2, 3))])[row]
    # The second factor has one level and next to no variance.
    data = Crossed(sick.astype(float), x, herd[row], np.zeros(row.size, dtype=np.int64))
    at = np.array([-1.39834, -0.99192, -1.12822, -1.57975]), np.array([0.64207, 1e-4])
    found = data.evaluate(*at)
    ways = special.gammaln(animals + 1) - special.gammaln(cases + 1) - special.gammaln(animals - cases + 1)
    assert found.value + ways.sum() == pytest.approx(-92.0266, abs=5e-4)
    # A gradient in units of what a standard error changes.
    errors = np.array([0.23121, 0.30315, 0.32283, 0.42205])
    assert np.abs(found.gradient[:4] * errors).max() < 0.005
    assert abs(found.gradient[4]) < 0.01
    assert np.linalg.inv(data.information(*at)).diagonal() ** 0.5 == pytest.approx(errors, rel=0.02)


def dealt(annotators: int, stories: int) -> Columns:
    """A study as this toolkit deals it, eight passages a form, without the Control."""
    design = make_design(
        generators=[f"g{number}" for number in range(8)],
        blanks={f"s{number}": {1, 2, 3, 4, 5} for number in range(stories)},
        annotators=annotators,
        seed=1,
    )
    cells = [(at, c.story, c.generator) for at, row in enumerate(design.rows) for c in row]
    worker, story, generator = (encoded(np.array(part)).codes for part in zip(*cells, strict=True))
    rng = np.random.default_rng(3)
    eta = 0.15 * generator - 0.5 + rng.normal(0, 0.6, annotators)[worker]
    eta += rng.normal(0, 0.7, int(story.max()) + 1)[story]
    return (rng.random(worker.size) < special.expit(eta)).astype(np.int64), worker, story, generator


@pytest.mark.parametrize("stories", [420, 500, 3000])
def test_the_sparse_way_gives_what_the_dense_one_gives(stories: int) -> None:
    # Too few stories for disjoint squares, stories that recur in other company, and squares that share none.
    y, worker, story, generator = dealt(440, stories)
    x = (generator[:, None] == np.arange(8)).astype(float)
    larger, smaller = (story, worker) if story.max() > worker.max() else (worker, story)
    sparse = Crossed(y.astype(float), x, larger, smaller)
    dense = Crossed(y.astype(float), x, larger, smaller, dense=True)
    assert sparse.meetings is not None
    assert max(front.size for front in sparse.meetings.fronts.fronts) < 110
    beta, deviations = np.linspace(-0.6, 0.6, 8), np.array([0.5, 0.9])
    one, other = sparse.evaluate(beta, deviations), dense.evaluate(beta, deviations)
    assert one.value == pytest.approx(other.value, abs=1e-8)
    assert one.gradient == pytest.approx(other.gradient, abs=1e-8)
    assert one.freedom == pytest.approx(other.freedom, abs=1e-8)


def test_a_dense_matrix_that_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossed_fit, "LARGEST_DENSE", 450)
    y, worker, story, generator = dealt(500, 600)
    assert mixed_model(y, worker, story, generator).converged  # its matrix is sparse
    rng = np.random.default_rng(3)
    met = rng.permuted(np.repeat(np.arange(600), -(-y.size // 600)))[: y.size]
    with pytest.raises(InputError, match=r"a matrix of 500 × 500 numbers would take too long"):
        mixed_model(y, worker, met, generator)
    with pytest.raises(InputError, match=r"a matrix of 500 × 500 numbers would take too long"):
        cumulative_link(y, generator, worker, met)


def test_thousands_of_annotators_take_seconds() -> None:
    began = time.process_time()
    y, worker, story, generator = dealt(3_000, 4_000)
    fit = mixed_model(y, worker, story, generator)
    # A dense matrix of 3,000 rows is factored and inverted in about a second, and there would be six or more.
    assert time.process_time() - began < 25 * slowness()
    assert fit.converged
    assert fit.worker_sd == pytest.approx(0.6, abs=0.1)
    assert fit.story_sd == pytest.approx(0.7, abs=0.1)


@pytest.mark.parametrize("steps", [0, 40, 10**6])
def test_fronts_invert_any_pattern(steps: int) -> None:
    rng = np.random.default_rng(5)
    size = 60
    full = np.zeros((size, size))
    for _ in range(90):
        met = rng.choice(size, 3, replace=False)
        full[np.ix_(met, met)] += 0.3
    full[50:, 50:] += 0.1  # rows with the same neighbours
    full += np.diag(rng.uniform(1, 2, size))
    rows, columns = np.nonzero(full)
    fronts = fronts_of(rows, columns, size, steps)
    found = fronts.inverse(full[rows, columns])
    assert found.logdet == pytest.approx(np.linalg.slogdet(full)[1], abs=1e-10)
    assert found.entries == pytest.approx(np.linalg.inv(full)[rows, columns], abs=1e-12)
    assert sum(front.own for front in fronts.fronts) == size
    if not steps:
        assert len(fronts.fronts) == 1
