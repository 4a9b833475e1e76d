"""Scores and differences near the ends of their scales and from few people: no crash, nothing beyond the
scale, no certainty, and no number that is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
import pytest

from humaneval.scoring.asked import TableQuestion
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.judgments import judgments
from humaneval.scoring.questions.question import load_question
from humaneval.scoring.scores import ScoreTable, score
from humaneval.statistics.mean_intervals import mean_difference

EVERYBODY = Rule(control="none", incomplete=False, duplicates=False)
SYSTEMS = ("a", "b", "c")

LAYOUTS = {
    "one answer": [(0, 0)],
    "two raters once": [(0, 0), (1, 1)],
    "two raters of five stories": [(one, story) for one in range(2) for story in range(5)],
    "one story": [(one, 0) for one in range(6)],
    "one rater": [(0, story) for story in range(6)],
    "all of all": [(one, story) for one in range(6) for story in range(6)],
    "twelve once": [(one, one) for one in range(12)],
    "stories recur": [(one, (2 * one + more) % 10) for one in range(20) for more in range(2)],
}
RATINGS: dict[str, Callable[[int, int, np.random.Generator], Any]] = {
    "all best": lambda n, system, rng: np.full(n, 5),
    "all but one best": lambda n, system, rng: np.where((np.arange(n) == 0) & (system == 0), 4, 5),
    "all worst": lambda n, system, rng: np.full(n, 1),
    "one point apart": lambda n, system, rng: np.full(n, 3 + (system == 0)),
    "as far as can be": lambda n, system, rng: np.full(n, 5 if system == 0 else 1),
    "all one more": lambda n, system, rng: 1 + np.arange(n) % 4 + (system == 0),
    "any": lambda n, system, rng: rng.integers(1, 6, n),
}
FOUND: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "nobody right": lambda at, rng: at - 1,
    "all right": lambda at, rng: at,
    "one right": lambda at, rng: np.where(np.arange(at.size) == 0, at, at - 1),
    "any": lambda at, rng: rng.integers(2, 12, at.size),
}
PREFERRED: dict[str, Callable[[str, str, Any], Any]] = {
    "all ties": lambda one, other, any_: np.full(any_.size, 3),
    "most are ties": lambda one, other, any_: np.where(np.arange(any_.size) == 0, any_, 3),
    "one never wins": lambda one, other, any_: np.full(any_.size, 2) if one == "c" else any_ * 0 + 1,
    "always the same": lambda one, other, any_: np.full(any_.size, 1 if one < other else 2),
    "any": lambda one, other, any_: any_,
}


def scored(frame: pd.DataFrame, told: TableQuestion) -> ScoreTable:
    return score(frame, EVERYBODY, declared=Declared(), told=told)


def refuse_strange(table: ScoreTable, frame: pd.DataFrame) -> None:
    """Everything is a number, within its scale, around the estimate, and not certain."""
    low, high, width = table.scale.low, table.scale.high, table.scale.width
    for row in table.scores:
        assert row.interval is not None
        assert low <= row.interval.low <= row.score + 1e-9 <= row.interval.high + 2e-9 <= high + 4e-9, row
        assert row.interval.high - row.interval.low > 1e-3 * width, row
        assert all(map(isfinite, (row.effective_n, row.design_effect))), row
    for one in table.comparisons:
        ends = one.interval
        assert -width - 1e-9 <= ends.low <= one.difference + 1e-9 <= ends.high + 2e-9 <= width + 3e-9, one
        assert ends.high - ends.low > 1e-3 * width, one
        assert 0.0 <= one.p <= one.p_adjusted <= 1.0
    answers = judgments(frame, told=table.asked)
    for detail in table.asked.question.details(answers, np.ones(answers.size, dtype=np.bool_), 0.95, 0):
        for value in numbers_of(detail.rows):
            assert isfinite(value), detail


def numbers_of(rows: Any) -> Iterator[float]:
    for row in rows:
        for value in row:
            yield from (one for one in (value if isinstance(value, tuple) else (value,)) if is_number(one))


def is_number(value: Any) -> bool:
    return isinstance(value, float)


def frame_of(layout: str, columns: Callable[[int, int], dict[str, Any]], parts: int) -> pd.DataFrame:
    worker, story = np.array(LAYOUTS[layout]).T
    return pd.concat(
        [
            pd.DataFrame({"worker": worker, "story": story, "position": 1, **columns(part, worker.size)})
            for part in range(parts)
        ],
        ignore_index=True,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ratings_at_the_ends_have_intervals_within_the_scale(layout: str) -> None:
    question, rng = load_question("rate"), np.random.default_rng(1)
    told = TableQuestion(question, question.settings({}))
    for given in RATINGS.values():

        def columns(part: int, n: int, given: Any = given) -> dict[str, Any]:
            ratings = given(n, part, rng)
            return {"generator": SYSTEMS[part], "choice": ratings, "quality": ratings}

        frame = frame_of(layout, columns, 3)
        refuse_strange(scored(frame, told), frame)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_points_at_the_ends_have_intervals_within_the_scale(layout: str) -> None:
    rng = np.random.default_rng(1)
    told = TableQuestion(load_question("boundary"), {}, 10)
    for found in FOUND.values():

        def columns(part: int, n: int, found: Any = found) -> dict[str, Any]:
            at = rng.integers(3, 11, n)
            return {"generator": SYSTEMS[part], "position": at, "choice": found(at, rng)}

        frame = frame_of(layout, columns, 3)
        refuse_strange(scored(frame, told), frame)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_preferences_at_the_ends_have_intervals_within_the_scale(layout: str) -> None:
    question, rng = load_question("prefer"), np.random.default_rng(1)
    told = TableQuestion(question, question.settings({"ties": True}))
    pairs = list(permutations(SYSTEMS, 2))
    for preferred in PREFERRED.values():

        def columns(part: int, n: int, preferred: Any = preferred) -> dict[str, Any]:
            one, other = pairs[part]
            choice = preferred(one, other, rng.integers(1, 3, n))
            return {"generator": one, "other": other, "choice": choice}

        frame = frame_of(layout, columns, 6)
        refuse_strange(scored(frame, told), frame)


def test_a_difference_that_never_varies_is_no_certainty_and_the_note_says_so() -> None:
    worker, story = np.repeat(np.arange(6), 6), np.tile(np.arange(6), 6)
    ratings = 1 + np.arange(36) % 4
    columns = np.tile(worker, 2), np.tile(story, 2)
    found = mean_difference(np.append(ratings + 1, ratings), np.arange(72) < 36, *columns)
    assert (found.difference, found.standard_error) == (1.0, 0.0)
    assert str(found.interval) == (
        "not estimable, because the differences of all workers or of all stories are alike"
    )
    question = load_question("rate")
    frame = pd.DataFrame(
        {
            "worker": columns[0],
            "story": columns[1],
            "position": 1,
            "generator": np.repeat(["a", "b"], 36),
            "choice": np.append(ratings + 1, ratings),
        }
    ).assign(quality=lambda one: one["choice"])
    (one,) = scored(frame, TableQuestion(question, question.settings({}))).comparisons
    # A third of answers of six workers may be others: each by as much as the scale allows.
    assert one.interval.low < 0 < 1 < one.interval.high < 4
    assert one.note == (
        "The interval is a bound, because the differences of all workers or of all stories are alike."
    )
