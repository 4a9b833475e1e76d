"""Other people's judgments through the command line: one meaning, nothing silent, names, pseudonyms."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from humaneval.crowd.pseudonyms import worker_row
from humaneval.crowd.workers import find_worker
from humaneval.store.engine import writing
from tests.commands import Command
from tests.integration.test_importing import table


@pytest.fixture
def given(test_data: Path) -> Path:
    """The folder of files with which the faults were seen."""
    return test_data / "faults"


@pytest.mark.parametrize("show", ["majority", "agreement", "workers", "differences", "workload", "means"])
def test_X05_the_wide_and_the_long_file_give_one_answer(command: Command, given: Path, show: str) -> None:
    said = []
    for name, value, item in (("wide.csv", "ok{}", "hit"), ("long.csv", "ok", "item")):
        flags = ["--by", "g"] if show in ("majority", "differences", "means") else []
        made = command(
            *("responses", "summarise", given / name, "--value", value, "--item", item, "--show", show),
            *(*flags, "--reveal", "--json"),
        )
        assert made.code == 0
        said.append((made.json["table"], made.json["notes"], made.json["left_out"]))
    assert said[0] == said[1]


def test_X05_majority_and_mixed_model_are_those_of_the_long_file(command: Command, given: Path) -> None:
    wide = ("responses", "summarise", given / "wide.csv", "--value", "ok{}", "--item", "hit", "--json")
    assert {row["value"]: row["items"] for row in command(*wide, "--show", "majority").json["table"]} == {
        "0": 10,
        "1": 6,
        "(tie)": 2,
    }
    made = command(*wide, "--show", "differences", "--by", "g", "--method", "mixed").json
    assert made["table"][0]["estimate"] == pytest.approx(-0.609, abs=5e-4)
    assert "of items 0.35811" in made["notes"][0]


def test_X06_blanks_are_said_on_stderr_and_in_json(command: Command, given: Path) -> None:
    said = command("responses", "summarise", given / "blank.csv", "--value", "score")
    assert "2 of 5 rows without a value left out (lines 3, 5)" in said.err
    made = command("responses", "summarise", given / "blank.csv", "--value", "score", "--json").json
    assert made["left_out"] == [{"cause": "without a value", "rows": 2, "of": 5}]


@pytest.mark.parametrize("name", ["ITEM", " Item", "item ", "item"])
def test_X07_every_option_that_names_a_column_takes_it_in_any_case(
    command: Command, given: Path, name: str
) -> None:
    file = given / "by_name.csv"
    for flags in (
        ("--value", "value", "--by", name),
        ("--value", name),
        ("--value", "value", "--item", name, "--show", "majority"),
        ("--value", "value", "--where", f"{name}=1"),
        ("--value", "value", "--worker", name, "--show", "workload"),
        ("--value", "value", "--option", f"x={name}", "--show", "preference"),
    ):
        said = command("responses", "summarise", file, *flags, "--json")
        assert said.code == 0, said.err
    columns = {"worker": "WORKER ", "story": name, "generator": "Col One", "position": name, "choice": name}
    told = [f"--column={role.upper()} ={column}" for role, column in columns.items()]
    said = command("responses", "import", file, "--out", "o.csv", *told, "--force")
    assert said.code == 0, said.err
    assert json.loads(Path("o.csv.manifest.json").read_text())["columns"]["story"] == "item"


def test_X07_a_column_that_was_told_in_capitals_is_not_guessed_for_another_role(
    command: Command, tmp_path: Path
) -> None:
    rows = [["worker", "item", "position", "choice"], ["w1", "a", 1, 2], ["w2", "b", 1, 1]]
    path = table(tmp_path / "t.csv", rows)
    said = command("responses", "import", path, "--out", "o.csv", "--yes", "--column", "generator=ITEM")
    assert said.code == 1
    assert "does not say which column holds: story" in said.err


@pytest.mark.parametrize("name", ["Control1", "CONTROL1", " control1 "])
def test_X07_the_control_and_human_of_a_table_are_named_in_any_case(
    command: Command, tmp_path: Path, name: str
) -> None:
    rows = [["worker", "story", "generator", "position", "choice"]]
    rows += [
        [f"w{n}", f"s{n}{g}", g, "2", "2" if g == "control1" else "3"]
        for n in range(6)
        for g in ("control1", "a", "people")
    ]
    path = table(tmp_path / "t.csv", rows)
    said = command("score", "--responses", path, "--control", name, "--human", "People")
    assert said.code == 0, said.err


def test_X10_pseudonyms_hold_for_a_file_and_reveal_shows_the_ids(command: Command, tmp_path: Path) -> None:
    rows = [["WorkerId", "item", "ok"], *([f"AWORKER{n % 5}", n // 5, n % 2] for n in range(40))]
    path = table(tmp_path / "t.csv", rows)
    ask = ("responses", "summarise", path, "--value", "ok", "--item", "item", "--show", "workers", "--json")

    def names(*flags: str) -> list[Any]:
        return [row["worker"] for row in command(*ask, *flags).json["table"]]

    first = names()
    assert first == names()
    assert not any("AWORKER" in name for name in first)
    shutil.copy(path, tmp_path / "copy.csv")
    (tmp_path / "t.csv").write_text(path.read_text() + "AWORKER0,9,1\n")
    assert not set(first) & set(names())
    said = command(*ask, "--reveal")
    assert [row["worker"] for row in said.json["table"]] == [f"AWORKER{n}" for n in range(5)]
    assert "do not publish" in said.err
    scored = [
        ["worker", "story", "generator", "position", "choice"],
        *([f"AW{n}", f"s{n}{g}", g, 2, 2] for n in range(4) for g in ("control", "a")),
    ]
    details = ("score", "--responses", table(tmp_path / "s.csv", scored), "--details", "--json")
    assert command(*details).json["details"]["workers"] == command(*details).json["details"]["workers"]


def test_X53_counts_are_read_from_any_table_and_a_row_of_another_length_is_refused(
    command: Command, tmp_path: Path
) -> None:
    rows = [[" Generator ", "N", "not_identified"], ["ünit", 10, 4], ["b", 10, 5]]
    for separator, encoding in ((",", "utf-8"), (";", "cp1252"), ("\t", "utf-16")):
        path = table(tmp_path / "counts.csv", rows, separator, encoding)
        said = command("score", "--counts", path, "--json")
        assert said.code == 0, said.err
        assert {row["generator"] for row in said.json["scores"]} == {"ünit", "b"}
    said = command("score", "--counts", table(tmp_path / "counts.csv", [*rows, ["c", 10, 5, 1]]))
    assert "line 4: 4 cells, but the header has 3" in said.err


def test_X07_a_worker_of_a_platform_is_the_same_in_any_case(sqlite_engine: Engine) -> None:
    with writing(sqlite_engine) as session:
        row = worker_row(session, "local", "A1EXAMPLE")
        for who in ("A1EXAMPLE", " a1example ", row.pseudonym, f"{row.pseudonym.upper()} "):
            assert find_worker(session, "local", who, new=True) == row.id
        other = find_worker(session, "local", "A2EXAMPLE", new=True)
        assert other != row.id
        assert find_worker(session, "sandbox", "a1example", new=True) not in (row.id, other)


def test_X08_a_condition_keeps_ids_apart_that_are_the_same_number(command: Command, tmp_path: Path) -> None:
    rows = [["story", "v"], ["007", 1], ["7", 2], ["7.0", 3], ["1e1", 4], ["10.0", 5]]
    path = table(tmp_path / "t.csv", rows)
    for wanted, kept in (("007", 1), ("7", 1), ("10", 2), ("7.00", 3)):
        said = command("responses", "summarise", path, "--value", "v", "--where", f"story={wanted}", "--json")
        assert said.json["table"][0]["n"] == kept, wanted


@pytest.mark.parametrize("endless", ["inf", "1e400", "nan?"])
def test_X06_a_value_that_is_no_finite_number_is_named(
    command: Command, tmp_path: Path, endless: str
) -> None:
    path = table(tmp_path / "t.csv", [["w", "v"], ["a", 1], ["b", endless], ["c", 3]])
    said = command("responses", "summarise", path, "--value", "v", "--show", "means")
    assert said.code == 1
    assert f"1 of 3 values are not numbers: {endless}" in said.err


def test_X10_a_condition_takes_the_id_and_the_pseudonym_with_and_without_reveal(
    command: Command, tmp_path: Path
) -> None:
    rows = [["WorkerId", "item", "ok"], *([f"AWORKER{n % 5}", n // 5, n % 2] for n in range(40))]
    path = table(tmp_path / "t.csv", rows)
    ask = ("responses", "summarise", path, "--value", "ok", "--item", "item", "--show", "workers", "--json")
    pseudonyms = [row["worker"] for row in command(*ask).json["table"]]
    for flags in ((), ("--reveal",)):
        made = [
            command(*ask, *flags, "--where", f"workerid={name}").json["table"]
            for name in ("AWORKER3", *pseudonyms)
        ]
        assert all(len(rows) == 1 for rows in made)
        assert made[0] in made[1:]
    hidden = command(*ask, "--where", "WorkerId=AWORKER3")
    assert "AWORKER" not in hidden.out + hidden.err


def test_X06_a_blank_line_of_a_table_is_said(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("worker,item,ok\na,1,3\n\nb,1,4\n,,\nc,1,5\n\n\n", encoding="utf-8")
    said = command("responses", "summarise", file, "--value", "ok")
    assert "2 blank lines left out: 3, 5" in said.err
    file.write_text("generator,not_identified,n\na,3,9\n\nb,4,9\n", encoding="utf-8")
    assert "1 blank line left out: 3" in command("score", "--counts", file).err
