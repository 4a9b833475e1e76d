"""All that scores and their differences need of a table of responses: sums per worker, story and generator,
once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Floats, distinct, encoded, places

SLAB = 2**22
"""Numbers in the tables of clusters × generators that are filled at a time."""


class Columns(NamedTuple):
    """Clusters × generators, with cells that do not occur filled with 0."""

    ones: Floats
    counts: Floats


@dataclass(frozen=True, slots=True)
class Sums:
    """Cells of cluster and generator that occur: how many responses (`counts`), and how many of them have
    outcome 1 (`ones`; of other numbers, their sum).

    A million clusters of a few responses each have few cells. All of them would take gigabytes for a hundred
    generators.
    """

    key: Codes
    """Cluster times generators + generator of each cell, rising."""
    ones: Floats
    counts: Floats
    generators: int
    of: dict[int, Codes]
    """Where the cells of each generator stand."""

    def pair(self, a: int, b: int) -> Columns:
        """The columns of two generators, for the clusters in which either occurs."""
        clusters = [self.key[self.of[code]] // self.generators for code in (a, b)]
        rows = distinct(np.concatenate(clusters))
        columns = Columns(np.zeros((rows.size, 2)), np.zeros((rows.size, 2)))
        for column, code in enumerate((a, b)):
            place, at = self.of[code], np.searchsorted(rows, clusters[column])
            columns.ones[at, column] = self.ones[place]
            columns.counts[at, column] = self.counts[place]
        return columns

    def totals(self) -> Columns:
        """Sums over all clusters, by generator."""
        generator = self.key % self.generators
        ones, counts = (np.bincount(generator, by, self.generators) for by in (self.ones, self.counts))
        return Columns(ones.astype(np.float64), counts.astype(np.float64))

    def products(self, *of: Callable[[Floats, Floats], Floats]) -> Floats:
        """Generators × generators: sums over the clusters of the products of two functions of `ones` and
        `counts`, or of one with itself."""
        total = np.zeros((self.generators, self.generators))
        for slab in self._slabs():
            made = [function(*slab) for function in of]
            total += made[0].T @ made[-1]
        return total

    def _slabs(self) -> Iterator[Columns]:
        clusters = int(self.key[-1]) // self.generators + 1 if self.key.size else 0
        step = max(1, SLAB // self.generators)
        for first in range(0, clusters, step):
            low, high = (at * self.generators for at in (first, min(first + step, clusters)))
            cells = slice(*np.searchsorted(self.key, (low, high)).tolist())
            slab = Columns(np.zeros(high - low), np.zeros(high - low))
            slab.ones[self.key[cells] - low] = self.ones[cells]
            slab.counts[self.key[cells] - low] = self.counts[cells]
            yield Columns(*(column.reshape(-1, self.generators) for column in slab))

    def meat(self, means: Floats) -> Floats:
        """Generators × generators: sums over clusters of the product of their sums of outcome − mean of the
        generator."""
        return self.products(lambda ones, counts: ones - counts * means)

    def clusters(self) -> Floats:
        """Generators × generators: in how many clusters either of two occurs; the diagonal is for one
        alone."""
        both = self.products(lambda ones, counts: (counts > 0).astype(np.float64))
        alone = both.diagonal()
        return np.asarray(alone[:, None] + alone[None, :] - both)

    def shares(self, n: Floats) -> Floats:
        """Generators × generators: sums over clusters of the product of their shares in the responses to each
        of two generators (of `n`)."""
        return self.products(lambda ones, counts: counts / n)

    def effective(self, n: Floats) -> Floats:
        """Generators × generators: the effective number of clusters, (Σ m)² / Σ m². m is the share of a
        cluster in the responses to both of two generators (of `n`). The diagonal is for one alone."""
        return _effective(self.shares(n))


@dataclass(frozen=True, slots=True)
class Cells:
    """Responses added up by (worker, generator) and by (story, generator). The variances below hold for
    outcomes 0 and 1, the sums for any numbers.

    `both` holds only pairs of worker and story that occur more than once: because the story came from several
    generators, or because the worker answered twice. All other pairs are single responses, and need no cell.
    """

    names: tuple[Any, ...]
    n: Floats
    """Responses to each generator."""
    ones: Floats
    """How many of them have outcome 1; of other numbers, their sum."""
    workers: Sums
    stories: Sums
    both: Sums
    binary: bool = True
    """Whether all outcomes are 0 or 1."""

    @property
    def means(self) -> Floats:
        """The scores."""
        return self.ones / self.n

    def squares(self) -> Floats:
        """Sum of (outcome − mean)² over the responses to each generator."""
        return np.asarray(self.ones * (1.0 - self.means))

    def both_meat(self) -> Floats:
        """Generators × generators: sums over pairs of worker and story of the product of their residual
        sums."""
        means = self.means
        meat = self.both.meat(means)
        ones, counts = self.both.totals()
        own = ones * (1.0 - means) ** 2 + (counts - ones) * means**2
        meat[np.diag_indices_from(meat)] += self.squares() - own
        return meat

    def both_effective(self) -> Floats:
        """Generators × generators: effective number of pairs of worker and story, as in `Sums.effective`."""
        products = self.both.shares(self.n)
        single = self.n - self.both.totals().counts
        products[np.diag_indices_from(products)] += single / self.n**2
        return _effective(products)


def _effective(products: Floats) -> Floats:
    own = products.diagonal()
    return np.asarray(4.0 / (own[:, None] + own[None, :] + 2.0 * products))


def cells(
    outcomes: ArrayLike,
    workers: ArrayLike,
    stories: ArrayLike,
    generators: ArrayLike,
    *,
    binary: bool = True,
) -> Cells:
    """Add up responses, given as four columns of one length; labels may be anything that can be told apart.

    Outcomes are 0 and 1 (or false and true), or if not `binary` whole numbers. Generators keep the order of
    their first appearance. Takes about as long as reading each column of labels once. Raises InputError if
    lengths differ, nothing is given, or an outcome is neither 0 nor 1 (no whole number).
    """
    y = np.asarray(outcomes, dtype=np.float64)
    # Ordered, so that not even a last digit hangs on the order of the lines.
    worker, story = encoded(workers, ordered=True).codes, encoded(stories, ordered=True).codes
    by_generator = encoded(generators)
    generator, names = by_generator.codes, by_generator.names
    if not y.size:
        raise InputError("a score needs at least one response")
    if not y.shape == worker.shape == story.shape == generator.shape:
        raise InputError(
            f"{y.size} outcomes, {worker.size} workers, {story.size} stories and {generator.size} generators "
            "do not belong together"
        )
    if binary and not bool(((y == 0) | (y == 1)).all()):
        raise InputError("outcomes must be 0 or 1: identified, or not identified")
    if not bool((y == np.rint(y)).all()):
        raise InputError("outcomes must be whole numbers")
    return Cells(
        names,
        np.bincount(generator).astype(np.float64),
        np.bincount(generator, y).astype(np.float64),
        _sums(y, worker, generator, len(names)),
        _sums(y, story, generator, len(names)),
        _repeated(y, worker, story, generator, len(names)),
        binary,
    )


def _sums(y: Floats, cluster: Codes, generator: Codes, generators: int) -> Sums:
    key, at = np.unique(cluster * generators + generator, return_inverse=True)
    # Without responses, bincount gives whole numbers.
    ones, counts = (np.bincount(at, by, key.size).astype(np.float64) for by in (y, None))
    return Sums(key, ones, counts, generators, places(key % generators))


def _repeated(y: Floats, worker: Codes, story: Codes, generator: Codes, generators: int) -> Sums:
    pair = worker * (int(story.max()) + 1) + story
    recurs = np.asarray(pd.Series(pair).duplicated(keep=False))
    among = encoded(pair[recurs], ordered=True).codes
    return _sums(y[recurs], among, generator[recurs], generators)
