"""Runs the tutorial as it is printed, with the table that it prints; its long way on real stories where they
are, else on the bundled ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from humaneval.study.from_table import unfit
from humaneval.study.from_table_columns import recognise
from humaneval.study.from_table_file import read_table_file
from humaneval.study.from_table_rows import contents_of
from humaneval.study.from_table_settings import Asked, settle
from tests.commands import program
from tests.conftest import ROOT
from tests.docs.pages import run_page, story_file

SYSTEMS = {"human", "control", "near", "far"}


def table(page: str, path: Path) -> Path:
    """Write the table that a page prints."""
    lines = re.findall(r"^    (.+,.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert lines[0].startswith("sentence1,")
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_table_that_a_page_prints_makes_a_study_as_it_stands(page: str, tmp_path: Path) -> None:
    file = table(page, tmp_path / "table.csv")
    read = read_table_file(file)
    contents = contents_of(read, recognise(read, {}))
    assert not contents.problems
    assert not contents.empty
    assert not unfit(contents, file, ())
    design = settle(contents, Asked(None, None, {})).read.settings.design
    assert (design.annotators, design.positions, len(contents.stories)) == (4, (3,), 4)


@pytest.mark.slow
def test_X58_the_tutorial_runs_as_printed(tmp_path: Path) -> None:
    folder = tmp_path / "my study"
    folder.mkdir()
    table("docs/tutorial.md", folder / "table.csv")
    story_file(folder / "stories.csv", "test")
    story_file(folder / "more-stories.csv", "train")
    printed = run_page(ROOT / "docs" / "tutorial.md", folder, MINUTES="0.02", N="10")
    document = json.loads(printed[printed.index("\n{\n") :])
    assert document["annotators"]["collected"] == 20
    assert {row["generator"] for row in document["scores"]} == {"human", "control", "ilm-scratch"}
    for report in ("mine.html", "report.html"):
        assert "simulated" in (folder / report).read_text(encoding="utf-8").lower()
    mine = json.loads(
        program("score", "mine", "--json", HUMANEVAL_DATABASE=str(folder / "humaneval.db")).stdout
    )
    assert mine["annotators"]["collected"] == 4
    assert {row["generator"] for row in mine["scores"]} == SYSTEMS
