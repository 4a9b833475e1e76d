"""Scores and paired differences as the report prints them, against values by hand, published ones and
simulation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import calibration
from humaneval.errors import InputError, UsageError
from humaneval.statistics.cells import cells
from humaneval.statistics.paired_tests import MCNEMAR, WITHIN_BOTH, WITHIN_WORKER
from humaneval.statistics.score_intervals import PairedDifference, paired_differences, score_intervals
from tests.unit.mcnemar import mcnemar_exact, mcnemar_mid
from tests.unit.two_generators import paired_difference, score_interval
from tests.unit.two_way import design_effect


def paired(b: int, c: int, n: int, **settings: Any) -> PairedDifference:
    """n workers judge both once, all stories are different; b missed only the first, c only the second."""
    first = np.arange(n) < b
    second = (np.arange(n) >= b) & (np.arange(n) < b + c)
    people = [f"w{number}" for number in range(n)]
    return paired_difference(first, people, np.arange(n), second, people, np.arange(n, 2 * n), **settings)


def test_where_nothing_recurs_the_interval_is_bonett_and_prices() -> None:
    row = paired(25, 21, 95)
    assert row.interval == pytest.approx((-0.098512, 0.180986), abs=5e-7)
    assert (row.method, row.effective_pairs, row.pairs) == ("bonett-price", 95, 95)


@pytest.mark.parametrize(("b", "c", "p"), [(25, 21, 0.560065), (4, 0, 0.0625), (0, 4, 0.0625), (0, 0, 1.0)])
def test_where_each_worker_judged_both_once_the_test_is_mcnemars(b: int, c: int, p: float) -> None:
    row = paired(b, c, 95)
    assert row.p == pytest.approx(p, abs=5e-7) == pytest.approx(mcnemar_mid(b, c))
    assert (row.test, row.p_error) == (MCNEMAR, 0.0)


def test_mcnemar_on_the_approval_table() -> None:
    assert paired(150, 86, 1600).p == pytest.approx(mcnemar_mid(150, 86), rel=1e-5)
    assert paired(8, 2, 11).p == pytest.approx(mcnemar_exact(8, 2))  # few annotators: no mid-p


def test_the_one_sided_tests_are_the_two_tails() -> None:
    greater, less = paired(8, 2, 20, alternative="greater"), paired(8, 2, 20, alternative="less")
    assert greater.p == pytest.approx((11 + 45 / 2) / 1024)  # Bin(10, 1/2) at 9 or more, and half of 8
    assert less.p == pytest.approx((968 + 45 / 2) / 1024)  # at 7 or fewer, and half of 8


def test_a_score_is_wilsons_and_widened_by_the_design_effect() -> None:
    once = score_interval(np.arange(95) < 43, np.arange(95), np.arange(95))
    assert once.interval == pytest.approx((0.356328, 0.552617), abs=5e-7)
    assert (once.method, once.design_effect, once.note) == ("wilson", 1.0, "")
    twice = score_interval([1, 1, 0, 0], ["ann", "ann", "bob", "bob"], [1, 2, 3, 4])
    assert twice.design_effect == pytest.approx(3)


ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 5), st.sampled_from("abc")),
    min_size=2,
    max_size=60,
)


@given(ROWS)
def test_the_cells_give_the_design_effect_of_the_rows(rows: list[tuple[bool, int, int, str]]) -> None:
    table = cells(*zip(*rows, strict=True))
    for name, row in zip(table.names, score_intervals(table), strict=True):
        own = [line[:3] for line in rows if line[3] == name]
        assert row.design_effect == pytest.approx(design_effect(*zip(*own, strict=True)))
        assert (row.n, row.total) == (len(own), sum(line[0] for line in own))


@given(ROWS, st.randoms())
def test_order_and_labels_change_nothing(rows: list[tuple[bool, int, int, str]], random: Any) -> None:
    table = cells(*zip(*rows, strict=True))
    pairs = [(a, b) for a, b in product(sorted(table.names), repeat=2) if a < b]
    random.shuffle(rows)
    other = cells(*zip(*((y, f"w{9 - w}", f"s{s}", g) for y, w, s, g in rows), strict=True))
    for before, after in zip(paired_differences(table, pairs), paired_differences(other, pairs), strict=True):
        assert after.interval == pytest.approx(before.interval)
        assert after.p == pytest.approx(before.p, abs=1e-9)
        assert -1 <= before.interval.low <= before.interval.high <= 1
        assert 0 < before.p <= 1


def test_a_and_b_may_change_places() -> None:
    rng = np.random.default_rng(1)
    worker = np.repeat(np.arange(10), 4)
    table = cells(rng.random(40) < 0.5, worker, rng.integers(0, 9, 40), np.tile(["a", "b"], 20))
    ab, ba = paired_differences(table, [("a", "b"), ("b", "a")])
    assert ba.interval == pytest.approx((-ab.interval.high, -ab.interval.low))
    assert ba.p == pytest.approx(ab.p)


def test_the_variance_of_a_difference_is_that_computed_by_hand() -> None:
    # 2 workers × 2 hits, stories 1..4 for a, 3 4 1 2 for b. a: 1 1 0 0, b: 1 0 0 0; means 1/2 and 1/4.
    # Residual sums by worker: a (1, −1)/4, b (1/2, −1/2)/4: difference (1/8, −1/8): 2 · 2/64 = 1/16.
    # By story: a (+½ +½ −½ −½), b (−¼ −¼ +¾ −¼): difference/4 = (3/16, 3/16, −5/16, −1/16): 4/3 · 44/256.
    # By pair: eight of its own: 8/7 · (4·1/4 + 9/16 + 3/16)/16.
    worker = np.repeat([0, 1], 2)
    row = paired_difference([1, 1, 0, 0], worker, [1, 2, 3, 4], [1, 0, 0, 0], worker, [3, 4, 1, 2])
    variance = 1 / 16 + 4 / 3 * 44 / 256 - 8 / 7 * 1.75 / 16
    # Pairs of answers of one worker: of ann's four two differ, of bob's none: 2 of 8.
    spread = 2 / 8 - 1 / 16
    assert row.effective_pairs == pytest.approx(spread / variance)


def test_repeated_workers_are_permuted_and_repeated_stories_too() -> None:
    rng = np.random.default_rng(3)
    worker, story = np.repeat(np.arange(12), 4), np.arange(48)
    a, b = rng.random(48) < 0.6, rng.random(48) < 0.4
    row = paired_difference(a, worker, story, b, worker, (story + 24) % 48)
    assert (row.test, row.p_error) == (WITHIN_WORKER, 0.0)
    by_worker = (a.astype(int) - b).reshape(12, 4).sum(axis=1)
    sums = np.abs(np.array(list(product([1, -1], repeat=12))) @ by_worker)
    extreme, alike = (sums > abs(by_worker.sum())).mean(), (sums == abs(by_worker.sum())).mean()
    assert row.p == pytest.approx(extreme + alike / 2)
    again = paired_difference(a, worker, story % 12, b, worker, (story + 6) % 12)
    assert again.test == WITHIN_BOTH
    assert again.p >= row.p


def test_a_copy_of_every_worker_leaves_the_difference_and_narrows_it() -> None:
    rng = np.random.default_rng(4)
    worker, story = np.repeat(np.arange(40), 2), np.arange(80)
    a, b = rng.random(80) < 0.6, rng.random(80) < 0.4
    once = paired_difference(a, worker, story, b, worker, (story + 40) % 80)
    both = [np.concatenate([part, part]) for part in (a, b)]
    people, tales = np.concatenate([worker, worker + 40]), np.concatenate([story, story + 80])
    twice = paired_difference(
        both[0], people, tales, both[1], people, np.concatenate([(story + 40) % 80, (story + 40) % 80 + 80])
    )
    assert twice.difference == pytest.approx(once.difference)
    ratio = (once.interval.high - once.interval.low) / (twice.interval.high - twice.interval.low)
    assert ratio == pytest.approx(np.sqrt(2), rel=0.03)


def test_one_worker_cannot_tell_and_the_result_says_so() -> None:
    row = paired_difference([1, 1, 1], ["ann"] * 3, [1, 2, 3], [0, 0, 0], ["ann"] * 3, [4, 5, 6])
    assert row.p == pytest.approx(1.0)
    assert "3 pairs count as 1" in row.note
    assert "(1), p cannot fall below 1." in row.note
    assert row.interval.low < 0


def test_X03_two_scores_of_0_differ_by_no_more_than_0_and_1_of_n() -> None:
    workers, stories = np.repeat(np.arange(30), 4), np.arange(120) % 40
    zero, one = np.zeros(120), np.arange(120) == 7
    same, near = (
        paired_difference(zero, workers, stories, outcomes, workers, (stories + 20) % 40)
        for outcomes in (zero, one)
    )
    assert (same.effective_pairs, "All pairs are alike" in same.note) == (120, True)
    assert same.interval.low < 0 < same.interval.high
    assert same.interval.high - same.interval.low <= near.interval.high - near.interval.low


def test_unpaired_workers_are_said_to_be_so() -> None:
    row = paired_difference([1, 0, 1] * 5, range(15), range(15), [0, 1, 0] * 5, range(15, 30), range(15))
    assert row.pairs == 0
    assert "No worker judged both." in row.note


def test_what_makes_no_sense_is_refused() -> None:
    table = cells([1, 0], ["a", "b"], [1, 2], ["x", "y"])
    with pytest.raises(UsageError, match="no generator is called 'z'"):
        paired_differences(table, [("x", "z")])
    with pytest.raises(UsageError, match="compared with itself"):
        paired_differences(table, [("x", "x")])
    with pytest.raises(UsageError, match="not a level"):
        paired_differences(table, level=1.0)
    with pytest.raises(InputError, match="outcomes must be 0 or 1"):
        cells([2, 0], ["a", "b"], [1, 2], ["x", "y"])
    with pytest.raises(InputError, match="do not belong together"):
        cells([1, 0], ["a"], [1, 2], ["x", "y"])


@pytest.mark.parametrize("design", calibration.DESIGNS, ids=lambda design: design.name)
def test_X02_the_headline_holds_the_truth(design: calibration.Design) -> None:
    # 400 studies: two and a half standard errors beyond 93.5 and 96.5 %; the benchmark does 2,000.
    found = calibration.coverage(design, 400)
    assert 0.904 <= round(found["score"].held, 6) <= 0.9875
    assert 0.904 <= round(found["difference"].held, 6) <= 0.9875
    if design.workers == 200:
        assert found["naive score"].held < 0.89


def test_the_default_paired_test_keeps_its_level() -> None:
    assert calibration.rejections(calibration.DESIGNS[0], 400) <= 0.06


def test_shuffled_labels_of_the_published_table_show_no_difference() -> None:
    assert calibration.share(calibration.published_shuffle, 60) <= 0.1


@pytest.mark.parametrize("alike", [0, 4, 8])
def test_few_workers_who_judged_both_do_not_decide_how_wide_a_difference_is(alike: int) -> None:
    """In partial designs most workers judge one of two generators: of 47 here, eight judge both, so many of
    them alike."""
    a = np.repeat([1, 0, 1, 0], [6, 14, 4, 4])  # the last eight are by those who judged both
    first = np.repeat([1, 0], [4, 4])
    both = np.concatenate(
        [first[: alike // 2], 1 - first[alike // 2 : 8 - alike // 2], first[8 - alike // 2 :]]
    )
    b = np.concatenate([both, np.repeat([1, 0], [21 - both.sum(), both.sum() - 2])])
    found = paired_difference(a, np.arange(28), np.arange(28) % 20, b, np.arange(20, 47), np.arange(27) % 20)
    assert found.difference == pytest.approx(10 / 28 - 21 / 27)
    assert found.interval.low < found.difference < found.interval.high
    assert 0.4 < found.interval.high - found.interval.low < 0.75
    assert not found.note
