"""People who come by link, by hand: open, begin, read, choose, send, and go on to where the study sends
them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import Engine

from humaneval.crowd.endpoints import link
from humaneval.crowd.extend import expire_all
from humaneval.crowd.link import Link
from humaneval.crowd.study_at import open_study_at
from humaneval.settings import Settings
from humaneval.web.app import create_app, running
from tests.browser.people import STORIES, chosen, fill_in, send, sentences
from tests.integration.link.people import LinkStudy, begin, panel

CODE = "C0DE-4711"
NARROW, WIDE = {"width": 320, "height": 640}, {"width": 1280, "height": 800}


@pytest.fixture
def by_link(sqlite_engine: Engine, study_factory: Callable) -> Iterator[Callable[..., LinkStudy]]:
    """Makes a study of 20 rows and serves it: `by_link(link={…})`."""
    with running(create_app(Settings(), sqlite_engine)) as port:
        url = f"http://localhost:{port}"

        def make(**sections: dict[str, Any]) -> LinkStudy:
            sections = {**sections, "design": {"annotators": 20, **sections.get("design", {})}}
            settings = study_factory(sqlite_engine, "study", **sections)
            platform = Link(link(url), sqlite_engine, pay=settings.link.pay)
            return LinkStudy(sqlite_engine, "study", url, platform)

        yield make


@pytest.fixture
def panel_site() -> Iterator[str]:
    """A panel's own page, where people end up; its address."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<!doctype html><title>Panel</title><h1>Complete</h1>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/submissions/complete?cc=ABC"
    server.shutdown()
    server.server_close()
    thread.join()


def thanked(page: Page) -> None:
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_from_the_link_to_the_completion_code(by_link: Callable, visit: Callable, scripts: bool) -> None:
    study = by_link(link={"completion_code": CODE, "pay": "elsewhere"})
    page = visit(java_script_enabled=scripts, viewport={"width": 375, "height": 667})
    page.goto(study.open_link())
    assert study.states() == {}
    for heading in ("An example", "About this study"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        shown = page.locator("body").inner_text()
        assert (shown.count("$0.80"), shown.count("find the sentence")) == (1, 1)
        if heading == "An example":
            page.get_by_role("button", name="Begin").click()
            page.get_by_role("group", name="Story 1 of").wait_for()
    assert page.get_by_role("group", name="Story 1 of").bounding_box()["y"] < 500
    fill_in(page, [1, 2, 3, 4])
    send(page)
    thanked(page)
    expect(page.get_by_text(CODE)).to_be_visible()
    assert [study.answers()[0][f"choice-{place}"] for place in (1, 2, 3, 4)] == ["1", "2", "3", "4"]
    assert {line["choice"] for line in study.responses()} == {1, 2, 3, 4}


def test_the_keyboard_alone_is_enough(by_link: Callable, page: Page) -> None:
    study = by_link(link={"completion_code": CODE})
    page.goto(study.open_link())
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Begin")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_label("agree to take part").wait_for()
    page.wait_for_load_state()  # a key that comes before is lost
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_text("We keep your choices")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(page.locator("summary", has_text="What to do")).to_be_focused()
    for story in range(STORIES):
        page.keyboard.press("Tab")
        page.keyboard.press(str(story + 1))
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Send my answers")).to_be_focused()
    page.keyboard.press("Enter")
    thanked(page)
    assert [study.answers()[0][f"choice-{place}"] for place in (1, 2, 3, 4)] == ["1", "2", "3", "4"]


def test_C43_reload_and_back_lose_nothing_and_send_nothing_twice(by_link: Callable, page: Page) -> None:
    study = by_link()
    page.goto(study.open_link())
    page.get_by_role("button", name="Begin").click()
    fill_in(page, [2, 2, 2, 2])
    words, address = sentences(page), page.url
    page.reload()
    assert sentences(page) == words
    assert chosen(page) == [2, 2, 2, 2]
    page.goto("about:blank")
    page.go_back()
    assert (page.url, sentences(page)) == (address, words)
    send(page)
    thanked(page)
    page.reload()
    thanked(page)
    page.go_back()
    thanked(page)
    page.goto(address)
    thanked(page)
    assert study.states() == {"answered": 1}


def test_two_forms_in_one_tab_do_not_mix_their_answers(by_link: Callable, page: Page) -> None:
    study = by_link()
    address = study.panel_link()
    page.goto(panel(address, "P1", "S1"))
    page.get_by_role("button", name="Begin").click()
    fill_in(page, [5, 4, 3, 2])
    page.reload()
    page.goto(panel(address, "P2", "S2"))
    page.get_by_role("button", name="Begin").click()
    assert chosen(page) == [0, 0, 0, 0]
    page.goto(panel(address, "P1", "S1"))
    page.get_by_role("button", name="Continue").click()
    assert chosen(page) == [5, 4, 3, 2]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_C76_people_are_sent_on_when_their_answers_are_safe(
    by_link: Callable, visit: Callable, panel_site: str, scripts: bool
) -> None:
    study = by_link(link={"completion_url": panel_site, "completion_code": CODE})
    page = visit(java_script_enabled=scripts)
    page.goto(panel(study.panel_link(), "P1", "S1"))
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#form")).to_be_visible()
    form = page.url
    fill_in(page, [1, 1, 1, 1])
    send(page)
    expect(page.get_by_role("heading", name="Complete")).to_be_visible()
    assert page.url == panel_site
    assert study.states() == {"answered": 1}
    page.goto(form)  # who closed the panel's page finds the way again
    expect(page.get_by_text(CODE)).to_be_visible()
    page.get_by_role("link", name="Finish").click()
    expect(page.get_by_role("heading", name="Complete")).to_be_visible()
    page.goto(panel(study.panel_link(), "P1", "S1"))
    expect(page.get_by_role("button")).to_have_count(0)
    thanked(page)


def test_nothing_is_kept_in_the_browser_that_it_needs(by_link: Callable, visit: Callable) -> None:
    study = by_link()
    first, second = visit(), visit()
    first.goto(study.open_link())
    first.get_by_role("button", name="Begin").click()
    expect(first.locator("#form")).to_be_visible()
    assert first.context.cookies() == []
    second.goto(first.url)
    assert sentences(second) == sentences(first)
    fill_in(second, [3, 3, 3, 3])
    send(second)
    thanked(second)
    first.reload()
    thanked(first)


def states(study: LinkStudy, page: Page) -> Iterator[str]:
    """Bring the page into each state that is not the form's own, and name it."""
    open_link, members = study.open_link(1), study.panel_link(2)
    page.goto(members)
    yield "incomplete"
    page.goto(f"{study.url}/take/unknown")
    yield "unknown"
    page.goto(open_link)
    yield "take"
    begin(open_link)
    page.get_by_role("button", name="Begin").click()
    expect(page.get_by_role("heading", name="All forms are taken")).to_be_visible()
    yield "full"
    page.goto(panel(members, "P1", "S1"))
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#form")).to_be_visible()
    yield "form"
    address = page.url
    page.goto(panel(members, "P1", "S2"))
    expect(page.get_by_role("button", name="Continue")).to_be_visible()
    yield "take again"
    page.goto(address)
    fill_in(page, [1, 1, 1, 1])
    send(page)
    page.wait_for_url("**/complete?cc=ABC")
    page.goto(address)
    thanked(page)
    yield "done"
    page.goto(panel(members, "P1", "S3"))
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="already taken part")).to_be_visible()
    yield "limit"
    expire_all(open_study_at(study.engine, "study", study.platform))
    page.goto(open_link)
    expect(page.get_by_role("heading", name="This study has ended")).to_be_visible()
    yield "closed"


