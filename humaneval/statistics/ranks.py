"""Which generator is best, and how sure that is: P(best), ranks with intervals, groups that cannot be told
apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Flags, Floats, check_level, numbers


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


def jeffreys_draws(
    not_identified: ArrayLike, n: ArrayLike, draws: int = 100_000, *, rng: np.random.Generator
) -> Floats:
    """Draws of all scores from their posteriors Beta(x + ½, n − x + ½), as (draws, generators).

    For scores known only by their counts, as if the generators were judged by different people. With
    clustered responses give the effective numbers (they need not be whole). Raises InputError unless 0 <= x
    <= n, n > 0 and as many x as n, UsageError for no draws.
    """
    x, total = numbers(not_identified, "counts"), numbers(n, "numbers of responses")
    if x.shape != total.shape or x.ndim != 1 or x.size == 0:
        raise InputError(f"{x.size} counts and {total.size} numbers of responses do not match")
    if ((total <= 0) | (x < 0) | (x > total)).any():
        raise InputError("counts must lie between 0 and their number of responses, which must be above 0")
    if draws < 1:
        raise UsageError(f"the number of draws is {draws}", "Give 1 or more, for example 100,000.")
    return rng.beta(x + 0.5, total - x + 0.5, size=(draws, x.size))


def ranks(replicates: ArrayLike, level: float = 0.95) -> tuple[Rank, ...]:
    """Ranks of the generators from replicates of their scores (replicates × generators).

    Replicates are those of a bootstrap, or draws from posteriors. The interval of a rank runs from the (1 −
    level)/2 to the (1 + level)/2 quantile of the ranks over the replicates, both being ranks that occurred;
    in a tie the better rank counts for its lower end and the worse for its upper end. Raises InputError
    unless the table has a line and a column and is finite, UsageError for a wrong level.

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


def groups_of_ties(scores: ArrayLike, different: ArrayLike) -> tuple[tuple[int, ...], ...]:
    """The finest split of the ranking into groups where every generator differs from all in the other groups.

    `scores` are k numbers and `different` a symmetric k × k table, true where a pair was told apart (after
    adjusting for many tests). Groups come best first, as indices; within a group nothing is said about order
    (as in the rankings of WMT). Raises InputError if shapes differ or `different` is not symmetric.

    >>> groups_of_ties([0.2, 0.5, 0.45], [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    ((1, 2), (0,))
    """
    values = numbers(scores, "scores")
    told: Flags = np.asarray(different, dtype=np.bool_)
    if values.ndim != 1 or told.shape != (values.size, values.size):
        raise InputError(f"{values.size} scores need a table of pairs with as many rows and columns")
    if (told != told.T).any():
        raise InputError("a table of pairs told apart must say the same of a pair in both directions")
    order = np.argsort(-values, kind="stable")
    told = told[np.ix_(order, order)]
    groups: list[list[int]] = []
    for place, index in enumerate(order):
        if place == 0 or told[:place, place:].all():
            groups.append([])
        groups[-1].append(int(index))
    return tuple(tuple(group) for group in groups)


def _table(replicates: ArrayLike) -> Floats:
    table = numbers(replicates, "replicates")
    if table.ndim != 2 or 0 in table.shape:
        raise InputError("ranks need a table of replicates: one row per replicate, one column per generator")
    return table
