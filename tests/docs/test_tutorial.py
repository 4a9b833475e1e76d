"""Runs the tutorial as it is printed: on real stories where they are, else on the bundled ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.pages import run_page, story_file


@pytest.mark.slow
def test_X58_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    folder = tmp_path / "my study"
    folder.mkdir()
    story_file(folder / "stories.csv", "test")
    story_file(folder / "more-stories.csv", "train")
    printed = run_page(ROOT / "docs" / "tutorial.md", folder, MINUTES="0.25", N="20")
    document = json.loads(printed)
    assert document["annotators"]["collected"] == 40
    generators = {"human", "control", "same-place", "other-place", "lm-scratch", "ilm-scratch"}
    assert {row["generator"] for row in document["scores"]} == generators
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "simulated" in report.lower()
    assert (folder / "pairs-row-1.html").exists()
