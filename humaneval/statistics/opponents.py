"""How sure a share is that is a mean over several opponents, as of pairs of which one is preferred."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Floats, check_level, encoded, numbers
from humaneval.statistics.intervals import MeanOutcome, wilson
from humaneval.statistics.mean_intervals import BY_SCALE, BY_SCALE_CLUSTERED
from humaneval.statistics.two_way import TwoWay, t_quantile, two_way, z_quantile

PLAIN = "wilson, opponents apart"
CLUSTERED = "wilson, n / design effect, opponents apart"
ALONE = "The correlation of the answers cannot be estimated, so {:g} count as 1."
ALIKE = "All answers are alike and show no correlation, so they count as unrelated."
ADDED = 2.0
"""Answers of either kind added to each opponent's, for the variance of unrelated answers."""


def share_against(
    outcomes: ArrayLike,
    workers: ArrayLike,
    stories: ArrayLike,
    opponents: ArrayLike | None = None,
    level: float = 0.95,
) -> MeanOutcome:
    """The mean of outcomes from 0 to 1 (½ for ties), about several opponents (one if None), columns of one
    length.

    Who the opponents are is part of the design, and no chance. So errors are deviations from the mean against
    the same opponent. From the mean of all, they would hold the gaps between opponents, too. Where each
    worker meets all of them, V_worker and V_story know no such gap, but V_both, which is subtracted, does.
    If one opponent is beaten nearly always, 92 % of 95 % intervals then hold.

    The interval is Wilson's at n_e = p(1 − p)/V. That is the effective number of a stratified and clustered
    sample (Korn and Graubard 1998; Franco and others 2019). V is the two-way clustered variance, times t²/z²
    with (fewest effective clusters − 1) degrees of freedom. It is never below that of unrelated answers. Few
    answers say little of their spread. So four more are added for it (Agresti and Coull 1998): two of 0 and
    two of 1 against each opponent. If it gives a smaller spread, four of 0 or 1 with the mean p of all are
    added instead. Without ties and with one opponent this is the headline's n. It may be above n, as answers
    that are ties, or about one opponent, vary less than p(1 − p).

    A single worker, or a single story, counts as one answer. Raises InputError if lengths differ, nothing is
    given, or an outcome lies outside 0..1, UsageError for a wrong level.

    >>> found = share_against([1, 1, 1, 0] * 5, range(20), range(20), ["lm", "sa"] * 10)
    >>> found.total / found.n, [round(end, 3) for end in found.interval]
    (0.75, [0.532, 0.888])
    """
    check_level(level)
    y = numbers(outcomes, "outcomes")
    by = two_way(workers, stories, y.size)
    against = encoded(np.zeros(y.size) if opponents is None else opponents, ordered=True).codes
    if against.size != y.size:
        raise InputError(f"{y.size} outcomes and {against.size} opponents do not belong together")
    if y.min() < 0.0 or y.max() > 1.0:
        raise InputError("an outcome against an opponent lies between 0 and 1")
    # Not even a last digit hangs on the order of the lines.
    order = np.lexsort((y, against, by.story, by.worker))
    y, against = y[order], against[order]
    by = TwoWay(by.worker[order], by.story[order], by.both[order])
    n, share = float(y.size), float(y.mean())
    away = y - (np.bincount(against, y) / np.bincount(against))[against]
    effect, effective, note = 1.0, n, ""
    if not by.once and min(by.workers, by.stories) == 1:
        effect, effective, note = n, 1.0, ALONE.format(n)
    elif 0.0 < share < 1.0:
        unrelated = _unrelated(y, against)
        variance = 0.0 if by.once else max(float(by.meat(away[:, None])[0, 0]) / n**2, 0.0)
        effect = min(max(1.0, variance / unrelated), n)
        variance *= (t_quantile(by.freedom(), level) / z_quantile(level)) ** 2
        effective = max(1.0, share * (1.0 - share) / max(variance, unrelated))
    if not by.once and not note and not np.abs(away).max() > 0.0:
        note = ALIKE
    interval = wilson(share * effective, effective, level)
    once, more = (BY_SCALE, BY_SCALE_CLUSTERED) if opponents is None else (PLAIN, CLUSTERED)
    method = once if by.once else more
    return MeanOutcome(
        y.size, float(y.sum()), by.workers, by.stories, interval, method, effect, effective, note
    )


def _unrelated(y: Floats, against: Codes) -> float:
    """The variance of the mean of unrelated answers, opponents apart; never above that of all together."""
    n, p, more = float(y.size), float(y.mean()), 2.0 * ADDED
    whole = (float(np.square(y - p).sum()) + more * p * (1.0 - p)) / (n + more)
    counts = np.bincount(against).astype(np.float64)
    means = (np.bincount(against, y) + ADDED) / (counts + more)
    apart = (np.bincount(against, y * y) + ADDED) / (counts + more) - means**2
    return min(float(counts @ apart) / n, whole) / n
