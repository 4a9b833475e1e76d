"""What every state of every page must keep to: axe-core's rules, small screens, large targets, colours of
one's own."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Frame, Page, expect

from humaneval.store import engine as store
from tests.browser.people import PublishedStudy, agree, choose, fill_in, passage, send, sign_in, worker_of

NARROW, WIDE = {"width": 320, "height": 640}, {"width": 1280, "height": 800}
SHOWN = ((NARROW, "dark"), (WIDE, "light"))
"""Colours depend on the scheme, and what is cut off on the width, neither on both."""
Axe = Callable[[Page | Frame], list[str]]

LONG = [
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2 + " was its name.",
    "😀😀😀👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦🏳️‍🌈🏳️‍🌈🇩🇪🇫🇷🇯🇵" * 4,
    (
        "His friend محمد عبد الرحمن met שלמה at"
        " https://example.org/a/very/long/address?with=no&place=to&break=it."
    ),
]


@dataclass(frozen=True)
class States:
    """Ways into every state that a form's page can be in."""

    study: PublishedStudy
    page: Page

    def every(self) -> Iterator[str]:
        """Bring the page into one state after the other, and name each."""
        page, address = self.page, self.study.accept()
        hit = f"{self.study.forms_url}/form/{self.study.hit_keys()[0]}"
        page.goto(hit)
        yield "preview"
        page.goto(f"{hit}?assignmentId=A1")
        yield "incomplete address"
        page.goto(f"{hit}?assignmentId=A1&workerId=W1")
        page.get_by_role("heading", name="not opened from the marketplace").wait_for()
        yield "unsigned address"
        page.goto(f"{self.study.forms_url}/form/unknown")
        yield "unknown"
        page.goto(address)
        yield "form"
        choose(page, 2, 3)
        send(page)
        yield "something missing, found by the script"
        with page.expect_event("framenavigated"):
            page.evaluate("() => { setTimeout(() => document.getElementById('form').submit()) }")
        page.get_by_role("alert").wait_for()
        yield "something missing, found by the server"
        fill_in(page, [1, 2, 3, 4])
        page.route("**/handover.js", lambda route: route.abort())
        send(page)
        page.get_by_role("heading", name="saved").wait_for()
        yield "hand-over"
        page.goto(self.study.address("A2", worker_of(address)))
        page.get_by_role("heading", name="You have already taken part").wait_for()
        yield "limit"
        page.goto(self.study.address("A3", "W3"))
        page.get_by_role("heading", name="All forms are taken").wait_for()
        yield "full"


@pytest.fixture
def states(publish: Callable[..., PublishedStudy], page: Page) -> States:
    """A study of one row with everything that a study file may add to its page."""
    study = publish(
        design={"annotators": 1, "pilot": True},
        page={"show_titles": True},
        consent={"contact": "lab@example.org"},
    )
    return States(study, page)


def _audit(page: Page, axe: Axe, state: str) -> Iterator[str]:
    for size, scheme in SHOWN:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        for broken in axe(page):
            yield f"{state}, {size['width']}, {scheme}: {broken}"


def test_axe_finds_nothing_in_any_state_of_the_form(states: States, axe: Axe) -> None:
    found = [line for state in states.every() for line in _audit(states.page, axe, state)]
    assert not found, "\n".join(found)


