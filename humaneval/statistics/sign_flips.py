"""Could the differences of the clusters as well have had the other sign? The sign-flip (permutation) test of
a sum, without random draws: exact, or between proved bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Floats

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
Whole: TypeAlias = NDArray[np.int64]

LATTICE = 2**21
"""Attainable sums times sizes of contributions up to which p is computed from all frequencies."""
STATES = 2**20
"""Sums of half of the clusters up to which all of them are listed."""
QUICK = 2**14
"""Where nothing is decisive, so few are listed before anything else is tried."""
SMALLEST = 1e-12
"""Smaller p-values drown in rounding: this one is given instead."""
REACH = 8.0
"""Beyond so many standard deviations less than 3e-14 is left (Hoeffding)."""
SMOOTH = 10
"""Uniform variables in the noise that smooths a distribution."""
HIGHEST = 57.0
"""Frequencies up to this over the noise's reach leave out less than 1e-9: (10/57)^10 / 10π."""
MISSED = 2e-9
VANISHED = 1e-15
"""Products below this are 0."""
COARSEST, FINER, FINEST = 2.0**-7, 4.0, 2.0**-15
"""How far the noise reaches, in standard deviations of the sum: at first, divided each time, at the least."""
CLOSE = 2.0**-11
"""Where the noise reaches no further and nothing is decided, all sums are listed if they are few enough."""
SHARPER = 10.0
"""The error is below the distance to what decides by this factor."""
FIRST, MOST = 512, 2**16
"""Frequencies that are tried first, and at the most, where nothing is decided. With fewer sums than the
`LISTED` p is exact."""
LISTED = 2**13


class FlipTest(NamedTuple):
    """`p` of the test, and how far it may be from the exact one: 0 if it is exact."""

    p: float
    error: float = 0.0


def largest(*tests: FlipTest) -> FlipTest:
    """The largest p. A smaller one may be larger in truth, as far as its own error reaches.

    >>> largest(FlipTest(0.25, 0.125), FlipTest(0.5), FlipTest(0.375, 0.25))
    FlipTest(p=0.5, error=0.125)
    """
    most = max(tests, key=lambda one: one.p)
    return FlipTest(most.p, max(one.p - most.p + one.error for one in tests))


class _Bounds(NamedTuple):
    low: float
    high: float


class _Sizes(NamedTuple):
    """The sizes of the contributions other than 0, without a common divisor, and how often each occurs."""

    sizes: Whole
    repeats: Whole

    @property
    def reach(self) -> int:
        return int(self.sizes @ self.repeats)

    @property
    def deviation(self) -> float:
        return float(np.sqrt(np.square(self.sizes.astype(np.float64)) @ self.repeats))


