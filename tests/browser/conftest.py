"""Chromium, axe-core, and a study that is up on a marketplace on one site with its forms on another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page
from sqlalchemy import Engine

from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.domain import POSITIONS, GeneratorRequest, Story
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.store.stories import add_stories
from tests.browser.people import PublishedStudy
from tests.chromium import profile
from tests.conftest import ROOT, lacking

TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]
OF_THE_STYLE = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
"""Rules that depend on more than on the elements and on which of them are visible."""
RUN_AXE = """([tags, ofTheStyle]) => {
  // Colours that are on their way to others have a contrast that nobody reads by.
  const ends = (each) => each.effect.getComputedTiming().endTime < Infinity;
  document.getAnimations().filter(ends).forEach((each) => each.finish());
  const all = [...document.querySelectorAll("*")];
  const now = all.map((each) => +each.checkVisibility()).join("") + document.documentElement.outerHTML;
  const again = window.lookedAt === now;
  window.lookedAt = now;
  const runOnly = again ? { type: "rule", values: ofTheStyle } : { type: "tag", values: tags };
  return axe.run(document, { runOnly, iframes: false, resultTypes: ["violations"] })
    .then((found) => ({ again, ...found }));
}"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test in this folder needs a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a page in a new profile with these Playwright options. What the console reports fails the test,
    unless it is the status of a page that says itself what is wrong."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def heard(kind: str, text: str) -> None:
        # The worker site's policy refuses its own empty icon.
        if kind == "error" and "Failed to load resource" not in text:
            complaints.append(text)

    def open_page(**options: Any) -> Page:
        context = profile(chromium, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: heard(message.type, message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints


@pytest.fixture
def page(visit: Callable[..., Page]) -> Page:
    """A page of a browser as people have it."""
    return visit()


@pytest.fixture(scope="session")
def axe() -> Callable[[Page | Frame], list[str]]:
    """What axe-core finds wrong with a page or frame: a line a violation.

    If the same elements are seen again, in other colours or another width, only rules of the style are.
    """
    script = ROOT / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        lacking("axe-core", "npm ci")
    source = script.read_text(encoding="utf-8")

    def check(page: Page | Frame) -> list[str]:
        page.wait_for_load_state()  # a click returns before the next page has its first element
        if not page.evaluate("'axe' in window"):
            page.evaluate(source)  # not add_script_tag: the page's own policy would refuse it
        found = page.evaluate(RUN_AXE, [TAGS, OF_THE_STYLE])
        assert found["again"] or len(found["passes"]) > 5, "axe looked at nothing"
        return [
            f"{broken['id']}: {node['html']} {node['failureSummary']}"
            for broken in found["violations"]
            for node in broken["nodes"]
        ]

    return check


@pytest.fixture(name="publish")
def make_published(
    sqlite_engine: Engine,
    platform: MTurk,
    form_server: Callable,
    study_factory: Callable,
    stories: tuple[Story, ...],
    tmp_path: Path,
) -> Callable[..., PublishedStudy]:
    """Puts a study of 20 rows up: `publish(page={"question": "…"}, …)` as in a study file.

    `infills` adds generators by name: their sentences, handed out to blanks by turns.
    """

    def put_up(
        *,
        static: bool = False,
        infills: Mapping[str, Sequence[str]] | None = None,
        **sections: dict[str, Any],
    ) -> PublishedStudy:
        for name, sentences in (infills or {}).items():
            add_infills(sqlite_engine, name, sentences, stories, tmp_path)
        sections = {**sections, "design": {"annotators": 20, **sections.get("design", {})}}
        study_factory(sqlite_engine, "study", **sections)
        forms = form_server(sqlite_engine)
        plan_hits(open_study_at(sqlite_engine, "study", platform), static=static)
        up = publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=forms.url)
        return PublishedStudy(sqlite_engine, platform, forms.url, up.preview_urls[0])

    return put_up


def add_infills(
    engine: Engine, name: str, sentences: Sequence[str], stories: Sequence[Story], folder: Path
) -> None:
    """Infills of a generator called `name` for every blank of the stories."""
    blanks = blanks_of(stories, POSITIONS)
    turns = zip(blanks, cycle(sentences), strict=False)
    lines = [
        json.dumps({"story": b.story.id, "position": b.position, "generator": name, "text": text})
        for b, text in turns
    ]
    file = folder / f"{name}.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    add_stories(engine, stories)
    for generator in build(GeneratorRequest("replay", checkpoint=str(file))):
        run(engine, generator, blanks)


@pytest.fixture
def study(publish: Callable[..., PublishedStudy]) -> PublishedStudy:
    """The bundled study, up on a marketplace."""
    return publish()
