"""The parts of importing: times and durations, answers in odd shapes, columns told or guessed, pseudonyms,
duplicates."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.foreign import Options, Sheet, propose, pseudonymised, read_sheet, replaced, responses
from humaneval.foreign.judged import LINE, NUMBER, VALUE
from humaneval.foreign.mapping import numbered
from humaneval.foreign.right_answers import correct_by_row
from humaneval.foreign.splitting import number_of, parts_of
from humaneval.foreign.times import duration, moment
from humaneval.foreign.unfold import as_text, from_python, leaves, unfolded
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import score


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wed May 06 11:46:36 PDT 2020", "2020-05-06T18:46:36"),
        ("Thu Dec 05 23:12:30 PST 2022", "2022-12-06T07:12:30"),
        ("Thu Oct 09 07:30:20 UTC 2025", "2025-10-09T07:30:20"),
        ("2021-12-23T07:43:44.851+01:00", "2021-12-23T06:43:44.851"),
        ("2021-12-23T07:43:44Z", "2021-12-23T07:43:44"),
        ("1588790796.5", "2020-05-06T18:46:36.500"),
    ],
)
def test_times_of_other_platforms_become_utc(text: str, expected: str) -> None:
    assert moment(text, None) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5/6/2020 11:46",
        "Wed May 06 11:46:36 XYZ 2020",
        "Wed Foo 40 11:46:36 PDT 2020",
        "2020-05-06 11:46:36",
        "soon",
    ],
)
def test_a_time_that_could_be_two_moments_is_not_guessed(text: str) -> None:
    assert moment(text, None) is None


def test_a_zone_that_is_told_is_taken_also_in_summer() -> None:
    assert moment("2020-07-01 12:00:00", ZoneInfo("America/Denver")) == datetime(2020, 7, 1, 18, tzinfo=UTC)
    assert moment("2020-01-01 12:00:00", ZoneInfo("America/Denver")) == datetime(2020, 1, 1, 19, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("206", 206),
        ("206.5", 206.5),
        ("0:03:26", 206),
        ("00:03:26", 206),
        ("12:03:26 AM", 206),
        ("1:03:26 PM", 47006),
        ("1 day, 0:03:26", 86606),
        ("1900-01-01T00:03:26", 86606),
        ("1900-01-01 00:03:26", 86606),
        ("26:00:00", 93600),
        ("3 min 26 s", 206),
        ("1h 2m 3s", 3723),
        ("3:26", None),
        ("-5", None),
        ("", None),
        ("a while", None),
        ("inf", None),
        ("nan", None),
        (f"{'9' * 400}:00:00", None),
        (f"{'9' * 5000} h", None),
        (f"{'9' * 400} s", None),
    ],
)
def test_durations_are_read_as_spreadsheets_leave_them(text: str, expected: float | None) -> None:
    assert duration(text) == expected


@given(st.integers(0, 10**6))
def test_every_number_of_seconds_survives_the_clock(seconds: int) -> None:
    assert duration(f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}") == seconds


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"category": {"label": "no"}}], {"Answer.category.label": "no"}),
        ([{"q": {"a": False, "b": True}}], {"Answer.q": "b"}),
        ([{"q": {"a": True, "b": True}}], {"Answer.q": "a|b"}),
        ([{"q": {"a": False, "b": False}}], {"Answer.q": None}),
        ([{"input_answers": '[{"name": "q", "value": "yes"}]'}], {"Answer.input_answers.q": "yes"}),
        (
            [{"n": 3, "text": "é", "list": ["a", "b"]}],
            {"Answer.n": "3", "Answer.text": "é", "Answer.list": "a|b"},
        ),
        ([{"a": 1}, {"a": 2}], {"Answer.1.a": "1", "Answer.2.a": "2"}),
        ([], {"Answer": None}),
        ("{not json", {"Answer": "{not json"}),
    ],
)
def test_json_answers_are_unfolded(value: object, expected: dict[str, str | None]) -> None:
    assert dict(leaves(value, "Answer")) == expected


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    )
)
def test_any_json_unfolds_into_text(value: object) -> None:
    assert all(
        isinstance(name, str) and (cell is None or isinstance(cell, str)) for name, cell in leaves(value, "A")
    )
    cell = as_text(value)
    assert cell is None or isinstance(cell, str)


@given(st.text())
def test_what_python_wrote_as_bytes_is_text_again(text: str) -> None:
    assert from_python(repr(text.encode("utf-8", "surrogatepass"))) in (
        text,
        repr(text.encode("utf-8", "surrogatepass")),
    )


@pytest.mark.parametrize("cell", ["b'cut", "b'\\xff'", "bold", "b", "", None, "b'a' + b'b'", 3])
def test_what_only_looks_like_bytes_stays(cell: object) -> None:
    assert from_python(cell) == cell


def unfold(*cells: str | None, name: str = "Answer.q") -> tuple[dict[str, list[str | None]], list[str]]:
    made, notes = unfolded(pd.DataFrame({name: cells}, index=range(2, len(cells) + 2), dtype=object), [name])
    return {str(column): list(made[column]) for column in made}, notes


@pytest.mark.parametrize(
    ("odd", "expected"),
    [
        ("[3]", {"Answer.q": ["1", "3", None, "2"]}),
        ("{}", {"Answer.q": ["1", None, None, "2"]}),
        ('{"a": 3}', {"Answer.q": ["1", None, None, "2"], "Answer.q.a": [None, "3", None, None]}),
        ("[3", {"Answer.q": ["1", "[3", None, "2"]}),
        ("{draft} 3", {"Answer.q": ["1", "{draft} 3", None, "2"]}),
    ],
)
def test_one_cell_of_json_leaves_the_plain_ones_of_its_column(
    odd: str, expected: dict[str, list[str | None]]
) -> None:
    made, notes = unfold("1", odd, None, "2")
    assert made == expected
    assert any("line 3" in note for note in notes)


def test_cells_that_only_begin_like_json_stay_beside_those_that_are() -> None:
    made, notes = unfold('[{"q": "yes"}]', "[{broken", name="Answer.taskAnswers")
    assert made == {"Answer.taskAnswers": [None, "[{broken"], "Answer.q": ["yes", None]}
    assert "1 cell begins like JSON but cannot be read, and stays text: line 3" in notes[0]


def test_what_another_column_says_already_is_not_written_over() -> None:
    frame = pd.DataFrame({"A.w": ['{"x": 1}', '{"x": 2}'], "A.w.x": ["7", None]}, dtype=object)
    made, notes = unfolded(frame, ["A.w"])
    assert list(made["A.w.x"]) == ["7", "2"]
    assert "A.w has an answer for A.w.x, a column that exists already and is kept: line 0" in notes


def sheet(rows: list[dict[str, object]], **roles: str) -> Sheet:
    return Sheet("table", pd.DataFrame(rows, index=range(2, len(rows) + 2), dtype=object), roles)


ROW = {"worker": "A1B2C3D4", "story": "s1", "generator": "ilm", "position": "2", "choice": "3"}


def test_two_columns_that_could_be_the_worker_are_both_named() -> None:
    both = sheet([{**ROW, "annotator": "x"}])
    with pytest.raises(UsageError, match="2 columns could be the worker: worker, annotator") as error:
        propose(both, {})
    assert "--column worker=" in error.value.hint
    assert propose(both, {"worker": "annotator"}).columns["worker"] == "annotator"


def test_two_columns_of_the_same_are_no_question() -> None:
    mapping = propose(sheet([{**ROW, "annotator": ROW["worker"]}]), {})
    assert mapping.columns["worker"] == "worker"
    assert "are equal" in mapping.notes[0]


def test_what_is_guessed_is_said_and_what_is_known_is_not() -> None:
    mapping = propose(
        sheet(
            [{"WorkerId": "w", "item": "1", "model": "ilm", "gold": "1", "Answer.pick": "2"}],
            worker="WorkerId",
        ),
        {},
    )
    assert mapping.guessed == ("story", "generator", "position", "choice")
    assert propose(sheet([ROW]), {}).guessed == ()


@pytest.mark.parametrize(
    ("told", "constants", "message"),
    [
        ({"worker": "nobody"}, {}, "there is no column 'nobody'"),
        ({"annotator": "worker"}, {}, "'annotator' is not a column of a response table"),
        ({"choice": "c{}"}, {}, "no column matches 'c{}'"),
        ({"choice": "{}{}"}, {}, "must contain {}"),
        ({}, {"nothing": "1"}, "'nothing' is not a column of a response table"),
    ],
)
def test_a_column_or_role_that_is_not_there_is_named(
    told: dict[str, str], constants: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message.replace("{", r"\{")):
        propose(sheet([ROW]), told, constants)


def test_missing_roles_are_all_named() -> None:
    with pytest.raises(InputError, match="which column holds: generator, position, choice"):
        propose(sheet([{"worker": "w", "story": "s", "other": "x"}]), {})


def test_thousands_of_columns_of_one_name_are_told_in_a_line(tmp_path: Path) -> None:
    path, number = tmp_path / "same.csv", 3_000
    path.write_text("\n".join([",".join(["x"] * number), ",".join(map(str, range(number)))]) + "\n")
    found = read_sheet(path)
    assert list(found.frame.columns) == ["x", *(f"x ({copy})" for copy in range(2, number + 1))]
    assert found.notes == (
        "columns with the name of another, but different cells, are called x (2), x (3), x (4), x (5), x (6)"
        " and 2,994 more",
    )
    path.write_text("\n".join([",".join(["x"] * number), ",".join(["same"] * number)]) + "\n")
    found = read_sheet(path)
    assert list(found.frame.columns) == ["x"]
    assert found.notes == ("of columns with the same name and the same cells, one is read: x",)


def test_numbered_columns_come_by_number_not_by_letters() -> None:
    frame = pd.DataFrame(columns=["Answer.q1", "Answer.q10", "Answer.q2", "answer.Q3", "Answer.q"])
    assert list(numbered(frame, "Answer.q{}").items()) == [
        (1, "Answer.q1"),
        (2, "Answer.q2"),
        (3, "answer.Q3"),
        (10, "Answer.q10"),
    ]


def test_digits_that_are_no_number_are_text() -> None:
    long = "9" * 5000
    assert [number_of(name) for name in ("q²", "q2²", long)] == [None, 2, None]
    assert parts_of([json.dumps({long: 1, "²": 2})], [2], "json", "x").names == (long, "²")
    table = sheet([{"gold": "M²"}, {"gold": "1"}])
    judged = pd.DataFrame({LINE: [2, 3], VALUE: ["m²", long], NUMBER: 1})
    assert list(correct_by_row(judged, table, "gold")[VALUE]) == ["1", "0"]
    assert list(numbered(pd.DataFrame(columns=["q1", f"q{long}"]), "q{}")) == [1]


def test_a_form_becomes_a_row_for_each_passage_in_order() -> None:
    form = {
        "worker": "w",
        **{f"s_{n}": f"story{n}" for n in (1, 10, 2)},
        **{f"g_{n}": "ilm" for n in (1, 10, 2)},
        **{f"p_{n}": "1" for n in (1, 10, 2)},
        "c_1": "1",
        "c_10": None,
        "c_2": "Sentence 2",
    }
    mapping = propose(
        sheet([form]), {"story": "s_{}", "generator": "g_{}", "position": "p_{}", "choice": "c_{}"}
    )
    made = responses(sheet([form]), mapping, study="x")
    assert made.frame[["story", "choice"]].values.tolist() == [["story1", 1], ["story2", 2]]
    assert any("1 passage left out: no answer" in note for note in made.sheet.notes)


def test_forms_whose_columns_do_not_match_are_refused() -> None:
    form = {"worker": "w", "s_1": "a", "s_2": "b", "c_1": "1", "c_3": "2"}
    told = {"story": "s_{}", "choice": "c_{}"}
    mapping = propose(sheet([form]), told, {"generator": "ilm", "position": "1"})
    with pytest.raises(UsageError, match=r"do not have the same numbers: s_\{\}: 1, 2; c_\{\}: 1, 3"):
        responses(sheet([form]), mapping, study="x")


def made(rows: list[dict[str, object]], **options: object) -> pd.DataFrame:
    table = sheet(rows)
    return responses(table, propose(table, {}), study="x", **options).frame


def test_the_same_response_twice_counts_once_and_is_said() -> None:
    table = sheet([ROW, dict(ROW)])
    done = responses(table, propose(table, {}), study="x")
    assert len(done.frame) == 1
    assert [(left.cause, left.lines) for left in done.sheet.left_out] == [("repeated row", (3,))]
    assert done.manifest()["rows_read"] == 2


@pytest.mark.parametrize(("which", "choices"), [("first", [3]), ("last", [4]), ("keep", [3, 4])])
def test_contradicting_answers_are_refused_or_decided(which: str, choices: list[int]) -> None:
    rows = [ROW, {**ROW, "choice": "4"}]
    with pytest.raises(InputError, match="1 passage has two different answers by one worker: lines 2, 3"):
        made(rows)
    assert made(rows, contradictions=which)["choice"].tolist() == choices


def test_an_answer_again_in_another_assignment_is_no_contradiction() -> None:
    rows = [{**ROW, "assignment": "a"}, {**ROW, "assignment": "b", "choice": "4"}]
    table = sheet(rows)
    done = responses(table, propose(table, {}), study="x")
    assert len(done.frame) == 2
    assert any("answered again by the same worker" in note for note in done.sheet.notes)


def test_equal_answers_in_rows_that_differ_elsewhere_are_kept_and_said() -> None:
    table = sheet([{**ROW, "comment": "a"}, {**ROW, "comment": "b"}])
    done = responses(table, propose(table, {}), study="x")
    assert len(done.frame) == 2
    assert any("1 passage was answered again by the same worker" in note for note in done.sheet.notes)


@pytest.mark.parametrize("bad", ["0", "6", "2.5", "a", "1 or 2", "nan", "inf"])
def test_a_choice_that_is_no_sentence_stops_the_import_with_its_line(bad: str) -> None:
    rows = [ROW, {**ROW, "story": "s2", "choice": bad}]
    with pytest.raises(
        InputError, match=r"^1 response cannot be read: choice is not a sentence from 1 to 5 \(line 3\)$"
    ):
        made(rows)
    assert len(made(rows, options=Options(skip_bad=True))) == 1


def test_an_order_beyond_all_numbers_is_left_empty() -> None:
    assert made([{**ROW, "order": "9" * 400}])["order"].isna().all()


def test_all_that_cannot_be_read_is_named_at_once_with_its_lines() -> None:
    rows = [{**ROW, "story": f"s{n}"} for n in range(6)]
    rows[1] |= {"choice": "6"}
    rows[2] |= {"choice": "x"}
    rows[3] |= {"position": "2.5", "generator": None}
    with pytest.raises(InputError) as error:
        made(rows)
    assert (
        error.value.message
        == "3 responses cannot be read: generator is empty (line 5); position is not a sentence from 1 to 5"
        " (line 5); choice is not a sentence from 1 to 5 (lines 3, 4)"
    )
    assert len(made(rows, options=Options(skip_bad=True))) == 3


def test_a_role_or_a_test_that_is_none_is_named_and_a_column_of_other_roles_is_not_read() -> None:
    rows = [{**ROW, "story": "s1", "role": "Human"}, {**ROW, "story": "s2", "role": "humna"}]
    with pytest.raises(InputError, match=r"role is not one of control, human, system \(line 3\)"):
        made(rows)
    other = sheet([{**ROW, "role": "editor"}])
    done = responses(other, propose(other, {}), study="x")
    assert "role" not in done.frame
    assert "the column role is not read: it never says control or human or system" in done.sheet.notes
    with pytest.raises(InputError, match=r"test is neither true nor false \(line 2\)") as error:
        made([{**ROW, "test": "B"}])
    assert "--constant test=no" in error.value.hint


def test_unanswered_passages_say_what_was_shown() -> None:
    form = {f"{name}_{n}": f"{name}{n}" if name != "p" else "1" for name in "sgp" for n in (1, 2, 3)}
    rows = [
        {"worker": "a", **form, "c_1": "1", "c_2": "2", "c_3": "3"},
        {"worker": "b", **form, "c_1": "1", "c_2": None, "c_3": "3"},
    ]
    told = {"story": "s_{}", "generator": "g_{}", "position": "p_{}", "choice": "c_{}"}
    table = sheet(rows)
    frame = responses(table, propose(table, told), study="x").frame
    assert frame["row_passages"].tolist() == [3] * 5
    rule = Rule(control="none")
    assert [s.annotators_out for s in score(frame, rule).exclusions if s.step == "incomplete"] == [1]
    whole = sheet(rows[:1])
    assert "row_passages" not in responses(whole, propose(whole, told), study="x").frame


def test_a_worker_who_saw_a_story_twice_is_named() -> None:
    table = sheet([ROW, {**ROW, "generator": "human"}, {**ROW, "worker": "B", "story": "s2"}])
    done = responses(table, propose(table, {}), study="x")
    assert (
        "1 worker saw a story more than once, under different generators. All these responses count: "
        "A1B2C3D4 "
        "(story s1; lines 2, 3)" in done.manifest()["notes"]
    )


def test_counting_from_zero_is_said_not_guessed() -> None:
    rows = [{**ROW, "position": "0", "choice": "4"}]
    with pytest.raises(InputError) as error:
        made(rows)
    assert "--from-zero" in error.value.hint
    assert made(rows, from_zero=True)[["position", "choice"]].values.tolist() == [[1, 5]]


def test_every_imported_response_bears_where_it_comes_from() -> None:
    frame = made([ROW])
    assert frame[["study", "endpoint"]].values.tolist() == [["x", "imported"]]


def test_ids_of_people_go_everywhere_in_their_row() -> None:
    table = sheet([{**ROW, "link": "https://x/?w=A1B2C3D4&y=1", "other": "A9"}])
    hidden = pseudonymised(table, "worker", lambda one: f"w-{len(one)}")
    assert "A1B2C3D4" not in hidden.frame.to_csv()
    assert hidden.frame.iloc[0]["link"] == "https://x/?w=w-8&y=1"


def test_rows_without_a_worker_stay_without_one_and_are_named() -> None:
    table = sheet(
        [{**ROW, "worker": None}, {**ROW, "link": "A1B2C3D4"}, {**ROW, "worker": " ", "story": "s2"}]
    )
    hidden = pseudonymised(table, "worker", lambda one: f"w-{len(one)}")
    assert hidden.frame["worker"].tolist() == [None, "w-8", None]
    with pytest.raises(InputError, match=r"2 responses cannot be read: worker is empty \(lines 2, 4\)"):
        responses(hidden, propose(hidden, {}), study="x")


def test_ids_that_a_spreadsheet_rounded_are_refused() -> None:
    with pytest.raises(InputError, match=r"a spreadsheet has rounded 1 id, for example 1.2E\+10: line 2"):
        pseudonymised(sheet([{**ROW, "worker": "1.2E+10"}]), "worker", str)


def test_a_batch_that_was_posted_again_takes_the_place_of_the_first() -> None:
    first, again = (
        sheet([ROW, {**ROW, "story": "s2"}]),
        sheet([{**ROW, "choice": "5"}, {**ROW, "story": "s9"}]),
    )
    both = replaced(first, again, "again.csv", ["story"])
    assert both.frame[["story", "choice"]].values.tolist() == [["s2", "3"], ["s1", "5"], ["s9", "3"]]
    assert [(left.cause, left.lines) for left in both.left_out] == [("asked again in again.csv", (2,))]
    assert list(both.frame.index) == [3, "again.csv:2", "again.csv:3"]
    assert "1 item replaces those of the first file, 1 is new" in both.notes[-1]
    with pytest.raises(InputError, match="no common value"):
        replaced(first, sheet([{**ROW, "story": "s9"}]), "again.csv", ["story"])
