"""Power, numbers and detectable differences of comparisons of two scores, by formula.

Two different sets of annotators: the normal approximation that R's power.prop.test uses. The same annotators for both
generators: Connor (1987), for McNemar's test. The far tail is left out, as is usual.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from humaneval.errors import UsageError

NORMAL = NormalDist()
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
"""For integrals over a standard normal variable."""


def power_unpaired(a: float, b: float, n: float, alpha: float = 0.05) -> float:
    """The power of the two-sided test of scores `a` and `b`, each of `n` responses by different annotators.

    Φ((√n·|a − b| − z·√(2·m·(1 − m))) / √(a(1 − a) + b(1 − b))), m the mean of both.

    >>> round(power_unpaired(0.45, 0.41, 1000), 4)
    0.439
    """
    _check(a, b, alpha)
    mean, spread = (a + b) / 2, sqrt(a * (1 - a) + b * (1 - b))
    critical = NORMAL.inv_cdf(1 - alpha / 2) * sqrt(2 * mean * (1 - mean))
    return _tail(sqrt(n) * abs(a - b) - critical, spread)


def responses_unpaired(a: float, b: float, power: float = 0.8, alpha: float = 0.05) -> float:
    """How many responses for each of two generators give `power`; infinite for equal scores.

    (z_α·√(2m(1 − m)) + z_β·√(a(1 − a) + b(1 − b)))² / (a − b)².

    >>> round(responses_unpaired(0.45, 0.41), 2)
    2403.52
    """
    _check(a, b, alpha, power)
    if a == b:
        return inf
    mean, spread = (a + b) / 2, sqrt(a * (1 - a) + b * (1 - b))
    needed = NORMAL.inv_cdf(1 - alpha / 2) * sqrt(2 * mean * (1 - mean)) + NORMAL.inv_cdf(power) * spread
    return needed**2 / (a - b) ** 2


def discordance(a: float, b: float, correlation: float = 0.0) -> float:
    """The share of annotators who notice exactly one of two generators' sentences: a(1 − b) + b(1 − a) − 2ρ√(a(1−a)b(1−b)).

    `correlation` is that of an annotator's two answers, ρ. Raises UsageError where two scores cannot be so alike.
    """
    _check(a, b)
    share = a * (1 - b) + b * (1 - a) - 2 * correlation * sqrt(a * (1 - a) * b * (1 - b))
    if not -1 <= correlation <= 1 or share < abs(a - b) - 1e-12:
        raise UsageError(
            f"answers to scores of {a:g} and {b:g} cannot have a correlation of {correlation:g}",
            "Give a smaller one; without a guess take 0.",
        )
    return share


def power_paired(a: float, b: float, n: float, correlation: float = 0.0, alpha: float = 0.05) -> float:
    """The power of McNemar's test of scores `a` and `b` where each of `n` annotators judges both generators.

    Φ((√n·|Δ| − z_α·√π) / √(π − Δ²)), π the discordance and Δ = a − b (Connor 1987).
    """
    _check(a, b, alpha)
    share, difference = discordance(a, b, correlation), abs(a - b)
    critical = NORMAL.inv_cdf(1 - alpha / 2) * sqrt(share)
    return _tail(sqrt(n) * difference - critical, sqrt(max(share - difference**2, 0.0)))


def responses_paired(
    a: float, b: float, power: float = 0.8, correlation: float = 0.0, alpha: float = 0.05
) -> float:
    """How many annotators who judge both generators give `power`; infinite for equal scores.

    >>> round(responses_paired(0.45, 0.41, correlation=0.2), 1)
    1926.1
    """
    _check(a, b, alpha, power)
    if a == b:
        return inf
    share, difference = discordance(a, b, correlation), abs(a - b)
    needed = NORMAL.inv_cdf(1 - alpha / 2) * sqrt(share)
    needed += NORMAL.inv_cdf(power) * sqrt(max(share - difference**2, 0.0))
    return needed**2 / difference**2


def detectable(power_at: Callable[[float], float], score: float, power: float = 0.8) -> float | None:
    """The smallest difference above `score` that `power_at(other score)` finds with `power`; None if 1 is too near.

    >>> round(0.41 + detectable(lambda b: power_unpaired(0.41, b, 95), 0.41), 4)
    0.6119
    """
    _check(score, score, power=power)
    most = 1 - 1e-9
    if power_at(most) < power:
        return None
    found = brentq(lambda other: power_at(other) - power, score + 1e-9, most, xtol=1e-10)
    return float(found) - score


def answers_correlation(sd: float, a: float, b: float) -> float:
    """The correlation of an annotator's answers to two generators of scores `a` and `b`.

    `sd` is the spread of annotators on the logit scale, as mixed models give it. The correlation of two answers is
    cov(p, q) / √(a(1−a)b(1−b)), with p and q the annotator's own shares, which vary with the same normal deviate.

    >>> round(answers_correlation(0.54, 0.45, 0.41), 3)
    0.063
    """
    _check(a, b)
    if sd < 0:
        raise UsageError(f"{sd:g} is not a standard deviation", "Give 0 or more; 0.5 is usual.")
    weights = WEIGHTS / WEIGHTS.sum()
    first, second = (_expit(location(score, sd) + sd * NODES) for score in (a, b))
    covariance = float((weights * first * second).sum()) - a * b
    return covariance / sqrt(a * (1 - a) * b * (1 - b))


def location(score: float, sd: float) -> float:
    """The logit of an annotator in the middle, where the mean over annotators is `score`."""
    weights = WEIGHTS / WEIGHTS.sum()
    middle = log(score / (1 - score))
    reach = 1 + 4 * sd * sd + 4 * abs(middle)
    return float(
        brentq(
            lambda at: float((weights * _expit(at + sd * NODES)).sum()) - score,
            middle - reach,
            middle + reach,
        )
    )


def design_effect(per_annotator: float, correlation: float) -> float:
    """How many responses count as one where each annotator gives `per_annotator` for a generator: 1 + (h − 1)·ICC."""
    return 1 + (per_annotator - 1) * correlation


def responses_for_width(half_width: float, score: float = 0.5, level: float = 0.95) -> float:
    """How many responses of a generator give an interval of ± `half_width`, by z²·p(1 − p)/w².

    >>> round(responses_for_width(0.05), 1), round(responses_for_width(0.10), 1)
    (384.1, 96.0)
    """
    if not 0 < half_width < 1:
        raise UsageError(
            f"±{half_width:g} is not the width of an interval of shares", "Give for example 0.05."
        )
    z = NORMAL.inv_cdf((1 + level) / 2)
    return z * z * score * (1 - score) / half_width**2


def _expit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = 1 / (1 + np.exp(-values))
    return shares


def _tail(distance: float, spread: float) -> float:
    if spread == 0:
        return 1.0 if distance > 0 else 0.0
    return NORMAL.cdf(distance / spread)


def _check(a: float, b: float, alpha: float = 0.05, power: float = 0.8) -> None:
    for score in (a, b):
        if not 0 < score < 1:
            raise UsageError(f"{score:g} is not a score to plan with", "Give a share between 0 and 1.")
    if not 0 < alpha < 1 or not 0 < power < 1:
        raise UsageError("alpha and power lie between 0 and 1", "The usual ones are 0.05 and 0.8.")
