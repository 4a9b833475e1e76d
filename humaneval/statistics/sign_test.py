"""Which of two is preferred: the share of answers for the first, with its interval, and a test of no
preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from humaneval.errors import InputError, UsageError
from humaneval.statistics.arrays import Codes, Floats, NotEstimable, check_level, numbers
from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import Interval
from humaneval.statistics.opponents import share_against
from humaneval.statistics.paired_tests import FEW, HOPELESS, PairedTest
from humaneval.statistics.score_intervals import score_intervals
from humaneval.statistics.sign_flips import Alternative, FlipTest, largest, sign_flip_test
from humaneval.statistics.two_way import TwoWay, t_test, two_way

Ties: TypeAlias = Literal["left out", "half"]

EXACT = "exact binomial"
BY_WORKER = "sign flips of workers"
BY_BOTH = "sign flips of workers, of stories, and two-way clustered t, largest p"
NOTHING = "no answer prefers one of the two"


@dataclass(frozen=True, slots=True)
class SignTest:
    """Answers for the first (`wins`), for the second (`losses`) and for neither (`ties`), and what they
    tell."""

    wins: int
    losses: int
    ties: int
    share: float | NotEstimable
    """Of the answers for the first, 0..1: ties are left out, or count half to each."""
    interval: Interval | NotEstimable
    method: str
    """How the interval was made."""
    test: str
    p: float
    """Of no preference; 1 if nobody prefers one."""
    p_error: float
    """How far `p` may be from the exact one: 0 if it is exact."""
    note: str = ""


def sign_test(
    outcomes: ArrayLike,
    workers: ArrayLike,
    stories: ArrayLike,
    *,
    ties: Ties = "left out",
    level: float = 0.95,
    alternative: Alternative = "two-sided",
    decisive: Sequence[float] = (0.05,),
) -> SignTest:
    """Compare two by answers +1 (the first is better), −1 (the second is), 0 (no difference).

    Where each worker and each story has one answer that is no tie, p is that of the binomial distribution
    with odds ½. Elsewhere a worker's answers change sign together (`statistics.sign_flips`). With at least a
    dozen clusters the sums just as extreme count half (mid-p), as in `statistics.paired_tests`. If stories
    recur, too, two more tests are made, since neither flip allows for both. One flips the signs of stories.
    The other divides the sum by its two-way clustered error, as intervals do. The largest p counts. Ties have
    no sign, so that they never change p.

    The interval of a share without halves is the headline's, Wilson's at an effective number of answers. With
    ties that count half it is Wilson's, too, at as many answers as give its error (`statistics.opponents`).

    `alternative` is about the first. Raises InputError for other outcomes or lengths that differ, UsageError
    for an unknown rule of ties, a wrong level or alternative.

    >>> found = sign_test([1, 1, 1, 1, -1], range(5), range(5))
    >>> found.share, round(found.p, 4)
    (0.8, 0.375)
    """
    check_level(level)
    if ties not in ("left out", "half"):
        raise UsageError(f"there is no rule of ties {ties!r}", "Choose left out or half.")
    y = numbers(outcomes, "outcomes")
    if not np.isin(y, (-1.0, 0.0, 1.0)).all():
        raise InputError("outcomes of a preference must be 1, 0 or -1")
    by = two_way(workers, stories, y.size)
    # Not even a last digit hangs on the order of the lines.
    order = np.lexsort((y, by.story, by.worker))
    y, by = y[order], TwoWay(by.worker[order], by.story[order], by.both[order])
    wins, losses, tied = (int((y == one).sum()) for one in (1.0, -1.0, 0.0))
    told = y != 0.0
    tested = _tested(y[told], by.worker[told], by.story[told], alternative, decisive)
    share = _share(y, by, ties, level)
    return SignTest(
        wins,
        losses,
        tied,
        share.value,
        share.interval,
        share.method,
        tested.name,
        tested.p,
        tested.error,
        f"{share.note} {tested.note}".strip(),
    )


class _Share(NamedTuple):
    """The share of answers for the first, with its interval, and how that was made."""

    value: float | NotEstimable
    interval: Interval | NotEstimable
    method: str = ""
    note: str = ""


def _share(y: Floats, by: TwoWay, ties: Ties, level: float) -> _Share:
    told = y != 0.0
    if ties == "half" and not told.all():
        halves = share_against((y + 1.0) / 2.0, by.worker, by.story, level=level)
        return _Share(halves.mean, halves.interval, halves.method, halves.note)
    if not told.any():
        return _Share(NotEstimable(NOTHING), NotEstimable(NOTHING))
    table = cells(y[told] > 0, by.worker[told], by.story[told], np.zeros(int(told.sum()), dtype=np.int64))
    row = score_intervals(table, level)[0]
    return _Share(row.mean, row.interval, row.method, row.note)


def _tested(
    signs: Floats, worker: Codes, story: Codes, alternative: Alternative, decisive: Sequence[float]
) -> PairedTest:
    if not signs.size:
        return PairedTest(EXACT, 1.0, 0.0, "All answers are ties.")
    by_worker, by_story = _sums(signs, worker), _sums(signs, story)
    if by_worker.size == by_story.size == signs.size:
        return PairedTest(EXACT, *sign_flip_test(by_worker, alternative, decisive=decisive))
    name, clusters = BY_WORKER, by_worker.size
    found = sign_flip_test(by_worker, alternative, mid=clusters >= FEW, decisive=decisive)
    if by_story.size < signs.size:
        other = sign_flip_test(by_story, alternative, mid=by_story.size >= FEW, decisive=decisive)
        found = largest(found, other, _two_way_t(signs, worker, story, alternative))
        name, clusters = BY_BOTH, min(clusters, by_story.size)
    note = ""
    if clusters <= HOPELESS:
        note = f"With so few clusters ({clusters}), p cannot fall below {2.0 ** (1 - clusters):g}."
    return PairedTest(name, found.p, found.error, note)


def _two_way_t(signs: Floats, worker: Codes, story: Codes, alternative: Alternative) -> FlipTest:
    by = two_way(worker, story, signs.size)
    away = signs - signs.mean()
    variance = max(float(by.meat(away[:, None])[0, 0]), float(away @ away))
    if not variance:
        return FlipTest(0.0)  # all signs are alike: the flips decide
    ratio = float(signs.sum()) / sqrt(variance)
    return FlipTest(t_test(ratio, by.freedom(), alternative))


def _sums(signs: Floats, codes: Codes) -> Codes:
    """The sum of the signs in each cluster that occurs."""
    sums = np.bincount(codes, signs)[np.bincount(codes) > 0]
    return np.asarray(np.rint(sums), dtype=np.int64)
