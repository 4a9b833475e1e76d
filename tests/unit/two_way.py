"""The two-way cluster-robust variance of a mean, from its definition, row by row: what the headline's sums
are held against."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def two_way_variance(outcomes: Any, workers: Any, stories: Any) -> float:
    """V_worker + V_story − V_both, each G/(G−1) · Σ_g (Σ_{i in g} (y_i − ȳ))² / n², never below 0.

    G is the effective number of clusters, n² / Σ n_g²."""
    y = np.asarray(outcomes, dtype=np.float64)
    pairs = pd.Series(list(zip(workers, stories, strict=True)))
    return max(0.0, _one_way(y, workers) + _one_way(y, stories) - _one_way(y, pairs))


def design_effect(outcomes: Any, workers: Any, stories: Any) -> float:
    """That over p(1−p)/(n−1), in 1..n; n where there is one cluster, 1 where equal outcomes hide it."""
    y = np.asarray(outcomes, dtype=np.float64)
    fewest = min(len(set(workers)), len(set(stories)))
    if fewest == 1:
        return float(y.size)
    if fewest == y.size or len(set(y)) == 1:
        return 1.0
    unrelated = float(np.square(y - y.mean()).sum()) / y.size / (y.size - 1)
    return float(min(max(1.0, two_way_variance(outcomes, workers, stories) / unrelated), y.size))


def _one_way(y: Any, labels: Any) -> float:
    clusters = pd.Series(y - y.mean()).groupby(pd.factorize(pd.Series(list(labels)))[0])
    number = y.size**2 / np.square(clusters.size()).sum()
    meat = float(np.square(clusters.sum()).sum()) / y.size**2
    return float(number / (number - 1) * meat) if clusters.ngroups > 1 else 0.0
