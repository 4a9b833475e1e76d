"""Effects of the position of a sentence and of the order of passages: picking bias, position, learning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, expit, stdtr, stdtrit

from humaneval.errors import UsageError
from humaneval.statistics.arrays import (
    Codes,
    Floats,
    NotEstimable,
    check_level,
    labels,
    numbers,
    same_length,
    whole_numbers,
    zeros_and_ones,
)
from humaneval.statistics.intervals import Interval
from humaneval.statistics.two_samples import Significance


@dataclass(frozen=True, slots=True)
class PickingBias:
    """How often each place was picked, and χ² against equal shares."""

    picks: tuple[int, ...]
    significance: Significance
    few: bool
    """Fewer than five picks a place are expected: the χ² approximation is rough."""


def picking_bias(choices: ArrayLike, places: int = 5) -> PickingBias:
    """χ² goodness of fit of `choices`, numbered from 1, against a uniform choice among `places`.

    Give the choices on Human passages only: where a machine wrote, finding it moves the picks. Responses
    count as unrelated; a worker with several Human passages overstates the evidence. Raises InputError where
    nothing is given or a choice is out of range, UsageError for fewer than two places.

    >>> round(picking_bias([1] * 10 + [2] * 10 + [3] * 20 + [4] * 5 + [5] * 5).significance.statistic, 1)
    15.0
    """
    if places < 2:
        raise UsageError(f"{places} positions leave no choice", "Give 2 or more.")
    picked = whole_numbers(choices, "choices", 1, places)
    n = same_length(choices=picked)
    counts = np.bincount(picked - 1, minlength=places)
    statistic = float(np.square(counts - n / places).sum() * places / n)
    p = float(chdtrc(places - 1, statistic))
    return PickingBias(tuple(counts.tolist()), Significance(statistic, places - 1, p), n / places < 5)


@dataclass(frozen=True, slots=True)
class PositionEffect:
    """Detection at each position, and the test that it is the same at all of them."""

    positions: tuple[int, ...]
    responses: tuple[int, ...]
    detected: tuple[int, ...]
    significance: Significance | NotEstimable


def position_effect(
    detected: ArrayLike, positions: ArrayLike, strata: ArrayLike | None = None
) -> PositionEffect:
    """Whether detection depends on the position of the machine's sentence, within strata such as generators.

    This is the generalised Cochran–Mantel–Haenszel statistic d'V⁻¹d, compared with χ² at positions − 1
    degrees of freedom (Landis, Heyman and Koch 1978). d is the number detected at each position, less what
    the margins of its stratum let expect, added up over strata. V has the hypergeometric covariances. With
    one stratum it is Pearson's χ² times (n − 1)/n. Strata with a single outcome or a single position tell
    nothing and add nothing. Responses count as unrelated.

    `detected` are 0 or 1, `positions` whole numbers from 1. Raises InputError if lengths differ, nothing
    is given or something is missing.
    """
    outcome = zeros_and_ones(detected, "outcomes")
    where = whole_numbers(positions, "positions", 1, 1000)
    n = same_length(outcomes=outcome, positions=where)
    stratum: Codes = np.zeros(n, dtype=np.int64) if strata is None else labels(strata, "strata").codes
    same_length(positions=where, strata=stratum)
    shown, place = np.unique(where, return_inverse=True)
    shape = (int(stratum.max()) + 1, shown.size)
    key = stratum * shown.size + place
    total = np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    found = np.bincount(key, weights=outcome, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
    return PositionEffect(
        tuple(shown.tolist()),
        tuple(int(count) for count in total.sum(axis=0)),
        tuple(int(count) for count in found.sum(axis=0)),
        (
            _mantel_haenszel(total, found)
            if shown.size > 1
            else NotEstimable(f"the sentence is at position {shown[0]} in each of these passages")
        ),
    )


def _mantel_haenszel(total: Floats, found: Floats) -> Significance | NotEstimable:
    """The test from counts (strata, positions) of responses and of detections."""
    n, hits = total.sum(axis=1), found.sum(axis=1)
    spread = np.divide(hits * (n - hits), np.square(n) * (n - 1), out=np.zeros_like(n), where=n > 1)
    surplus = (found - total * (hits / n)[:, None]).sum(axis=0)
    covariance = np.diag((spread * n) @ total) - (total * spread[:, None]).T @ total
    # one position too many, and with gaps in the design more: the rank says how many comparisons there are
    degrees = int(np.linalg.matrix_rank(covariance, tol=1e-9 * max(1.0, float(covariance.max()))))
    if degrees == 0:
        return NotEstimable("in no stratum do outcomes and positions both vary")
    statistic = float(surplus @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ surplus)
    return Significance(statistic, degrees, float(chdtrc(degrees, statistic)))


@dataclass(frozen=True, slots=True)
class Learning:
    """The trend of detection over the order of passages, as log odds for each place later."""

    slope: float
    standard_error: float
    """Robust to clusters of workers."""
    interval: Interval
    p: float
    workers: int
    left_out: int
    """Responses in strata whose outcomes are all alike (Control, mostly): they tell nothing of a trend."""

    @property
    def odds_ratio(self) -> float:
        """By how much the odds of detection are multiplied from one place to the next."""
        return float(np.exp(self.slope))


def learning(
    detected: ArrayLike,
    order: ArrayLike,
    workers: ArrayLike,
    strata: ArrayLike | None = None,
    level: float = 0.95,
) -> Learning | NotEstimable:
    """Whether annotators get better (or tire): logistic regression of detection on the serial place of the
    passage.

    There is one intercept for each stratum (generator), and one slope. Its standard error is the
    cluster-robust sandwich over G workers, times √(G/(G−1)). The interval and p come from t with G − 1
    degrees of freedom. Under about 20 workers it is too hopeful.

    One entry a response: outcomes 0 or 1, places as numbers, labels of any kind. Not estimable with fewer
    than three workers, or where outcomes or places do not vary, or separate perfectly. Raises InputError
    if lengths differ, nothing is given or something is missing; UsageError for a wrong level.
    """
    check_level(level)
    outcome, place = zeros_and_ones(detected, "outcomes"), numbers(order, "places in the order")
    worker = labels(workers, "workers").codes
    n = same_length(outcomes=outcome, places=place, workers=worker)
    stratum: Codes = np.zeros(n, dtype=np.int64) if strata is None else labels(strata, "strata").codes
    same_length(outcomes=outcome, strata=stratum)

    size, hits = np.bincount(stratum), np.bincount(stratum, weights=outcome)
    telling = ((hits > 0) & (hits < size))[stratum]
    if not telling.any():
        alike = bool((outcome == outcome[0]).all())
        return NotEstimable(f"{'outcomes' if alike else 'the outcomes of each generator'} are all alike")
    outcome, place, stratum = (
        outcome[telling],
        place[telling],
        np.unique(stratum[telling], return_inverse=True)[1],
    )
    worker = np.unique(worker[telling], return_inverse=True)[1]
    groups = int(worker.max()) + 1
    if groups < 3:
        who = "one worker" if groups == 1 else "two workers"
        judged = "" if telling.all() else " who judged a generator with outcomes of both kinds"
        return NotEstimable(f"{who}{judged} {'is' if groups == 1 else 'are'} too few for a standard error")
    middle = np.bincount(stratum, weights=place) / np.bincount(stratum)
    centred = place - middle[stratum]
    scale = float(np.sqrt(np.square(centred).mean()))
    if scale <= 1e-12 * (1 + float(np.abs(place).max())):
        return NotEstimable(
            "all passages were shown at the same place of the order"
            if np.ptp(numbers(order, "places in the order")) == 0
            else "no generator with outcomes of both kinds was shown at several places of the order"
        )
    fit = _trend(outcome, centred / scale, stratum, worker)
    if isinstance(fit, NotEstimable):
        return fit
    slope, error = fit[0] / scale, fit[1] / scale
    degrees = groups - 1
    reach = float(stdtrit(degrees, (1 + level) / 2)) * error
    p = float(2 * stdtr(degrees, -abs(slope) / error)) if error else 1.0
    return Learning(slope, error, Interval(slope - reach, slope + reach), p, groups, int(n - telling.sum()))


def _trend(outcome: Floats, x: Floats, stratum: Codes, worker: Codes) -> tuple[float, float] | NotEstimable:
    """Slope and clustered standard error by Newton's method; intercepts are profiled out, stratum by
    stratum."""
    hits, size = np.bincount(stratum, weights=outcome), np.bincount(stratum)
    intercepts, slope = np.log(hits / (size - hits)), 0.0
    for _ in range(50):
        fitted = expit(intercepts[stratum] + slope * x)
        weight, residual = fitted * (1 - fitted), outcome - fitted
        within, moved = np.bincount(stratum, weights=weight), np.bincount(stratum, weights=weight * x)
        if abs(slope) > 30 or (within <= 0).any():
            return NotEstimable("the order separates outcomes perfectly")
        free = x - (moved / within)[stratum]  # the part of x that the intercepts cannot follow
        information = float((weight * np.square(free)).sum())
        if information <= 1e-10:
            return NotEstimable("the order separates outcomes perfectly")
        step = float((residual * free).sum()) / information
        intercepts = intercepts + np.bincount(stratum, weights=residual) / within - step * moved / within
        slope += step
        if abs(step) < 1e-10:
            break
    else:
        return NotEstimable("the order separates outcomes nearly perfectly")
    scores = np.bincount(worker, weights=residual * free)
    groups = scores.size
    variance = groups / (groups - 1) * float(np.square(scores).sum()) / information**2
    return slope, float(np.sqrt(variance))
