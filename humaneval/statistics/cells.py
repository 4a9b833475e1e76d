"""All that scores and their differences need of a table of responses: sums per worker, story and generator,
once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Floats, encoded


@dataclass(frozen=True, slots=True)
class Sums:
    """Clusters × generators: how many responses (`counts`), and how many of them have outcome 1 (`ones`; of
    other numbers, their sum)."""

    ones: Floats
    counts: Floats

    def residuals(self, means: Floats) -> Floats:
        """Sum over each cluster and generator of outcome − mean of the generator."""
        return self.ones - self.counts * means

    def clusters(self) -> Floats:
        """Generators × generators: in how many clusters either of two occurs; the diagonal is for one
        alone."""
        there = (self.counts > 0).astype(np.float64)
        alone = there.sum(axis=0)
        return np.asarray(alone[:, None] + alone[None, :] - there.T @ there)

    def effective(self, n: Floats) -> Floats:
        """Generators × generators: the effective number of clusters, (Σ m)² / Σ m². m is the share of a
        cluster in the responses to both of two generators (of `n`). The diagonal is for one alone."""
        shares = self.counts / n
        return _effective(shares.T @ shares)


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
        repeated = self.both.residuals(means)
        meat = np.asarray(repeated.T @ repeated)
        ones, counts = self.both.ones.sum(axis=0), self.both.counts.sum(axis=0)
        own = ones * (1.0 - means) ** 2 + (counts - ones) * means**2
        meat[np.diag_indices_from(meat)] += self.squares() - own
        return meat

    def both_effective(self) -> Floats:
        """Generators × generators: effective number of pairs of worker and story, as in `Sums.effective`."""
        shares = self.both.counts / self.n
        products = shares.T @ shares
        single = self.n - self.both.counts.sum(axis=0)
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
    key = cluster * generators + generator
    size = (int(cluster.max()) + 1) * generators if cluster.size else 0
    ones = np.bincount(key, weights=y, minlength=size).reshape(-1, generators).astype(np.float64)
    counts = np.bincount(key, minlength=size).reshape(-1, generators).astype(np.float64)
    return Sums(ones, counts)


def _repeated(y: Floats, worker: Codes, story: Codes, generator: Codes, generators: int) -> Sums:
    pair = worker * (int(story.max()) + 1) + story
    recurs = np.asarray(pd.Series(pair).duplicated(keep=False))
    among = encoded(pair[recurs], ordered=True).codes
    return _sums(y[recurs], among, generator[recurs], generators)
