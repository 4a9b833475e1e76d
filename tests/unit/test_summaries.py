"""What a table of judgments says, against figures counted by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.foreign import Sheet
from humaneval.foreign.differences import differences
from humaneval.foreign.judged import ITEM, WORKER, where
from humaneval.foreign.judged import judged as judgments
from humaneval.foreign.preferences import preference
from humaneval.foreign.reliability import reliability
from humaneval.foreign.right_answers import correct
from humaneval.foreign.summaries import agreement, counts, majority, means, workload
from humaneval.limits import VALUES
from humaneval.statistics.intervals import wilson

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
    assert table.columns == ("item", "n", "mean", "sd", "median", "min", "max", "se", "low", "high")
    # Each row counts as another person. Place .4 of the scale 1–6, Wilson's with t(2) = 4.302653 for z.
    error = (7 / 3) ** 0.5
    answers = 0.4 * 0.6 * (5 / error * 1.959964 / 4.302653) ** 2
    ends = [pytest.approx(1 + 5 * end, abs=1e-5) for end in wilson(0.4 * answers, answers)]
    assert table.rows == (
        ("i1", 3, 3.0, pytest.approx(7**0.5), 2.0, 1.0, 6.0, pytest.approx(error), *ends),
        ("i2", 3, 4.0, 0.0, 4.0, 4.0, 4.0, 0.0, *(pytest.approx(1 + 5 * end) for end in wilson(1.8, 3))),
    )
    assert "as if answers were unrelated" in table.notes[0]


def test_one_value_has_no_standard_deviation(sheet: Sheet) -> None:
    assert means(judged(where(sheet, {"item": "i1", "who": "ann"}), ["n"]), []).rows == (
        (1, 1.0, None, 1.0, 1.0, 1.0, None, *wilson(1, 1)),
    )


def test_words_have_no_mean(sheet: Sheet) -> None:
    with pytest.raises(InputError, match=r"6 of 6 values are not numbers: A, B, b, \?"):
        means(judged(sheet, ["pick"]), [])


def test_counts_and_spellings(sheet: Sheet) -> None:
    table = counts(judged(sheet, ["pick"]), [])
    assert [row[:3] for row in table.rows] == [
        ("A", 3, 0.5),
        ("?", 1, 1 / 6),
        ("B", 1, 1 / 6),
        ("b", 1, 1 / 6),
    ]
    assert table.rows[0][4:] == wilson(3, 6)
    folded = judged(sheet, ["pick"], ignore_case=True)
    assert [row[:2] for row in counts(folded, []).rows] == [("A", 3), ("B", 2), ("?", 1)]


def test_texts_are_counted_without_intervals() -> None:
    rows = [(f"w{number % 7}", f"text {number}") for number in range(VALUES + 1)]
    sheet = Sheet("table", pd.DataFrame(rows, columns=["who", "pick"], dtype=object), {"worker": "who"})
    table = counts(judged(sheet, ["pick"]), [])
    assert len(table.rows) == VALUES + 1
    assert table.rows[0][2:] == (1 / (VALUES + 1), None, None, None)
    assert f"more than {VALUES}" in table.notes[-1]


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


def as_wide_and_long() -> tuple[Sheet, Sheet]:
    """The same judgments of two forms with three passages, by six workers."""
    wide, long = [], []
    for worker in range(6):
        for form in range(2):
            ok = [str(int((worker * 3 + form + place * 2) % 4 > 1)) for place in range(3)]
            g = ["b" if (form + place) % 2 else "a" for place in range(3)]
            wide.append((f"w{worker}", f"f{form}", *ok, *g, *(f"s{form}{place}" for place in range(3))))
            long += [(f"w{worker}", f"s{form}{place}", ok[place], g[place]) for place in range(3)]
    names = ["w", "form", *(f"{name}{n}" for name in ("ok", "g", "s") for n in (1, 2, 3))]
    return (
        Sheet("table", pd.DataFrame(wide, columns=names, dtype=object)),
        Sheet("table", pd.DataFrame(long, columns=["w", "s", "ok", "g"], dtype=object)),
    )


@pytest.mark.parametrize("items", [["form"], ["s{}"], ["form", " S{} "]])
def test_X05_a_file_with_a_column_a_passage_gives_what_one_with_a_row_a_passage_gives(
    items: list[str],
) -> None:
    wide, long = as_wide_and_long()
    one = judgments(wide, ["ok{}"], items=items, by=["g{}"], worker="w")
    other = judgments(long, ["ok"], items=["s"], by=["g"], worker="w")
    for make in (
        lambda made: majority(made.frame, []),
        lambda made: majority(made.frame, made.by),
        lambda made: agreement(made.frame, []),
        lambda made: reliability(made.frame),
        lambda made: differences(made.frame, made.by),
        lambda made: means(made.frame, made.by),
        lambda made: workload(made.frame),
    ):
        assert make(one).rows == make(other).rows
        assert make(one).notes == make(other).notes


def test_X05_columns_that_are_named_one_by_one_are_items_of_their_own_and_count_once() -> None:
    wide, _ = as_wide_and_long()
    named = judgments(wide, ["ok1", "OK2", " ok3", "ok1"], items=["form"])
    assert majority(named.frame, []) == majority(judged(wide, ["ok{}"], items=["form"]), [])


def test_X05_a_number_of_an_item_that_no_column_of_it_has_is_named() -> None:
    wide, _ = as_wide_and_long()
    fewer = Sheet("table", wide.frame.drop(columns=["s3"]))
    with pytest.raises(UsageError, match=r"--item 's\{\}' has no column for the number 3"):
        judgments(fewer, ["ok{}"], items=["s{}"])
    with pytest.raises(UsageError, match="the column of --value has no number"):
        judgments(wide, ["ok1"], items=["s{}"])


def test_X06_what_lacks_a_value_an_item_or_a_worker_is_counted(sheet: Sheet) -> None:
    frame = sheet.frame.copy()
    frame.loc[[2, 4], "pick"] = [None, "  "]
    frame.loc[5, "item"] = " "
    frame.loc[6, "who"] = None
    made = judgments(Sheet("table", frame), ["pick"], items=["item"], worker="who").complete(ITEM, WORKER)
    assert [str(left) for left in made.sheet.left_out] == [
        "2 of 6 rows without a value left out (lines 2, 4)",
        "1 of 4 rows without an item left out (line 5)",
        "1 of 3 rows without a worker left out (line 6)",
    ]
    assert (len(made.frame), made.sheet.rows_read) == (2, 6)


def test_X06_a_form_with_some_answers_is_kept_and_its_blanks_are_counted(sheet: Sheet) -> None:
    frame = sheet.frame.copy()
    frame.loc[3, "n"] = None
    made = judgments(Sheet("table", frame), ["pick", "n"])
    assert made.sheet.notes == ("1 of 12 judgments without a value left out (line 3)",)
    assert not made.sheet.left_out


def test_X07_groups_may_be_named_in_any_case_and_twice_or_as_a_column_of_ours(sheet: Sheet) -> None:
    made = judgments(sheet, ["N"], by=[" Item", "ITEM"])
    assert [row[0] for row in means(made.frame, made.by).rows] == ["i1", "i2"]
    again = judgments(sheet, ["item"], by=["n"])
    table = counts(again.frame, again.by)
    assert table.columns == ("n (group)", "value", "n", "share", "se", "low", "high")
    assert table.to_json()[0] == dict(
        zip(table.columns, ("1", "i1", 1, 1.0, None, *wilson(1, 1)), strict=True)
    )


def test_X07_answers_that_options_name_are_found_in_any_case(sheet: Sheet) -> None:
    made = judgments(sheet, ["pick"], ignore_case=True)
    assert made.spelt(["a", " B ", "c"]) == ["A", "B", "c"]


def test_X07_numbers_that_are_written_differently_are_one_value(sheet: Sheet) -> None:
    frame = sheet.frame.copy()
    frame.loc[5, "n"] = "4.0"
    made = judgments(Sheet("table", frame), ["n"])
    assert counts(made.frame, []).rows[0][:2] == ("4", 3)
    assert made.sheet.notes == ("numbers written differently are one value: 4.0 is 4",)


def test_X09_alpha_is_named_and_given_for_scales_of_numbers() -> None:
    # Krippendorff 2011, data C: four observers, twelve units
    observers = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3"]
    observers += [". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    rows = [
        (f"o{who}", f"u{unit}", rating if rating != "." else None)
        for who, line in enumerate(observers)
        for unit, rating in enumerate(line.split())
    ]
    frame = pd.DataFrame(rows, columns=["who", "unit", "rating"], dtype=object)
    table = agreement(judged(Sheet("table", frame), ["rating"], items=["unit"], worker="who"), [])
    found = {row[0]: row[2] for row in table.rows}
    for metric, alpha in (("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)):
        assert found[f"Krippendorff's alpha ({metric})"] == pytest.approx(alpha, abs=5e-7)
    assert any("ordinal" in note for note in table.notes)


@pytest.mark.parametrize("ratings", [("yes", "no", "maybe"), ("0", "1", "1")])
def test_X09_words_and_two_values_have_the_nominal_alpha_alone(ratings: tuple[str, ...]) -> None:
    rows = [(f"w{n % 4}", f"i{n // 4}", ratings[n % 3]) for n in range(12)]
    frame = pd.DataFrame(rows, columns=["w", "i", "r"], dtype=object)
    table = agreement(judged(Sheet("table", frame), ["r"], items=["i"], worker="w"), [])
    assert [row[0] for row in table.rows if "alpha" in row[0]] == ["Krippendorff's alpha (nominal)"]


def test_X06_a_right_answer_that_is_blank_is_refused() -> None:
    rows = [{"hit": "h", "hit_number": "1", "A1": "Paragraph 2", "A2": "none"}]
    by_hit = Sheet("hits-json", pd.DataFrame(rows, index=[1], dtype=object))
    with pytest.raises(InputError, match="1 of 2 right answers are blank: 2"):
        correct(judged(by_hit, ["A{}"]), by_hit, ["paragraph_2", None])


def table_of(values: list[str], **columns: list[str]) -> Sheet:
    return Sheet("table", pd.DataFrame({"value": values, **columns}, dtype=object))


def test_X06_numbers_with_a_comma_are_read_as_words_but_not_in_silence() -> None:
    made = judgments(table_of(["3,5", "4", "2,0"]), ["value"])
    (note,) = made.sheet.notes
    assert note.startswith("values with a comma, as 3,5, 2,0, are read as words; if they are numbers")
    with pytest.raises(InputError) as told:
        means(made.frame, [])
    assert told.value.hint == "Write numbers with a point."
    assert judgments(table_of(["3,5", "four"]), ["value"]).sheet.notes == ()
    assert judgments(table_of(["3.5", "4"]), ["value"]).sheet.notes == ()


def test_X07_columns_that_differ_only_in_case_are_both_named() -> None:
    with pytest.raises(UsageError, match="may be Value or VALUE, which differ only in case or blanks"):
        judgments(Sheet("table", pd.DataFrame({"Value": ["1"], "VALUE": ["2"]}, dtype=object)), ["value"])


def test_X06_a_preference_that_nobody_has_is_an_error() -> None:
    sheet = table_of(["a", "b"], first=["lm", "ilm"], second=["ilm", "lm"])
    options = {"A": "first", "B": "second"}
    with pytest.raises(InputError, match="no answer is one of A, B, named by --option; the answers are a, b"):
        preference(sheet, judged(sheet, ["value"]), options)
    with pytest.raises(InputError, match="nobody answered C, named by --valid; the answers are a, b"):
        agreement(judged(sheet.noted(), ["value"], items=["first"]), ["C"])
