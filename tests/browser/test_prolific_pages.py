"""The participant's pages of the stand-in for Prolific, in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from sqlalchemy import Engine

from humaneval.market.prolific_standin import ProlificServer, open_prolific
from humaneval.market.prolific_standin.studies import create, transition
from tests.browser.test_market_pages import shown
from tests.integration.prolific_standin.conftest import AWAY, BODY


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[ProlificServer]:
    """A stand-in with a study whose own address is one of its pages."""
    engine: Engine = open_prolific(tmp_path / "prolific.db")
    with ProlificServer(engine) as server:
        with server.books.writing() as work:
            # Another name of this machine is another site, as a study's is.
            away = f"http://localhost:{server.port}/enter?pid={{{{%PROLIFIC_PID%}}}}&s={{{{%SESSION_ID%}}}}"
            study = create(work, {**BODY, "external_study_url": away, "name": "Pick the " + "machine " * 9})
            transition(work, study, "PUBLISH", None)
        yield server
    engine.dispose()


def test_a_participant_takes_a_study_and_comes_back_on_pages_that_axe_finds_nothing_on(
    visit: Callable[..., Page],
    axe: Callable[[Page], list[str]],
    stand_in: ProlificServer,
) -> None:
    page = visit()
    found: list[str] = []

    def audit(state: str) -> None:
        for where in shown(page):
            found.extend(f"{state}, {where}: {broken}" for broken in axe(page))
            wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
            found.extend([f"{state}, {where}: wider than the window"] if wide else [])

    page.goto(f"{stand_in.url}/")
    audit("enter")
    page.get_by_label("Name").fill("Ada")
    page.get_by_role("button", name="Come in").click()
    page.get_by_role("heading", name="Available").wait_for()
    audit("studies")
    page.get_by_role("link", name="Pick the").click()
    page.get_by_role("link", name="All studies").wait_for()
    audit("study")
    page.get_by_role("button", name="Reserve a place").click()
    page.get_by_text("RESERVED").wait_for()
    audit("reserved")
    page.get_by_role("button", name="Open the study").click()
    page.wait_for_url("http://localhost:*/**")
    assert "pid=" in page.url
    page.goto(f"{stand_in.url}/submissions/complete?cc={AWAY}")
    page.get_by_text("AWAITING REVIEW").wait_for()
    audit("asked to return")
    page.get_by_role("button", name="Return it").click()
    page.get_by_text("RETURNED").wait_for()
    page.goto(f"{stand_in.url}/studies")
    audit("returned")
    page.goto(f"{stand_in.url}/submissions/{'0' * 24}")
    audit("problem")
    assert found == []
