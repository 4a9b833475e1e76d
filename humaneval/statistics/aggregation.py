"""One label for each stimulus from many annotators: majority vote, Dawid–Skene, MACE.

The two models share one expectation–maximisation, and differ in how an annotator errs. With Dawid and Skene
(1979) each has a table of errors. With MACE (Hovy et al. 2013) some do not look, and answer from a habit.
Where the truth is known, as in this toolkit's studies, they are secondary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import logsumexp

from humaneval.errors import UsageError
from humaneval.statistics.arrays import Floats, labels, same_length

Fit: TypeAlias = Callable[[Floats], Floats]
"""From expected counts to probabilities, both (workers, labels given, true labels)."""

TINY = 1e-300
MOST_CELLS = 20_000_000
"""Of a table of errors for all workers, or of values for all stimuli; a fit holds five such arrays."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What is known of each stimulus and worker; `stimuli`, `workers` and `values` name lines and columns.

    `posterior` is (stimuli, values) and sums to 1 along the values. The rest is None for the majority vote.
    """

    stimuli: tuple[Any, ...]
    workers: tuple[Any, ...]
    values: tuple[Any, ...]
    posterior: Floats
    prior: Floats | None = None
    """How often each value is the true one, (values)."""
    errors: Floats | None = None
    """P(worker gives this | true value), as (workers, true values, values given)."""
    log_likelihood: float | None = None
    iterations: int = 0
    converged: bool = True

    @property
    def best(self) -> tuple[Any, ...]:
        """The most probable value of each stimulus; of equally probable ones the first in `values`."""
        return tuple(self.values[index] for index in np.argmax(self.posterior, axis=1))

    @property
    def tied(self) -> int:
        """How many stimuli have two values or more that are most probable alike."""
        top = self.posterior.max(axis=1, keepdims=True)
        return int((np.isclose(self.posterior, top).sum(axis=1) > 1).sum())


@dataclass(frozen=True, slots=True)
class Given:
    """Labels as given: `counts` is (stimuli, workers·values), how often who gave what; repeats are
    counted."""

    stimuli: tuple[Any, ...]
    workers: tuple[Any, ...]
    values: tuple[Any, ...]
    counts: csr_array

    @property
    def shape(self) -> tuple[int, int, int]:
        """Workers, values given, true values."""
        return len(self.workers), len(self.values), len(self.values)

    def votes(self) -> Floats:
        """How often each stimulus got each value, (stimuli, values)."""
        workers, values, _ = self.shape
        return np.asarray(self.counts @ np.tile(np.eye(values), (workers, 1)))


def majority_vote(stimuli: ArrayLike, workers: ArrayLike, values: ArrayLike) -> Aggregate:
    """The value most often given to each stimulus; of k tied values each has posterior 1/k.

    One entry a label; a worker may label some stimuli, one or more times. Raises InputError if lengths
    differ, nothing is given or something is missing; UsageError for too many values.

    >>> majority_vote(["s", "s", "t"], ["ann", "bob", "ann"], [1, 2, 1]).posterior.tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    given = _given(stimuli, workers, values)
    votes = given.votes()
    most = votes == votes.max(axis=1, keepdims=True)
    return Aggregate(
        given.stimuli, given.workers, given.values, most / most.sum(axis=1, keepdims=True, dtype=np.float64)
    )


def dawid_skene(
    stimuli: ArrayLike,
    workers: ArrayLike,
    values: ArrayLike,
    *,
    smoothing: float = 0.0,
    iterations: int = 500,
    tolerance: float = 1e-9,
) -> Aggregate:
    """Dawid and Skene's model by maximum likelihood: each worker has a table of errors of her own.

    Starts from the shares of votes. `smoothing` is added to every expected count, 0 as published; with few
    labels a worker something like 0.1 keeps tables off 0 and 1. It ends when the log-likelihood (reported
    without the multinomial constants) grows by less than `tolerance` times its size, or after `iterations`:
    `converged` says which. Arguments and errors otherwise as for `majority_vote`; UsageError for a negative
    setting.
    """

    def tables(expected: Floats) -> Floats:
        return _shares(expected + smoothing, axis=1)  # what a worker never met is even

    return _fit(_given(stimuli, workers, values), tables, smoothing, iterations, tolerance)


@dataclass(frozen=True, slots=True)
class Mace:
    """A fit of MACE: `knows` is each worker's probability of giving the true value, `habits` what they give
    otherwise."""

    aggregate: Aggregate
    knows: Floats
    """1 − P(spams), (workers)."""
    habits: Floats
    """(workers, values)"""


