"""Tables that are written: their types stand in them or beside them, and pandas and R read the same."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pandas as pd
import pytest

from humaneval.csv_text import csv_text, guarded, unguarded
from humaneval.report.numbers_csv import r_files
from humaneval.scoring.analysis.analyse import analyse
from humaneval.scoring.response_table import COLUMNS, read_responses, table_bytes
from tests.conftest import ROOT
from tests.in_r import in_r
from tests.unit.test_question_scores import answers

IDS = [
    "007",
    "125",
    "TRUE",
    "NA",
    "2026-03-01",
    "1e5",
    "3.0",
    "null",
    "-1",
    " x ",
    'a "b"',
    "c\nd",
    "#e",
    "=",
]
ANNOTATORS = 12
"""Annotators, each of whom judges the control and three systems."""


def write(frame: pd.DataFrame, path: Path, *, excel: bool = False) -> None:
    path.write_bytes(table_bytes(frame, path, excel=excel))


def numeric_generators() -> pd.DataFrame:
    names = ["control", "125", "355", "774"]
    return pd.DataFrame(
        {
            "worker": f"w{worker:02}",
            "story": f"{worker:02}{place}",
            "generator": name,
            "position": 2,
            "choice": 2 if name == "control" or (worker * 7 + place * 5) % 3 else 4,
        }
        for worker in range(ANNOTATORS)
        for place, name in enumerate(names)
    )


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_X08_text_stands_in_quotes_and_numbers_and_missing_values_do_not(separator: str) -> None:
    text = csv_text(["a", "b"], [["007", 7], ["", None], [True, 0.5]], separator)
    assert text.splitlines() == [
        separator.join(row) for row in ("ab", ['"007"', "7"], ['""', ""], ["true", "0.5"])
    ]
    rows = list(
        csv.reader(io.StringIO(csv_text(["id"], [[one] for one in IDS], separator)), delimiter=separator)
    )
    assert [unguarded(row[0]) for row in rows[1:]] == IDS
    assert csv_text(["a"], [[None], ["x"]]) == 'a\n""\n"x"\n'


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl"])
def test_X08_our_readers_and_pandas_read_ids_as_they_were_written(tmp_path: Path, name: str) -> None:
    ids = [one for one in IDS if one == one.strip()]
    frame = pd.DataFrame(
        {"worker": ids, "story": ids, "generator": ids, "position": 1, "choice": 2, "note": ids}, dtype=object
    )
    write(frame, tmp_path / name)
    again = read_responses(tmp_path / name)
    if name == "t.jsonl":
        plain = pd.read_json(tmp_path / name, lines=True, dtype=False)
    else:
        plain = pd.read_csv(
            tmp_path / name,
            sep="\t" if name == "t.tsv" else ",",
            dtype=dict.fromkeys(["worker", "story", "generator", "note", "study"], str),
            na_values=[""],
            keep_default_na=False,
        )
    for column in ("worker", "story", "generator", "note"):
        assert again[column].tolist() == [unguarded(one) for one in plain[column]] == ids
    assert plain["choice"].tolist() == [2] * len(ids)


def test_X08_r_reads_ids_as_they_were_written(tmp_path: Path) -> None:
    ids = [one for one in IDS if "\n" not in one]
    (tmp_path / "t.csv").write_text(csv_text(["id", "n"], [[one, 1] for one in ids]), encoding="utf-8")
    said = in_r(
        tmp_path,
        'rows <- read.csv("t.csv", colClasses = c(id = "character"), na.strings = "", encoding = "UTF-8")\n'
        "writeLines(rows$id)\n",
    )
    assert [unguarded(one) for one in said] == ids


def test_X08_generators_stories_and_workers_that_are_numbers_are_factors_in_the_model(tmp_path: Path) -> None:
    frame = numeric_generators()
    files = r_files(frame, analyse(frame))
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert {
        row["column"]: row["type"] for row in csv.DictReader(io.StringIO(files["responses_r_codebook.csv"]))
    } == {
        **dict.fromkeys(("generator", "role", "worker", "story"), "factor"),
        **dict.fromkeys(("identified", "position", "choice", "order"), "integer"),
        "seconds": "numeric",
    }
    reading = files["model.R"].partition("model <-")[0].replace("library(lme4)\n", "")
    assert in_r(
        tmp_path,
        reading
        + "cat(sapply(responses, class), sep = ' ')\n"
        + "cat('\\n', levels(responses$generator), nrow(responses))\n",
    ) == [
        "integer factor factor factor factor integer integer integer numeric",
        f" 125 355 774 {3 * ANNOTATORS}",
    ]


def test_X08_the_documents_type_the_same_columns_in_pandas_and_in_r() -> None:
    page = (ROOT / "docs" / "responses.md").read_text(encoding="utf-8")
    pandas, r = (
        re.findall(r'"(\w+)"', found[1])
        for found in (
            re.search(r"dict\.fromkeys\(\[(.*?)\]", page),
            re.search(r"text <- c\((.*?)\)", page),
        )
        if found
    )
    assert pandas == r
    assert {"worker", "story", "generator", "hit", "assignment"} <= set(r) <= set(COLUMNS)


LIVE = [
    "=1+2",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    " \n=1",
    "＝1+2",
    "＠x",
    "- No, he said.",
]
"""What a spreadsheet would run, or take for a formula."""
DEAD = ["-3", "+4", "-3.5", "1e5", "-1e-5", "+49 30 1234", "12 %", "", "he said", "a=b", "'tis", "'", "w0a1"]


def test_text_that_begins_a_formula_is_guarded_in_every_csv_and_numbers_stay_numbers() -> None:
    lines = csv_text(["=a"], [[one] for one in LIVE])
    cells = [row[0] for row in csv.reader(io.StringIO(lines, newline=""))]
    assert cells == [f"'{one}" for one in ["=a", *LIVE]]
    assert [guarded(one) for one in DEAD] == DEAD
    assert csv_text(["n"], [[-3], [-0.5]]) == "n\n-3\n-0.5\n"


def test_a_guard_is_taken_away_again_whatever_stood_there() -> None:
    apostrophes = [f"{quotes}{one}" for one in (*LIVE, *DEAD) for quotes in ("", "'", "''")]
    for one in apostrophes:
        assert unguarded(guarded(one)) == one


def test_only_one_module_writes_csv() -> None:
    """So that there is no second door without a guard."""
    writers = [
        str(file.relative_to(ROOT))
        for room in ("humaneval", "generators")
        for file in (ROOT / room).rglob("*.py")
        if re.search(r"csv\.(Dict)?[wW]riter|to_csv\(", file.read_text(encoding="utf-8"))
    ]
    assert writers == []


def test_X08_generators_whose_names_begin_a_formula_keep_them_in_the_model(tmp_path: Path) -> None:
    frame = numeric_generators().replace({"generator": {"125": "-base", "355": "=ilm"}})
    for name, content in r_files(frame, analyse(frame)).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert "'=ilm" in (tmp_path / "responses_r.csv").read_text(encoding="utf-8")
    script = (tmp_path / "model.R").read_text(encoding="utf-8").partition("model <-")[0]
    said = in_r(tmp_path, script.replace("library(lme4)", "") + "writeLines(levels(responses$generator))\n")
    assert {"-base", "=ilm", "774"} == set(said)


@pytest.mark.parametrize("question", ["detect", "prefer", "rate", "boundary"])
def test_each_question_has_its_own_columns_and_models_for_r(question: str) -> None:
    frame = answers(question)
    files = r_files(frame, analyse(frame))
    book = [row["column"] for row in csv.DictReader(io.StringIO(files["responses_r_codebook.csv"]))]
    head, *lines = csv.reader(io.StringIO(files["responses_r.csv"]))
    outcome, model = {
        "detect": ("identified", "glmer(identified ~ generator + (1 | worker) + (1 | story)"),
        "prefer": ("preferred", "BTm(cbind(preferred, preferred_other), generator, other"),
        "rate": ("quality", "clmm(factor(quality) ~ generator + (1 | worker) + (1 | story)"),
        "boundary": ("outcome", "lmer(outcome ~ generator + (1 | worker) + (1 | story)"),
    }[question]
    assert head == book
    assert head[0] == outcome
    assert ("other" in head) == (question == "prefer")
    assert model in files["model.R"]
    assert not any("control" in line for line in lines)


def test_a_model_that_r_cannot_fit_does_not_stop_the_others(tmp_path: Path) -> None:
    frame = answers("rate", scales={"same": ("low", "high"), "fit": ("low", "high")})
    for name, content in r_files(frame, analyse(frame)).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    script = (tmp_path / "model.R").read_text(encoding="utf-8")
    fails = "clmm <- function(formula, data) { cat(nrow(data), ''); stop('one level') }"
    said = in_r(tmp_path, script.replace("library(ordinal)", fails) + "cat('\\n')\n")
    assert said == ["72 48 72 48 "]
