"""Ratings on a scale of words or points: the cumulative-link mixed model with crossed worker and story
effects."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special
from scipy.sparse import csgraph

from humaneval.errors import InputError
from humaneval.statistics import contrasts
from humaneval.statistics.arrays import Codes, Floats, encoded, numbers
from humaneval.statistics.contrasts import Contrast, LikelihoodRatio, difference_of, wald
from humaneval.statistics.crossed_fit import (
    BOUNDARY,
    covariance,
    fitted,
    refuse_dense,
    refuse_large,
    refuse_single,
)
from humaneval.statistics.laplace import Crossed, Slopes

MODEL = "the ordinal mixed model"


@dataclass(frozen=True, slots=True)
class Ordinal:
    """logit P(rating above a threshold) = effects of the generator, the worker and the story − the threshold,
    fitted."""

    names: tuple[Any, ...]
    effects: Floats
    """On the logit, one a generator, against the first: higher effects have higher ratings."""
    covariance: Floats
    """Of the effects; 0 for the first."""
    ratings: tuple[float, ...]
    """The ratings that occur, ascending."""
    thresholds: Floats
    """Between each of them and the next, for the first generator."""
    threshold_errors: Floats
    worker_sd: float
    story_sd: float
    log_likelihood: float
    converged: bool
    statement: str
    """How the fit ended, and what of it is at a boundary, in sentences."""
    responses: int

    def contrast(self, a: Any, b: Any, level: float = 0.95) -> Contrast:
        """Compare two generators on the logit (Wald)."""
        along = difference_of(self.names, a, b)
        return wald(a, b, float(along @ self.effects), sqrt(along @ self.covariance @ along), level)

    def contrasts(self, level: float = 0.95) -> tuple[Contrast, ...]:
        """All pairs, unadjusted."""
        return tuple(self.contrast(a, b, level) for a, b in combinations(self.names, 2))


def cumulative_link(
    ratings: ArrayLike, generators: ArrayLike, workers: ArrayLike, stories: ArrayLike
) -> Ordinal:
    """Fit the model by maximum likelihood in Laplace's approximation, all parameters jointly.

    Ratings are numbers, of which only the order counts; four columns of one length. Thresholds are free, and
    ratings that nobody gave have none. If no worker has a second rating, workers have no effect in the model,
    and so with stories. The covariance is the inverse of the observed information, as in
    `statistics.mixed_model`. R's ordinal::clmm (Christensen 2019) fits the same model.

    Raises InputError if the model is not estimable: one worker, one story, nothing that recurs, or ratings
    that are all alike. Nor is it if generators' ratings do not overlap: an effect would run off to infinity.
    """
    by_rating = encoded(numbers(ratings, "ratings"), ordered=True)
    by_worker, by_story, by_generator = map(encoded, (workers, stories, generators))
    y, generator, names = by_rating.codes, by_generator.codes, by_generator.names
    worker, story = by_worker.codes, by_story.codes
    if not y.size or not y.shape == worker.shape == story.shape == generator.shape:
        raise InputError(
            "an ordinal model needs ratings, generators, workers and stories, one each for every response"
        )
    refuse_single(worker, story, MODEL)
    left_out = [
        what for codes, what in ((worker, "worker"), (story, "story")) if np.bincount(codes).max() == 1
    ]
    _refuse(y, generator, names, by_rating.names, left_out)
    # An effect that all have in common is one of the thresholds.
    worker, story = (codes * (what not in left_out) for codes, what in ((worker, "worker"), (story, "story")))
    refuse_large(worker, story, MODEL)
    swapped = story.max() > worker.max()
    x = (generator[:, None] == np.arange(1, len(names))).astype(np.float64)
    data = CrossedRatings(y, x, *((story, worker) if swapped else (worker, story)))
    refuse_dense(data, MODEL)
    shares = np.cumsum(np.bincount(y))[:-1] / y.size
    fit = fitted(
        data, np.concatenate([np.zeros(x.shape[1]), _steps(special.logit(shares)), np.log([0.5] * 2)])
    )
    free = fit.deviations >= BOUNDARY
    errors = covariance(data, fit, free)
    worker_sd, story_sd = np.where(free, fit.deviations, 0.0)[:: -1 if swapped else 1]
    statement = fit.statement + _boundaries({"worker": worker_sd, "story": story_sd}, left_out)
    effects = x.shape[1]
    of_effects = np.zeros((effects + 1, effects + 1))
    of_effects[1:, 1:] = errors[:effects, :effects]
    change = _jacobian(fit.fixed[effects:])
    return Ordinal(
        names,
        np.concatenate([[0.0], fit.fixed[:effects]]),
        of_effects,
        tuple(float(one) for one in by_rating.names),
        _thresholds(fit.fixed[effects:]),
        np.sqrt((change @ errors[effects:, effects:] @ change.T).diagonal()),
        float(worker_sd),
        float(story_sd),
        fit.evaluation.value,
        fit.converged,
        statement,
        int(y.size),
    )


def _boundaries(deviations: Mapping[str, float], left_out: Collection[str]) -> str:
    """Sentences about the effects that are not in the model, or whose standard deviation is 0."""
    told = ""
    for what, value in deviations.items():
        if what in left_out:
            told += f" No {what} has a second rating, so that the {what} has no effect in the model."
        elif not value:
            told += f" The {what} standard deviation is at its boundary, 0."
    return told


def ordinal_omnibus(
    ratings: ArrayLike, generators: ArrayLike, workers: ArrayLike, stories: ArrayLike
) -> LikelihoodRatio:
    """Likelihood-ratio test of the hypothesis that no generator differs; see `cumulative_link`."""
    full = cumulative_link(ratings, generators, workers, stories)
    if len(full.names) == 1:
        raise InputError("a test of generators needs two of them or more")
    null = cumulative_link(ratings, np.zeros(full.responses, dtype=np.int64), workers, stories)
    return contrasts.likelihood_ratio(full.log_likelihood, null.log_likelihood, len(full.names) - 1)


class CrossedRatings(Crossed):
    """The responses of such a model. After β its parameters are the first threshold and the logarithms of
    the steps between thresholds.

    A rating has the probability σ(u) − σ(l). Here u and l are the thresholds above and below it, less η, and
    σ is the logistic function. So all derivatives are simple.
    """

    def __init__(self, y: Codes, x: Floats, large: Codes, small: Codes) -> None:
        super().__init__(y.astype(np.float64), x, large, small)
        self.rating = y
        self.steps = np.zeros(int(y.max()))

    def beta(self, parameters: Floats) -> Floats:
        effects = self.x.shape[1]
        self.steps = parameters[effects:]
        return parameters[:effects]

    def _around(self, eta: Floats) -> tuple[Floats, Floats]:
        ends = np.concatenate([[-np.inf], _thresholds(self.steps), [np.inf]])
        return ends[self.rating + 1] - eta, ends[self.rating] - eta

    def log_likelihood(self, eta: Floats) -> float:
        upper, lower = self._around(eta)
        parts = special.log_expit(upper) + special.log_expit(-lower) + np.log(-np.expm1(lower - upper))
        return float(parts.sum())

    def slopes(self, eta: Floats) -> Slopes:
        above, below = (special.expit(one) for one in self._around(eta))
        dense_above, dense_below = above * (1.0 - above), below * (1.0 - below)
        return Slopes(
            above + below - 1.0,
            dense_above + dense_below,
            dense_above * (2.0 * above - 1.0) + dense_below * (2.0 * below - 1.0),
        )

    def further(self, eta: Floats, leverage: Floats, shift: Floats) -> Floats:
        upper, lower = self._around(eta)
        above, below = special.expit(upper), special.expit(lower)
        dense_above, dense_below = above * (1.0 - above), below * (1.0 - below)
        gap = 1.0 / np.expm1(upper - lower)
        by_upper = 1.0 - above + gap
        by_upper -= 0.5 * (leverage * dense_above * (1.0 - 2.0 * above) + shift * dense_above)
        by_lower = -below - gap
        by_lower -= 0.5 * (leverage * dense_below * (1.0 - 2.0 * below) + shift * dense_below)
        return np.asarray(self._by_threshold(by_upper, by_lower) @ _jacobian(self.steps))

    def information(self, parameters: Floats, deviations: Floats) -> Floats:
        eta = self.modes(parameters, deviations).eta
        upper, lower = self._around(eta)
        above, below = special.expit(upper), special.expit(lower)
        dense_above, dense_below = above * (1.0 - above), below * (1.0 - below)
        weight = dense_above + dense_below
        gap = 1.0 / np.expm1(upper - lower)
        shared = gap * (1.0 + gap)
        thresholds = np.diag(self._by_threshold(dense_above + shared, dense_below + shared))
        size = thresholds.shape[0]
        between = np.bincount(self.rating, shared, size + 1)[1:-1]
        thresholds[np.arange(size - 1), np.arange(1, size)] = -between
        thresholds[np.arange(1, size), np.arange(size - 1)] = -between
        at = np.arange(size)
        columns = -(dense_above[:, None] * (self.rating[:, None] == at))
        columns -= dense_below[:, None] * (self.rating[:, None] == at + 1)
        change = _jacobian(self.steps)
        columns = np.column_stack([weight[:, None] * self.x, columns @ change])
        effects = self.x.shape[1]
        direct = np.zeros((effects + size, effects + size))
        direct[:effects] = self.x.T @ columns
        direct[effects:, :effects] = direct[:effects, effects:].T
        direct[effects:, effects:] = change.T @ thresholds @ change
        return self.with_effects_out(columns, direct, weight, deviations)

    def _by_threshold(self, upper: Floats, lower: Floats) -> Floats:
        """Sums over the ratings below each threshold next to it, and over those above."""
        size = self.steps.size
        sums = np.bincount(self.rating, upper, size + 1)[:-1] + np.bincount(self.rating, lower, size + 1)[1:]
        return np.asarray(sums, dtype=np.float64)


def _thresholds(steps: Floats) -> Floats:
    return np.cumsum(np.concatenate([steps[:1], np.exp(np.clip(steps[1:], -30.0, 30.0))]))


def _steps(thresholds: Floats) -> Floats:
    return np.concatenate([thresholds[:1], np.log(np.diff(thresholds))])


def _jacobian(steps: Floats) -> Floats:
    """Of the thresholds by the steps."""
    change = np.tril(np.ones((steps.size, steps.size)))
    change[:, 1:] *= np.exp(np.clip(steps[1:], -30.0, 30.0))
    return change


def _refuse(
    y: Codes, generator: Codes, names: tuple[Any, ...], ratings: tuple[Any, ...], left_out: list[str]
) -> None:
    """An effect or a threshold is finite if the ratings bound it from both sides.

    A rating bounds the thresholds around it by the effect of its generator. In the network of these bounds
    every effect and threshold must be reached from every other; else a part can run off without end.
    """
    if len(left_out) == 2:
        raise InputError(
            f"{MODEL} is not estimable, because no worker and no story has a second rating",
            "Use the interval of the mean: no worker or story recurs, so the model has nothing to add.",
        )
    if len(ratings) == 1:
        raise InputError(f"{MODEL} is not estimable, because all ratings are {ratings[0]:g}")
    count, size = len(names), len(ratings) - 1
    pairs = np.unique(generator * len(ratings) + y)
    mine, rating = np.divmod(pairs, len(ratings))
    below, above = rating < size, rating > 0
    one = np.concatenate([count + rating[below], mine[above]])
    other = np.concatenate([mine[below], count + rating[above] - 1])
    bounds = sparse.csr_array((np.ones(one.size), (one, other)), shape=(count + size,) * 2)
    parts, part_of = csgraph.connected_components(bounds, connection="strong")
    if parts == 1:
        return
    for code, name in enumerate(names):
        own = np.unique(y[generator == code])
        if own.size == 1 and own[0] in (0, size):
            raise InputError(
                f"{MODEL} is not estimable, because all ratings of {name} are {ratings[own[0]]:g}",
                "Leave that generator out of the model; its mean still has an interval.",
            )
    groups = [
        ", ".join(str(names[code]) for code in np.flatnonzero(part_of[:count] == part))
        for part in np.unique(part_of[:count])
    ]
    raise InputError(
        f"{MODEL} is not estimable, because the ratings of some generators do not overlap:"
        f" {' | '.join(groups)}",
        "Compare the means: they have intervals.",
    )
