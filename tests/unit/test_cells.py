"""Sums by cluster and generator: kept for the cells that occur, and equal to those of whole tables."""

from __future__ import annotations

import numpy as np
import pytest

from humaneval.statistics import cells as module
from humaneval.statistics.cells import cells
from humaneval.statistics.score_intervals import paired_differences, score_intervals


def test_only_cells_that_occur_are_kept() -> None:
    n = 5000
    table = cells(np.arange(n) % 3 == 0, np.arange(n), np.arange(n) % 40, np.arange(n) % 100)
    assert table.workers.key.size == n
    assert table.stories.key.size == 200
    assert table.both.key.size == 0


def test_a_pair_has_the_clusters_of_either() -> None:
    workers, generators = ["ann", "ann", "bob", "cat", "cat"], ["a", "b", "b", "c", "c"]
    found = cells([1, 0, 1, 1, 1], workers, list("vwxyz"), generators).workers
    assert found.pair(0, 1).counts.tolist() == [[1, 1], [0, 1]]
    assert found.pair(1, 2).ones.tolist() == [[0, 0], [1, 0], [0, 2]]


def test_scores_do_not_hang_on_how_many_clusters_are_filled_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, most, 600) for most in (2, 40, 12, 4)]
    table = cells(*columns)
    assert table.both.key.size > 100
    whole = score_intervals(table), paired_differences(table)
    monkeypatch.setattr(module, "SLAB", 20)
    assert [one.interval for one in score_intervals(table)] == [
        pytest.approx(one.interval, abs=1e-12) for one in whole[0]
    ]
    assert [one.interval for one in paired_differences(table)] == [
        pytest.approx(one.interval, abs=1e-12) for one in whole[1]
    ]
