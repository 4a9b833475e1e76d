"""The test of no difference between two generators that the same annotators judged: mid-p McNemar or sign
flips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from humaneval.statistics.cells import Cells, Sums
from humaneval.statistics.sign_flips import Alternative, FlipTest, Whole, largest, sign_flip_test
from humaneval.statistics.two_way import t_test

MCNEMAR = "mid-p McNemar"
WITHIN_WORKER = "sign-flip permutation within workers"
WITHIN_BOTH = "sign-flip permutations within workers and within stories, larger p"
ALL_THREE = "sign-flip permutations within workers and within stories, and two-way clustered t, largest p"
MCNEMAR_AND_STORY = "mid-p McNemar and sign-flip permutation within stories, larger p"

FEW = 12
"""With fewer clusters no mid-p: it would reject more often than it says."""
HOPELESS = 5
"""Signs of so few clusters give no two-sided p below .05."""
LARGEST = 60
"""Contributions add up to at most so many bits."""


class PairedTest(NamedTuple):
    """`p` of no difference, how far it may be from the exact one (0: it is exact), and how it was made."""

    name: str
    p: float
    error: float
    note: str = ""


def paired_test(
    table: Cells, a: int, b: int, alternative: Alternative, decisive: Sequence[float] = (0.05,)
) -> PairedTest:
    """The test of generators `a` and `b`, given by their places in `table`; `alternative` is about a − b.

    McNemar's where every worker judged both once; else the sign of each worker's contribution is flipped.
    Both take stories as they came. Where a story recurs within a generator, its contributions are flipped
    too, and the larger p counts. Neither allows for variation by worker and by story at once: the interval
    does.

    Where each of at least a dozen clusters judged both equally often, contributions are small whole numbers,
    and the mid-p is taken. The exact p of so few possible sums is too large: near 5 or 95 % it rejects .3 %
    of null studies. `decisive`: the p-values that decide a verdict; see `sign_flip_test`.
    """
    counts = table.workers.counts
    workers = int((counts[:, a] + counts[:, b] > 0).sum())
    paired_once = bool((counts[:, a] == counts[:, b]).all() and counts[:, a].max() <= 1)
    found = _flipped(table, table.workers, a, b, alternative, decisive)
    # Of other outcomes than 0 and 1 the flips of pairs are no McNemar's test, though the same one.
    paired_once = paired_once and table.binary
    name, deciding = MCNEMAR if paired_once else WITHIN_WORKER, workers
    stories = table.stories.counts
    if max(stories[:, a].max(), stories[:, b].max()) > 1:
        by_story = _flipped(table, table.stories, a, b, alternative, decisive)
        found = largest(found, by_story)
        name = MCNEMAR_AND_STORY if paired_once else WITHIN_BOTH
        deciding = min(workers, int((stories[:, a] + stories[:, b] > 0).sum()))
    note = ""
    if deciding <= HOPELESS and not name.startswith(MCNEMAR):
        note = f"With so few clusters ({deciding}), p cannot fall below {2.0 ** (1 - deciding):g}."
    return PairedTest(name, found.p, found.error, note)


def or_t_test(tested: PairedTest, ratio: float, freedom: float, alternative: Alternative) -> PairedTest:
    """The same, or if p is larger that of a difference `ratio` two-way clustered errors away from 0.

    Where both workers and stories recur, tastes for a generator may vary by both at once. Flips of either
    then reject 6 to 8 % of null studies at level .05. Other tests stay as they are.
    """
    if tested.name != WITHIN_BOTH:
        return tested
    found = largest(FlipTest(tested.p, tested.error), FlipTest(t_test(ratio, freedom, alternative)))
    return PairedTest(ALL_THREE, *found, tested.note)


def _flipped(
    table: Cells, sums: Sums, a: int, b: int, alternative: Alternative, decisive: Sequence[float]
) -> FlipTest:
    counts = sums.counts[:, [a, b]]
    if np.array_equal(counts[:, 0], counts[:, 1]):
        enough = int((counts[:, 0] > 0).sum()) >= FEW
        ones = sums.ones[:, a] - sums.ones[:, b]
        return sign_flip_test(ones.astype(np.int64), alternative, mid=enough, decisive=decisive)
    return sign_flip_test(contributions(table, sums, a, b), alternative, decisive=decisive)


def contributions(table: Cells, sums: Sums, a: int, b: int) -> Whole:
    """Of each cluster to the difference of the scores, times n_a · n_b · (n_a + n_b), which makes it whole.

    A cluster adds its outcomes of 1 less those of a pooled share: (x_a − p·m_a)/n_a − (x_b − p·m_b)/n_b.
    """
    n_a, n_b = int(table.n[a]), int(table.n[b])
    n, x = n_a + n_b, int(table.ones[a] + table.ones[b])
    ones, counts = sums.ones[:, [a, b]].astype(np.int64), sums.counts[:, [a, b]].astype(np.int64)
    if 4 * max(n_a, n_b) * max(n * int(np.abs(ones).max()), abs(x) * int(counts.max())) >= 2**63:
        # Python's own whole numbers, which have no end.
        ones, counts = ones.astype(object), counts.astype(object)
    found = n_b * (n * ones[:, 0] - x * counts[:, 0]) - n_a * (n * ones[:, 1] - x * counts[:, 1])
    common = int(np.gcd.reduce(found)) or 1
    found = found // common
    lost = 0
    if (int(np.abs(found).max(initial=0)) * found.size).bit_length() > LARGEST:
        # From a million responses to each generator the last of 60 bits are lost.
        lost = max(0, sum(map(abs, found.tolist())).bit_length() - LARGEST)
    return np.asarray(found // 2**lost, dtype=np.int64)
