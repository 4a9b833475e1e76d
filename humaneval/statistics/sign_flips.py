"""Could the differences of the clusters as well have had the other sign? The sign-flip (permutation) test of
a sum."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import fft, special

from humaneval.errors import UsageError
from humaneval.statistics.arrays import Floats

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]

ENUMERATED = 13
"""Up to so many clusters all 2^m signs are tried."""
SPREAD = 2e-3
"""Where no cluster weighs much (Σc⁴ ≤ SPREAD·(Σc²)²), Edgeworth's expansion is closer than 9,999 draws."""
DRAWS = 9_999
"""Random sign vectors where neither of the two will do."""
SMALLEST = 1e-12
"""Smaller p-values drown in rounding: this one is given instead."""


class FlipTest(NamedTuple):
    """`p` of the test, how it was computed, and whether that used random draws."""

    p: float
    how: Literal["exact", "Edgeworth expansion", "Monte Carlo"]
    seed: int | None = None


def sign_flip_test(
    contributions: Floats, alternative: Alternative = "two-sided", *, seed: int = 0
) -> FlipTest:
    """How often the sum of `contributions` is as extreme as theirs if each sign is + or − with equal odds.

    One contribution a cluster, for example a worker's number of misses with one generator minus that with
    another: to swap the two labels within a worker is to flip her sign. With scores of general models:
    Hemerik, Goeman and Finos 2020. Whole numbers: exact, by inverting the characteristic function Π cos(k·t).
    Others: all sign vectors for up to 13 clusters; the expansion φ with its fourth-moment term where no
    cluster weighs much; else 9,999 random sign vectors with `seed`, p = (1 + as extreme)/10,000.

    No contribution other than 0 gives p = 1. Raises UsageError for an unknown alternative.

    >>> round(sign_flip_test(np.array([1.0, 1, 1, 1])).p, 6)
    0.125
    """
    if alternative not in ("two-sided", "less", "greater"):
        raise UsageError(f"there is no alternative {alternative!r}", "two-sided, less or greater.")
    # In their own order: that of a table's lines must change neither the draws nor the last digits.
    contributions = np.sort(contributions)
    weights = np.sort(np.abs(contributions[contributions != 0]))
    if not weights.size:
        return FlipTest(1.0, "exact")
    observed = float(contributions.sum())
    # Flips are symmetric about 0, so that the lower tail of a sum is the upper tail of its negative.
    tail = abs(observed) if alternative == "two-sided" else observed * (1 if alternative == "greater" else -1)
    upper, how, used = _upper_tail(weights, tail, seed)
    p = 2.0 * upper if alternative == "two-sided" else upper
    return FlipTest(float(min(1.0, max(p, SMALLEST))), how, used)


def _upper_tail(
    weights: Floats, tail: float, seed: int
) -> tuple[float, Literal["exact", "Edgeworth expansion", "Monte Carlo"], int | None]:
    """P(Σ ±w >= tail)."""
    if bool((weights == np.round(weights)).all()):
        return _exact(weights, tail), "exact", None
    slack = 1e-9 * float(weights.sum())
    if weights.size <= ENUMERATED:
        signs = 1.0 - 2.0 * ((np.arange(2**weights.size)[:, None] >> np.arange(weights.size)) & 1)
        return float((signs @ weights >= tail - slack).mean()), "exact", None
    square = float(np.square(weights).sum())
    spread = float((weights**4).sum()) / square**2
    if spread <= SPREAD:
        z = tail / np.sqrt(square)
        # The excess kurtosis of the sum is −2·spread; all odd cumulants are 0.
        bend = -2.0 * spread / 24.0 * (z**3 - 3.0 * z) * np.exp(-z * z / 2.0) / np.sqrt(2.0 * np.pi)
        return float(special.ndtr(-z) + bend), "Edgeworth expansion", None
    rng = np.random.default_rng(seed)
    extreme = 0
    for start in range(0, DRAWS, 1000):
        rows = min(1000, DRAWS - start)
        signs = 1.0 - 2.0 * rng.integers(0, 2, (rows, weights.size), dtype=np.int8)
        extreme += int((signs @ weights >= tail - slack).sum())
    return (1 + extreme) / (1 + DRAWS), "Monte Carlo", seed


def _exact(weights: Floats, tail: float) -> float:
    sizes, repeats = np.unique(weights, return_counts=True)
    reach, deviation = float(weights.sum()), float(np.sqrt(np.square(weights).sum()))
    # Beyond 8 standard deviations less than 3e-14 is left (Hoeffding), so that wrapping round does no harm.
    span = int(min(reach, np.ceil(8.0 * deviation)))
    points = 2 * int(fft.next_fast_len(span + 1, real=True))
    angles = 2.0 * np.pi * np.arange(points // 2 + 1) / points
    characteristic = np.ones(angles.size)
    for size, repeat in zip(sizes, repeats, strict=True):
        characteristic *= np.cos(size * angles) ** int(repeat)
    mass = fft.irfft(characteristic, points)
    at = np.arange(points)
    at[at > points // 2] -= points
    return float(mass[at >= tail - 1e-9].sum())
