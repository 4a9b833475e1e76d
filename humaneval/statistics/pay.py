"""What annotators earned in an hour, three ways, for platforms' working times are not hours of work.

`WorkTimeInSeconds` runs from accepting to submitting: a worker who queues ten HITs is credited with the whole
time for each. The union of a worker's intervals counts each second once; the page's own timers count only
what was visible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from humaneval.errors import InputError
from humaneval.statistics.arrays import (
    Codes,
    Flags,
    Floats,
    NotEstimable,
    labels,
    numbers_or_missing,
    same_length,
)

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class HourlyPay:
    """Pay in dollars an hour under one way of counting time."""

    median: float
    """Median over the workers of what each earned an hour."""
    overall: float
    """All that was paid over all hours."""
    seconds: float
    """All time counted."""
    workers: int
    """How many workers have a time."""
    unknown: int
    """How many assignments have no time and are left out, with their reward."""
    by_worker: Floats
    """What each worker earned an hour, in order of appearance; NaN for those without a time."""


@dataclass(frozen=True, slots=True)
class Pay:
    """The three estimates; each may be missing if times are."""

    work_time: HourlyPay | NotEstimable
    """Time = sum over assignments of submitted − accepted, as platforms report it: too low a wage where HITs
    queue."""
    union: HourlyPay | NotEstimable
    """Time = union of each worker's intervals from accepting to submitting."""
    in_page: HourlyPay | NotEstimable
    """Time = sum of the page's timers: the most hopeful estimate, without looking for HITs and reading
    terms."""


def hourly_pay(
    workers: ArrayLike,
    rewards: ArrayLike,
    accepted: ArrayLike | None = None,
    submitted: ArrayLike | None = None,
    *,
    work_seconds: ArrayLike | None = None,
    in_page_seconds: ArrayLike | None = None,
) -> Pay:
    """Hourly pay from submitted assignments, one entry each.

    `rewards` are in dollars and include bonuses. `accepted` and `submitted` are times (datetimes or seconds).
    `work_seconds` is the platform's own working time; where it gives none, submitted − accepted counts.
    `in_page_seconds` is the sum of the page's timers. Missing times are NaN or NaT: such assignments are
    counted as unknown. Raises InputError if lengths differ, nothing is given, a number is negative, or
    something was submitted before it was accepted.
    """
    by_worker = labels(workers, "workers")
    paid = numbers_or_missing(rewards, "rewards")
    same_length(workers=by_worker.codes, rewards=paid)
    if np.isnan(paid).any():
        raise InputError(f"{int(np.isnan(paid).sum())} of {paid.size} rewards are missing")
    worker, number = by_worker.codes, by_worker.number

    spans: tuple[Floats, Floats] | None = None
    if accepted is not None and submitted is not None:
        spans = _seconds(accepted, "times of acceptance"), _seconds(submitted, "times of submission")
        same_length(workers=worker, accepted=spans[0], submitted=spans[1])
        _refuse_early(spans[1] < spans[0])

    def summed(seconds: ArrayLike, name: str) -> HourlyPay | NotEstimable:
        each = numbers_or_missing(seconds, name)
        same_length(workers=worker, seconds=each)
        known = ~np.isnan(each)
        time: Floats = np.bincount(worker[known], weights=each[known], minlength=number).astype(np.float64)
        return _pay(worker, number, paid, known, time)

    if work_seconds is not None:
        work_time = summed(work_seconds, "working times")
    elif spans is not None:
        work_time = summed(spans[1] - spans[0], "working times")
    else:
        work_time = NotEstimable("no working times are known")
    return Pay(
        work_time,
        (
            NotEstimable("the times of acceptance and submission are unknown")
            if spans is None
            else _union(worker, number, paid, *spans)
        ),
        (
            NotEstimable("the pages had no timers")
            if in_page_seconds is None
            else summed(in_page_seconds, "seconds of the page")
        ),
    )


def _refuse_early(early: Flags) -> None:
    if early.any():
        raise InputError(
            f"{int(early.sum())} of {early.size} assignments were submitted before they were accepted, "
            f"the first is entry {int(np.argmax(early)) + 1}"
        )


def _union(worker: Codes, number: int, paid: Floats, start: Floats, end: Floats) -> HourlyPay | NotEstimable:
    known = ~(np.isnan(start) | np.isnan(end))
    return _pay(
        worker, number, paid, known, union_of_intervals(worker[known], start[known], end[known], number)
    )


def union_of_intervals(groups: Codes, start: Floats, end: Floats, number: int) -> Floats:
    """The length that the intervals start..end of each group 0..number−1 cover together, (number).

    >>> start, end = np.array([0.0, 5.0, 0.0]), np.array([10.0, 20.0, 4.0])
    >>> union_of_intervals(np.array([0, 0, 1]), start, end, 2).tolist()
    [20.0, 4.0]
    """
    if not start.size:
        return np.zeros(number)
    # every group is moved beyond the one before it, so that one running maximum serves them all
    apart = (end.max() - start.min() + 1) * groups
    order = np.lexsort((start, groups))
    moved_start, moved_end = (start - start.min() + apart)[order], (end - start.min() + apart)[order]
    reached = np.concatenate([[-np.inf], np.maximum.accumulate(moved_end)[:-1]])
    fresh = np.maximum(0.0, moved_end - np.maximum(moved_start, reached))
    return np.bincount(groups[order], weights=fresh, minlength=number).astype(np.float64)


def _pay(worker: Codes, number: int, paid: Floats, known: Flags, time: Floats) -> HourlyPay | NotEstimable:
    earned = np.bincount(worker[known], weights=paid[known], minlength=number)
    timed = time > 0
    if not timed.any():
        return NotEstimable("no assignment has a time above 0")
    by_worker: Floats = np.full(number, np.nan)
    by_worker[timed] = earned[timed] / time[timed] * HOUR
    return HourlyPay(
        float(np.median(by_worker[timed])),
        float(earned[timed].sum() / time[timed].sum() * HOUR),
        float(time[timed].sum()),
        int(timed.sum()),
        int((~known).sum() + (known & ~timed[worker]).sum()),
        by_worker,
    )


def _seconds(times: ArrayLike, name: str) -> Floats:
    """Datetimes as seconds; numbers as they are; missing ones as NaN."""
    column = pd.Series(np.asarray(times)) if not isinstance(times, pd.Series) else times
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    try:
        moments = pd.to_datetime(column, utc=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"the {name} are not times: {error}") from error
    # pandas' own differences end with the year 2262.
    since_1970 = moments.dt.tz_localize(None).to_numpy("datetime64[us]") - np.datetime64(0, "us")
    return np.asarray(since_1970 / np.timedelta64(1, "s"), dtype=np.float64)
