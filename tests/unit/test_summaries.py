"""What a table of judgments says, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.foreign import Sheet
from humaneval.foreign.judged import correct, where
from humaneval.foreign.judged import judged as judgments
from humaneval.foreign.summaries import agreement, counts, majority, means, preference, workload

ROWS = [
    ("ann", "i1", "A", "x", "y", "1"),
    ("bob", "i1", "A", "x", "y", "2"),
    ("cat", "i1", "B", "x", "y", "6"),
    ("ann", "i2", "b", "x", "z", "4"),
    ("bob", "i2", "A", "x", "z", "4"),
    ("cat", "i2", "?", "x", "z", "4"),
]


def judged(sheet: Sheet, values: list[str], **options: Any) -> pd.DataFrame:
    return judgments(sheet, values, **options).frame


@pytest.fixture
def sheet() -> Sheet:
    frame = pd.DataFrame(
        ROWS, columns=["who", "item", "pick", "s1", "s2", "n"], index=range(2, 8), dtype=object
    )
    return Sheet("table", frame, {"worker": "who"})


def test_means_by_group(sheet: Sheet) -> None:
    table = means(judged(sheet, ["n"], by=["item"]), ["item"])
    assert table.columns == ("item", "n", "mean", "sd", "median", "min", "max")
    assert table.rows == (
        ("i1", 3, 3.0, pytest.approx(7**0.5), 2.0, 1.0, 6.0),
        ("i2", 3, 4.0, 0.0, 4.0, 4.0, 4.0),
    )


def test_one_value_has_no_standard_deviation(sheet: Sheet) -> None:
    assert means(judged(where(sheet, {"item": "i1", "who": "ann"}), ["n"]), []).rows == (
        (1, 1.0, None, 1.0, 1.0, 1.0),
    )


def test_words_have_no_mean(sheet: Sheet) -> None:
    with pytest.raises(InputError, match=r"6 of 6 values are not numbers: A, B, b, \?"):
        means(judged(sheet, ["pick"]), [])


def test_counts_and_spellings(sheet: Sheet) -> None:
    assert counts(judged(sheet, ["pick"]), []).rows == (
        ("A", 3, 0.5),
        ("?", 1, 1 / 6),
        ("B", 1, 1 / 6),
        ("b", 1, 1 / 6),
    )
    folded = judged(sheet, ["pick"], ignore_case=True)
    assert [row[:2] for row in counts(folded, []).rows] == [("A", 3), ("B", 2), ("?", 1)]


def test_majorities_and_ties(sheet: Sheet) -> None:
    table = majority(judged(sheet, ["pick"], items=["item"]), [])
    assert table.rows == (("A", 1, 0.5), ("(tie)", 1, 0.5))
    assert table.notes == ("2 items with 3 answers",)
    with pytest.raises(UsageError, match="what was judged"):
        majority(judged(sheet, ["pick"]), [])


def test_preferences_and_answers_that_prefer_nothing(sheet: Sheet) -> None:
    table = preference(sheet, judged(sheet, ["pick"], ignore_case=True), {"A": "s1", "B": "s2"})
    assert table.rows == (
        ("x", 6, 3, 2, 1, pytest.approx(100 / 6)),
        ("y", 3, 1, 2, 0, pytest.approx(-100 / 3)),
        ("z", 3, 1, 1, 1, 0.0),
    )
    assert "'?': 1" in table.notes[0]


def test_agreement_of_pairs_and_with_the_majority(sheet: Sheet) -> None:
    table = agreement(judged(sheet, ["pick"], items=["item"], worker="who"), [])
    found = {row[0]: row[2] for row in table.rows}
    assert found["agreeing pairs"] == pytest.approx((1 / 3 + 0) / 2)
    assert found["answers with the majority"] == pytest.approx(2 / 6)
    assert found["answers with the majority, mean over workers"] == pytest.approx((0.5 + 0.5 + 0) / 3)
    none = agreement(judged(sheet, ["pick"], items=["item"], worker="who"), ["B"])
    assert {row[0]: row[2] for row in none.rows}["answers with the majority"] == 0


def test_agreement_that_cannot_be_had_says_why(sheet: Sheet) -> None:
    table = agreement(judged(where(sheet, {"who": "ann"}), ["pick"], items=["item"], worker="who"), [])
    assert "not estimable, because" in {row[0]: row[2] for row in table.rows}["Fleiss' kappa"]


def test_somebodys_second_answer_to_an_item_is_no_agreement(sheet: Sheet) -> None:
    frame = judged(sheet, ["pick"], items=["item"], worker="who")
    doubled = pd.concat([frame, frame.head(1)], ignore_index=True)
    table = agreement(doubled, [])
    assert table.rows == agreement(frame, []).rows
    assert table.notes[0] == "1 repeated answer by the same worker to the same item: left out"


def test_workload(sheet: Sheet) -> None:
    assert workload(judged(sheet, ["pick", "n"], worker="who")).rows == ((3, 12, 4, 4.0, 4.0, 0.0, 4),)
    with pytest.raises(UsageError, match="does not say who answered"):
        workload(judged(sheet, ["pick"]))


def test_conditions_compare_numbers_as_numbers(sheet: Sheet) -> None:
    kept = where(sheet, {"n": "4.0"})
    assert len(kept.frame) == 3
    assert [(left.cause, left.lines) for left in kept.left_out] == [("n is not 4.0", (2, 3, 4))]


def test_right_answers_need_as_many_as_there_are_passages() -> None:
    rows = [{"hit": "h", "hit_number": "1", "A1": "Paragraph 2", "A2": "none"}]
    by_hit = Sheet("hits-json", pd.DataFrame(rows, index=[1], dtype=object))
    frame = judged(by_hit, ["A{}"])
    assert correct(frame, by_hit, ["paragraph_2", "None"])["(value)"].tolist() == ["1", "1"]
    assert correct(frame, by_hit, ["paragraph_1", "x"])["(value)"].tolist() == ["0", "0"]
    with pytest.raises(InputError, match="need 2 right answers; the file has 1"):
        correct(frame, by_hit, ["paragraph_2"])
