"""Differences of mean outcomes that are not shares: ratings, points. Paired by worker, as shares are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humaneval.scoring.judgments import Entries
from humaneval.scoring.questions.question import Scale
from humaneval.statistics.arrays import Codes, Flags, Floats, NotEstimable, places
from humaneval.statistics.cells import Cells, cells
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.mean_intervals import BY_SCALE_CLUSTERED, mean_difference, wilson_on_scale
from humaneval.statistics.paired_tests import or_t_test, paired_test
from humaneval.statistics.score_intervals import ROUNDING, PairedDifference
from humaneval.statistics.sign_flips import Alternative
from humaneval.statistics.two_way import TwoWay, effective, two_way

FINEST = 10**6
"""Outcomes that are not whole, in any unit up to this, are rounded to it for the test."""


def mean_differences(
    entries: Entries,
    scale: Scale,
    pairs: Sequence[tuple[int, int]],
    level: float,
    alternative: Alternative,
    decisive: Sequence[float],
) -> tuple[PairedDifference, ...]:
    """The differences of pairs of generators, by their codes.

    The interval is Wilson's of the difference's place among those that the scale allows. Unless it lies near
    their ends, that is the difference ± t standard errors. These are clustered by worker and by story
    (`humaneval.statistics.mean_intervals`), and t has the degrees of freedom of a sum of three variances.
    Where nothing varies, it reaches to what a share of other answers, no larger than Wilson's bound for none
    of n, would do. Test: the signs of workers, and where stories recur of stories, are flipped
    (`humaneval.statistics.paired_tests`). If they do, the t test of the interval is made, too; the largest p
    counts.
    """
    table = cells(
        in_whole_numbers(entries.outcomes), entries.worker, entries.story, entries.generator, binary=False
    )
    place = {name: at for at, name in enumerate(table.names)}
    of = places(entries.generator)
    return tuple(
        _difference(
            entries.at(np.sort(np.concatenate([of[a], of[b]]))),
            scale,
            table,
            (place[a], place[b]),
            (a, b),
            level,
            alternative,
            decisive,
        )
        for a, b in pairs
    )


def in_whole_numbers(outcomes: Floats) -> Floats:
    """Outcomes times what makes them whole."""
    for factor in (1, 2, 4, 10, 100, 1000):
        if np.allclose(outcomes * factor, np.rint(outcomes * factor), rtol=0.0, atol=1e-9):
            return np.rint(outcomes * factor)
    return np.rint(outcomes * FINEST)


def _difference(
    both: Entries,
    scale: Scale,
    table: Cells,
    at: tuple[int, int],
    codes: tuple[int, int],
    level: float,
    alternative: Alternative,
    decisive: Sequence[float],
) -> PairedDifference:
    first = both.generator == codes[0]
    found = mean_difference(both.outcomes, first, both.worker, both.story, level)
    tested = paired_test(table, *at, alternative, decisive)
    counts = table.workers.counts
    pairs = int(np.minimum(counts[:, at[0]], counts[:, at[1]]).sum())
    note, error = found.note, found.standard_error
    if not isinstance(found.interval, NotEstimable) and not isinstance(error, NotEstimable):
        by = two_way(both.worker, both.story, first.size)
        freedom = min(_freedom(both.outcomes, first, by, error**2), found.freedom)
        ends = Interval(-scale.width, scale.width)
        interval = wilson_on_scale(found.difference, error, ends, level, freedom)
        tested = or_t_test(tested, found.difference / error, freedom, alternative)
    else:
        reason = found.interval if isinstance(found.interval, NotEstimable) else error
        note = f"The interval is a bound, because {getattr(reason, 'because', '')}."
        most = 1.0 if isinstance(error, NotEstimable) else _most(both.outcomes, first, found.freedom, level)
        interval = _within(found.difference, most, scale)
    if not pairs:
        note = f"{note} No worker judged both.".strip()
    return PairedDifference(
        *codes,
        found.difference,
        interval,
        BY_SCALE_CLUSTERED,
        tested.name,
        tested.p,
        tested.error,
        pairs,
        float(pairs),
        f"{note} {tested.note}".strip(),
    )


def _freedom(outcomes: Floats, first: Flags, by: TwoWay, variance: float) -> float:
    """Satterthwaite's degrees of freedom of V_worker + V_story − V_both: V²/Σ V_part²/(G_part − 1).

    The parts are taken for unrelated. With the fewest clusters alone, 93 % of 95 % intervals hold where 24
    workers fill in four forms each."""
    weights = np.where(first, 1.0 / first.sum(), 1.0 / (~first).sum())
    means = outcomes[first].mean(), outcomes[~first].mean()
    residuals = np.where(first, outcomes - means[0], means[1] - outcomes) * weights
    noise = 0.0
    for codes in _ways(by):
        number = effective(codes, weights)
        if number - 1.0 > ROUNDING:
            part = number / (number - 1.0) * float(np.square(np.bincount(codes, residuals)).sum())
            noise += part**2 / (number - 1.0)
    return max(variance**2 / noise, 1.0) if noise else 1.0


def _ways(by: TwoWay) -> tuple[Codes, ...]:
    """Clusters whose parts do not cancel: where no story recurs, stories are the pairs of both."""
    both = int(by.both.max()) + 1
    if by.stories == both:
        return (by.worker,)
    return (by.story,) if by.workers == both else (by.worker, by.story, by.both)


def _most(outcomes: Floats, first: Flags, freedom: float, level: float) -> float:
    """The largest share of other answers that is likely where nothing varies: Wilson's bound for none of n
    answers. If they vary, and only the differences of workers or stories do not, n counts these."""
    n = float(min(first.sum(), (~first).sum()))
    if np.ptp(outcomes[first]) > 0.0 or np.ptp(outcomes[~first]) > 0.0:
        n = min(n, freedom + 1.0)
    return wilson(0, n, level).high


def _within(difference: float, share: float, scale: Scale) -> Interval:
    """How far the difference may be from the one found if a `share` of answers were as extreme as can be."""
    width = scale.width
    return Interval(difference - share * (width + difference), difference + share * (width - difference))
