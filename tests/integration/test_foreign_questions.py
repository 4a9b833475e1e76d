"""Others' preferences and ratings through the command line, in the shapes of public files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Command


@pytest.fixture
def rows(command: Command, tmp_path: Path) -> Any:
    """The rows of `summarise` about a file with this text."""

    def made(name: str, text: str, *flags: str) -> list[dict[str, Any]]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        said = command("responses", "summarise", tmp_path / name, *flags, "--json")
        assert said.code == 0, said.err
        table: list[dict[str, Any]] = said.json["table"]
        return table

    return made


def test_pairs_with_semicolons_and_columns_for_each_pair(rows: Any) -> None:
    text = "WorkerId;item;a1;b1;a2;b2;q1;q2\nw1;1;lm;ilm;ilm;sa;A;b\nw2;1;ilm;lm;sa;ilm;A;same\n"
    flags = (
        "--value",
        "q{}",
        "--option",
        "A=a{}",
        "--option",
        "B=b{}",
        "--show",
        "sign-test",
        "--item",
        "item",
    )
    table = rows("t.csv", text, *flags, "--ignore-case")
    assert [(row["first"], row["second"], row["wins"], row["losses"], row["ties"]) for row in table] == [
        ("ilm", "lm", 1, 1, 0),
        ("ilm", "sa", 0, 1, 1),
    ]


def test_words_of_a_scale_with_na_and_a_turned_scale(rows: Any) -> None:
    text = "annotator\titem\tmodel\tv\na\t1\tx\tVery typical\nb\t1\tx\tNot typical\nc\t2\tx\tNA\n"
    flags = (
        "--map",
        "Very typical=5",
        "--map",
        "Not typical=1",
        "--map",
        "NA=",
        "--by",
        "model",
        "--item",
        "item",
    )
    (row,) = rows("t.tsv", text, "--value", "v", *flags)
    assert (row["model"], row["n"], row["mean"]) == ("x", 2, 3.0)
    numbered = "item,v\n1,1 (best)\n2,5 (worst)\n3,2\n"
    (turned,) = rows(
        "n.csv", numbered, "--value", "v", "--show", "means", "--map", "1 (best)=5", "--map", "2=4"
    )
    assert turned["mean"] == pytest.approx(14 / 3)


def test_workers_in_a_list_beside_their_answers_are_pseudonyms(command: Command, tmp_path: Path) -> None:
    lines = ['1,"[""AWORKER1"", ""AWORKER2""]","[4, 5]"', '2,"[""AWORKER1"", ""AWORKER3""]","[2, 2]"']
    (tmp_path / "t.csv").write_text("\n".join(["item,raters,v", *lines]), encoding="utf-8")
    ask = (
        "responses",
        "summarise",
        tmp_path / "t.csv",
        "--value",
        "v",
        "--separator",
        "json",
        "--item",
        "item",
    )
    said = command(*ask, "--worker", "raters", "--show", "workers", "--json")
    assert said.code == 0, said.err
    assert [row["answers"] for row in said.json["table"]] == [2, 1, 1]
    assert "AWORKER" not in said.out + said.err
    shown = command(*ask, "--worker", "raters", "--show", "workers", "--reveal")
    assert "AWORKER3" in shown.out


def test_objects_in_json_lines_are_pairs(command: Command, tmp_path: Path) -> None:
    pairs = [{"a": "lm", "b": "ilm", "best": "A"}, {"a": "ilm", "b": "sa", "best": "B"}]
    lines = [{"worker": f"w{n}", "story": f"s{n}", "pairs": pairs[: 1 + n % 2]} for n in range(4)]
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    flags = ("--value", "pairs.{}.best", "--option", "A=pairs.{}.a", "--option", "B=pairs.{}.b")
    said = command("responses", "summarise", file, *flags, "--show", "preference", "--json")
    assert {row["system"]: (row["shown"], row["preferred"]) for row in said.json["table"]} == {
        "ilm": (6, 0),
        "lm": (4, 4),
        "sa": (2, 2),
    }
    said = command("responses", "summarise", file, *flags, "--show", "bradley-terry")
    assert said.code == 1
    assert "no answer contradicts one order" in said.err


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--show", "means", "--tie", "x"], "--tie goes with --show sign-test or bradley-terry"),
        (["--show", "counts", "--reference", "x"], "--reference goes with --show sign-test or bradley-terry"),
        (["--show", "means", "--option", "A=b"], "--show preference and --option go together"),
        (["--show", "sign-test", "--ties", "davidson"], "--ties davidson goes with --show bradley-terry"),
        (["--show", "bradley-terry", "--by", "a"], "--by does not go with --show bradley-terry"),
        (["--show", "ordinal"], "--show ordinal compares groups"),
        (["--separator", ""], "--separator needs a separator"),
        (["--map", "x=5"], "no answer is one of x, named by --map; the answers are 1, 2"),
    ],
)
def test_a_flag_that_makes_no_sense_is_named(
    command: Command, tmp_path: Path, flags: list[str], why: str
) -> None:
    (tmp_path / "t.csv").write_text("a,v\nx,1\ny,2\n", encoding="utf-8")
    said = command("responses", "summarise", tmp_path / "t.csv", "--value", "v", *flags)
    assert said.code in (1, 2)
    assert why in said.err


def test_the_endings_become_a_table_of_preferences(command: Command, test_data: Path, tmp_path: Path) -> None:
    said = command(
        *("responses", "import", test_data / "responses" / "toloka" / "ending_full-annotation-result.tsv"),
        *(
            "--question",
            "prefer",
            "--column",
            "choice=OUTPUT:category",
            "--column",
            "story=INPUT:content_plan_id",
        ),
        *(
            "--option",
            "1=INPUT:system_a",
            "--option",
            "2=INPUT:system_b",
            "--out",
            tmp_path / "r.csv",
            "--json",
        ),
    )
    assert said.code == 0, said.err
    assert said.json["responses"] == 450
    lines = (tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].endswith("question,other")
    assert sum(line.split(",")[4] == "1" for line in lines) == 249
