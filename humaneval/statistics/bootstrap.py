"""Cluster bootstraps of all scores at once: workers, stories, or both drawn again, with all their
responses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Codes, Floats, encoded
from humaneval.statistics.intervals import Interval

By: TypeAlias = Literal["workers", "stories", "both", "responses"]
Weights: TypeAlias = NDArray[np.float32]

BATCH = 16
"""Replicates at a time: the weights of one worker then fill one line of a processor's cache."""
DRAWN = 40
"""No cluster is drawn more often in one replicate: the odds against that are about 1e50."""
EMPTY = 0.05
"""At most this share of replicates may have drawn no response to a generator."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Replicated scores, replicates × generators; nan if a replicate drew no response to a generator."""

    names: tuple[Any, ...]
    scores: Floats
    by: By
    seed: int

    def interval(self, name: Any, level: float = 0.95) -> Interval:
        """Percentile interval of a score."""
        return self._percentiles(self.scores[:, self._at(name)], str(name), level)

    def difference(self, a: Any, b: Any, level: float = 0.95) -> Interval:
        """Percentile interval of the score of `a` minus that of `b`; pairs stay together in every
        replicate."""
        drawn = self.scores[:, self._at(a)] - self.scores[:, self._at(b)]
        return self._percentiles(drawn, f"{a} and {b}", level)

    def _at(self, name: Any) -> int:
        if name not in self.names:
            raise UsageError(
                f"no generator is called {name!r}", f"There are: {', '.join(map(str, self.names))}."
            )
        return self.names.index(name)

    def _percentiles(self, drawn: Floats, what: str, level: float) -> Interval:
        if not 0.0 < level < 1.0:
            raise UsageError(f"{level} is not a level of confidence", "Give a share between 0 and 1.")
        there = drawn[~np.isnan(drawn)]
        lost = 1.0 - there.size / drawn.size
        if lost > EMPTY:
            raise InputError(
                f"a bootstrap interval of {what} is not estimable, because more than {EMPTY:.0%} of the"
                " replicates drew no response to it",
                "It has responses by too few workers or to too few stories.",
            )
        low, high = np.quantile(there, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
        return Interval(float(low), float(high))


def bootstrap(
    outcomes: ArrayLike,
    workers: ArrayLike,
    stories: ArrayLike,
    generators: ArrayLike,
    by: By = "both",
    *,
    replicates: int = 2000,
    seed: int = 0,
) -> Bootstrap:
    """Scores in `replicates` samples of clusters drawn with replacement; four columns of one length, outcomes
    0 or 1.

    Neither the order of the responses nor the names of the workers change the replicates of a seed. A cluster
    drawn k times counts k times with all its responses. "both" multiplies independent draws of workers and of
    stories (the pigeonhole bootstrap, Owen 2007): conservative, since it counts the variation of single
    responses about three times. "responses" ignores clusters, for comparison: intervals far too narrow.

    Raises InputError if lengths differ, nothing is given, or the clusters drawn from are a single one.
    """
    y = np.asarray(outcomes, dtype=np.float64)
    by_worker, by_story, by_generator = (
        encoded(column, ordered=True) for column in (workers, stories, generators)
    )
    worker, story, generator = by_worker.codes, by_story.codes, by_generator.codes
    names = by_generator.names
    if not y.size or not y.shape == worker.shape == story.shape == generator.shape:
        raise InputError(
            "a bootstrap needs outcomes, workers, stories and generators, one of each for every response"
        )
    if not bool(((y == 0) | (y == 1)).all()):
        raise InputError("outcomes must be 0 or 1: identified, or not identified")
    if by not in ("workers", "stories", "both", "responses") or replicates < 1:
        raise UsageError(f"there is no bootstrap of {by!r} with {replicates} replicates")
    for what, count in (("worker", by_worker.number), ("story", by_story.number)):
        if by == "both" or by.startswith(what[:4]):
            _refuse_single(what, count)
    rng = np.random.default_rng(seed)
    if by == "responses":
        ones, counts = _responses(y, generator, len(names), replicates, rng)
    elif by == "both":
        answer = generator * 2 + y.astype(np.int64)
        story = _by_content(story, answer)
        worker = _by_content(worker, story * 2 * len(names) + answer)
        table = _Crossed.of(y, worker, story, generator, len(names))
        ones, counts = table.replicate(replicates, rng)
    else:
        ones, counts = _one_way(y, worker if by == "workers" else story, generator, replicates, rng)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Bootstrap(tuple(names), ones / counts, by, seed)


def _refuse_single(what: str, count: int) -> None:
    if count < 2:
        raise InputError(f"a bootstrap is not estimable, because there is a single {what}")


def _by_content(cluster: Codes, content: Codes) -> Codes:
    """The clusters' codes in an order that follows from what is in them, and not from what they are called.

    A number is drawn for every kind of content and those of a cluster are added up. Clusters with equal sums
    hold the same, and stay in the order of their labels. Numbers of 40 bits leave room for eight million
    responses a cluster.
    """
    drawn = np.random.default_rng(0).integers(0, 2**40, int(content.max()) + 1)
    order = np.argsort(cluster, kind="stable")
    clusters = int(cluster.max()) + 1
    sums = np.add.reduceat(drawn[content[order]], np.searchsorted(cluster[order], np.arange(clusters)))
    place = np.empty(clusters, dtype=np.int64)
    place[np.argsort(sums, kind="stable")] = np.arange(clusters)
    return place[cluster]


def _draws(clusters: int, replicates: int, rng: np.random.Generator) -> Iterator[Weights]:
    """How often each cluster is drawn, in batches: replicates × clusters."""
    for start in range(0, replicates, BATCH):
        rows = min(BATCH, replicates - start)
        drawn = rng.integers(0, clusters, (rows, clusters), dtype=np.int32)
        drawn += clusters * np.arange(rows, dtype=np.int32)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters).astype(np.float32)


