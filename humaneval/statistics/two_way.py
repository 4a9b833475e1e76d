"""What answers have in common by worker and by story: sums of scores that vary in both ways at once.

Any estimate whose error is a sum of one score for each answer takes its variance from here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from humaneval.errors import InputError
from humaneval.statistics.arrays import Codes, Floats, encoded
from humaneval.statistics.sign_flips import Alternative


@dataclass(frozen=True, slots=True)
class TwoWay:
    """The clusters of answers by worker, by story, and by both."""

    worker: Codes
    story: Codes
    both: Codes

    @property
    def workers(self) -> int:
        """How many workers answered."""
        return int(self.worker.max()) + 1

    @property
    def stories(self) -> int:
        """How many stories were judged."""
        return int(self.story.max()) + 1

    @property
    def once(self) -> bool:
        """Whether each worker and each story occurs once: then nothing is shared."""
        return self.workers == self.stories == self.worker.size

    def meat(self, scores: Floats, weights: Floats | None = None) -> Floats:
        """Σ_worker + Σ_story − Σ_both of s_g·s_g', each times G/(G−1). s_g is the sum of the scores (n × p)
        in cluster g (Cameron, Gelbach and Miller 2011).

        G is the effective number of clusters, (Σ m_g)²/Σ m_g², with m_g the sum of the `weights` in cluster g
        (1 for each answer if None). A part with a single cluster has no variance to tell of.
        """
        ways = ((self.worker, 1.0), (self.story, 1.0), (self.both, -1.0))
        total = np.zeros((scores.shape[1], scores.shape[1]))
        for codes, sign in ways:
            number = effective(codes, weights)
            if number - 1.0 > 1e-9:
                sums = np.column_stack([np.bincount(codes, column) for column in scores.T])
                total += sign * number / (number - 1.0) * (sums.T @ sums)
        return total

    def freedom(self, weights: Floats | None = None) -> float:
        """Degrees of freedom of such a variance: fewest effective clusters − 1, at least 1."""
        fewest = min(effective(self.worker, weights), effective(self.story, weights))
        return max(fewest - 1.0, 1.0)


def two_way(workers: ArrayLike, stories: ArrayLike, answers: int) -> TwoWay:
    """The clusters of `answers` answers. Raises InputError if labels and answers do not match."""
    # Ordered, so that not even a last digit hangs on the order of the lines.
    by_worker, by_story = encoded(workers, ordered=True), encoded(stories, ordered=True)
    worker, story = by_worker.codes, by_story.codes
    if not answers or worker.size != answers or story.size != answers:
        raise InputError(
            f"{answers} answers, {worker.size} workers and {story.size} stories do not belong together"
        )
    both = encoded(worker * by_story.number + story, ordered=True).codes
    return TwoWay(worker, story, both)


def effective(codes: Codes, weights: Floats | None = None) -> float:
    """The number of equal clusters as uneven as these."""
    sums = np.bincount(codes, weights).astype(np.float64)
    return float(sums.sum() ** 2 / np.square(sums).sum())


def t_quantile(freedom: float, level: float) -> float:
    """How many standard errors an interval reaches to either side."""
    return float(special.stdtrit(freedom, (1.0 + level) / 2.0))


def z_quantile(level: float) -> float:
    """The same of an error that is known."""
    return float(special.ndtri((1.0 + level) / 2.0))


def t_test(ratio: float, freedom: float, alternative: Alternative) -> float:
    """p of an estimate that is `ratio` standard errors away from what is tested."""
    towards = {"two-sided": -abs(ratio), "greater": -ratio, "less": ratio}[alternative]
    sides = 2.0 if alternative == "two-sided" else 1.0
    return min(1.0, sides * float(special.stdtr(freedom, towards)))
