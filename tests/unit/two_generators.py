"""One generator's score and the difference of two, from columns of responses, by the product's tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import MeanOutcome
from humaneval.statistics.score_intervals import PairedDifference, paired_differences, score_intervals


def score_interval(outcomes: Any, workers: Any, stories: Any) -> MeanOutcome:
    """The score of one generator."""
    return score_intervals(cells(outcomes, workers, stories, np.zeros(np.size(outcomes))))[0]


def paired_difference(
    outcomes_a: Any,
    workers_a: Any,
    stories_a: Any,
    outcomes_b: Any,
    workers_b: Any,
    stories_b: Any,
    **settings: Any,
) -> PairedDifference:
    """Score of a minus score of b; entries are those of the responses to each."""
    labels = [np.asarray(part, dtype=object) for part in (workers_a, workers_b, stories_a, stories_b)]
    outcomes = np.concatenate([np.asarray(outcomes_a, np.float64), np.asarray(outcomes_b, np.float64)])
    generators = np.repeat(np.array(["a", "b"], dtype=object), [np.size(outcomes_a), np.size(outcomes_b)])
    table = cells(outcomes, np.concatenate(labels[:2]), np.concatenate(labels[2:]), generators)
    return paired_differences(table, [("a", "b")], **settings)[0]
