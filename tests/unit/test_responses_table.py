"""The response table survives what spreadsheets do to files, and says which line is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from humaneval.errors import InputError, UsageError
from humaneval.limits import CELL
from humaneval.scoring.response_table import COLUMNS, UNSCORED, read_responses, table_bytes, table_lines

CSV = "worker,story,generator,position,choice\nw1,Zoë’s “day”,ILM,2,3\nw2,s2,Human,5,5\n"


def write(frame: pd.DataFrame, path: Path, *, excel: bool = False) -> None:
    path.write_bytes(table_bytes(frame, path, excel=excel))


def file(folder: Path, text: str | bytes, name: str = "table.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("t.csv", CSV, "utf-8"),
        ("t.csv", CSV, "utf-8-sig"),
        ("t.csv", CSV, "utf-16"),
        ("t.csv", CSV.replace("\n", "\r\n"), "utf-8"),
        ("t.csv", CSV.replace("\n", "\r"), "utf-8"),
        ("t.csv", CSV.replace(",", ";"), "utf-8"),
        ("t.csv", "sep=;\r\n" + CSV.replace(",", ";"), "utf-8-sig"),
        ("t.csv", CSV.replace(",", "\t"), "utf-8"),
        ("t.tsv", CSV.replace(",", "\t"), "utf-16"),
        ("t.csv", "\n" + CSV.replace("\n", "\n\n"), "utf-8"),
        ("t.csv", CSV.replace("\n", ",,\n"), "utf-8"),
        ("t.csv", CSV.replace("worker,story", " Worker ,STORY"), "utf-8"),
        ("t.csv", CSV.replace("2,3", " 2.0,3 "), "utf-8"),
    ],
)
def test_c61_tables_read_the_same_however_they_were_saved(
    tmp_path: Path, name: str, text: str, encoding: str
) -> None:
    frame = read_responses(file(tmp_path, text, name, encoding))
    assert list(frame.columns) == ["worker", "story", "generator", "position", "choice"]
    assert frame.values.tolist() == [["w1", "Zoë’s “day”", "ILM", 2, 3], ["w2", "s2", "Human", 5, 5]]
    assert [str(frame[name].dtype) for name in ("position", "choice")] == ["int64", "int64"]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_columns_that_nobody_scores_can_be_left_out(tmp_path: Path, name: str) -> None:
    frame = read_responses(file(tmp_path, CSV)).assign(infill="7", hit=["h1", None], seconds=2.5)
    write(frame, tmp_path / name)
    rest = read_responses(tmp_path / name, without=UNSCORED)
    pd.testing.assert_frame_equal(rest, frame.drop(columns=["infill", "hit"]))


def test_columns_without_a_frame_are_written_alike(tmp_path: Path) -> None:
    columns = {
        "worker": ["w1", "w2"],
        "story": ["s1", "007"],
        "generator": ["ILM", "=Human"],
        "position": [1, 2],
        "choice": [3, 4],
        "infill": [7, None],
        "seconds": [2.0, None],
        "test": [False, True],
    }
    path = tmp_path / "t.csv"
    parts: dict[str, Any] = {name: pd.Series(values) for name, values in columns.items()}
    parts["worker"], parts["generator"] = columns["worker"], columns["generator"]
    assert b"".join(table_lines(parts, path)) == table_bytes(pd.DataFrame(columns), path)


def test_c61_another_encoding_is_recognised_or_named(tmp_path: Path) -> None:
    path = file(tmp_path, CSV, encoding="cp1252")
    for encoding in (None, "cp1252"):
        assert read_responses(path, encoding=encoding)["story"][0] == "Zoë’s “day”"
    headless = file(tmp_path, CSV.replace("’", ""), "headless.csv", "utf-16-le")
    assert len(read_responses(headless)) == len(read_responses(headless, encoding="utf-16-le")) == 2
    damaged = file(tmp_path, CSV + "w3,\0,ILM,1,1\n", "zeros.csv")
    with pytest.raises(InputError, match=r"zeros\.csv is not text"):
        read_responses(damaged)
    with pytest.raises(UsageError, match="'klingon' is not an encoding"):
        read_responses(path, encoding="klingon")


def test_columns_may_stand_anywhere_and_unknown_ones_are_kept(tmp_path: Path) -> None:
    header = "Choice,note,POSITION,generator,story,test,Seconds,order,worker\n"
    text = f"{header}3,ok,2,ILM,s1,True,4.5,8,w1\n1,,1,LM,s2,,,,w2\n"
    frame = read_responses(file(tmp_path, text))
    assert list(frame.columns) == [
        "worker",
        "story",
        "generator",
        "position",
        "choice",
        "order",
        "seconds",
        "test",
        "note",
    ]
    assert frame["test"].tolist() == [True, False]
    assert frame["seconds"].isna().tolist() == [False, True]
    assert frame["order"].tolist()[0] == 8
    assert frame["note"].isna().tolist() == [False, True]


def test_json_lines_may_differ_in_their_keys(tmp_path: Path) -> None:
    rows = [
        {"worker": "w1", "story": 7, "generator": "ILM", "position": 2, "choice": 3, "tags": ["a", "b"]},
        {"choice": 1, "position": 1, "generator": "LM", "Story": "s2", "worker": "w2", "seconds": 3},
    ]
    frame = read_responses(file(tmp_path, "\n\n".join(map(json.dumps, rows)), "t.jsonl"))
    assert frame["story"].tolist() == ["7", "s2"]
    assert frame["tags"][0] == ["a", "b"]
    assert frame["seconds"].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing columns|there are no responses"),
        ("worker,story,generator,position,choice\n", "there are no responses"),
        ("worker,story,generator\nw,s,g\n", "missing columns: position, choice"),
        (CSV.replace("generator", "worker"), "duplicate columns: worker"),
        (CSV + "w3,s3,ILM,6,1\n", r"line 4: position '6' is not a whole number from 1 to 5"),
        (CSV + "w3,s3,ILM,0_3,1\n", r"line 4: position '0_3' is not a whole number from 1 to 5"),
        (CSV + "w3,s3,ILM,1,\n", r"line 4: choice is empty"),
        (CSV + "w3,s3,ILM,1,1.5\n", r"line 4: choice '1.5'"),
        (CSV + 'w3,"two\nlines",ILM,1,1\nw4,s4,ILM,x,1\n', r"line 6: position 'x'"),
        (CSV + " ,s3,ILM,1,1\n", r"line 4: worker is empty"),
        (CSV + "w3,s3,ILM,1\n", r"line 4: 4 cells, but the header has 5"),
        (CSV + "w3,s3,ILM,1,1,1\n", r"line 4: 6 cells, but the header has 5"),
        (CSV + 'w3,"s3,ILM,1,1\n', "line 4: a quotation mark is opened and never closed"),
        (
            "worker,story,generator,position,choice,test\nw,s,g,1,1,perhaps\n",
            r"line 2: test 'perhaps' is neither",
        ),
        (
            "worker,story,generator,position,choice,seconds\nw,s,g,1,1,-1\n",
            r"line 2: seconds '-1' is not a number",
        ),
        (
            "worker,story,generator,position,choice,order\nw,s,g,1,1,1.5\n",
            r"line 2: order '1.5' is not a whole",
        ),
        (
            "worker,story,generator,position,choice,sentences\nw,s,g,1,1,1e300\n",
            r"line 2: sentences '1e300' is too large a number",
        ),
        ('{"worker": 1,\n', r"line 1: not JSON"),
        ('{"worker": ' + "[" * 5_000, r"line 1: not JSON \(nested too deeply"),
        ('{"worker": ' + "9" * 5_000 + "}", r"line 1: not JSON \(a number is too long"),
        ('{"worker": 1}\n[1]\n', r"line 2: not an object"),
        ('{"worker": 1, "worker": 2}\n', r"line 1: a key occurs twice"),
        ('{"worker": 1, "tags": ["a\\ud800"]}\n', r"line 1: not JSON \(half of a character, U\+D800\)"),
        ("worker," + "c" * (CELL + 1), r"the header cannot be read: a cell has more than 1,048,576"),
        (CSV + "c" * (CELL + 1), r"line 4: a cell has more than 1,048,576 characters"),
        (",".join(f"c{number}" for number in range(200_000)), r"at most 10,000 are read"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        read_responses(file(tmp_path, text))
    assert "table.csv" in error.value.message


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: No such file"):
        read_responses(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match=r"must end in \.csv, \.tsv or \.jsonl"):
        table_bytes(whole(), tmp_path / "table.xlsx")
    with pytest.raises(InputError, match="missing columns: worker"):
        table_bytes(whole().drop(columns="worker"), tmp_path / "table.csv")


def test_c59_reading_and_writing_leave_the_file_and_the_frame_as_they_were(tmp_path: Path) -> None:
    path = file(tmp_path, CSV, encoding="utf-16")
    before, frame = path.read_bytes(), whole()
    copy = frame.copy(deep=True)
    read_responses(path)
    write(frame, tmp_path / "out.csv", excel=True)
    assert path.read_bytes() == before
    pd.testing.assert_frame_equal(frame, copy)


def whole(**changes: Any) -> pd.DataFrame:
    """Two responses with every documented column and one more."""
    columns: dict[str, Any] = {
        "extra": ["x", None],
        "test": [False, True],
        "submitted_at": pd.to_datetime(["2026-03-01T10:00:00Z", "2026-03-01T10:05:00.25Z"], format="ISO8601"),
        "shown_at": ["2026-03-01T09:58:00Z", None],
        "words": pd.array([41, None], dtype="Int64"),
        "seconds": [4.25, None],
        "infill": ["f1", "f2"],
        "order": pd.array([1, None], dtype="Int64"),
        "row": ["1", "2"],
        "assignment": ["a1", "a2"],
        "hit": ["h1", "h2"],
        "endpoint": ["local", "local"],
        "study": ["zoë", "zoë"],
        "role": ["system", "human"],
        "choice": [1, 2],
        "position": [3, 2],
        "generator": ["ILM", "Human"],
        "story": ["s1, the “first”\nof two", "s2"],
        "worker": ["w1", "w2"],
    }
    return pd.DataFrame(columns | changes)


def test_c63_columns_are_written_in_the_documented_order(tmp_path: Path) -> None:
    write(whole(), tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split(",") == [*(name for name in COLUMNS if name in whole()), "extra"]
    assert (
        lines[-1] == '"w2","s2","Human",2,2,"human","zoë","local","h2","a2","2",,"f2",,,,'
        '"2026-03-01T10:05:00.250000+00:00",true,'
    )
    write(whole(), tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_text(encoding="utf-8").startswith("worker\tstory\t")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl"])
def test_what_is_written_reads_back_the_same_and_writes_the_same_bytes(tmp_path: Path, name: str) -> None:
    write(whole(), tmp_path / name)
    again = read_responses(tmp_path / name)
    write(again, tmp_path / f"again-{name}")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()
    assert again["story"].tolist() == whole()["story"].tolist()


def test_c62_the_copy_for_spreadsheets_has_a_mark_and_runs_no_formula(tmp_path: Path) -> None:
    text = ["=HYPERLINK(1)", "@sum"]
    write(whole(worker=text, extra=["+1", "\t-2"], seconds=[-0.5, 1.0]), tmp_path / "t.csv", excel=True)
    data = (tmp_path / "t.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfworker,")
    frame = read_responses_raw(data)
    assert frame["worker"] == ["'=HYPERLINK(1)", "'@sum"]
    assert frame["extra"] == ["+1", "'\t-2"]
    assert frame["seconds"] == ["-0.5", "1.0"]
    write(whole(worker=text), tmp_path / "t.jsonl", excel=True)
    assert read_responses(tmp_path / "t.jsonl")["worker"].tolist() == text


def read_responses_raw(data: bytes) -> dict[str, list[str]]:
    import csv
    import io

    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    return {name: [row[name] for row in rows] for name in rows[0]}


words = (
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
    .map(str.strip)
    .filter(bool)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries(
            dict.fromkeys(("worker", "story", "generator", "note"), words)
            | dict.fromkeys(("position", "choice"), st.integers(1, 5))
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["csv", "tsv", "jsonl"]),
)
def test_any_text_survives_the_round_trip(tmp_path: Path, rows: list[dict[str, Any]], ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    write(pd.DataFrame(rows), path)
    again = read_responses(path)
    assert again.to_dict("records") == [{name: row[name] for name in again.columns} for row in rows]
