"""The report as people read it: short until a line is unfolded, on all screens, and whole on paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from playwright.sync_api import Page

from humaneval.domain import Role
from humaneval.planning.cues import CueScore
from humaneval.planning.plan import Plan
from humaneval.report.contents import ExampleFacts, GeneratorFacts, ReportData
from humaneval.report.counts import CountsReport, render_counts_report
from humaneval.report.page import render_report
from humaneval.scoring.analysis.analyse import Analysis, analyse
from humaneval.scoring.from_counts import CountLine, score_counts
from humaneval.statistics.pay import hourly_pay
from tests.unit.test_report import whole

COUNTS = {
    "control": 0,
    "bert": 19,
    "sa": 28,
    "ilm-scratch": 37,
    "lm-scratch": 38,
    "lm": 39,
    "ilm": 43,
    "human": 74,
}
"""The paper's: of 95 annotators, so many did not mark the sentence."""
SCREEN = {"width": 1366, "height": 768}


def paper_responses() -> pd.DataFrame:
    """The paper's study: 100 annotators, 500 passages by each of eight generators; 5 miss the Control."""
    rng = Random(2020)
    missed = {name: set(rng.sample(range(95), x)) | set(range(95, 100)) for name, x in COUNTS.items()}
    rows = []
    for annotator in range(100):
        for place, name in enumerate(COUNTS):
            position = (annotator + place) % 5 + 1
            others = [number for number in range(1, 6) if number != position]
            choice = rng.choice(others) if annotator in missed[name] else position
            rows.append(
                {
                    "worker": f"w{annotator:012x}",
                    "story": f"s{(annotator + 13 * place) % 100:03}",
                    "generator": name,
                    "position": position,
                    "choice": choice,
                    "row": annotator,
                    "order": (annotator + place) % 8 + 1,
                    "seconds": 15 + 20 * rng.random(),
                    "words": 45,
                }
            )
    return pd.DataFrame(rows)


def full_report(analysis: Analysis) -> ReportData:
    """Every section that a stored study's report has."""
    sentences = tuple(
        f"This is sentence {number} of a story about a dog and a walk." for number in range(1, 6)
    )
    examples = tuple(
        ExampleFacts("", sentences, at, {name: f"The dog ran after {name}." for name in COUNTS})
        for at in range(1, 6)
    )
    pay = hourly_pay(["a"], [0.8], [pd.Timestamp("2026-03-01")], [pd.Timestamp("2026-03-01 00:04")])
    return replace(
        whole(analysis.table),
        title="acl2020",
        summary="",
        analysis=analysis,
        examples=examples,
        plan=Plan(100, reward=Decimal("0.80")),
        cues=tuple(CueScore(name, "longest", 100, 80.0) for name in COUNTS if name != "control"),
        hourly=pay,
        generators=tuple(GeneratorFacts(name, "system", name, seed=0) for name in COUNTS),
    )


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of the paper's study."""
    page = tmp_path_factory.mktemp("report") / "report.html"
    page.write_text(render_report(full_report(analyse(paper_responses()))), encoding="utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of the paper's counts."""
    lines = [
        CountLine(name, Role(name) if name in ("control", "human") else Role.SYSTEM, x, 95)
        for name, x in COUNTS.items()
    ]
    page = tmp_path_factory.mktemp("counts") / "counts.html"
    page.write_text(render_counts_report(CountsReport("Counts", score_counts(lines))), encoding="utf-8")
    return page.as_uri()


def height(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollHeight"))


def test_the_papers_study_is_shorter_than_six_screens(visit: Callable[..., Page], paper: str) -> None:
    page = visit(viewport=SCREEN)
    page.goto(paper)
    assert height(page) < 6 * SCREEN["height"]
    order = page.evaluate(
        "[...document.querySelectorAll('.conclusion, #scores .higher, #scores table, #scores svg.wide,"
        " #comparisons, #exclusions, #examples, details.fold')]"
        ".map(one => one.className.baseVal ?? (one.id || one.className || one.tagName))"
    )
    assert order[:7] == [
        "conclusion",
        "higher",
        "TABLE",
        "plot wide",
        "comparisons",
        "exclusions",
        "examples",
    ]
    folded = page.locator("details.fold")
    assert folded.count() == len(order) - 7 >= 15
    for summary in folded.locator("> summary").all():
        assert summary.locator("h2").inner_text().strip()
        assert summary.locator(".about").inner_text().endswith(".")
    box = page.locator(".conclusion").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < SCREEN["height"] / 2


def test_axe_finds_nothing_folded_or_not(
    visit: Callable[..., Page], axe: Callable[[Page], list[str]], paper: str, counts: str
) -> None:
    for address in (paper, counts):
        page = visit(viewport=SCREEN)
        page.goto(address)
        assert axe(page) == []
        page.emulate_media(color_scheme="dark")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert axe(page) == []


def test_nothing_sticks_out_of_a_narrow_screen(visit: Callable[..., Page], paper: str, counts: str) -> None:
    for address in (paper, counts):
        page = visit(viewport={"width": 320, "height": 640})
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_a_line_unfolds_by_keyboard_without_scripts(visit: Callable[..., Page], paper: str) -> None:
    page = visit(viewport=SCREEN, java_script_enabled=False)
    page.goto(paper)
    section = page.locator("#ranks")
    assert not section.is_visible()
    page.locator("details.fold > summary", has_text="Ranks").focus()
    page.keyboard.press("Enter")
    section.wait_for(state="visible")
    page.keyboard.press("Space")
    section.wait_for(state="hidden")


def test_a_link_to_a_folded_section_unfolds_it(visit: Callable[..., Page], paper: str) -> None:
    page = visit(viewport=SCREEN)
    page.goto(f"{paper}#methods")
    page.locator("#methods").wait_for(state="visible")


def test_paper_has_everything_open(visit: Callable[..., Page], paper: str, tmp_path: Path) -> None:
    page = visit(viewport={"width": 720, "height": 1000})
    page.goto(paper)
    page.emulate_media(media="print")
    hidden = page.evaluate(
        "[...document.querySelectorAll('details.fold > section, details table')]"
        ".filter(one => !one.getBoundingClientRect().height).map(one => one.outerHTML.slice(0, 80))"
    )
    assert hidden == []
    shown = page.evaluate(
        "[...document.querySelectorAll('.rest, .about, details:not(.fold) > summary')]"
        ".filter(one => one.getBoundingClientRect().height).length"
    )
    assert shown == 0
    assert page.locator("details.fold h2").first.is_visible()
