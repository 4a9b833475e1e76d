"""What recurs in judgments: who gave them and what was judged, as far as the file says; intervals by it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import pandas as pd

from humaneval.foreign.judged import ITEM, PERSON, WORKER
from humaneval.statistics.arrays import Codes, Floats, NotEstimable, encoded
from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import Interval
from humaneval.statistics.mean_intervals import mean_interval, wilson_on_scale
from humaneval.statistics.score_intervals import score_intervals

LEVEL = 0.95
SHARES = Interval(0.0, 1.0)
WIDEST = 10
"""Points between the lowest and the highest of numbers that are taken for ratings."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """A code for the worker and for the item of each judgment."""

    worker: Codes
    item: Codes
    workers: bool
    """Whether the file says who answered."""
    items: bool
    """Whether it is known what was judged."""

    def at(self, places: Codes) -> Clusters:
        """The clusters of some of the judgments."""
        return Clusters(self.worker[places], self.item[places], self.workers, self.items)

    @property
    def note(self) -> str:
        """What the intervals allow for, in a sentence."""
        if self.workers and self.items:
            return "Intervals of 95 %, clustered by worker and by item."
        if self.workers:
            return "Intervals of 95 %, clustered by worker (by item, too, with --item COLUMN)."
        if self.items:
            return "Intervals of 95 %, clustered by item; each row is another person (or --worker COLUMN)."
        return "Intervals of 95 %, as if answers were unrelated (or --worker COLUMN, --item COLUMN)."


def clusters(frame: pd.DataFrame) -> Clusters:
    """Of judgments as `foreign.judged` gives them. Where the worker is not known, a row of the file, or a
    judgment in a cell of several, counts as one person; where the item is not known, nothing recurs."""
    worker, item = frame[WORKER], frame[ITEM]
    known, named = bool(worker.notna().any()), bool(item.notna().any())
    people = [
        (one, None) if pd.notna(one) else (None, person)
        for one, person in zip(worker, frame[PERSON], strict=True)
    ]
    things = [(one, None) if one is not None else (None, at) for at, one in enumerate(item)]
    by_worker, by_item = (encoded(pd.Series(part)).codes for part in (people, things))
    return Clusters(by_worker, by_item, known, named)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A standard error and an interval, each None where it is not estimable."""

    error: float | None
    low: float | None
    high: float | None


def scale_of(values: Floats) -> Interval | None:
    """The lowest and the highest of all ratings of a file. None if they are no ratings on a scale: some are
    no whole numbers, or they are further apart than 0 and 10."""
    if not values.size or (values % 1).any() or not 0 < np.ptp(values) <= WIDEST:
        return None
    return Interval(float(values.min()), float(values.max()))


def of_mean(values: Floats, by: Clusters, scale: Interval | None = None) -> Estimate:
    """Of the mean of values; of a share, if all of them, and the scale's ends, are 0 or 1.

    On a scale, the interval is Wilson's of the mean's place on it, at as many answers as give its error, with
    t in the place of z: it never leaves the scale. Other values have Student's.
    """
    if scale in (None, SHARES) and bool(np.isin(values, (0.0, 1.0)).all()):
        return of_share(values, by)
    found = mean_interval(values, by.worker, by.item, LEVEL, scale=scale)
    interval, error = found.interval, found.standard_error
    if scale is not None and not isinstance(error, NotEstimable) and error > 0.0:
        interval = wilson_on_scale(found.mean, error, scale, LEVEL, found.freedom)
    return _estimate(error, interval)


def of_share(ones: Floats, by: Clusters) -> Estimate:
    """Of the share of ones, by the rule of the headline: Wilson's, at an effective number of judgments."""
    row = score_intervals(cells(ones, by.worker, by.item, np.zeros(ones.size, dtype=np.int64)), LEVEL)[0]
    error = sqrt(row.mean * (1.0 - row.mean) * row.design_effect / (row.n - 1)) if row.n > 1 else None
    if min(row.workers, row.stories) == 1:
        error = None
    return _estimate(error, row.interval)


def _estimate(error: float | NotEstimable | None, interval: Interval | NotEstimable) -> Estimate:
    low, high = (None, None) if isinstance(interval, NotEstimable) else interval
    return Estimate(None if isinstance(error, NotEstimable) else error, low, high)