def sign_flip_test(
    contributions: Whole,
    alternative: Alternative = "two-sided",
    *,
    mid: bool = False,
    decisive: Sequence[float] = (0.05,),
) -> FlipTest:
    """How often the sum of `contributions` is as extreme as theirs if each sign is + or − with equal odds.

    There is one contribution for each cluster, a whole number. For a worker it may be the number of misses
    with one generator minus that with another. To swap the two labels within a worker is to flip that sign.
    With scores of general models: Hemerik, Goeman and Finos 2020. `mid` counts sums that are just as extreme
    by half (the mid-p of Lancaster 1961).

    Exact where the distribution on whole numbers is short enough, or clusters or their sizes are few. Else p
    lies between two proved bounds, which are narrowed until they are ten times closer than the nearest of
    the p-values that are `decisive`. If that takes too long, the upper bound counts.

    No contribution other than 0 gives p = 1. Raises UsageError for an unknown alternative, InputError for
    other than whole numbers.

    >>> round(sign_flip_test(np.array([1, 1, 1, 1])).p, 6)
    0.125
    """
    if alternative not in ("two-sided", "less", "greater"):
        raise UsageError(f"there is no alternative {alternative!r}", "Choose two-sided, less or greater.")
    if not np.issubdtype(contributions.dtype, np.integer):
        raise InputError("signs are flipped of whole numbers")
    common = int(np.gcd.reduce(contributions)) if contributions.size else 0
    if not common:
        return FlipTest(1.0)
    found = _Sizes(*np.unique(np.abs(contributions[contributions != 0]) // common, return_counts=True))
    observed = int(contributions.sum()) // common
    # Flips are symmetric about 0, so that the lower tail of a sum is the upper tail of its negative.
    tail = abs(observed) if alternative == "two-sided" else observed * (1 if alternative == "greater" else -1)
    sides = 2.0 if alternative == "two-sided" else 1.0
    low, high = _upper_tail(found, tail, np.asarray(decisive) / sides)
    if mid:
        beyond = _upper_tail(found, tail + 1, np.asarray(decisive) / sides)
        low, high = (low + beyond.low) / 2.0, (high + beyond.high) / 2.0
    p, error = (low + high) / 2.0, (high - low) / 2.0
    if error and not _decided(_Bounds(low, high), np.asarray(decisive) / sides):
        p, error = high, high - low
    return FlipTest(float(min(1.0, max(sides * p, SMALLEST))), float(sides * error))


def _upper_tail(found: _Sizes, tail: int, decisive: Floats) -> _Bounds:
    """P(Σ ±size >= tail), exact if both bounds are the same."""
    span = min(found.reach, int(np.ceil(REACH * found.deviation)))
    if span * found.sizes.size <= LATTICE and (decisive.size or span <= LISTED):
        return _listed(_lattice(found, span, tail))
    if not decisive.size:
        halves = _halves(found, QUICK)
        bounds = _listed(_both_halves(halves, tail)) if halves else _near(found, span, tail)
        if _decided(bounds, decisive):
            return bounds
    width = COARSEST
    bounds = _between(found, tail, width)
    while width > FINEST and not _decided(bounds, decisive):
        halves = _halves(found) if width <= CLOSE else None
        if halves:
            return _listed(_both_halves(halves, tail))
        width /= FINER
        bounds = _between(found, tail, width)
    return bounds


def _listed(p: float) -> _Bounds:
    return _Bounds(p, p)


def _decided(bounds: _Bounds, decisive: Floats) -> bool:
    """Are the bounds narrow enough for every p-value that decides, and for the digits that a report shows?"""
    p, width = (bounds.low + bounds.high) / 2.0, bounds.high - bounds.low
    distance = float(np.abs(decisive - p).min()) if decisive.size else np.inf
    return bool(width * SHARPER <= distance and width <= max(2e-2 * p, 2e-5))


def _lattice(found: _Sizes, span: int, tail: int) -> float:
    """By inverting the characteristic function Π cos(size·t) on the lattice of attainable sums.

    They are all even or all odd, so that half the frequencies do, and of these one half mirrors the other.
    """
    tail += (tail - found.reach) % 2
    if tail > span or tail <= -span:
        return 0.0 if tail > span else 1.0
    points = span + 3 + span % 2  # odd, and so many that wrapping round does no harm
    count = (span - tail) // 2 + 1
    angles = np.pi * np.arange(1, (points + 1) // 2) / points
    # The sum of cos(angle·s) over the sums s = tail, tail + 2, … up to the span.
    kernel = np.cos(angles * (tail + count - 1)) * np.sin(count * angles) / np.sin(angles)
    return float((count + 2.0 * (_characteristic(found, angles) @ kernel)) / points)


def _characteristic(found: _Sizes, angles: Floats) -> Floats:
    """Π cos(size·angle). Frequencies at which it vanishes are left out of the later factors."""
    whole = np.zeros(angles.size)
    alive, product = np.arange(angles.size), np.ones(angles.size)
    # The most frequent sizes first: they make most frequencies vanish.
    for number, place in enumerate(np.argsort(-found.repeats, kind="stable")):
        factor, repeat = np.cos(float(found.sizes[place]) * angles), int(found.repeats[place])
        if repeat > 1:
            there = np.abs(factor) > VANISHED ** (1.0 / repeat)
            alive, angles, product, factor = alive[there], angles[there], product[there], factor[there]
            factor = factor**repeat
        product *= factor
        if number % 4 == 0:
            there = np.abs(product) > VANISHED
            alive, angles, product = alive[there], angles[there], product[there]
    whole[alive] = product
    return whole


def _near(found: _Sizes, span: int, tail: int) -> _Bounds:
    """Bounds of P(sum >= tail) from the fewest frequencies that can do: Selberg's polynomials, the closest
    ones above and below the indicator of an arc on a circle (Vaaler 1985; Montgomery 1994, chapter 1).

    The circle is so long that wrapping round does no harm. The arc is from between two sums to the far side,
    where the terms of that end vanish, as sums are symmetric about 0.
    """
    tail += (tail - found.reach) % 2
    if abs(tail) > span:
        return _listed(0.0 if tail > 0 else 1.0)
    period = 2.0 * (span + 1.0)
    start, most, known = (tail - 1.0) / period, FIRST, np.empty(0)
    while True:
        number = np.arange(1, most + 1, dtype=np.float64)
        angles = 2.0 * np.pi * number / period
        known = np.concatenate([known, _characteristic(found, angles[known.size :])])
        share, turns = number / (most + 1.0), 2.0 * np.pi * (number * start % 1.0)
        step = (np.pi * share * (1.0 - share) / np.tan(np.pi * share) + share) / (np.pi * number)
        ends = np.cos(turns) + 1.0 - 2.0 * (number % 2)
        p = 0.5 - start - float((step * known) @ np.sin(turns))
        error = (1.0 + float(((1.0 - share) * known) @ ends)) / (most + 1.0) + MISSED
        wanted = max(1e-2 * p, 1e-5)
        if error <= wanted or most >= MOST:
            return _Bounds(max(0.0, p - error), min(1.0, p + error))
        most = min(MOST, int(most * max(1.5, 1.1 * error / wanted)))


def _halves(found: _Sizes, most: int = STATES) -> tuple[_Sizes, _Sizes] | None:
    """The sizes in two parts, each with at most so many sums; None if there are more."""
    parts: tuple[list[int], list[int]] = ([], [])
    states = [1, 1]
    for place in np.argsort(-found.repeats, kind="stable"):
        into = int(states[1] < states[0])
        states[into] *= int(found.repeats[place]) + 1
        parts[into].append(int(place))
        if max(states) > most:
            return None
    first, second = (_Sizes(found.sizes[part], found.repeats[part]) for part in parts)
    return first, second


def _both_halves(halves: tuple[_Sizes, _Sizes], tail: int) -> float:
    (sums, odds), (others, of_others) = (_sums(half) for half in halves)
    order = np.argsort(others, kind="stable")
    above = np.concatenate([np.cumsum(of_others[order][::-1])[::-1], [0.0]])
    return float(odds @ above[np.searchsorted(others[order], tail - sums)])


def _sums(found: _Sizes) -> tuple[Whole, Floats]:
    """All sums of these clusters, and their probabilities."""
    sums, odds = np.zeros(1, dtype=np.int64), np.ones(1)
    for size, repeat in zip(found.sizes.tolist(), found.repeats.tolist(), strict=True):
        plus = np.arange(repeat + 1)
        share = np.exp(
            special.gammaln(repeat + 1)
            - special.gammaln(plus + 1)
            - special.gammaln(repeat - plus + 1)
            - repeat * np.log(2.0)
        )
        sums = np.add.outer(sums, size * (2 * plus - repeat)).ravel()
        odds = np.multiply.outer(odds, share).ravel()
    return sums, odds


def _between(found: _Sizes, tail: int, width: float) -> _Bounds:
    """Bounds of P(sum >= tail). Noise that never reaches further than ± `width` standard deviations is added
    to the sum, and the tail is moved as far to either side.

    The noise is a sum of uniform variables. So high frequencies vanish, and the Fourier series of a tail ends
    early: ½ − 2/π · Σ φ(2πj/T)·sin(2πjx/T)/j over odd j. T is so long that wrapping round does no harm.
    """
    deviation = found.deviation
    noise = max(1.0, width * deviation)
    period = 2.0 * (REACH * deviation + abs(tail) + 2.0 * noise)
    most = int(np.ceil(HIGHEST / noise * period / (2.0 * np.pi)))
    # All sums are even, or all are odd: a sum above tail − 2 is one of tail or more.
    thresholds = np.array([tail - 2.0 + noise, tail - noise])
    sums = np.zeros(2)
    for start in range(1, most + 1, 2**17):
        frequency = np.arange(start, min(start + 2**17, most + 2), 2, dtype=np.float64)
        angles = 2.0 * np.pi * frequency / period
        smoothed = _characteristic(found, angles) * np.sinc(angles * noise / SMOOTH / np.pi) ** SMOOTH
        there = smoothed != 0.0
        weights, angles = smoothed[there] / frequency[there], angles[there]
        sums += [float(weights @ np.sin(angles * threshold)) for threshold in thresholds]
    low, high = 0.5 - 2.0 / np.pi * sums
    return _Bounds(max(0.0, float(low) - MISSED), min(1.0, float(high) + MISSED))
