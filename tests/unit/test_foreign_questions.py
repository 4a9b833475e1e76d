"""Others' preferences and ratings in the shapes in which files have them: words, pairs, cells of several."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.foreign import Sheet
from humaneval.foreign.answers import as_numbers, mapped, without_no_answers
from humaneval.foreign.clusters import clusters
from humaneval.foreign.comparisons import FIRST, OUTCOME, SECOND, comparisons
from humaneval.foreign.judged import ITEM, NUMBER, VALUE, WORKER, Judged, judged
from humaneval.foreign.ordinal_scales import ordinal
from humaneval.foreign.preferences import ranking, sign_tests
from humaneval.foreign.right_answers import correct_by_row
from humaneval.foreign.splitting import number_of, people_in
from humaneval.foreign.summaries import agreement, counts, means
from humaneval.foreign.unfold import with_json
from humaneval.scoring.means import mean_on_scale
from humaneval.statistics.bradley_terry import bradley_terry
from humaneval.statistics.intervals import Interval
from humaneval.statistics.mean_intervals import mean_interval
from humaneval.statistics.sign_test import sign_test
from tests.made_up_answers import preferences, ratings
from tests.r_oracles import VALUES


def sheet_of(**columns: list[Any]) -> Sheet:
    frame = pd.DataFrame(columns, dtype=object)
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    return Sheet("table", frame.astype(object))


def values(made: Judged) -> list[str]:
    return list(made.frame[VALUE])


@pytest.fixture
def pairs() -> Sheet:
    """Made-up preferences as a file has them: A or B, and the systems behind them."""
    p = preferences()
    answers = p.outcome.map({1: "A", -1: "B", 0: "tie"})
    return sheet_of(
        who=list(p.worker),
        story=list(p.story),
        one=list(p["first"]),
        two=list(p["second"]),
        pick=list(answers),
    )


OPTIONS = {"A": "one", "B": "two"}


def test_a_sign_test_of_pairs_is_the_statistics_own(pairs: Sheet) -> None:
    made = judged(pairs, ["pick"], items=["story"], worker="who")
    table = sign_tests(comparisons(pairs, made.frame, OPTIONS))
    assert table.columns[-2:] == ("p", "Holm")
    assert len(table.rows) == 10
    p = preferences()
    mine = p[p["first"].isin(["ilm", "bert"]) & p["second"].isin(["ilm", "bert"])]
    signs = mine.outcome.where(mine["first"] == "bert", -mine.outcome)
    expected = sign_test(signs, mine.worker, mine.story)
    row = dict(zip(table.columns, table.rows[1], strict=True))
    assert (row["first"], row["second"]) == ("bert", "ilm")
    assert (row["wins"], row["losses"], row["ties"]) == (expected.wins, expected.losses, expected.ties)
    assert (row["share"], row["p"]) == (expected.share, pytest.approx(expected.p))
    assert (row["low"], row["high"]) == pytest.approx(expected.interval)
    against = sign_tests(comparisons(pairs, made.frame, OPTIONS), ties="half", reference="bert")
    assert {row[1] for row in against.rows} == {"bert"}
    assert "ties count half" in against.notes[0]


def test_a_ranking_of_pairs_is_that_of_r(pairs: Sheet) -> None:
    made = judged(pairs, ["pick"], items=["story"], worker="who")
    table = ranking(comparisons(pairs, made.frame, OPTIONS), reference="bert")
    rows = {row[0]: row for row in table.rows}
    told = [rows[name][2] for name in ("human", "ilm", "lm", "sa")]
    assert told == pytest.approx(VALUES["davidson strengths"][:4], rel=1e-5)
    assert rows["human"][3] == pytest.approx(VALUES["davidson clustered errors"][0], rel=1e-5)
    assert rows["bert"][2:6] == (0.0, None, None, None)
    assert [row[6] for row in table.rows] == [1, 2, 3, 4, 5]
    average = ranking(comparisons(pairs, made.frame, OPTIONS), ties="half")
    p = preferences()
    fit = bradley_terry(p["first"], p["second"], p.outcome, p.worker, p.story, ties="half")
    assert average.rows[0][2] == pytest.approx(max(fit.strengths))
    with pytest.raises(UsageError, match="no system is called 'gpt'"):
        ranking(comparisons(pairs, made.frame, OPTIONS), reference="gpt")


def test_an_answer_may_be_the_name_of_a_system_or_the_number_of_an_option() -> None:
    sheet = sheet_of(
        a=["x", "x", "y"], b=["y", "y", "x"], best=["x", "tie (bothbad)", "x"], n=["1.0", "2", "0"]
    )
    made = comparisons(sheet, judged(sheet, ["best"]).frame, {"left": "a", "right": "b"})
    assert list(made.frame[OUTCOME]) == [1, 0, -1]
    made = comparisons(sheet, judged(sheet, ["n"]).frame, {"1": "a", "2": "b"}, ["0"])
    assert list(made.frame[OUTCOME]) == [1, -1, 0]
    assert list(made.frame[FIRST]) == ["x", "x", "y"]


def test_the_best_of_three_is_preferred_to_both_others() -> None:
    sheet = sheet_of(a=["x"], b=["y"], c=["z"], best=["B"])
    made = comparisons(sheet, judged(sheet, ["best"]).frame, {"A": "a", "B": "b", "C": "c"})
    told = made.frame[[FIRST, SECOND, OUTCOME]].to_numpy().tolist()
    assert told == [["x", "y", -1], ["y", "z", 1]]


def test_one_cell_may_have_both_systems() -> None:
    sheet = sheet_of(pair=["x,y", "x;z", "['y', 'z']"], best=["y", "same", "y"])
    made = comparisons(sheet, judged(sheet, ["best"]).frame, {"pair": "pair"})
    told = made.frame[[FIRST, SECOND, OUTCOME]].to_numpy().tolist()
    assert told == [["x", "y", -1], ["x", "z", 0], ["y", "z", 1]]


def test_two_answers_are_compared_without_systems() -> None:
    sheet = sheet_of(pick=["ours"] * 6 + ["base"] * 2 + ["no difference"], who=list("abcdefghi"))
    frame = judged(sheet, ["pick"], worker="who").frame
    (row,) = sign_tests(comparisons(sheet, frame, {})).rows
    assert row[:5] == ("base", "ours", 2, 6, 1)
    assert row[8] == pytest.approx(0.2890625)
    three = sheet_of(pick=["1", "2", "3"])
    with pytest.raises(UsageError, match="two answers can be compared, and there are 3: 1, 2, 3"):
        comparisons(three, judged(three, ["pick"]).frame, {})


def test_what_compares_nothing_is_counted() -> None:
    sheet = sheet_of(a=["x", "x", None, "x"], b=["y", "x", "y", "y"], pick=["A", "A", "B", "?"])
    made = comparisons(sheet, judged(sheet, ["pick"]).frame, {"A": "a", "B": "b"})
    assert len(made.frame) == 1
    assert made.notes == (
        "1 answer for no system and no tie (--tie ANSWER) left out: {'?': 1}",
        "1 comparison with a system without a name: left out",
        "1 comparison of a system with itself: left out",
    )
    with pytest.raises(InputError, match="no answer compares two systems"):
        comparisons(sheet, judged(sheet, ["pick"]).frame.iloc[1:3], {"A": "a", "B": "b"})


def test_braces_in_options_stand_for_the_number_of_the_answer() -> None:
    sheet = sheet_of(q1=["A"], q2=["A"], s1a=["x"], s1b=["y"], s2a=["y"], s2b=["x"])
    made = comparisons(sheet, judged(sheet, ["q{}"]).frame, {"A": "s{}a", "B": "s{}b"})
    assert made.frame[[FIRST, OUTCOME]].to_numpy().tolist() == [["x", 1], ["y", 1]]


def test_words_become_what_they_stand_for_all_at_once() -> None:
    sheet = sheet_of(v=["Very typical", "Typical", "very typical", "n/a", "Typical"])
    words = {"Very typical": "5", "Typical": "3", "n/a": ""}
    made = mapped(judged(sheet, ["v"], ignore_case=True), words, ignore_case=True)
    assert values(made) == ["5", "3", "5", "3"]
    assert str(made.sheet.left_out[0]) == "1 of 5 rows without a value left out (line 5)"
    turned = mapped(judged(sheet_of(v=["1", "2", "5.0"]), ["v"]), {"1": "5", "5": "1", "4": "2"})
    assert values(turned) == ["5", "2", "1"]
    assert turned.sheet.notes == ("nobody answered 4, named by --map",)
    words_too = mapped(judged(sheet_of(v=["1 (best)", "2 - fair", "no 3 or 4"]), ["v"]), {"1": "5", "2": "4"})
    assert values(words_too) == ["5", "4", "no 3 or 4"]
    with pytest.raises(InputError, match="no answer is one of very typical, named by --map; the answers are"):
        mapped(judged(sheet_of(v=["Very typical"]), ["v"]), {"very typical": "5"})


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["5 - Very typical", "1 (not at all)", "3"], ["5", "1", "3"]),
        (["Agree (4)", "Disagree [2]"], ["4", "2"]),
        (["1. Poor", "2.Fair", "NA"], ["1", "2"]),
        (["-1 worse", "+1 better", "0: same"], ["-1", "+1", "0"]),
        (["1-2 times", "3 times"], ["1-2 times", "3 times"]),
        (["3,5 gut", "2 gut"], ["3,5 gut", "2 gut"]),
        (["1e400", "3"], ["1e400", "3"]),
        (["yes", "no"], ["yes", "no"]),
    ],
)
def test_numbered_words_are_read_by_their_one_number(texts: list[str], numbers: list[str]) -> None:
    made = as_numbers(judged(sheet_of(v=texts), ["v"]))
    assert values(made) == numbers


def test_na_among_numbers_is_no_answer_and_among_words_it_is_one() -> None:
    made = without_no_answers(judged(sheet_of(v=["3", "NA", "4", "n/a", "-"]), ["v"]))
    assert values(made) == ["3", "4"]
    assert made.sheet.notes == ("3 answers NA, n/a, - among numbers: no judgment, left out",)
    assert values(without_no_answers(judged(sheet_of(v=["yes", "NA"]), ["v"]))) == ["yes", "NA"]


@pytest.mark.parametrize(
    ("cell", "how"),
    [
        ("4;2;5", ";"),
        ("4; 2; 5;", "auto"),
        ("4|2|5", "auto"),
        ("4, 2, 5", ","),
        ("4 2 5", "space"),
        ("4\n2\n5", "newline"),
        ("[4, 2, 5]", "json"),
        ('["4", "2", "5"]', ";"),
        ("['4', '2', '5']", "auto"),
        ("(4, 2, 5)", "json"),
        ('{"1": 4, "2": 2, "3": 5}', "json"),
    ],
)
def test_several_judgments_in_a_cell(cell: str, how: str) -> None:
    made = judged(sheet_of(v=[cell, None], who=["ann", "bob"]), ["v"], worker="who", split=how)
    assert values(made) == ["4", "2", "5"]
    assert list(made.frame[NUMBER]) == [1, 2, 3]
    assert set(made.frame[WORKER]) == {"ann"}
    assert "3 judgments in a cell" in made.sheet.notes[0]


def test_parts_of_one_person_are_items_and_parts_of_several_are_people() -> None:
    own = judged(sheet_of(v=["4;2"], s=["s1"], who=["ann"]), ["v"], items=["s"], worker="who", split=";")
    assert [item[0] for item in own.frame[ITEM]] == ["s1", "s1"]
    assert own.frame[ITEM].nunique() == 2
    sheet = sheet_of(v=["[4, 2]", "[1]"], s=["s1", "s2"], who=["['ann', 'bob']", "['bob']"])
    people = judged(sheet, ["v"], items=["s"], worker="who", split="json")
    assert list(people.frame[WORKER]) == ["ann", "bob", "bob"]
    assert people.frame[ITEM].nunique() == 2
    nobody = judged(sheet, ["v"], items=["s"], split="json")
    assert (nobody.frame[ITEM].nunique(), len(set(clusters(nobody.frame).worker))) == (2, 3)
    with pytest.raises(InputError, match="who names another number of workers than v has judgments: line 2"):
        judged(sheet_of(v=["4;2;1"], who=["ann;bob"]), ["v"], worker="who", split=";")


def test_systems_in_a_list_beside_their_ratings_are_the_groups() -> None:
    sheet = sheet_of(s=["s1", "s2"], sys=["lm; ilm", "ilm; lm"], v=["4; 2", "3; 5"], note=["a; b; c", "d"])
    made = judged(sheet, ["v"], items=["s"], by=["sys"], split=";")
    assert made.frame[["sys", VALUE]].to_numpy().tolist() == [
        ["lm", "4"],
        ["ilm", "2"],
        ["ilm", "3"],
        ["lm", "5"],
    ]
    assert list(clusters(made.frame).worker) == [0, 0, 1, 1]  # a row is one person's
    other = judged(sheet, ["v"], by=["note"], split=";")
    assert set(other.frame["note"]) == {"a; b; c", "d"}


def test_parts_that_are_not_what_was_said_are_refused() -> None:
    with pytest.raises(InputError, match="1 cell is no JSON list or object in v: line 3"):
        judged(sheet_of(v=["[1]", "4;5"]), ["v"], split="json")
    with pytest.raises(InputError, match="lists or objects within a list, from line 2 on"):
        judged(sheet_of(v=['[{"a": 1}]']), ["v"], split="json")
    with pytest.raises(UsageError, match="--separator needs a separator"):
        judged(sheet_of(v=["1"]), ["v"], split="")


def test_names_of_parts_have_numbers_or_none() -> None:
    assert [number_of(name) for name in ("3", "q12", "fluency", "a1b2")] == [3, 12, None, None]
    assert people_in("Smith, Ann", ";") == ["Smith, Ann"]


def test_columns_and_places_may_be_people() -> None:
    sheet = sheet_of(item=["1", "2"], Ann=["4", "2"], Bob=["5", "2"])
    made = judged(sheet, ["Ann", "Bob"], items=["item"], worker="(column)", by=["(column)"])
    assert list(made.frame[WORKER]) == ["Ann", "Bob", "Ann", "Bob"]
    assert {row[0]: row[2] for row in agreement(made.frame, []).rows}["agreeing pairs"] == pytest.approx(0.5)
    assert [row[0] for row in means(made.frame, made.by).rows] == ["Ann", "Bob"]
    cells = judged(
        sheet_of(s=["a", "b"], v=["[1, 2]", "[1, 1]"]), ["v"], items=["s"], worker="(number)", split="json"
    )
    assert list(cells.frame[WORKER]) == ["1", "2", "1", "2"]
    assert cells.frame[ITEM].nunique() == 2
    numbered = judged(sheet_of(i=["x"], r1=["4"], r2=["5"]), ["r{}"], items=["i"], worker="(number)")
    assert (numbered.frame[ITEM].nunique(), list(numbered.frame[WORKER])) == (1, ["1", "2"])
    with pytest.raises(UsageError, match=r"--worker \(number\) needs a --value with"):
        judged(sheet, ["Ann"], worker="(number)")


def test_a_row_for_each_person_has_a_column_for_each_item() -> None:
    sheet = sheet_of(worker=["ann", "bob"], **{"7#1": ["A", "A"], "7#2": ["B", None], "9#1": ["A", "B"]})
    made = judged(sheet, ["*#*"], items=["(column)"], worker="worker")
    assert made.frame[ITEM].nunique() == 3
    assert {row[0]: row[1] for row in agreement(made.frame, []).rows}["agreeing pairs"] == 2
    with pytest.raises(UsageError, match="there is no column"):
        judged(sheet, ["x*"])


def test_json_objects_of_a_table_are_columns_where_one_is_named() -> None:
    sheet = sheet_of(a=['[{"c": "A", "x": "m"}, {"c": "B", "x": "n"}]', '[{"c": "B", "x": "n"}]'])
    assert list(with_json(sheet, ["b"]).frame.columns) == ["a"]
    assert list(with_json(sheet, ["a.{}.c"]).frame.columns) == [
        "a.1.c",
        "a.1.x",
        "a.2.c",
        "a.2.x",
    ]
    assert list(with_json(sheet, ["a.{}.c"]).frame["a.1.c"]) == ["A", "B"]


def test_right_answers_may_stand_in_the_same_row() -> None:
    sheet = sheet_of(p1=["3", "5"], p2=["1", "2"], t1=["3", "4"], t2=["1", "2.0"])
    made = judged(sheet, ["p{}"])
    assert list(correct_by_row(made.frame, sheet, "t{}")[VALUE]) == ["1", "1", "0", "1"]
    blank = sheet_of(p=["3"], t=[None])
    with pytest.raises(InputError, match="1 right answer is blank in t: line 2"):
        correct_by_row(judged(blank, ["p"]).frame, blank, "t")


def test_intervals_of_means_and_shares_know_what_the_file_says() -> None:
    r = ratings()
    sheet = sheet_of(**{name: [str(one) for one in r[name]] for name in r.columns})
    made = judged(sheet, ["rating"], items=["story"], worker="worker", by=["generator"])
    table = means(made.frame, made.by)
    mine = r[r.generator == "bert"]
    expected = mean_interval(mine.rating, mine.worker, mine.story)
    low, high = r.rating.min(), r.rating.max()
    columns = (mine.rating.to_numpy(), mine.worker.to_numpy(), mine.story.to_numpy())
    interval = mean_on_scale(*columns, Interval(low, high)).interval
    assert table.rows[0][7:] == pytest.approx((expected.standard_error, *interval))
    assert table.notes == (
        "Intervals of 95 %, clustered by worker and by item.",
        f"Intervals lie on the scale from {low} to {high}, the lowest and the highest value of all.",
    )
    alone = judged(sheet, ["rating"])
    assert "as if answers were unrelated" in counts(alone.frame, ()).notes[0]
    partly = judged(sheet_of(v=["1", "2", "4"], who=["a", None, "a"]), ["v"], worker="who")
    assert list(clusters(partly.frame).worker) == [0, 1, 0]


@pytest.mark.parametrize("raters", [2, 3, 12])
@pytest.mark.parametrize("values", ["1,5", "4,5", "1,1,5", "0,10,10", "-3,3,2"])
def test_no_interval_of_ratings_leaves_the_scale(values: str, raters: int) -> None:
    cells = values.split(",") * 12
    who = [f"w{at // 2 % raters}" for at in range(len(cells))]
    sheet = sheet_of(v=cells, g=["a", "b"] * (len(cells) // 2), who=who)
    made = judged(sheet, ["v"], worker="who", by=["g"])
    lowest, highest = min(map(float, cells)), max(map(float, cells))
    for row in means(made.frame, made.by).rows:
        mean, low, high = row[2], row[-2], row[-1]
        assert lowest <= low <= mean <= high <= highest


def test_a_group_whose_ratings_are_all_1_is_no_share() -> None:
    sheet = sheet_of(
        v=["1"] * 8 + ["5", "4"] * 4, g=["a"] * 8 + ["b"] * 8, who=[f"w{at}" for at in range(16)]
    )
    made = judged(sheet, ["v"], worker="who", by=["g"])
    (first, _) = means(made.frame, made.by).rows
    assert first[-2] == 1.0 < first[-1] < 5.0


def test_a_mean_of_other_numbers_has_no_interval_if_it_would_leave_them() -> None:
    sheet = sheet_of(
        v=["10.5", "90", "41", "42", "41.5", "41.9"], g=[*"aabbbb"], who=[f"w{at}" for at in range(6)]
    )
    made = judged(sheet, ["v"], worker="who", by=["g"])
    table = means(made.frame, made.by)
    assert table.rows[0][-2:] == (None, None)
    assert 10.5 < table.rows[1][-2] < table.rows[1][-1] < 43
    assert "1 mean without an interval: it would leave the range of all values" in table.notes[-1]


def test_ordinal_models_of_groups_are_clmms() -> None:
    r = ratings()
    sheet = sheet_of(**{name: [str(one) for one in r[name]] for name in r.columns})
    made = judged(sheet, ["rating"], items=["story"], worker="worker", by=["generator"])
    table = ordinal(made.frame, made.by, "ilm")
    rows = {row[0]: row for row in table.rows}
    told = [rows[f"{name} - ilm"][1:3] for name in ("lm", "sa", "bert", "human")]
    assert [one[0] for one in told] == pytest.approx(VALUES["clmm effects"], abs=1e-4)
    assert [one[1] for one in told] == pytest.approx(VALUES["clmm errors"], rel=1e-3)
    assert "chi-squared 15.44" in table.notes[1]
    assert len(ordinal(made.frame, made.by).rows) == 10
    for by, reference, why in (((), None, "compares groups"), (made.by, "gpt", "no group is called 'gpt'")):
        with pytest.raises(UsageError, match=why):
            ordinal(made.frame, by, reference)
    made = judged(sheet, ["rating"], worker="worker", by=["generator"])
    assert ordinal(made.frame, made.by).notes[-1].endswith("name the items: --item COLUMN.")
