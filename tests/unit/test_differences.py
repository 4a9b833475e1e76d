"""A binary judgment between groups: what is computed is checked against other software in test_deepfake3."""

from __future__ import annotations

import pandas as pd
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.foreign import Sheet
from humaneval.foreign.differences import METHODS, differences
from humaneval.foreign.judged import judged


def frame(rows: list[tuple[str, str, str, str]]) -> pd.DataFrame:
    cells = pd.DataFrame(rows, columns=["w", "item", "g", "ok"], dtype=object)
    return judged(Sheet("table", cells), ["ok"], items=["item"], by=["g"], worker="w").frame


def answers(groups: str = "ab") -> pd.DataFrame:
    return frame(
        [
            (f"w{group}{worker}", f"s{item}", group, str(int((worker * item + worker + place) % 3 == 0)))
            for place, group in enumerate(groups)
            for worker in range(8)
            for item in range(6)
        ]
    )


def test_every_method_has_its_lines_and_the_names_of_workers_change_nothing() -> None:
    table = differences(answers(), ["g"])
    assert len({row[0] for row in table.rows}) == 15
    assert {row[1] for row in table.rows} == {"b - a"}
    other = answers().assign(**{"(worker)": lambda one: one["(worker)"].map(lambda name: f"x{hash(name)}")})
    assert differences(other, ["g"]) == table


def test_three_groups_are_each_compared_with_the_first() -> None:
    table = differences(answers("cab"), ["g"], ["naive", "mixed", "bootstrap"])
    assert {row[1] for row in table.rows} == {"b - a", "c - a"}


def test_what_is_not_estimable_says_why_and_the_rest_is_shown() -> None:
    table = differences(frame([("w1", "s1", g, ok) for g in "ab" for ok in "01"]), ["g"], ["naive", "cr2"])
    assert [row[0] for row in table.rows] == ["naive", "cr2"]
    assert table.rows[0][3] == pytest.approx(0, abs=1e-9)
    assert table.rows[1][1:] == (None,) * 6
    assert table.notes[0].startswith("cr2: not estimable: ")


@pytest.mark.parametrize(
    ("rows", "by", "message"),
    [
        ([("w", "s", "a", "1"), ("w", "s", "b", "2")], ["g"], "1 of 2 values are neither 0 nor 1: 2"),
        ([("w", "s", "a", "1"), ("w", "s", "a", "0")], ["g"], "g has only one group: a"),
        ([("w", "s", "a", "1")], [], "compares the groups of one column"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    rows: list[tuple[str, str, str, str]], by: list[str], message: str
) -> None:
    with pytest.raises((InputError, UsageError), match=message):
        differences(frame(rows), by)


def test_a_method_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no method 'anova'") as error:
        differences(answers(), ["g"], ["anova"])
    assert error.value.hint == f"Methods: {', '.join(METHODS)}."
