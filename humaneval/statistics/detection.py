"""How well annotators find the machine's sentence once luck is taken off: normalised score, k, d′.

An annotator who cannot tell marks one of m sentences. If the positions are uniform, the machine's is missed
with probability 1 − 1/m. That is the ceiling of a score, reached by a generator that is never noticed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr

from humaneval.domain import CEILING
from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Floats, NotEstimable, check_probability, numbers
from humaneval.statistics.intervals import Interval

REACH = 12.0
"""d′ beyond which a share of right answers cannot be told from 0 or 1 in floating point."""


class Detection(NamedTuple):
    """A score against its chance ceiling, not cut off: above the ceiling `normalised` exceeds 1 and k is
    below 0."""

    normalised: float
    """Score / ceiling = 1 − k: 0 where the machine's sentence was always found, 1 where chance alone
    found it."""
    normalised_interval: Interval
    detected: float
    """k, the share of passages in which the sentence was really found, guesses taken off (high-threshold
    model)."""
    detected_interval: Interval
    above_ceiling: bool
    """The score is above the ceiling: k is negative, which only sampling error (or avoidance) explains."""


def detection(score: float, interval: Interval, ceiling: float = CEILING) -> Detection:
    """Normalise a score and its interval by the chance ceiling.

    With a = 1 − score and m sentences, k = (a − 1/m)/(1 − 1/m). For ceiling = 1 − 1/m, that is 1 −
    score/ceiling. The ends of the interval are transformed in the same way. `ceiling` may be the achieved one
    of `chance_ceiling`. Raises InputError unless score and interval lie in 0..1 with low <= score <= high,
    UsageError unless 0 < ceiling <= 1.

    >>> round(detection(43 / 95, Interval(0.356, 0.553)).normalised, 3)
    0.566
    """
    if not 0 < ceiling <= 1:
        raise UsageError(
            f"{ceiling:g} is not a chance ceiling", "With m sentences it is 1 − 1/m, 0.8 for five."
        )
    if not 0 <= interval.low <= score <= interval.high <= 1:
        raise InputError(
            f"{score:g} ({interval.low:g} to {interval.high:g}) is not a score with its interval"
        )
    low, high = interval.low / ceiling, interval.high / ceiling
    return Detection(
        score / ceiling,
        Interval(low, high),
        1 - score / ceiling,
        Interval(1 - high, 1 - low),
        score > ceiling,
    )


def chance_ceiling(picks: ArrayLike, positions: ArrayLike) -> float | NotEstimable:
    """The score that chance alone gives, 1 − Σ q_j·r_j, from how often sentence j was picked and was the
    machine's.

    q and r are the shares of `picks` and `positions`, counts of one length m. If either is uniform it is 1 −
    1/m, whatever the other. Picks should be those where no machine wrote. Raises InputError if lengths
    differ or a count is negative.

    >>> round(chance_ceiling([30, 10, 10, 10, 40], [20, 20, 20, 20, 20]), 12)
    0.8
    """
    q, r = numbers(picks, "picks"), numbers(positions, "positions")
    if q.shape != r.shape or q.ndim != 1 or q.size < 2 or (q < 0).any() or (r < 0).any():
        raise InputError(f"{q.size} counts of picks and {r.size} of positions do not match")
    if not q.sum() or not r.sum():
        return NotEstimable("no passage was judged")
    return float(1 - (q / q.sum()) @ (r / r.sum()))


def share_correct(d_prime: float, m: int = 5) -> float:
    """The share of right answers in m-alternative forced choice at sensitivity d′: ∫ φ(x − d′)·Φ(x)^(m−1) dx.

    The observer marks the sentence that seems the most machine-like, the machine's being shifted by d′
    standard deviations; at d′ = 0 it is 1/m. Raises UsageError unless m >= 2 and d′ is finite.

    >>> round(share_correct(0.0, 5), 10)
    0.2
    """
    _check(m)
    if not np.isfinite(d_prime):
        raise UsageError(f"{d_prime:g} is not a sensitivity", "Give a finite d′.")
    return float(WEIGHTS @ ndtr(NODES + d_prime) ** (m - 1))


def d_prime(share: float, m: int = 5) -> float | NotEstimable:
    """The sensitivity d′ at which a share of right answers is expected in m-alternative forced choice.

    For a score it is that of 1 − score. Below 1/m it is negative. Not estimable where all or no answers are
    right. Raises UsageError unless the share lies in 0..1 and m >= 2.

    >>> round(d_prime(0.8, 5), 6)
    2.052797
    """
    _check(m)
    check_probability(share_of_right_answers=share)
    if share in (0.0, 1.0):
        return NotEstimable(f"{'all' if share else 'no'} answers are right, so d′ has no finite value")
    if not share_correct(-REACH, m) < share < share_correct(REACH, m):
        return NotEstimable("nearly all or nearly no answers are right, so d′ has no bound")
    return float(brentq(lambda value: share_correct(value, m) - share, -REACH, REACH, xtol=1e-12))


def _quadrature() -> tuple[Floats, Floats]:
    """Nodes and weights of the mean over a standard normal; 200 of them are exact to 1e-12 for d′ within
    ±12."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(200)
    return nodes, weights / weights.sum()


NODES, WEIGHTS = _quadrature()


def _check(m: int) -> None:
    if m < 2 or m != int(m):
        raise UsageError(f"{m} sentences leave no choice", "Give 2 or more.")
