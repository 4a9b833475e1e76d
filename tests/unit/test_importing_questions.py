"""Others' preferences, ratings and boundaries as a response table."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.foreign import Sheet, propose, responses
from humaneval.foreign.other_questions import Answers, prepared
from humaneval.foreign.responses import Imported


def sheet_of(**columns: list[Any]) -> Sheet:
    frame = pd.DataFrame(columns, dtype=object)
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return Sheet("table", frame.astype(object))


def imported(
    sheet: Sheet,
    question: str,
    told: dict[str, str],
    answers: Answers | None = None,
    constants: dict[str, str] | None = None,
    **others: Any,
) -> Imported:
    made = prepared(sheet, question, told, constants or {}, answers or Answers({}, {}))
    mapping = propose(made.sheet, made.told, made.constants, made.own)
    return responses(made.sheet, mapping, study="s", asked=made.asked, **others)


WHO = {"worker": "who", "story": "item"}
PAIRS = Answers({}, {"A": "one", "B": "two"})


def test_a_preference_has_both_systems_and_the_choice_in_the_order_shown() -> None:
    sheet = sheet_of(
        who=["a", "b", "c", "d"],
        item=["1", "1", "2", "2"],
        one=["lm", "ilm", "lm", "lm"],
        two=["ilm", "lm", "ilm", "ilm"],
        best=["A", "B", "Tie", "?"],
    )
    made = imported(sheet, "prefer", {**WHO, "choice": "best"}, PAIRS)
    told = made.frame[["generator", "other", "choice", "position", "question"]].to_numpy().tolist()
    assert told == [
        ["lm", "ilm", 1, 1, "prefer"],
        ["ilm", "lm", 2, 1, "prefer"],
        ["lm", "ilm", 3, 1, "prefer"],
    ]
    assert "1 answer for no system and no tie count as no answer (line 5)" in made.sheet.notes
    assert [left.cause for left in made.sheet.left_out] == ["no answer"]


def test_pairs_of_a_form_and_answers_in_words_become_rows() -> None:
    sheet = sheet_of(
        who=["a", "b"],
        item=["1", "1"],
        q1=["left", "right"],
        q2=["right", "none"],
        s1a=["x", "y"],
        s1b=["y", "x"],
        s2a=["x", "x"],
        s2b=["z", "z"],
    )
    answers = Answers({"left": "A", "right": "B"}, {"A": "s{}a", "B": "s{}b"}, ["none"])
    made = imported(sheet, "prefer", {**WHO, "choice": "q{}"}, answers)
    told = made.frame[["worker", "generator", "other", "choice"]].to_numpy().tolist()
    assert told == [["a", "x", "y", 1], ["a", "x", "z", 2], ["b", "y", "x", 2], ["b", "x", "z", 3]]


def test_a_preference_may_come_with_choices_and_columns_of_both() -> None:
    sheet = sheet_of(who=["a"], item=["1"], g=["x"], o=["y"], c=["2"])
    made = imported(sheet, "prefer", {**WHO, "generator": "g", "other": "o", "choice": "c"})
    assert made.frame[["generator", "other", "choice"]].to_numpy().tolist() == [["x", "y", 2]]
    with pytest.raises(UsageError, match="does not say which two systems were shown"):
        imported(sheet, "prefer", {**WHO, "choice": "c"})
    with pytest.raises(UsageError, match="between two systems"):
        imported(sheet, "prefer", {**WHO, "choice": "c"}, Answers({}, {"A": "g", "B": "o", "C": "g"}))
    together = sheet_of(who=["a", "b"], item=["1", "1"], pair=["x,y", "x"], best=["y", "x"])
    made = imported(together, "prefer", {**WHO, "choice": "best"}, Answers({}, {"pair": "pair"}))
    assert made.frame[["generator", "other", "choice"]].to_numpy().tolist() == [["x", "y", 2]]


def test_ratings_have_a_column_for_each_scale() -> None:
    sheet = sheet_of(
        who=["a", "b", "c"],
        item=["1", "1", "2"],
        sys=["x", "y", "x"],
        flu=["5 - very", "2", "NA"],
        sense=["good", "bad", "good"],
    )
    told = {**WHO, "generator": "sys", "fluency": "flu", "sense": "sense"}
    made = imported(sheet, "rate", told, Answers({"good": "5", "bad": "1"}, {}))
    assert made.frame[["choice", "fluency", "sense"]].to_numpy().tolist() == [[5, 5, 5], [2, 2, 1]]
    assert [str(left) for left in made.sheet.left_out] == ["1 left out: no answer (line 4)"]
    one = imported(sheet, "rate", {**WHO, "generator": "sys", "choice": "flu"})
    assert "fluency" not in one.frame.columns
    assert list(one.frame.choice) == [5, 2]
    with pytest.raises(InputError, match="fluency is not a number from 1 to 7"):
        imported(sheet_of(who=["a"], item=["1"], sys=["x"], flu=["9"]), "rate", {**told, "sense": "flu"})


def test_ratings_may_be_counted_from_0_and_stand_in_several_columns() -> None:
    sheet = sheet_of(who=["a"], item=["1"], sys=["x"], r1=["0"], r2=["4"])
    told = {**WHO, "generator": "sys", "quality": "r{}"}
    made = imported(sheet, "rate", told, constants={"position": "1"}, from_zero=True, contradictions="keep")
    assert list(made.frame.quality) == [1, 5]


def test_what_a_file_says_of_its_question_is_not_read_past() -> None:
    columns: dict[str, list[Any]] = {
        "who": ["a"],
        "item": ["1"],
        "sys": ["x"],
        "flu": ["6"],
        "position": ["2"],
    }
    told = {**WHO, "generator": "sys", "choice": "flu"}
    with pytest.raises(UsageError, match="the column Question says that the question was rate, not detect"):
        imported(sheet_of(**columns, Question=["rate"]), "detect", told)
    imported(sheet_of(**columns, question=["rate"]), "rate", told)
    assert "settings" not in imported(sheet_of(**columns), "rate", told).frame.columns
    five = {"position": "1", "settings": '{"points": 5}'}
    with pytest.raises(InputError, match="fluency is not a number from 1 to 5"):
        imported(sheet_of(**columns), "rate", {**WHO, "generator": "sys", "fluency": "flu"}, constants=five)
    for name in ("fits the context", "settings", "7th"):
        with pytest.raises((UsageError, InputError)):
            imported(sheet_of(**columns), "rate", {**WHO, "generator": "sys", name: "flu"})


def test_stories_of_another_length_are_imported_as_such() -> None:
    columns: dict[str, list[Any]] = {"who": ["a"], "item": ["1"], "sys": ["x"], "at": ["7"], "said": ["6"]}
    told = {**WHO, "generator": "sys", "position": "at", "choice": "said"}
    with pytest.raises(InputError, match="not a sentence from 1 to 5"):
        imported(sheet_of(**columns), "detect", told)
    made = imported(sheet_of(**columns, Sentences=["8"]), "detect", told)
    assert made.frame[["position", "choice", "sentences"]].to_numpy().tolist() == [[7, 6, "8"]]
    texts = {**columns, "at": ["2"], "said": ["3"], "sentences": ["A cat. A dog."]}
    assert "sentences" not in imported(sheet_of(**texts), "detect", told).frame.columns


def test_a_boundary_may_lie_beyond_the_fifth_sentence() -> None:
    sheet = sheet_of(who=["a", "b"], item=["1", "2"], sys=["x", "x"], true=["7", "3"], said=["9", "11"])
    told = {**WHO, "generator": "sys", "position": "true", "choice": "said"}
    made = imported(sheet, "boundary", told, constants={"sentences": "10"})
    assert made.frame[["position", "choice", "sentences"]].to_numpy().tolist() == [
        [7, 9, "10"],
        [3, 11, "10"],
    ]
    with pytest.raises(InputError, match="choice is not a sentence from 1 to 5"):
        imported(sheet, "detect", told)


def test_what_does_not_go_with_a_question_is_said() -> None:
    sheet = sheet_of(who=["a"], item=["1"], g=["x"], c=["2"])
    with pytest.raises(UsageError, match="--map, --option and --tie go with --question"):
        imported(sheet, "detect", WHO, Answers({"a": "1"}, {}))
    with pytest.raises(UsageError, match="--option goes with --question prefer"):
        imported(sheet, "rate", WHO, PAIRS)
    with pytest.raises(UsageError, match="the question 'rank' cannot be read"):
        imported(sheet, "rank", WHO)
    with pytest.raises(UsageError, match="'fluency' is not a column of a response table"):
        imported(sheet, "detect", {**WHO, "fluency": "c"})
    with pytest.raises(InputError, match="does not say which column holds: choice"):
        imported(sheet, "boundary", WHO)