def test_axe_finds_nothing_when_the_answers_must_be_sent_again(
    states: States, axe: Axe, monkeypatch: pytest.MonkeyPatch
) -> None:
    states.page.goto(states.study.accept())
    fill_in(states.page, [1, 1, 1, 1])
    monkeypatch.setattr(store, "BUSY_SECONDS", 0)
    states.study.engine.dispose()
    holder = sqlite3.connect(str(states.study.engine.url.database), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    send(states.page)
    states.page.get_by_role("button", name="again").wait_for()
    found = list(_audit(states.page, axe, "busy"))
    holder.close()
    assert not found, "\n".join(found)


def test_axe_finds_nothing_on_the_worker_site(page: Page, study: PublishedStudy, axe: Axe) -> None:
    found: list[str] = []

    def audit(state: str) -> None:
        found.extend(_audit(page, axe, state))

    page.goto(study.group_url)
    audit("sign in")
    page.get_by_label("Name").fill("ann")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Accept").wait_for()
    audit("preview")
    page.goto(f"{study.market_url}/hits")
    audit("list")
    page.get_by_role("button", name="Accept").first.click()
    page.get_by_role("button", name="Return this task").wait_for()
    audit("work")
    page.goto(f"{study.market_url}/assignments/none")
    audit("problem")
    page.goto(f"{study.market_url}/hits")
    page.get_by_role("link", name="Continue").click()
    frame = page.frame_locator("iframe")
    fill_in(frame, [1, 1, 1, 1])
    send(frame)
    frame.get_by_role("heading", name="Thank you").wait_for()
    found += axe(page.frames[1])
    page.goto(f"{study.market_url}/my-work")
    audit("my work")
    assert not found, "\n".join(found)


def _sideways(page: Page) -> int:
    """How many pixels of the page lie beyond its width."""
    page.wait_for_load_state()
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("language", ["en", "ar"])
def test_long_words_emoji_and_other_scripts_need_no_scrolling_sideways(
    visit: Callable[..., Page], publish: Callable[..., PublishedStudy], language: str
) -> None:
    infills = {f"long-{number}": [text] for number, text in enumerate(LONG)}
    study = publish(
        infills=infills,
        design={"generators": ["control", "human", *infills], "allow": ["several sentences", "empty"]},
        page={"question": LONG[0], "instructions": "\n".join(LONG), "language": language},
        hit={"title": LONG[0][:128]},
        consent={"text": LONG[0], "contact": "a" * 200 + "@example.org"},
    )
    address = study.accept()
    zoomed = {"width": 320, "height": 256}  # 1280 × 1024 at 400 %
    for options in ({"viewport": NARROW}, {"viewport": zoomed, "device_scale_factor": 4}):
        page = visit(**options)
        page.goto(address)
        assert page.locator("html").get_attribute("dir") == ("rtl" if language == "ar" else None)
        assert _sideways(page) == 0
        page.locator("#form button").click()  # whatever it is called in the language
        assert _sideways(page) == 0
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        assert _sideways(page) == 0
    sign_in(page, study, "bob")
    page.frame_locator("iframe").get_by_role("group").first.wait_for()
    assert _sideways(page) == 0


def test_everything_that_can_be_pressed_is_44_pixels_high(states: States) -> None:
    states.page.set_viewport_size(NARROW)
    for state in states.every():
        heights = states.page.evaluate(
            """[...document.querySelectorAll("label:has(input), button, a, textarea")]
               .filter(it => it.offsetParent)
               .map(it => [it.outerHTML.slice(0, 60), it.getBoundingClientRect().height])"""
        )
        assert not [what for what, height in heights if height < 44], state
        if state == "form":
            assert len(heights) == 5 * 4 + 4


def test_nothing_moves_when_a_sentence_is_chosen(page: Page, study: PublishedStudy) -> None:
    page.goto(study.accept())
    page.evaluate("document.fonts.ready")
    places = (
        "[...document.querySelectorAll('label, fieldset, button')].map(it => it.getBoundingClientRect().top +"
        " scrollY)"
    )
    before = page.evaluate(places)
    agree(page)
    for number in range(1, 5):
        choose(page, number, number)
    assert page.evaluate(places) == before


def test_a_choice_shows_in_forced_colours_and_without_colours(page: Page, study: PublishedStudy) -> None:
    page.goto(study.accept())
    choose(page, 1, 2)
    labels = passage(page, 1).locator("label")
    for forced in ("none", "active"):
        page.emulate_media(forced_colors=forced)
        edges = [labels.nth(at).evaluate("it => getComputedStyle(it).borderTopColor") for at in range(5)]
        assert len(set(edges)) == 2
        assert edges.count(edges[1]) == 1
        expect(labels.nth(1).get_by_role("radio")).to_be_checked()
        assert labels.nth(1).get_by_role("radio").evaluate("it => getComputedStyle(it).appearance") == "auto"


def test_nothing_is_animated_for_people_who_want_no_motion(
    visit: Callable[..., Page], study: PublishedStudy
) -> None:
    page = visit(reduced_motion="reduce")
    page.goto(study.accept())
    moving = (
        "[...document.querySelectorAll('*')].filter(it => getComputedStyle(it).transitionDuration != '0s' ||"
        " getComputedStyle(it).animationName != 'none').length"
    )
    assert page.evaluate(moving) == 0


PHONE = {"width": 375, "height": 667}


def test_on_a_phone_the_first_story_is_on_the_first_screen_and_title_and_pay_stand_once(
    visit: Callable[..., Page], publish: Callable[..., PublishedStudy]
) -> None:
    study = publish(consent={"contact": "lab@example.org"})
    page = visit(viewport=PHONE)
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    first = passage(frame, 1)
    first.wait_for()
    top = first.bounding_box()["y"]
    assert top + 120 < PHONE["height"], f"the first story begins {top} px down"
    shown = [each.evaluate("document.body.innerText") for each in (page.frames[0], page.frames[1])]
    assert "".join(shown).count("$0.80") == 1
    heading = frame.get_by_role("heading", name="Find the sentence")
    assert heading.bounding_box()["height"] <= 1, "the page around the frame has the title already"
    assert not re.search(r"\bHITs?\b|ualification", "".join(shown))
    for text in ("We keep your choices", "If you are not sure"):
        expect(frame.get_by_text(text)).to_be_hidden()
    page.emulate_media(media="print")
    for text in ("We keep your choices", "If you are not sure"):
        expect(frame.get_by_text(text)).to_be_visible()
    assert _sideways(page) == 0
