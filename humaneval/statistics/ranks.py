"""Which generator is best, and how sure that is: P(best), ranks with intervals, letters for those that were
not told apart."""

from __future__ import annotations

from string import ascii_letters
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincc, betaincinv

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Flags, Floats, check_level, numbers

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
"""For integrals over a probability."""


class Rank(NamedTuple):
    """The rank of one generator among the others; rank 1 has the highest score."""

    mean: float
    """Mean rank over the replicates; ties share their ranks."""
    low: int
    """The best rank inside the interval."""
    high: int
    """The worst rank inside the interval."""
    best: float
    """How often it has the highest score, 0..1; ties share it, so that these sum to 1 over the generators."""


def jeffreys_ranks(not_identified: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Rank, ...]:
    """Ranks of the generators if their scores are drawn from the posteriors Beta(x + ½, n − x + ½).

    This is for scores known only by their counts, as if different people had judged the generators. It
    integrates, without draws. Given a score, each other generator is above it with a probability of its own,
    and convolution gives the number of those above. Raises InputError unless 0 <= x <= n, n > 0 and as many x
    as n, UsageError for a wrong level.

    >>> [round(one.best, 3) for one in jeffreys_ranks([43, 39], [95, 95])]
    [0.721, 0.279]
    """
    check_level(level)
    x, total = numbers(not_identified, "counts"), numbers(n, "numbers of responses")
    if x.shape != total.shape or x.ndim != 1 or x.size == 0:
        raise InputError(f"{x.size} counts and {total.size} numbers of responses do not match")
    if ((total <= 0) | (x < 0) | (x > total)).any():
        raise InputError("counts must lie between 0 and their number of responses, which must be above 0")
    # Many generators have the same counts: the slow part is done once for these.
    different, place = np.unique(np.stack([x + 0.5, total - x + 0.5]), axis=1, return_inverse=True)
    return tuple(_jeffreys_rank(different, place.ravel(), own, level) for own in range(x.size))


def _jeffreys_rank(different: Floats, place: Codes, own: int, level: float) -> Rank:
    a, b = different
    scores = betaincinv(a[place[own]], b[place[own]], (1 + NODES) / 2)
    higher = betaincc(a[:, None], b[:, None], scores)
    # Place k: the odds that k others are above, at each node.
    odds = np.zeros((place.size, NODES.size))
    odds[0] = 1.0
    for other in range(place.size):
        if other != own:
            above = higher[place[other]]
            odds[1:] = odds[1:] * (1 - above) + odds[:-1] * above
            odds[0] *= 1 - above
    shares = odds @ WEIGHTS / 2
    up_to = np.cumsum(shares)
    low, high = (int(np.searchsorted(up_to, tail - 1e-12)) + 1 for tail in ((1 - level) / 2, (1 + level) / 2))
    mean = float(np.arange(1, place.size + 1) @ shares)
    return Rank(mean, min(low, place.size), min(high, place.size), float(shares[0]))


def ranks(replicates: ArrayLike, level: float = 0.95) -> tuple[Rank, ...]:
    """Ranks of the generators from replicates of their scores (replicates × generators).

    Replicates are those of a bootstrap. The interval of a rank runs from the (1 − level)/2 to the (1 +
    level)/2 quantile of the ranks over the replicates. Both ends are ranks that occurred. In a tie the better
    rank counts for its lower end and the worse for its upper end. Raises InputError unless the table has a
    line and a column and is finite, UsageError for a wrong level.

    >>> [tuple(rank) for rank in ranks([[0.2, 0.5], [0.3, 0.4], [0.4, 0.4], [0.5, 0.1]], level=0.5)]
    [(1.625, 1, 2, 0.375), (1.375, 1, 2, 0.625)]
    """
    check_level(level)
    table = _table(replicates)
    found = []
    tails = ((1 - level) / 2, (1 + level) / 2)
    for own in table.T:
        above = (table > own[:, None]).sum(axis=1)
        equal = (table == own[:, None]).sum(axis=1)
        low = np.quantile(above + 1, tails[0], method="inverted_cdf")
        high = np.quantile(above + equal, tails[1], method="inverted_cdf")
        best = np.where(above == 0, 1.0 / equal, 0.0).mean()
        found.append(Rank(float((above + (equal + 1) / 2).mean()), int(low), int(high), float(best)))
    return tuple(found)


def compact_letters(scores: ArrayLike, different: ArrayLike) -> tuple[str, ...]:
    """Letters for each generator: two that were told apart share none, and two that were not share one.

    `scores` are k numbers and `different` a symmetric k × k table, true where a pair was told apart (after
    adjusting for many tests). The letter a belongs to the highest score. Each letter stands for a largest set
    in which no pair was told apart (Piepho 2004). There may be 2^(k/2) such sets. So a set is made only for a
    pair that has no letter in common yet, from the best score on: at most k·(k + 1)/2. Raises InputError if
    shapes differ or `different` is not symmetric.

    >>> compact_letters([0.2, 0.5, 0.4], [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    ('b', 'a', 'ab')
    """
    values = numbers(scores, "scores")
    told: Flags = np.asarray(different, dtype=np.bool_)
    if values.ndim != 1 or told.shape != (values.size, values.size):
        raise InputError(f"{values.size} scores need a table of pairs with as many rows and columns")
    if (told != told.T).any():
        raise InputError("a table of pairs told apart must say the same of a pair in both directions")
    best_first = np.argsort(-values, kind="stable")
    alike = ~told[np.ix_(best_first, best_first)]
    np.fill_diagonal(alike, True)
    uncovered, letters = alike.copy(), [""] * values.size
    at = 0
    for pair in np.argwhere(np.triu(alike)).tolist():
        if not uncovered[tuple(pair)]:
            continue
        group = list(pair)
        fit: Flags = np.logical_and(*alike[pair])
        fit[pair] = False
        while fit.any():
            # The one that spares most other letters.
            group.append(int(np.where(fit, uncovered[group].sum(axis=0), -1).argmax()))
            fit &= alike[group[-1]]
            fit[group[-1]] = False
        uncovered[np.ix_(group, group)] = False
        for rank in set(group):
            letters[best_first[rank]] += _letter(at)
        at += 1
    return tuple(letters)


def _letter(at: int) -> str:
    """a to z, A to Z, and then numbers in brackets."""
    return ascii_letters[at] if at < len(ascii_letters) else f"[{at + 1}]"


def _table(replicates: ArrayLike) -> Floats:
    table = numbers(replicates, "replicates")
    if table.ndim != 2 or 0 in table.shape:
        raise InputError("ranks need a table of replicates: one row per replicate, one column per generator")
    return table
