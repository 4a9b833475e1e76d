"""Signs that an annotator did not read: one answer throughout, and speed. Flags, never exclusions.

Every function takes columns with one entry a response and gives back flags or probabilities for all of them,
or for every worker. What follows from a flag is for a rule that was declared beforehand
(`humaneval.scoring.scores`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, gammaln

from humaneval.errors import UsageError
from humaneval.statistics.arrays import (
    Codes,
    Flags,
    Floats,
    labels,
    numbers_or_missing,
    same_length,
    whole_numbers,
)

READING_SPEED = 12.0
"""Words per second beyond which nobody has read a passage; a practised reader reads 4 to 5."""


@dataclass(frozen=True, slots=True)
class StraightLining:
    """How often each of `workers` gave her most frequent answer, and how odd that is; entries belong
    together."""

    workers: tuple[Any, ...]
    responses: Codes
    most: Codes
    """How often the most frequent answer was given."""
    p: Floats
    """The probability that an annotator who answers by chance gives some answer that often, 0..1."""

    def flags(self, level: float = 0.001) -> Flags:
        """Workers with p below `level`."""
        return np.asarray(self.p < level)


def straight_lining(workers: ArrayLike, choices: ArrayLike, options: int = 5) -> StraightLining:
    """Whether workers keep choosing the same of `options` answers, numbered from 1.

    p is exact: P(max count >= most) for a multinomial with equal odds. Where positions are uniform an
    attentive worker's answers are too. Raises InputError if lengths differ, nothing is given, or an answer
    is out of range.

    >>> straight_lining(["ann"] * 8, [3, 3, 3, 3, 3, 3, 3, 3]).p.round(7).tolist()
    [1.28e-05]
    """
    if options < 2:
        raise UsageError(f"{options} answers leave no choice", "Give 2 or more.")
    by_worker = labels(workers, "workers")
    answers = whole_numbers(choices, "choices", 1, options)
    same_length(workers=by_worker.codes, choices=answers)
    table = np.bincount(by_worker.codes * options + answers - 1, minlength=by_worker.number * options)
    table = table.reshape(-1, options)
    n, most = table.sum(axis=1), table.max(axis=1)
    kinds, kind = np.unique(np.stack([n, most]), axis=1, return_inverse=True)
    tails = np.array([_largest_count_tail(int(one), int(top), options) for one, top in kinds.T])
    return StraightLining(by_worker.names, n, most, tails[kind.reshape(-1)])


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast each response was given; entries belong to the responses."""

    words_per_second: Floats
    """NaN if the time is unknown, infinite for no time at all."""
    too_fast: Flags
    unknown: Flags
    """Responses whose time is unknown; they are never too fast."""


def speed(words: ArrayLike, seconds: ArrayLike, limit: float = READING_SPEED) -> Speed:
    """Which responses came faster than `limit` words a second; seconds are those of the page's own timer.

    Times between accepting and submitting are no reading times: they include waiting. NaN seconds mean that
    the time is not known. Raises InputError if lengths differ or a number is negative, UsageError for a
    limit not above 0.

    >>> speed([48, 48, 48], [2.0, 10.0, float("nan")]).too_fast.tolist()
    [True, False, False]
    """
    if not limit > 0:
        raise UsageError(
            f"{limit:g} words per second is not a limit", "Give a number above 0, for example 12."
        )
    length, taken = numbers_or_missing(words, "numbers of words"), numbers_or_missing(seconds, "seconds")
    same_length(words=length, seconds=taken)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(taken == 0, np.inf, length / taken)
    unknown = np.isnan(length) | np.isnan(taken)
    rate[unknown] = np.nan
    return Speed(rate, np.where(unknown, False, rate > limit), unknown)


def _largest_count_tail(n: int, most: int, options: int) -> float:
    """P(the largest of `options` equally likely counts that sum to n is `most` or more).

    More than half can only happen to one of them, so that the tails add up. Else the counts are independent
    Poisson variables given their sum: P(all < most) is a convolution of cut-off Poisson probabilities.
    """
    one_tail = options * float(bdtrc(most - 1, n, 1 / options)) if most > 0 else 1.0
    if 2 * most > n:
        return min(1.0, one_tail)
    mean = n / options
    counts = np.arange(most)
    poisson = np.exp(counts * np.log(mean) - mean - gammaln(counts + 1))
    together = np.ones(1)
    for _ in range(options):
        together = np.convolve(together, poisson)[: n + 1]
    below = together[n] / np.exp(n * np.log(n) - n - gammaln(n + 1)) if together.size > n else 0.0
    tail = 1.0 - float(below)
    # what is left of 1 after subtraction has no digits; there the sum of the tails is near enough, and never
    # too small
    return min(1.0, max(tail, 0.0) if tail > 1e-9 else one_tail)
