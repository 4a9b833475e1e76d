"""How the form behaves under people's hands: keys, mistakes, impatience, reloads, bad networks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from time import monotonic

import pytest
from playwright.sync_api import Page, Route, expect

from humaneval.crowd.review import review_work
from humaneval.store import engine as store
from humaneval.study.stored import open_study
from tests.browser.people import (
    PublishedStudy,
    agree,
    choose,
    chosen,
    fill_in,
    look_at,
    passage,
    send,
    sentences,
    sign_in,
)
from tests.pace import PATIENCE


def _thanked(page: Page) -> None:
    page.get_by_role("heading", name="Thank you").wait_for()


def _ring(page: Page) -> str:
    """The outline around whatever has the focus."""
    return str(
        page.evaluate(
            "getComputedStyle(document.activeElement.closest('label') ?? document.activeElement).outlineStyle"
        )
    )


def test_a_keyboard_is_enough(page: Page, study: PublishedStudy) -> None:
    page.goto(study.accept())
    press = page.keyboard.press
    press("3")
    assert chosen(page) == [0, 0, 0, 0], "a number key chose although the focus was in no story"
    rings = []

    def tab() -> None:
        press("Tab")
        rings.append(_ring(page))

    tab()
    press("Enter")
    expect(page.get_by_text("We keep your choices")).to_be_visible()
    tab()
    press("2")
    press("Space")
    tab()
    press("3")
    expect(page.get_by_text("If you are not sure")).to_be_hidden()
    press("Enter")
    expect(page.get_by_text("If you are not sure")).to_be_visible()
    tab()
    press("Space")
    press("ArrowDown")
    tab()
    press("4")
    tab()
    press("Control+1")
    press("7")
    assert chosen(page) == [2, 4, 0, 0]
    press("ArrowDown")
    press("ArrowDown")
    tab()
    press("1")
    press("5")
    tab()
    page.keyboard.type("1 of them was 2 easy")
    tab()
    expect(page.get_by_role("button", name="Send my answers")).to_be_focused()
    assert rings == ["solid"] * 9
    assert chosen(page) == [2, 4, 3, 5]
    press("Enter")
    _thanked(page)
    assert [line["choice"] for line in study.responses()] == [2, 4, 3, 5]


def test_what_is_missing_gets_the_focus_and_what_was_answered_stays(
    page: Page, study: PublishedStudy
) -> None:
    page.goto(study.accept())
    choose(page, 2, 3)
    send(page)
    expect(page.get_by_role("checkbox")).to_be_focused()
    expect(page.get_by_role("checkbox", name="Please tick the box")).to_be_visible()
    agree(page)
    expect(page.get_by_text("Please tick the box")).to_be_hidden()
    send(page)
    expect(passage(page, 1).get_by_role("radio").first).to_be_focused()
    expect(page.get_by_role("group", name="Story 1 of 4")).to_be_in_viewport()
    expect(page.get_by_role("status")).to_have_text("Not answered yet: 1, 3, 4.")
    assert page.get_by_role("group", name="Please mark one sentence").count() == 3
    assert chosen(page) == [0, 3, 0, 0]
    choose(page, 1, 1)
    assert page.get_by_role("group", name="Please mark one sentence").count() == 2
    choose(page, 3, 1)
    choose(page, 4, 1)
    expect(page.get_by_role("status")).to_have_text("4 of 4 answered")
    assert study.stored() == (1, 0)
    send(page)
    _thanked(page)


def test_C11_a_double_click_sends_once(page: Page, study: PublishedStudy) -> None:
    page.goto(study.accept())
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    fill_in(page, [1, 2, 3, 4])
    page.get_by_role("button", name="Send my answers").dblclick()
    _thanked(page)
    assert ["externalSubmit" in url for url in posts] == [False, True]
    assert [line["choice"] for line in study.responses()] == [1, 2, 3, 4]


def test_C43_going_back_and_opening_again_lead_to_the_end_and_not_to_a_second_go(
    page: Page, study: PublishedStudy
) -> None:
    address = study.accept()
    page.goto(address)
    fill_in(page, [1, 2, 3, 4])
    send(page)
    _thanked(page)
    page.go_back()
    _thanked(page)
    page.goto(address)
    _thanked(page)
    assert study.stored() == (1, 1)
    assert [line["choice"] for line in study.responses()] == [1, 2, 3, 4]


def test_C43_a_reload_brings_back_order_choices_consent_comment_and_seconds(
    page: Page, study: PublishedStudy
) -> None:
    address = study.accept()
    page.goto(address)
    before = sentences(page)
    agree(page)
    look_at(page, 1)
    page.wait_for_timeout(200)
    choose(page, 1, 5)
    choose(page, 3, 2)
    page.get_by_label("Anything you want to tell us?").fill("A pleasure.")
    seconds = page.locator("[name=seconds-1]").input_value()
    assert float(seconds) > 0.1
    for _ in range(2):
        page.reload()
        assert sentences(page) == before
        assert chosen(page) == [5, 0, 2, 0]
        expect(page.get_by_role("status")).to_have_text("2 of 4 answered")
        assert page.get_by_role("checkbox").is_checked()
        assert page.get_by_label("Anything you want to tell us?").input_value() == "A pleasure."
        assert page.locator("[name=seconds-1]").input_value() == seconds
    other_tab = page.context.new_page()
    other_tab.goto(address)
    assert sentences(other_tab) == before
    assert study.stored() == (1, 0)


def test_a_network_that_fails_costs_no_answer(page: Page, study: PublishedStudy) -> None:
    address = study.accept()
    page.goto(address)
    fill_in(page, [4, 3, 2, 1])
    page.route(
        "**/form/*", lambda route: route.abort() if route.request.method == "POST" else route.continue_()
    )
    with page.expect_event("requestfailed"):
        send(page)
    page.unroute("**/form/*")
    page.goto(address)
    assert chosen(page) == [4, 3, 2, 1]
    send(page)
    _thanked(page)
    assert [line["choice"] for line in study.responses()] == [4, 3, 2, 1]


def test_without_a_server_the_form_stays_says_so_and_can_be_sent_again(
    page: Page, study: PublishedStudy
) -> None:
    sign_in(page, study)
    form = page.frame_locator("iframe")
    fill_in(form, [1, 2, 3, 4])
    form.get_by_label("Anything you want to tell us?").fill("A pleasure.")
    page.context.set_offline(True)
    send(form)
    expect(form.get_by_role("status")).to_contain_text("Your answers could not be sent")
    expect(form.get_by_role("button", name="Send my answers")).to_be_enabled()
    assert chosen(form) == [1, 2, 3, 4]
    assert study.stored() == (1, 0)
    page.context.set_offline(False)
    send(form)
    page.get_by_text("Your work was submitted").wait_for()
    assert [line["choice"] for line in study.responses()] == [1, 2, 3, 4]


def test_where_no_answer_comes_the_button_waits_and_comes_back(page: Page, study: PublishedStudy) -> None:
    page.clock.install()
    page.goto(study.accept())
    fill_in(page, [1, 1, 1, 1])
    held: list[Route] = []
    page.route("**/form/*", lambda route: held.append(route))  # nobody answers
    width = page.get_by_role("button", name="Send my answers").bounding_box()["width"]
    send(page)
    button = page.get_by_role("button", name="Sending…")
    expect(button).to_be_disabled()
    assert button.bounding_box()["width"] == width
    page.clock.fast_forward(11_000)
    expect(page.get_by_role("button", name="Send my answers")).to_be_enabled()
    for route in held:
        route.abort("aborted")  # the browser stays on the page
    page.unroute("**/form/*")
    send(page)
    _thanked(page)
    assert study.stored() == (1, 1)


@pytest.mark.parametrize(("scripts", "static"), [(True, False), (False, False), (True, True)])
def test_a_practice_story_says_what_was_right_and_enters_no_response(
    visit: Callable[..., Page],
    publish: Callable[..., PublishedStudy],
    axe: Callable,
    scripts: bool,
    static: bool,
) -> None:
    study = publish(page={"practice": True}, static=static)
    page = visit(java_script_enabled=scripts)
    page.goto(study.accept())
    practice = page.get_by_role("group", name="Practice story")
    right, wrong = page.get_by_text("That is right."), page.get_by_text("the third sentence")
    expect(right).to_be_hidden()
    practice.locator("label").nth(0).click()
    expect(wrong).to_be_visible()
    expect(right).to_be_hidden()
    expect(page.get_by_text("It is about the stars")).to_be_visible()
    practice.locator("label").nth(2).click()
    expect(right).to_be_visible()
    expect(wrong).to_be_hidden()
    if scripts:
        expect(page.get_by_text("0 of 4 answered")).to_be_visible()
        assert axe(page) == []
    else:
        send(page)
        expect(page.get_by_role("alert")).to_be_visible()
        expect(right).to_be_visible()
    fill_in(page, [1, 2, 4, 5])
    send(page)
    if not scripts:
        page.get_by_role("button", name="Send to the marketplace").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    assert [(line["order"], line["choice"]) for line in study.responses()] == [(1, 1), (2, 2), (3, 4), (4, 5)]
    assert [each.practice for each in review_work(open_study(study.engine, "study"), "local")] == ["right"]


@pytest.fixture
def locked(monkeypatch: pytest.MonkeyPatch) -> Callable[[PublishedStudy], sqlite3.Connection]:
    """Holds a study's database against every writer, as a stuck program would; `rollback` lets it go."""

    def lock(study: PublishedStudy) -> sqlite3.Connection:
        monkeypatch.setattr(store, "BUSY_SECONDS", 0)
        study.engine.dispose()  # connections that still wait half a minute
        holder = sqlite3.connect(str(study.engine.url.database), isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        return holder

    return lock


def test_C25_a_locked_database_gives_the_answers_back_to_be_sent_again(
    page: Page, study: PublishedStudy, locked: Callable[[PublishedStudy], sqlite3.Connection]
) -> None:
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    fill_in(frame, [2, 4, 1, 3])
    frame.get_by_label("Anything you want to tell us?").fill("<b>Why?</b> 😀")
    statuses: list[tuple[int, str | None]] = []
    page.on(
        "response",
        lambda got: (
            statuses.append((got.status, got.headers.get("retry-after")))
            if got.request.method == "POST"
            else None
        ),
    )
    holder = locked(study)
    send(frame)
    again = frame.get_by_role("button", name="Send my answers again")
    with page.expect_response(lambda got: got.request.method == "POST"):
        again.click()
    again.wait_for()
    until = monotonic() + PATIENCE
    while len(statuses) < 2 and monotonic() < until:
        page.wait_for_timeout(50)
    assert statuses == [(503, "5")] * 2
    holder.rollback()
    again.click()
    frame.get_by_role("heading", name="Thank you").wait_for()
    assert [line["choice"] for line in study.responses()] == [2, 4, 1, 3]
    holder.close()


def test_C25_a_form_that_opens_while_the_database_is_locked_says_so_and_opens_later(
    page: Page, study: PublishedStudy, locked: Callable[[PublishedStudy], sqlite3.Connection]
) -> None:
    holder = locked(study)
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", name="Please try again in a moment").wait_for()
    holder.rollback()
    page.reload()
    fill_in(frame, [1, 1, 1, 1])
    holder.close()
