"""The logistic mixed model with crossed worker and story effects: scores with both kinds of repetition
modelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import erfc, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Codes, Floats, encoded
from humaneval.statistics.intervals import Interval
from humaneval.statistics.laplace import Crossed, Evaluation

LARGE = 1_500
"""From so many workers and stories on, the covariance takes the standard deviations as known.

With 57 workers and 50 stories that made standard errors 1.2 % smaller; the more there are, the less it
matters.
"""
LARGEST = 20_000
"""The smaller factor may have so many levels: its matrix then takes 3 GiB."""
BOUNDARY = 1e-3
"""A standard deviation on the logit scale below this counts as 0."""


class Contrast(NamedTuple):
    """Effect of `a` minus effect of `b` on the logit, with Wald's standard error, z, two-sided p and
    interval."""

    a: Any
    b: Any
    estimate: float
    standard_error: float
    z: float
    p: float
    interval: Interval


class Marginal(NamedTuple):
    """Probability of outcome 1 with a generator, integrated over workers and stories, with a Wald
    interval."""

    name: Any
    probability: float
    interval: Interval


class LikelihoodRatio(NamedTuple):
    """Twice the difference of log likelihoods, and its p by χ² with `degrees` of freedom."""

    statistic: float
    degrees: int
    p: float


@dataclass(frozen=True, slots=True)
class MixedModel:
    """logit P(outcome 1) = effect of the generator + effect of the worker + effect of the story, fitted."""

    names: tuple[Any, ...]
    effects: Floats
    """On the logit, for an average worker and story, one a generator."""
    covariance: Floats
    worker_sd: float
    story_sd: float
    log_likelihood: float
    converged: bool
    statement: str
    """How the fit ended, and what of it is at a boundary, in a sentence."""
    workers: tuple[Any, ...]
    worker_modes: Floats
    stories: tuple[Any, ...]
    story_modes: Floats
    """Most likely effects on the logit, in the order of `workers` and `stories`: the caterpillar plot."""
    responses: int

    @property
    def standard_errors(self) -> Floats:
        """Of the effects."""
        return np.sqrt(self.covariance.diagonal())

    def contrast(self, a: Any, b: Any, level: float = 0.95) -> Contrast:
        """Compare two generators on the logit (Wald)."""
        for name in (a, b):
            if name not in self.names:
                raise UsageError(
                    f"no generator is called {name!r}", f"There are: {', '.join(map(str, self.names))}."
                )
        along = np.zeros(len(self.names))
        along[self.names.index(a)] += 1.0
        along[self.names.index(b)] -= 1.0
        estimate, error = float(along @ self.effects), float(sqrt(along @ self.covariance @ along))
        z = estimate / error if error else 0.0
        reach = float(special.ndtri((1.0 + level) / 2.0)) * error
        return Contrast(
            a, b, estimate, error, z, erfc(abs(z) / sqrt(2.0)), Interval(estimate - reach, estimate + reach)
        )

    def contrasts(self, level: float = 0.95) -> tuple[Contrast, ...]:
        """All pairs, unadjusted."""
        return tuple(self.contrast(a, b, level) for a, b in combinations(self.names, 2))

    def marginals(self, level: float = 0.95) -> tuple[Marginal, ...]:
        """Scores as the model sees them: E logit⁻¹(effect + N(0, worker_sd² + story_sd²)), by quadrature.

        The interval is Wald's of the effect, carried over; it takes the standard deviations as known.
        """
        reach = float(special.ndtri((1.0 + level) / 2.0)) * self.standard_errors
        rows = []
        for name, effect, half in zip(self.names, self.effects, reach, strict=True):
            middle, low, high = (self._marginal(effect + shift) for shift in (0.0, -half, half))
            rows.append(Marginal(name, middle, Interval(low, high)))
        return tuple(rows)

    def _marginal(self, effect: float) -> float:
        at, weight = np.polynomial.hermite_e.hermegauss(60)
        spread = sqrt(self.worker_sd**2 + self.story_sd**2)
        return float((weight / weight.sum()) @ special.expit(effect + spread * at))


def mixed_model(
    outcomes: ArrayLike, workers: ArrayLike, stories: ArrayLike, generators: ArrayLike
) -> MixedModel:
    """Fit the model by maximum likelihood in Laplace's approximation, effects and standard deviations
    jointly.

    Outcomes are 0 or 1; four columns of one length. The covariance is the inverse of the observed information
    of all parameters (from 1,500 workers and stories on: of the effects alone). lme4's glmer(nAGQ = 1) fits
    the same model.

    Raises InputError if the model is not estimable: one worker, one story, no worker or no story with a
    second response, or a generator whose outcomes are all equal.
    """
    y = np.asarray(outcomes, dtype=np.float64)
    by_worker, by_story, by_generator = map(encoded, (workers, stories, generators))
    worker, story, generator = by_worker.codes, by_story.codes, by_generator.codes
    names = by_generator.names
    if not y.size or not y.shape == worker.shape == story.shape == generator.shape:
        raise InputError(
            "a mixed model needs outcomes, workers, stories and generators, one each for every response"
        )
    if not bool(((y == 0) | (y == 1)).all()):
        raise InputError("outcomes must be 0 or 1: identified, or not identified")
    _refuse(y, worker, story, generator, names)
    swapped = by_story.number > by_worker.number
    x = (generator[:, None] == np.arange(len(names))).astype(np.float64)
    data = Crossed(y, x, *((story, worker) if swapped else (worker, story)))
    means = (x.T @ y + 0.5) / (x.sum(axis=0) + 1.0)
    fit = _fit(data, np.concatenate([special.logit(means), np.log([0.5, 0.5])]))
    count = len(names)
    deviations = np.exp(fit.parameters[count:])
    modes = data.modes(fit.parameters[:count], deviations)
    worker_sd, story_sd = deviations[::-1] if swapped else deviations
    worker_modes, story_modes = modes[1::-1] if swapped else modes[:2]
    statement = fit.statement
    for what, value in (("worker", worker_sd), ("story", story_sd)):
        if value < BOUNDARY:
            statement += f" The {what} standard deviation is at its boundary, 0."
    return MixedModel(
        names,
        fit.parameters[:count],
        _covariance(data, fit),
        float(worker_sd) if worker_sd >= BOUNDARY else 0.0,
        float(story_sd) if story_sd >= BOUNDARY else 0.0,
        fit.evaluation.value,
        fit.converged,
        statement,
        by_worker.names,
        worker_modes,
        by_story.names,
        story_modes,
        int(y.size),
    )


def likelihood_ratio(full: MixedModel, restricted: MixedModel) -> LikelihoodRatio:
    """Do generators differ at all? `restricted` is the same model fitted with one label for all (or for
    several)."""
    degrees = len(full.names) - len(restricted.names)
    if degrees < 1 or full.responses != restricted.responses:
        raise UsageError("a likelihood ratio compares a model with a simpler one of the same responses")
    statistic = max(0.0, 2.0 * (full.log_likelihood - restricted.log_likelihood))
    return LikelihoodRatio(statistic, degrees, float(special.chdtrc(degrees, statistic)))


def omnibus(
    outcomes: ArrayLike, workers: ArrayLike, stories: ArrayLike, generators: ArrayLike
) -> LikelihoodRatio:
    """Likelihood-ratio test of the hypothesis that all generators have one score; see `mixed_model`."""
    full = mixed_model(outcomes, workers, stories, generators)
    same = np.zeros(full.responses, dtype=np.int64)
    return likelihood_ratio(full, mixed_model(outcomes, workers, stories, same))


class _Fit(NamedTuple):
    parameters: Floats
    evaluation: Evaluation
    converged: bool
    statement: str


def _fit(data: Crossed, start: Floats) -> _Fit:
    """BFGS from the inverse of the expected information, until a step would gain nothing that can be seen."""
    effects = data.x.shape[1]
    seen: dict[bytes, Evaluation] = {}

    def evaluate(parameters: Floats) -> Evaluation:
        key = parameters.tobytes()
        if key not in seen:
            seen.clear()
            seen[key] = data.evaluate(parameters[:effects], _deviations(parameters, effects))
        return seen[key]

    scale = np.eye(start.size)
    now = start
    minimize: Any = optimize.minimize  # its stubs know no options of BFGS
    first = evaluate(start)
    sizes = np.array([data.larges, data.smalls])
    known = data.information(start[:effects], _deviations(start, effects))
    scale[:effects, :effects] = np.linalg.inv(known)
    scale[effects:, effects:] = np.diag(sizes / (2.0 * np.maximum(first.freedom, 0.5) ** 2))
    steps = 0
    for _ in range(3):
        options = {
            "hess_inv0": (scale + scale.T) / 2.0,
            "gtol": 1e-5 * sqrt(data.y.size),
            "maxiter": 100,
        }
        found = minimize(
            lambda p: -evaluate(p).value,
            now,
            jac=lambda p: -evaluate(p).gradient,
            method="BFGS",
            options=options,
        )
        now, steps = np.asarray(found.x), steps + int(found.nit)
        last = evaluate(now)
        # What a Newton step from here would gain in log likelihood.
        left = float(last.gradient @ found.hess_inv @ last.gradient) / 2.0
        if left < 1e-6:
            break
    converged = left < 1e-4
    statement = f"{'Converged' if converged else 'Did not converge'} in {steps} steps."
    return _Fit(now, last, converged, statement)


def _deviations(parameters: Floats, effects: int) -> Floats:
    """The standard deviations. Beyond these bounds one is 0, or its effects are 0 and 1."""
    return np.asarray(np.exp(np.clip(parameters[effects:], -9.0, 4.0)))


def _covariance(data: Crossed, fit: _Fit) -> Floats:
    effects = data.x.shape[1]
    deviations = np.exp(fit.parameters[effects:])
    known = data.information(fit.parameters[:effects], _deviations(fit.parameters, effects))
    fixed = np.linalg.inv(known)
    if data.smalls >= LARGE or deviations.min() < BOUNDARY:
        return np.asarray(fixed)
    # Differences of the gradient, a hundredth of a standard error apart.
    steps = 0.01 * np.concatenate([np.sqrt(fixed.diagonal()), [0.1, 0.1]])
    rows = []
    for place, step in enumerate(steps):
        ends = []
        for sign in (1.0, -1.0):
            moved = fit.parameters.copy()
            moved[place] += sign * step
            ends.append(data.evaluate(moved[:effects], np.exp(moved[effects:])).gradient)
        rows.append((ends[1] - ends[0]) / (2.0 * step))
    observed = (np.array(rows) + np.array(rows).T) / 2.0
    data.evaluate(fit.parameters[:effects], deviations)
    return np.asarray(np.linalg.inv(observed)[:effects, :effects])


def _refuse(y: Floats, worker: Codes, story: Codes, generator: Codes, names: Sequence[Any]) -> None:
    for codes, what in ((worker, "worker"), (story, "story")):
        often = np.bincount(codes)
        if often.size == 1:
            raise InputError(f"the mixed model is not estimable, because there is a single {what}")
        if often.max() == 1:
            raise InputError(
                f"the mixed model is not estimable, because no {what} has a second response",
                "Use the headline interval: nothing recurs that it would have to model.",
            )
    fewer = int(min(worker.max(), story.max())) + 1
    if fewer > LARGEST:
        raise InputError(
            f"the mixed model is not estimable here, because a matrix of {fewer} × {fewer} numbers is too"
            " large",
            "The headline intervals, the sandwich errors and the bootstraps have no such limit.",
        )
    shares = np.bincount(generator, y) / np.bincount(generator)
    for name, share in zip(names, shares, strict=True):
        if share in (0.0, 1.0):
            raise InputError(
                f"the mixed model is not estimable, because all outcomes of {name} are {share:g}",
                "Leave that generator out of the model; its score still has an interval.",
            )
