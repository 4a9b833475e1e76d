"""The forms of the other questions under people's hands: keys alone, without scripts, small and dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import Engine

from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.review import review_work
from humaneval.crowd.study_at import open_study_at
from humaneval.study.create import create_study
from humaneval.study.file import read_study_file
from humaneval.study.stored import open_study
from tests.browser.people import PublishedStudy, agree, passage, send
from tests.integration.test_questions import NAMES, fill, stories_of

SCALES = {"fluency": ["not fluent", "fluent"], "fit": ["not at all", "a little", "mostly", "very well"]}
ANSWERS: dict[str, dict[str, Any]] = {
    "prefer": {"ties": True},
    "rate": {"scales": SCALES, "points": 4, "mark": True},
    "boundary": {},
}
Ask = Callable[..., PublishedStudy]


@pytest.fixture
def ask(sqlite_engine: Engine, platform: MTurk, form_server: Callable) -> Ask:
    """Puts a study of a question up: two passages a form, the control among them, of five sentences."""

    def put_up(question: str, *, static: bool = False, practice: bool = False) -> PublishedStudy:
        fill(sqlite_engine, stories_of(5), rest=question == "boundary")
        design = {"generators": NAMES, "annotators": 8, "passages_per_row": 2}
        sections = {"design": design, "page": {"practice": practice}, "answers": ANSWERS[question]}
        settings = read_study_file(None, overrides={"question": question, **sections}).settings
        create_study(sqlite_engine, "study", settings, "")
        forms = form_server(sqlite_engine)
        plan_hits(open_study_at(sqlite_engine, "study", platform), static=static)
        up = publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=forms.url)
        return PublishedStudy(sqlite_engine, platform, forms.url, up.preview_urls[0])

    return put_up


def thanked(page: Page) -> None:
    page.get_by_role("heading", name="Thank you").wait_for()


def by_keys(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
        if key == "Enter":  # what appears gets the focus a little later
            expect(page.locator("input:focus")).to_have_count(1)


def show_next(story: Locator) -> None:
    story.locator("details:not([open]) > summary").locator("visible=true").click()


TO_STORIES = ("Tab", "Tab", "Space", "Tab", "Tab")
"""Past the consent, which is agreed to, and the instructions: to the first story."""
KEYS = {
    "prefer": (["2", "Tab", "Space", "ArrowDown", "ArrowDown"], [2, 3]),
    "rate": (
        ["4", "Tab", "1", "Tab", "3", "ArrowLeft", "Tab", "Space"],
        [{"fluency": 4, "fit": 1}, {"fluency": 2, "fit": 1}],
    ),
    # At first neither a digit nor an arrow leads to a sentence that is not shown yet.
    "boundary": (
        [
            *("5", "Space", "ArrowDown", "Tab", "Enter", "ArrowUp", "ArrowDown", "Tab"),
            *("Tab", "Tab", "Enter", "Tab", "Enter", "Tab", "Enter", "6"),
        ],
        [3, 6],
    ),
}


@pytest.mark.parametrize("question", KEYS)
def test_a_keyboard_is_enough_for_each_question(
    visit: Callable[..., Page], ask: Ask, axe: Callable, question: str
) -> None:
    study = ask(question)
    page = visit(viewport={"width": 320, "height": 700}, color_scheme="dark")
    page.goto(study.accept())
    assert axe(page) == []
    keys, stored = KEYS[question]
    by_keys(page, *TO_STORIES, *keys)
    expect(page.get_by_role("status")).to_have_text("2 of 2 answered")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.emulate_media(color_scheme="light")
    assert axe(page) == []
    by_keys(page, "Tab", "Tab")
    page.keyboard.press("Enter")
    thanked(page)
    assert [line["answer"] or line["choice"] for line in study.answers()] == stored


def test_a_scale_without_a_rating_gets_the_focus(page: Page, ask: Ask) -> None:
    study = ask("rate")
    page.goto(study.accept())
    agree(page)
    for story in (1, 2):
        passage(page, story).get_by_role("radiogroup", name="Fluency").get_by_role("radio").nth(1).check()
    expect(page.get_by_role("status")).to_have_text("0 of 2 answered")
    send(page)
    expect(page.get_by_role("status")).to_have_text("Not answered yet: 1, 2.")
    expect(passage(page, 1).get_by_role("radio", name="1 not at all")).to_be_focused()
    expect(passage(page, 1).get_by_text("Please answer on every scale.")).to_be_visible()
    passage(page, 1).get_by_label("3 mostly").check()
    expect(passage(page, 1).get_by_text("Please answer on every scale.")).to_be_hidden()
    page.reload()
    expect(passage(page, 1).get_by_label("3 mostly")).to_be_checked()
    passage(page, 2).get_by_label("4 very well").check()
    send(page)
    thanked(page)
    assert [line["answer"] for line in study.answers()] == [
        {"fluency": 2, "fit": 3},
        {"fluency": 2, "fit": 4},
    ]


def test_without_scripts_sentences_appear_one_by_one_and_stay(visit: Callable[..., Page], ask: Ask) -> None:
    study = ask("boundary", practice=True)
    page = visit(java_script_enabled=False)
    page.goto(study.accept())
    practice = page.get_by_role("group", name="Practice story")
    for _ in range(2):
        show_next(practice)
    machine = "The machine wrote this and everything after"
    practice.get_by_label(machine).nth(1).check()
    expect(page.get_by_text("the fourth sentence")).to_be_visible()
    practice.get_by_label(machine).nth(2).check()
    expect(page.get_by_text("That is right.")).to_be_visible()
    story = passage(page, 1)
    expect(story.locator(".story").locator("visible=true")).to_have_count(2)
    show_next(story)
    expect(story.locator(".story").locator("visible=true")).to_have_count(3)
    story.get_by_label(machine).nth(1).check()
    send(page)
    expect(page.get_by_role("alert")).to_contain_text("Story 2: please say where the machine begins.")
    expect(story.locator(".story").locator("visible=true")).to_have_count(3)
    expect(story.get_by_label(machine).nth(1)).to_be_checked()
    expect(practice.get_by_label(machine).nth(2)).to_be_checked()
    story.get_by_label(machine).nth(0).check()  # a change of mind
    agree(page)
    passage(page, 2).get_by_label(machine).nth(0).check()
    send(page)
    page.get_by_role("button", name="Send to the marketplace").click()
    thanked(page)
    assert [line["choice"] for line in study.answers()] == [2, 2]
    assert [each.practice for each in review_work(open_study(study.engine, "study"), "local")] == ["right"]


@pytest.mark.parametrize("question", ANSWERS)
def test_a_page_that_the_marketplace_keeps_asks_any_question(
    page: Page, ask: Ask, axe: Callable, question: str
) -> None:
    study = ask(question, static=True)
    page.goto(study.group_url)
    page.get_by_label("Name").fill("bob")
    page.get_by_role("button", name="Sign in").click()
    page.locator("iframe").wait_for()
    frame = page.frames[-1]
    expect(frame.get_by_role("heading", name="An example")).to_be_visible()
    assert axe(frame) == []
    page.goto(study.accept())
    agree(page)
    for story in (1, 2):
        for group in ["Fluency", "Fit"] if question == "rate" else [""]:
            place = passage(page, story)
            place = place.get_by_role("radiogroup", name=group) if group else place
            place.get_by_role("radio").first.check()
    send(page)
    thanked(page)
    first = {"prefer": 1, "rate": {"fluency": 1, "fit": 1}, "boundary": 2}[question]
    assert [line["answer"] or line["choice"] for line in study.answers()] == [first, first]
