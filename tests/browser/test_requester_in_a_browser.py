"""The requester's pages in a browser: rules of access, keys, no scripts, small screens, newer figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle

import pytest
from playwright.sync_api import Frame, Page, expect
from sqlalchemy import Engine, update

from humaneval.settings import Settings
from humaneval.store.engine import writing
from humaneval.store.tables import AssignmentRow
from humaneval.web.app import create_app, running
from humaneval.web.requester import requester_address, token_of
from tests.answered import answer_half

STUDY = "study/my%20study/"
PAGES = {
    "studies": "",
    "study": STUDY,
    "form": f"{STUDY}form",
    "people": f"{STUDY}people",
    "person": f"{STUDY}people/p000",
    "comments": f"{STUDY}comments",
    "differing": f"{STUDY}odd?kind=differing",
    "passages": f"{STUDY}passages",
    "passage": f"{STUDY}passages/1",
    "scores": f"{STUDY}scores",
    "early scores": f"{STUDY}scores?early=yes",
    "missing": "study/nothing/",
}


@pytest.fixture
def address(sqlite_engine: Engine, study_factory: Callable) -> Iterator[str]:
    """Where the pages of a study in the middle of its life are."""
    study_factory(sqlite_engine, "my study", design={"annotators": 16})
    answer_half(sqlite_engine, "my study")
    token = token_of(sqlite_engine)
    with running(create_app(Settings(), sqlite_engine, requester_token=token)) as port:
        yield requester_address(f"http://localhost:{port}", token)


def test_axe_finds_nothing_and_nothing_sticks_out_on_any_page(
    page: Page, address: str, axe: Callable[[Page | Frame], list[str]]
) -> None:
    found = []
    for (name, path), scheme in zip(PAGES.items(), cycle(("dark", "light")), strict=False):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": 320, "height": 640})
        page.goto(address + path)
        expect(page.get_by_role("heading", level=1)).to_have_count(1)
        found += [f"{name}, {scheme}: {line}" for line in axe(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{name} is too wide")
    assert not found, "\n".join(found)
    assert not page.context.cookies()


def test_everything_is_reached_without_scripts(visit: Callable[..., Page], address: str) -> None:
    page = visit(java_script_enabled=False)
    page.goto(address)
    page.get_by_role("link", name="my study").click()
    page.get_by_role("heading", name="What waits for you").wait_for()
    page.get_by_role("link", name="People").click()
    page.get_by_role("link", name="p000").click()
    page.get_by_role("link", name="Passage at place 2").click()
    page.get_by_role("heading", level=1).wait_for()
    page.get_by_role("link", name="Scores").click()
    page.get_by_role("link", name="Show the scores so far anyway").click()
    expect(page.get_by_text("these scores are not final")).to_be_visible()
    page.get_by_role("link", name="Form", exact=True).click()
    expect(page.get_by_role("button", name="Send my answers")).to_be_disabled()
    page.get_by_role("link", name="Back to the study").click()
    page.get_by_role("heading", name="Where it stands").wait_for()


def test_the_keyboard_alone_leads_from_the_studies_to_the_scores(page: Page, address: str) -> None:
    page.goto(address)
    for name in ("Skip to the content", "my study"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name=name)).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Where it stands").wait_for()
    scores = page.get_by_role("link", name="Scores", exact=True)
    for _ in range(8):
        page.keyboard.press("Tab")
        if scores.evaluate("link => link === document.activeElement"):
            break
    expect(scores).to_be_focused()
    assert scores.evaluate("link => getComputedStyle(link).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Scores").wait_for()


def test_figures_grow_newer_while_the_page_is_seen(page: Page, address: str, sqlite_engine: Engine) -> None:
    page.clock.install()
    page.goto(address + STUDY)
    open_now = page.locator("dt", has_text="Open now").locator("+ dd")
    expect(open_now).to_have_text("1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with writing(sqlite_engine) as session:
        opened = update(AssignmentRow).where(AssignmentRow.state == "opened")
        session.execute(opened.values(lease_until=AssignmentRow.opened_at))
    page.clock.fast_forward(11_000)
    expect(open_now).to_have_text("0")
    assert asked == [f"{address}{STUDY}live"]
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    page.clock.fast_forward(11_000)
    page.clock.fast_forward(11_000)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: false})")
    assert len(asked) == 1
    with page.expect_request("**/live"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
