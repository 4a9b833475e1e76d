"""What docs/generators.md claims of the splitter is what its benchmark measures."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from benchmarks.splitter import measured
from humaneval.stories import read_stories
from tests.conftest import ROOT


def test_X20_the_figures_of_the_documents_are_those_of_the_benchmark(test_data: Path) -> None:
    files = [test_data / "stories" / name for name in ("valid.csv", "test.csv")]
    stories = [story.sentences for file in files for story in read_stories(file).stories]
    page = (ROOT / "docs" / "generators.md").read_text(encoding="utf-8")
    assert f"| of {len(stories):,} stories" in page
    for line in islice(measured(stories), 2):
        row = (
            f"| {line['splitter']} | {line['five']:.2f}% | {line['pairs']:.2f}% | {line['quotations']:.0f}% |"
        )
        assert row in page
