"""Fits of models with crossed worker and story effects: parameters and standard deviations jointly, and the
errors of the parameters."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Flags, Floats
from humaneval.statistics.laplace import Crossed, Evaluation

LARGE = 1_500
"""From so many workers and stories on, the covariance takes the standard deviations as known.

With 57 workers and 50 stories that made standard errors 1.2 % smaller; the more there are, the less it
matters.
"""
LARGEST = 20_000
"""The smaller factor may have so many levels."""
LARGEST_DENSE = 4_000
"""So many if their matrix is dense, as where annotators got stories at random. A fit then takes 20 seconds of
a processor, a report has several, and the time grows with the cube."""
BOUNDARY = 1e-3
"""A standard deviation on the logit scale below this counts as 0."""
LOG_SPAN = (-9.0, 4.0)
"""Of standard deviations. At the upper end answers follow from who gave them, and nothing bounds them."""


class Fit(NamedTuple):
    """Parameters, and after them the log standard deviations (large, small); how the fit ended."""

    parameters: Floats
    evaluation: Evaluation
    converged: bool
    statement: str

    @property
    def fixed(self) -> Floats:
        """The parameters without the standard deviations."""
        return self.parameters[:-2]

    @property
    def deviations(self) -> Floats:
        """The standard deviations. Beyond these bounds one is 0, or its effects are 0 and 1."""
        return _deviations(self.parameters)


def fitted(data: Crossed, start: Floats) -> Fit:
    """BFGS from the inverse of the expected information, until a step would gain nothing that can be seen.

    Raises InputError if a standard deviation runs off to infinity.
    """
    seen: dict[bytes, Evaluation] = {}

    def evaluate(parameters: Floats) -> Evaluation:
        key = parameters.tobytes()
        if key not in seen:
            seen.clear()
            seen[key] = data.evaluate(parameters[:-2], _deviations(parameters))
        return seen[key]

    scale = np.eye(start.size)
    now = start
    minimize: Any = optimize.minimize  # its stubs know no options of BFGS
    first = evaluate(start)
    sizes = np.array([data.larges, data.smalls])
    known = data.information(start[:-2], _deviations(start))
    scale[:-2, :-2] = np.linalg.inv(known)
    scale[-2:, -2:] = np.diag(sizes / (2.0 * np.maximum(first.freedom, 0.5) ** 2))
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
    if now[-2:].max() >= LOG_SPAN[1]:
        raise InputError(
            "a mixed model is not estimable, because answers follow from their worker or story alone, and"
            " nothing bounds how much these differ",
            "Use the intervals of the scores: they hold in any case.",
        )
    statement = f"{'Converged' if converged else 'Did not converge'} in {steps} steps."
    return Fit(now, last, converged, statement)


def covariance(data: Crossed, fit: Fit, free: Flags) -> Floats:
    """Of the parameters: the inverse of the observed information of them and of the standard deviations that
    are `free` (large, small). The others are taken as known, and from so many levels on all are.

    Raises InputError if the likelihood has no maximum there.
    """
    known = data.information(fit.fixed, fit.deviations)
    fixed = np.linalg.inv(known)
    if data.smalls >= LARGE or not free.any():
        return np.asarray(fixed)
    # Differences of the gradient, a hundredth of a standard error apart.
    steps = 0.01 * np.concatenate([np.sqrt(fixed.diagonal()), [0.1, 0.1]])
    varied = np.flatnonzero(np.concatenate([np.ones(fixed.shape[0], dtype=np.bool_), free]))
    rows = []
    for place in varied:
        ends = []
        for sign in (1.0, -1.0):
            moved = fit.parameters.copy()
            moved[place] += sign * steps[place]
            ends.append(data.evaluate(moved[:-2], np.exp(moved[-2:])).gradient[varied])
        rows.append((ends[1] - ends[0]) / (2.0 * steps[place]))
    observed = (np.array(rows) + np.array(rows).T) / 2.0
    data.evaluate(fit.fixed, fit.deviations)
    found = np.asarray(np.linalg.inv(observed)[: fixed.shape[0], : fixed.shape[0]])
    if not bool((np.linalg.eigvalsh(found) > 0.0).all()):
        raise InputError(
            "a mixed model is not estimable, because its likelihood has no maximum that could be found",
            "Use the intervals of the scores: they hold in any case.",
        )
    return found


def refuse_single(worker: Codes, story: Codes, model: str) -> None:
    """Raise InputError where one worker or one story leaves nothing to model."""
    for codes, what in ((worker, "worker"), (story, "story")):
        if int(codes.max()) == 0:
            raise InputError(f"{model} is not estimable, because there is a single {what}")


def refuse_large(worker: Codes, story: Codes, model: str) -> None:
    """Raise InputError where the smaller factor has too many levels."""
    fewer = int(min(worker.max(), story.max())) + 1
    if fewer > LARGEST:
        raise _too_large(fewer, model)


def refuse_dense(data: Crossed, model: str) -> None:
    """Raise InputError where the matrix of the smaller factor is dense and too large."""
    if data.meetings is None and data.smalls > LARGEST_DENSE:
        raise _too_large(data.smalls, model)


def _too_large(size: int, model: str) -> InputError:
    return InputError(
        f"{model} is not estimable, because a matrix of {size:,} × {size:,} numbers would take too long",
        "The headline intervals, the sandwich errors and the bootstraps have no such limit.",
    )


def _deviations(parameters: Floats) -> Floats:
    return np.asarray(np.exp(np.clip(parameters[-2:], *LOG_SPAN)))
