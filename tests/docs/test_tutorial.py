"""Runs the tutorial as it is printed: on real stories where they are, else on the bundled ones."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from humaneval.stories import bundled_stories
from tests.commands import program
from tests.conftest import ROOT
from tests.docs.pages import run_page, story_file

SYSTEMS = {"human", "control", "near", "far"}


def table(path: Path) -> None:
    """Twenty stories and two stand-ins for systems, whose sentences are from other stories."""
    stories = [story for story in bundled_stories() if story.split == "train"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"sentence{n}" for n in range(1, 6)), "position", "near", "far"])
        for number, (story, other, third) in enumerate(
            zip(stories[:20], stories[20:40], stories[40:60], strict=True)
        ):
            place = number % 5
            writer.writerow([*story.sentences, place + 1, other.sentences[place], third.sentences[place - 1]])


@pytest.mark.slow
def test_X58_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    folder = tmp_path / "my study"
    folder.mkdir()
    table(folder / "table.csv")
    story_file(folder / "stories.csv", "test")
    story_file(folder / "more-stories.csv", "train")
    printed = run_page(ROOT / "docs" / "tutorial.md", folder, MINUTES="0.1", N="10")
    document = json.loads(printed[printed.index("\n{\n") :])
    assert document["annotators"]["collected"] == 20
    assert {row["generator"] for row in document["scores"]} == {"human", "control", "ilm-scratch"}
    for report in ("mine.html", "report.html"):
        assert "simulated" in (folder / report).read_text(encoding="utf-8").lower()
    mine = json.loads(
        program("score", "mine", "--json", HUMANEVAL_DATABASE=str(folder / "humaneval.db")).stdout
    )
    assert mine["annotators"]["collected"] == 20
    assert {row["generator"] for row in mine["scores"]} == SYSTEMS
