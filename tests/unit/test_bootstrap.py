"""Cluster bootstraps: weights on sums are the same as rows drawn anew."""

from __future__ import annotations

import numpy as np
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.statistics import bootstrap as module
from humaneval.statistics.bootstrap import bootstrap

RNG = np.random.default_rng(8)
WORKER, STORY = RNG.integers(0, 30, 600), RNG.integers(0, 12, 600)
GENERATOR = np.array(["x", "y", "z"])[RNG.integers(0, 3, 600)]
Y = (RNG.random(600) < 0.3 + 0.02 * (WORKER % 10) + 0.01 * STORY).astype(int)


def test_the_two_way_sums_are_those_of_weighted_rows() -> None:
    worker, story = (np.unique(column, return_inverse=True)[1] for column in (WORKER, STORY))
    generator = np.unique(GENERATOR, return_inverse=True)[1]
    table = module._Crossed.of(Y.astype(float), worker, story, generator, 3)
    ones, counts = table.replicate(70, np.random.default_rng(2))
    columns, rows = np.random.default_rng(2).spawn(2)
    by_worker = np.concatenate(list(module._draws(30, 70, columns)))
    by_story = np.concatenate(list(module._draws(12, 70, rows)))
    assert (by_worker.sum(axis=1) == 30).all()
    weight = by_worker[:, worker] * by_story[:, story]
    for code in range(3):
        mine = generator == code
        assert counts[:, code] == pytest.approx(weight[:, mine].sum(axis=1))
        assert ones[:, code] == pytest.approx(weight[:, mine] @ Y[mine])


def test_large_cells_are_summed_exactly_too(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bootstrap(Y, WORKER, STORY, GENERATOR, "both", replicates=100, seed=3)
    monkeypatch.setattr(module, "DRAWN", 10**6)
    again = bootstrap(
        np.repeat(Y, 200),
        np.repeat(WORKER, 200),
        np.repeat(STORY, 200),
        np.repeat(GENERATOR, 200),
        replicates=100,
        seed=3,
    )
    assert (again.scores == expected.scores).all()


@pytest.mark.parametrize("by", ["workers", "stories", "both"])
def test_neither_the_order_of_lines_nor_the_workers_names_change_the_replicates(by: module.By) -> None:
    drawn = bootstrap(Y, WORKER, STORY, GENERATOR, by, replicates=50, seed=4)
    order = np.random.default_rng(5).permutation(Y.size)
    names = np.random.default_rng(6).permutation(30)
    other = bootstrap(
        Y[order], names[WORKER][order], STORY[order], GENERATOR[order], by, replicates=50, seed=4
    )
    assert other.names == drawn.names
    assert (other.scores == drawn.scores).all()


@pytest.mark.parametrize("by", ["workers", "stories"])
def test_one_way_spread_is_that_of_the_sandwich(by: module.By) -> None:
    drawn = bootstrap(Y, WORKER, STORY, GENERATOR, by, replicates=4000, seed=4)
    cluster = WORKER if by == "workers" else STORY
    mine = GENERATOR == "x"
    residual = np.bincount(cluster[mine], Y[mine] - Y[mine].mean())
    assert drawn.scores[:, drawn.names.index("x")].std() == pytest.approx(
        np.sqrt((residual**2).sum()) / mine.sum(), rel=0.1
    )


def test_two_way_intervals_are_wider_than_one_way_and_those_wider_than_naive() -> None:
    widths = {}
    for by in ("responses", "workers", "both"):
        low, high = bootstrap(Y, WORKER, STORY, GENERATOR, by, seed=5).interval("x")
        widths[by] = high - low
    assert widths["both"] > 1.2 * widths["workers"] > 0
    assert widths["both"] > 1.2 * widths["responses"] > 0


def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    one, same, other = (bootstrap(Y, WORKER, STORY, GENERATOR, seed=seed) for seed in (6, 6, 7))
    assert one.difference("x", "y") == same.difference("x", "y") != other.difference("x", "y")
    assert one.seed == 6


def test_pairs_stay_together() -> None:
    worker = np.repeat(np.arange(20), 2)
    y = np.repeat(np.arange(20) % 2, 2)
    drawn = bootstrap(y, worker, np.arange(40), np.tile(["a", "b"], 20), "workers")
    assert drawn.difference("a", "b") == (0.0, 0.0)


def test_what_is_not_estimable_is_said() -> None:
    with pytest.raises(InputError, match="because there is a single worker"):
        bootstrap([0, 1], ["a", "a"], [1, 2], ["x", "x"])
    with pytest.raises(InputError, match="because there is a single story"):
        bootstrap([0, 1], ["a", "b"], [1, 1], ["x", "x"], "stories")
    rare = bootstrap([0, 1, 1], ["a", "b", "c"], [1, 2, 3], ["x", "y", "y"], "workers")
    with pytest.raises(InputError, match="x is not estimable, because more than 5% of the replicates"):
        rare.interval("x")
    with pytest.raises(UsageError, match="no generator is called 'q'"):
        rare.interval("q")
    with pytest.raises(InputError, match="outcomes must be 0 or 1"):
        bootstrap([0, 3], ["a", "b"], [1, 2], ["x", "x"])
