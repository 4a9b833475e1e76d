"""The logistic mixed model with crossed worker and story effects: scores with both kinds of repetition
modelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from humaneval.errors import InputError, UsageError
from humaneval.statistics import contrasts
from humaneval.statistics.arrays import Codes, Floats, encoded
from humaneval.statistics.contrasts import Contrast, LikelihoodRatio, difference_of, wald
from humaneval.statistics.crossed_fit import (
    BOUNDARY,
    covariance,
    fitted,
    refuse_dense,
    refuse_large,
    refuse_single,
)
from humaneval.statistics.intervals import Interval
from humaneval.statistics.laplace import Crossed


class Marginal(NamedTuple):
    """Probability of outcome 1 with a generator, integrated over workers and stories, with a Wald
    interval."""

    name: Any
    probability: float
    interval: Interval


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
        along = difference_of(self.names, a, b)
        estimate, error = float(along @ self.effects), float(sqrt(along @ self.covariance @ along))
        return wald(a, b, estimate, error, level)

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
    of all parameters; from 1,500 workers and stories on, of the effects alone. lme4's glmer(nAGQ = 1) fits
    the same model.

    Raises InputError if the model is not estimable. That is so with one worker or one story, if no worker or
    no story has a second response, or if all outcomes of a generator are equal.
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
    refuse_dense(data, "the mixed model")
    means = (x.T @ y + 0.5) / (x.sum(axis=0) + 1.0)
    fit = fitted(data, np.concatenate([special.logit(means), np.log([0.5, 0.5])]))
    count = len(names)
    deviations = np.exp(fit.parameters[count:])
    modes = data.modes(fit.parameters[:count], deviations)
    worker_sd, story_sd = deviations[::-1] if swapped else deviations
    worker_modes, story_modes = modes[1::-1] if swapped else modes[:2]
    # At a boundary of one, both standard deviations are taken as known.
    joint = deviations.min() >= BOUNDARY
    statement = fit.statement
    for what, value in (("worker", worker_sd), ("story", story_sd)):
        if value < BOUNDARY:
            statement += f" The {what} standard deviation is at its boundary, 0."
    return MixedModel(
        names,
        fit.parameters[:count],
        covariance(data, fit, np.full(2, joint)),
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
    return contrasts.likelihood_ratio(full.log_likelihood, restricted.log_likelihood, degrees)


def omnibus(
    outcomes: ArrayLike, workers: ArrayLike, stories: ArrayLike, generators: ArrayLike
) -> LikelihoodRatio:
    """Likelihood-ratio test of the hypothesis that all generators have one score; see `mixed_model`."""
    full = mixed_model(outcomes, workers, stories, generators)
    same = np.zeros(full.responses, dtype=np.int64)
    return likelihood_ratio(full, mixed_model(outcomes, workers, stories, same))


def _refuse(y: Floats, worker: Codes, story: Codes, generator: Codes, names: Sequence[Any]) -> None:
    refuse_single(worker, story, "the mixed model")
    for codes, what in ((worker, "worker"), (story, "story")):
        if np.bincount(codes).max() == 1:
            raise InputError(
                f"the mixed model is not estimable, because no {what} has a second response",
                "Use the headline interval: nothing recurs that it would have to model.",
            )
    refuse_large(worker, story, "the mixed model")
    shares = np.bincount(generator, y) / np.bincount(generator)
    for name, share in zip(names, shares, strict=True):
        if share in (0.0, 1.0):
            raise InputError(
                f"the mixed model is not estimable, because all outcomes of {name} are {share:g}",
                "Leave that generator out of the model; its score still has an interval.",
            )
