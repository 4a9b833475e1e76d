"""RoFT's published rates come out of its table of annotations, if a copy is at hand.

Its sentences count from 0, and its boundary is the last sentence that a person wrote: 9 of 10 is all of it.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import humaneval as he
from tests.conftest import lacking

SENTENCES = 10
COLUMNS = ["annotator", "prompt_body", "model", "true_boundary_index", "predicted_boundary_index"]
WHERE = "roft/roft.csv"


def rates(table: pd.DataFrame) -> dict[str, float | bool]:
    """The exact rate and the mean points over all annotations, and what answers at random give."""
    frame = pd.DataFrame(
        {
            "worker": table["annotator"],
            "story": table["prompt_body"].map(hash),
            "generator": table["model"],
            "position": table["true_boundary_index"] + 2,
            "choice": table["predicted_boundary_index"] + 2,
            "question": "boundary",
            "sentences": SENTENCES,
        }
    )
    document = he.score(frame, missed_control="none", keep_incomplete=True).json(details=True)
    exact = next(one for one in document["details"]["tables"] if one["key"] == "exact")
    n = sum(row[1] for row in exact["rows"])
    return {
        "n": n,
        "exact": sum(row[1] * row[2] for row in exact["rows"]) / n,
        "points": sum(row["score"] * row["n"] for row in document["scores"]) / n,
        "chance": 1 / SENTENCES,
        "chance_is_said": "exact in 10.0 %" in exact["note"],
    }


def made_up() -> pd.DataFrame:
    """120 annotations, of which 30 are exact, 30 one late, and 60 early."""
    rows = [
        (f"a{at % 12}", f"Prompt {at}.", ("gpt2", "ctrl")[at % 2], 4, (4, 5, 3, 2)[at // 2 % 4])
        for at in range(120)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_rates_are_those_of_a_table_that_is_known() -> None:
    found = rates(made_up())
    assert found["n"] == 120
    assert found["exact"] == pytest.approx(0.25)
    assert found["points"] == pytest.approx((5 + 4) / 4)
    assert found["chance_is_said"]


def test_the_published_rates_of_roft_come_out_of_its_table(test_data: Path) -> None:
    file = test_data / WHERE
    if not file.is_file():
        lacking("real data", f"put RoFT's table at {WHERE} in the folder HUMANEVAL_TEST_DATA")
    found = rates(pd.read_csv(file).dropna(subset=COLUMNS))
    assert found["exact"] == pytest.approx(0.234, abs=0.0005)
    assert found["chance"] == pytest.approx(0.10)
    assert found["chance_is_said"]
