"""Who can be relied on, found from the answers alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from humaneval.errors import UsageError
from humaneval.foreign.judged import ITEM, VALUE, WORKER
from humaneval.foreign.reliability import reliability


def crowd(items: int = 120, seed: int = 3) -> pd.DataFrame:
    """Three who know the answer nine times in ten, one who tosses a coin, one who always says yes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["yes", "no"], items)
    other = np.where(truth == "yes", "no", "yes")
    said = {name: np.where(rng.random(items) < 0.9, truth, other) for name in ("ann", "bea", "cyd")}
    said |= {"dan": rng.choice(["yes", "no"], items), "eve": np.full(items, "yes")}
    return pd.concat(
        pd.DataFrame({ITEM: np.arange(items), VALUE: answers, WORKER: name}) for name, answers in said.items()
    ).reset_index(drop=True)


def test_who_knows_stands_apart_from_who_clicks() -> None:
    rows = {row[0]: row for row in reliability(crowd()).rows}
    assert [row[1] for row in rows.values()] == [120] * 5
    for at in (2, 3, 4):
        assert (
            min(rows[name][at] for name in ("ann", "bea", "cyd"))
            > max(rows["dan"][at], rows["eve"][at]) + 0.15
        )
    assert all(0.84 < rows[name][3] < 0.97 for name in ("ann", "bea", "cyd"))
    assert abs(rows["dan"][3] - 0.5) < 0.12
    assert (
        max(rows["dan"][4], rows["eve"][4]) < 0.2 < 0.7 < min(rows[name][4] for name in ("ann", "bea", "cyd"))
    )


def test_the_order_of_the_rows_changes_nothing() -> None:
    answers = crowd(30)
    again = reliability(answers.sample(frac=1, random_state=1)).rows
    for one, other in zip(reliability(answers).rows, again, strict=True):
        assert one[:2] == other[:2]
        assert one[2:] == pytest.approx(other[2:], abs=1e-6)


def test_items_with_one_answer_are_said_and_workers_must_be_known() -> None:
    answers = crowd(10)
    alone = pd.DataFrame({ITEM: [99], VALUE: ["no"], WORKER: ["ann"]})
    assert any(
        "1 item with a single answer" in note for note in reliability(pd.concat([answers, alone])).notes
    )
    with pytest.raises(UsageError, match="who answered"):
        reliability(answers.assign(**{WORKER: None}))
