"""How much repeated workers and stories widen an interval: the two-way cluster-robust variance and design effect."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from humaneval.errors import InputError

Codes: TypeAlias = NDArray[np.int64]


def two_way_variance(outcomes: ArrayLike, workers: ArrayLike, stories: ArrayLike) -> float:
    """The variance of the mean of `outcomes`, robust to clusters of workers and of stories.

    V = V_worker + V_story − V_both, where each part is G/(G−1) · Σ_g (Σ_{i in g} (y_i − ȳ))² / n² over its G
    clusters, and the clusters of "both" are the pairs of worker and story (Cameron, Gelbach and Miller 2011).
    A part with a single cluster is 0. The difference can fall below 0 in small samples: then 0 is returned.

    The three arguments are one-dimensional and of one length n >= 1; labels may be anything that can be told
    apart, outcomes are numbers (0 and 1 here). Raises InputError where lengths differ or nothing is given.
    """
    y, by_worker, by_story = _columns(outcomes, workers, stories)
    return max(0.0, _two_way(y, by_worker, by_story))


def design_effect(outcomes: ArrayLike, workers: ArrayLike, stories: ArrayLike) -> float:
    """How many times larger the variance of the mean is than with as many unrelated responses: 1 <= value <= n.

    The two-way variance over p(1−p)/(n−1), the same estimator with every response a cluster of its own, so that
    a design without repeats has exactly 1. Values below 1 are raised to 1: an interval is never narrowed.

    Where the data cannot tell, the worst case is taken, n / min(number of workers, number of stories), as if
    all responses of one worker (or to one story) were the same response: this is so with one worker, with one
    story, and where all outcomes are equal. So n responses by one worker count as one response.

    With few clusters the estimate is too hopeful: in simulations Wilson's 95 % interval at n / design effect held
    the true score in 94 to 96 % of studies with 12 workers or more, in 94 % with 8, 93 % with 5, 89 % with 3.

    Arguments and errors as for `two_way_variance`.
    """
    y, by_worker, by_story = _columns(outcomes, workers, stories)
    n = y.size
    fewest = min(int(by_worker.max()), int(by_story.max())) + 1
    share = float(y.mean())
    if fewest == n:
        return 1.0
    if fewest == 1 or bool((y == y[0]).all()):
        return n / fewest
    unrelated = float(np.square(y - share).sum()) / n / (n - 1)
    return float(min(max(1.0, _two_way(y, by_worker, by_story) / unrelated), n))


def _two_way(y: NDArray[np.float64], by_worker: Codes, by_story: Codes) -> float:
    pairs = np.unique(by_worker * (by_story.max() + 1) + by_story, return_inverse=True)[1]
    return _one_way(y, by_worker) + _one_way(y, by_story) - _one_way(y, pairs)


def _one_way(y: NDArray[np.float64], codes: Codes) -> float:
    sums = np.bincount(codes, weights=y - y.mean())
    clusters = sums.size
    if clusters == 1:
        return 0.0
    return float(clusters / (clusters - 1) * np.square(sums).sum() / y.size**2)


def _columns(
    outcomes: ArrayLike, workers: ArrayLike, stories: ArrayLike
) -> tuple[NDArray[np.float64], Codes, Codes]:
    y = np.asarray(outcomes, dtype=np.float64)
    by_worker, by_story = _codes(workers), _codes(stories)
    if not y.size:
        raise InputError("A variance needs at least one response")
    if not y.shape == by_worker.shape == by_story.shape:
        raise InputError(
            f"{y.size} outcomes, {by_worker.size} workers and {by_story.size} stories do not belong together"
        )
    return y, by_worker, by_story


def _codes(labels: Any) -> Codes:
    return pd.factorize(np.asarray(labels), use_na_sentinel=False)[0].astype(np.int64)