def mace(
    stimuli: ArrayLike,
    workers: ArrayLike,
    values: ArrayLike,
    *,
    smoothing: float = 0.1,
    iterations: int = 500,
    tolerance: float = 1e-9,
) -> Mace:
    """Each worker knows the true value or spams, answering then from a habit whatever the stimulus.

    P(given l | true k) = (1 − θ)·[l = k] + θ·ξ(l), true values a priori equally likely (Hovy et al. 2013).
    `smoothing` is added to the expected numbers of knowing and spamming and of each habit. Starts from the
    shares of votes with θ = ½, without restarts, so the result depends on no seed. Otherwise as
    `dawid_skene`.
    """
    given = _given(stimuli, workers, values)
    n_workers, n_values, _ = given.shape
    spams = np.full(n_workers, 0.5)
    habits = np.full((n_workers, n_values), 1 / n_values)

    def knowing_or_spamming(expected: Floats) -> Floats:
        nonlocal spams, habits
        matching = np.einsum("wkk->wk", expected)  # the label given is the true one
        by_habit = spams[:, None] * habits
        known = matching * (1 - spams)[:, None] / np.maximum((1 - spams)[:, None] + by_habit, TINY)
        spammed = expected.sum(axis=2) - known
        total = expected.sum(axis=(1, 2))
        spams = (spammed.sum(axis=1) + smoothing) / (total + 2 * smoothing)
        habits = _shares(spammed + smoothing, axis=1)
        return np.asarray(
            (1 - spams)[:, None, None] * np.eye(n_values) + (spams[:, None] * habits)[:, :, None]
        )

    fit = _fit(given, knowing_or_spamming, smoothing, iterations, tolerance, uniform_prior=True)
    return Mace(fit, 1 - spams, habits)


def _fit(
    given: Given,
    model: Fit,
    smoothing: float,
    iterations: int,
    tolerance: float,
    *,
    uniform_prior: bool = False,
) -> Aggregate:
    if smoothing < 0 or tolerance < 0 or iterations < 1:
        raise UsageError(
            "smoothing and tolerance must not be negative, and at least one iteration is needed",
            "The defaults are sound for most data.",
        )
    n_values = len(given.values)
    by_label = given.counts.T.tocsr()
    posterior = _shares(given.votes(), axis=1)
    last, converged, done = -np.inf, False, 0
    for _ in range(iterations):
        done += 1
        prior = np.full(n_values, 1 / n_values) if uniform_prior else posterior.mean(axis=0)
        errors = model(np.asarray(by_label @ posterior).reshape(given.shape))
        joint = given.counts @ np.log(np.maximum(errors, TINY)).reshape(-1, n_values)
        joint = joint + np.log(np.maximum(prior, TINY))
        evidence = logsumexp(joint, axis=1, keepdims=True)
        posterior = np.exp(joint - evidence)
        likelihood = float(evidence.sum())
        converged = abs(likelihood - last) <= tolerance * abs(likelihood)
        if converged:
            break
        last = likelihood
    return Aggregate(
        given.stimuli,
        given.workers,
        given.values,
        posterior,
        prior,
        errors.transpose(0, 2, 1),
        likelihood,
        done,
        bool(converged),
    )


def _given(stimuli: ArrayLike, workers: ArrayLike, values: ArrayLike) -> Given:
    by_stimulus, by_worker = labels(stimuli, "stimuli"), labels(workers, "workers")
    by_value = labels(values, "values")
    same_length(stimuli=by_stimulus.codes, workers=by_worker.codes, values=by_value.codes)
    if max(by_worker.number * by_value.number, by_stimulus.number) * by_value.number > MOST_CELLS:
        raise UsageError(
            f"{by_value.number} different values of {by_worker.number} workers are too many for a table of"
            " each worker's errors",
            "Name a column with fewer different values, not one of free text.",
        )
    try:
        order = sorted(range(by_value.number), key=by_value.names.__getitem__)
    except TypeError:  # values of several types: by their text
        order = sorted(range(by_value.number), key=lambda index: str(by_value.names[index]))
    place = np.empty(by_value.number, dtype=np.int64)
    place[order] = np.arange(by_value.number)
    columns = by_worker.codes * by_value.number + place[by_value.codes]
    counts = csr_array(
        (np.ones(columns.size), (by_stimulus.codes, columns)),
        shape=(by_stimulus.number, by_worker.number * by_value.number),
    )
    return Given(by_stimulus.names, by_worker.names, tuple(by_value.names[index] for index in order), counts)


def _shares(table: Floats, axis: int) -> Floats:
    """Shares along an axis, even where the sum is 0."""
    totals = table.sum(axis=axis, keepdims=True)
    even: Floats = np.full_like(table, 1 / table.shape[axis])
    np.divide(table, totals, out=even, where=totals > TINY)
    return even
