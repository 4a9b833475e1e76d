"""What the pages lead to is there: links, headings, paths and rooms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
PATH = re.compile(r"`((?:humaneval|generators|hit_templates|migrations|benchmarks|tests|docs)/[\w./-]*)`")


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    return {
        re.sub(r"[^\w\s-]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text(page), re.MULTILINE)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text(page)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name) if name else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    for path in PATH.findall(text(page)):
        assert (ROOT / path).exists(), path


def test_the_table_of_where_to_look_has_a_path_in_every_row() -> None:
    rows = re.findall(
        r"^\| (?!to change|---|\*\*)(.+?) \| (.+) \|$", text(ROOT / "docs" / "where.md"), re.MULTILINE
    )
    assert 25 <= len(rows) <= 50
    for change, places in rows:
        assert PATH.search(places) or "`pyproject.toml`" in places, change


def test_the_design_has_every_room() -> None:
    design = text(ROOT / "docs" / "design.md")
    for package in ("humaneval", "generators"):
        for room in (ROOT / package).iterdir():
            if (room / "__init__.py").exists():
                assert f"{room.name}/`" in design, room
