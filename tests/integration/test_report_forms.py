"""`report` in every form, by --format or by the ending of --out; `score --details`."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from humaneval.analysis import analyse
from tests.commands import Command
from tests.unit.test_report_analysis import data, responses


@pytest.fixture
def gathered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A study that is not in a database: its responses, and the document about it."""
    frame = responses(annotators=20)
    roles = {"Control": "control", "Human": "human"}
    frame["role"] = frame["generator"].map(lambda name: roles.get(name, "system"))
    one = data(analyse(frame))
    facts = {"simulated": False, "forms_set_aside": 0, "design_additions": []}
    monkeypatch.setattr(
        "humaneval.cli.report._gathered", lambda *_, **__: (one, SimpleNamespace(frame=frame))
    )
    monkeypatch.setattr("humaneval.cli.score.study_facts", lambda *_, **__: facts)
    assert one.analysis is not None
    return {**one.analysis.to_json(), **facts}


@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.html", "<!doctype html>"), ("r.md", "# Scores"), ("r.tex", "% Needs"), ("r.json", "{")],
)
def test_the_ending_says_the_form(
    command: Command, gathered: dict[str, Any], tmp_path: Path, name: str, begins: str
) -> None:
    assert command("report", "s", "--out", tmp_path / name).code == 0
    assert (tmp_path / name).read_text(encoding="utf-8").lstrip().startswith(begins)
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_a_folder_gets_all_forms_and_the_json_is_the_document_of_score(
    command: Command, gathered: dict[str, Any], tmp_path: Path
) -> None:
    assert command("report", "s", "--out", tmp_path / "all").code == 0
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert {"report.html", "report.md", "tables.tex", "report.json", "scores.csv", "codebook.csv"} <= names
    assert {"responses_r.csv", "responses_r_codebook.csv", "model.R"} <= names
    written = json.loads((tmp_path / "all" / "report.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(gathered))


def test_csv_alone_is_a_folder_without_pages(
    command: Command, gathered: dict[str, Any], tmp_path: Path
) -> None:
    assert command("report", "s", "--format", "csv", "--out", tmp_path / "csv").code == 0
    assert {path.suffix for path in (tmp_path / "csv").iterdir()} == {".csv", ".R"}


def test_an_ending_that_says_nothing_is_refused(
    command: Command, gathered: dict[str, Any], tmp_path: Path
) -> None:
    said = command("report", "s", "--out", tmp_path / "r.docx")
    assert said.code == 2
    assert "does not say which form" in said.err


def test_score_shows_the_details_of_a_table(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    responses(annotators=20).to_csv(path, index=False)
    flags = ("--responses", path, "--control", "Control", "--human", "Human", "--details")
    assert "Scores under other rules" in command("score", *flags).out
    document = json.loads(command("score", *flags, "--json").out)
    assert {"seed", "rules", "standings", "mixed_model", "workers"} <= set(document["details"])
    plain = json.loads(command("score", *flags[:-1], "--json").out)
    assert "details" not in plain
    assert plain["scores"] == document["scores"]
