"""`report` in every form, by --format or by the ending of --out; `score --details`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from tests.answered import answer
from tests.commands import Command
from tests.integration.test_report_analysis import responses


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer bootstrap replicates: they are of no account here."""
    monkeypatch.setattr("humaneval.scoring.analysis.models.REPLICATES", 200)


@pytest.fixture
def gathered(sqlite_engine: Engine, study: str, command: Command) -> dict[str, Any]:
    """A study with answers in its database; gives the document about it."""
    answer(sqlite_engine)
    document: dict[str, Any] = command("score", study, "--details", "--json").json
    return document


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.html", "<!doctype html>"),
        ("r.md", "# study"),
        ("r.tex", "% Needs"),
        ("r.json", "{"),
        ("r.pdf", "%PDF"),
    ],
)
def test_the_ending_says_the_form(
    command: Command, gathered: dict[str, Any], tmp_path: Path, name: str, begins: str
) -> None:
    assert command("report", "study", "--out", tmp_path / name).code == 0
    assert (tmp_path / name).read_bytes().lstrip().startswith(begins.encode())
    assert [path.name for path in tmp_path.glob("*.part")] == []


def test_a_folder_gets_all_forms_and_the_json_is_the_document_of_score(
    command: Command, gathered: dict[str, Any], tmp_path: Path
) -> None:
    assert command("report", "study", "--out", tmp_path / "all").code == 0
    names = {path.name for path in (tmp_path / "all").iterdir()}
    assert {"report.html", "report.md", "tables.tex", "report.json", "scores.csv", "codebook.csv"} <= names
    assert {"scores.pdf", "scores.svg"} <= names
    assert {"responses_r.csv", "responses_r_codebook.csv", "model.R"} <= names
    written = json.loads((tmp_path / "all" / "report.json").read_text(encoding="utf-8"))
    assert written == gathered


def test_csv_alone_is_a_folder_without_pages(
    command: Command, gathered: dict[str, Any], tmp_path: Path
) -> None:
    assert command("report", "study", "--format", "csv", "--out", tmp_path / "csv").code == 0
    assert {path.suffix for path in (tmp_path / "csv").iterdir()} == {".csv", ".R"}


def test_an_ending_that_says_nothing_is_refused(
    command: Command, gathered: dict[str, Any], tmp_path: Path
) -> None:
    said = command("report", "study", "--out", tmp_path / "r.docx")
    assert said.code == 2
    assert "does not name a form" in said.err


def test_figures_are_a_pdf_each_and_an_svg_for_every_plot(
    command: Command, gathered: dict[str, Any], tmp_path: Path
) -> None:
    assert command("report", "study", "--format", "figures", "--out", tmp_path / "figures").code == 0
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"scores.pdf", "scores.svg", "picks.pdf", "picks-1.svg"} <= names
    assert {Path(name).suffix for name in names} == {".pdf", ".svg"}


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