def _one_way(
    y: Floats, cluster: Codes, generator: Codes, replicates: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    generators = int(generator.max()) + 1
    clusters = int(cluster.max()) + 1
    key = cluster * generators + generator
    sums = np.concatenate(
        [
            np.bincount(key, values, clusters * generators).reshape(clusters, generators)
            for values in (y, np.ones_like(y))
        ],
        axis=1,
    )
    # By what is in them, so that neither lines nor names decide which cluster is drawn.
    sums = sums[np.lexsort(sums.T)]
    # Whole numbers below 2^53: no rounding.
    found = np.concatenate([weights @ sums for weights in _draws(clusters, replicates, rng)])
    return found[:, :generators], found[:, generators:]


def _responses(
    y: Floats, generator: Codes, generators: int, replicates: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    cells = np.bincount(generator * 2 + y.astype(np.int64), minlength=2 * generators)
    drawn = rng.multinomial(y.size, cells / y.size, replicates).reshape(replicates, generators, 2)
    return drawn[:, :, 1].astype(np.float64), drawn.sum(axis=2).astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Crossed:
    """A sparse matrix, (generators · rows) × columns, with 1 for a response with outcome 0, 1 + base for
    outcome 1.

    So one product gives both sums, of responses and of outcomes 1. They are whole numbers, and `base` and the
    type of the matrix are large enough to round none. Columns are the factor with more clusters, so that the
    dense product is as small as can be.
    """

    matrix: Any
    rows: int
    columns: int
    generators: int
    base: float

    @classmethod
    def of(cls, y: Floats, worker: Codes, story: Codes, generator: Codes, generators: int) -> _Crossed:
        row, column = (worker, story) if story.max() > worker.max() else (story, worker)
        rows, columns = int(row.max()) + 1, int(column.max()) + 1
        key = generator * rows + row
        sizes = np.bincount(key, minlength=generators * rows)
        small = int(sizes.max()) * min(DRAWN, columns) < 2**12
        base = 2.0**12 if small else 2.0**26
        order = np.argsort(key, kind="stable")
        values: Any = (1.0 + base * y[order]).astype(np.float32 if small else np.float64)
        matrix: Any = sparse.csr_array(
            (
                values,
                column[order].astype(np.int32),
                np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
            ),
            shape=(generators * rows, columns),
        )
        return cls(matrix, rows, columns, generators, base)

    def replicate(self, replicates: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Weighted sums, replicates × generators: b'·M_g·a for each draw a of the columns and b of the
        rows."""
        ones: list[Floats] = []
        counts: list[Floats] = []
        columns, rows = rng.spawn(2)
        pairs = zip(
            _draws(self.columns, replicates, columns), _draws(self.rows, replicates, rows), strict=True
        )
        for across, down in pairs:
            right = np.ascontiguousarray(across.T, dtype=self.matrix.dtype)
            left = np.ascontiguousarray(down.T)
            both = (self.matrix @ right).reshape(self.generators, self.rows, -1)
            upper = np.floor(both / self.base)
            both -= self.base * upper
            for part, found in ((upper, ones), (both, counts)):
                found.append(np.einsum("gsr,sr->rg", part, left, dtype=np.float64))
        return np.concatenate(ones), np.concatenate(counts)
