"""A stored study of each question is planned, scored and reported with that question's words and figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import Engine

from humaneval.study.create import create_study
from tests.answered import answer
from tests.commands import Command
from tests.integration.test_questions import fill, read, stories_of
from tests.integration.test_requester_figures import Pages

SETTINGS = {
    "prefer": {"ties": True},
    "rate": {"scales": {"fluency": ["not fluent", "fluent"], "fit": ["does not fit", "fits"]}, "points": 7},
    "boundary": {},
}
UNITS = {"prefer": "% preferred", "rate": "mean fluency (1–7)", "boundary": "mean points (0–5)"}


@pytest.fixture(params=list(SETTINGS))
def question(
    request: pytest.FixtureRequest,
    sqlite_engine: Engine,
    sqlite_database: str,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """A study called "study" of each question, answered by 24 people, one of whom misses the Control."""
    name: str = request.param
    fill(sqlite_engine, stories_of(8, 24), rest=name == "boundary")
    create_study(sqlite_engine, "study", read(name, SETTINGS[name], annotators=24), "")
    answer(sqlite_engine, "study")
    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    return name


def test_a_study_of_each_question_is_planned_scored_and_reported_in_its_own_words(
    question: str, command: Command, tmp_path: Path, sqlite_engine: Engine
) -> None:
    planned(question, command)
    scored_as_its_export(question, command, tmp_path)
    reported(question, command, tmp_path)
    on_the_requesters_page(question, sqlite_engine)


def scored_as_its_export(question: str, command: Command, tmp_path: Path) -> None:
    found = command("score", "study", "--json", "--details").json
    assert (found["question"], found["scale"]["title"]) == (question, UNITS[question])
    assert found["annotators"] == {"collected": 24, "excluded": 1, "analysed": 23}
    assert found["scores"][0]["generator"] == "control"
    assert {row["role"] for row in found["scores"]} == {"control", "system", "human"}
    assert found["details"]["tables"]
    assert command("export", "study", "--out", tmp_path / "r.csv").code == 0
    again = command("score", "--responses", tmp_path / "r.csv", "--human", "human", "--json").json
    for key in ("scores", "comparisons", "before_exclusions", "annotators", "control"):
        assert again[key] == found[key], key


def reported(question: str, command: Command, tmp_path: Path) -> None:
    assert command("report", "study", "--out", tmp_path / "all").code == 0
    page = (tmp_path / "all" / "report.html").read_text(encoding="utf-8")
    title = UNITS[question]
    assert f"{title[:1].upper()}{title[1:]}" in page
    assert "did not mark" not in page
    assert "five sentences" not in page
    document = json.loads((tmp_path / "all" / "report.json").read_text(encoding="utf-8"))
    assert document["question"] == question
    scores = [f"scores_{name}.csv" for name in ("fluency", "fit")] if question == "rate" else ["scores.csv"]
    for name in scores:
        assert (tmp_path / "all" / name).is_file()
    tables = (tmp_path / "all" / "tables.tex").read_text(encoding="utf-8")
    assert tables.count("\\label{tab:") == len(
        {line for line in tables.splitlines() if "\\label{tab:" in line}
    )
    assert command("datasheet", "study", "--out", tmp_path / "sheet.md").code == 0
    assert "did not mark" not in (tmp_path / "sheet.md").read_text(encoding="utf-8")


def planned(question: str, command: Command) -> None:
    said = command("study", "plan", "study").out
    found = command("study", "plan", "study", "--json").json["outlook"]
    assert 0 < found["power"] < 1
    if question == "prefer":
        assert "One preferred in 45% of comparisons" in said
        assert found["responses"] == pytest.approx(24 * 4 * (0.95 + 0.05 * found["gate"]["guess"] ** 2))
    else:
        assert "McNemar" not in said
        assert ("A score of 3.40 against one of 4.00" if question == "rate" else "of 2.00 against") in said
    assert "of 100 simulated studies" in command("study", "plan", "study", "--simulate", "100").out


def on_the_requesters_page(question: str, engine: Engine) -> None:
    page = Pages(engine).get("study/study/scores").text
    assert UNITS[question].removeprefix("mean ") in page
    assert page.count("<tbody>") == (2 if question == "rate" else 1)
    assert "did not mark" not in page