def test_axe_finds_nothing_and_nothing_is_cut_off_on_any_page_by_link(
    by_link: Callable, page: Page, axe: Callable, panel_site: str, tmp_path: Path
) -> None:
    study = by_link(
        design={"pilot": True},
        link={"completion_code": CODE, "completion_url": panel_site, "pay": "elsewhere"},
        consent={"contact": "lab@example.org"},
    )
    found = []
    for state in states(study, page):
        for size, scheme in ((NARROW, "dark"), (WIDE, "light")):  # colours do not depend on the width
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += [f"{state}, {size['width']}, {scheme}: {broken}" for broken in axe(page)]
            wide = page.evaluate("document.documentElement.scrollWidth")
            found += [f"{state} is {wide} px wide"] * (wide > size["width"])
            small = page.locator("main button, main a").evaluate_all(
                "all => all.filter(e => e.getBoundingClientRect().height < 44 &&"
                " !e.closest('p:not(.send)')).length"
            )
            found += [f"{state}: {small} small targets"] * bool(small)
            if found:
                page.screenshot(path=tmp_path / f"{state.replace(' ', '-')}-{scheme}.png", full_page=True)
    assert not found, "\n".join(found)


def test_who_does_not_agree_or_comes_too_late_goes_back_to_the_panel(
    by_link: Callable, visit: Callable, axe: Callable
) -> None:
    endings = {"no_consent": "N0-C0DE", "quota_full": "https://panel.example/full?id={worker}"}
    study = by_link(link={"completion_code": CODE, **endings}, design={"annotators": 1})
    address = study.panel_link()
    page = visit(viewport=NARROW)
    page.goto(panel(address, "P1", "S1"))
    assert axe(page) == []
    page.get_by_role("button", name="I do not want to take part").click()
    expect(page.get_by_role("heading", name="You are not taking part")).to_be_visible()
    expect(page.get_by_text("N0-C0DE")).to_be_visible()
    assert axe(page) == []
    assert study.states() == {}
    begin(panel(address, "P2", "S2"))
    page.goto(panel(address, "P1", "S1"))
    page.get_by_role("button", name="Begin").click()
    back = page.get_by_role("link", name="Back to that site")
    expect(back).to_have_attribute("href", "https://panel.example/full?id=P1")
    assert axe(page) == []
