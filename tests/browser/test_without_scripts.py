"""The form without JavaScript: the server does what the script would have done."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from humaneval.simulated.browser import Browser
from tests.browser.people import (
    PublishedStudy,
    agree,
    assignment_of,
    choose,
    chosen,
    fill_in,
    passage,
    send,
    sentences,
    sign_in,
)


@pytest.fixture
def plain(visit: Callable[..., Page]) -> Page:
    """A browser that runs no scripts."""
    return visit(java_script_enabled=False)


def test_the_whole_form_and_its_hand_over_work_by_buttons_alone(plain: Page, study: PublishedStudy) -> None:
    sign_in(plain, study)
    frame = plain.frame_locator("iframe")
    fill_in(frame, [3, 1, 4, 1])
    send(frame)
    frame.get_by_role("heading", name="Your answers are saved").wait_for()
    frame.get_by_role("button", name="Send to the marketplace").click()
    plain.get_by_role("heading", name="Thank you").wait_for()
    assert plain.get_by_role("button").count() == 0, "nothing is left to return"
    lines = study.responses()
    assert [line["choice"] for line in lines] == [3, 1, 4, 1]
    assert [line["seconds"] for line in lines] == [None] * 4


def test_an_unfinished_form_comes_back_with_what_is_missing_and_all_that_was_given(
    plain: Page, study: PublishedStudy
) -> None:
    plain.goto(study.accept())
    before = sentences(plain)
    choose(plain, 2, 5)
    plain.get_by_label("Anything you want to tell us?").fill('</textarea> "quoted"')
    with plain.expect_response(lambda got: got.request.method == "POST") as got:
        send(plain)
    assert got.value.status == 422
    summary = plain.get_by_role("alert")
    expect(summary).to_be_focused()
    assert plain.title().startswith("Error: ")
    assert summary.get_by_role("link").all_inner_texts() == [
        "Please tick the box if you agree to take part.",
        *(f"Story {number}: please mark one sentence." for number in (1, 3, 4)),
    ]
    assert sentences(plain) == before
    assert chosen(plain) == [0, 5, 0, 0]
    assert plain.get_by_label("Anything you want to tell us?").input_value() == '</textarea> "quoted"'
    assert study.stored() == (1, 0)
    summary.get_by_role("link", name="agree").click()
    expect(plain.get_by_role("checkbox")).to_be_focused()
    plain.keyboard.press("Space")
    summary.get_by_role("link", name="Story 3").click()
    expect(passage(plain, 3).get_by_role("radio").first).to_be_focused()
    expect(passage(plain, 3).get_by_text("Story 3 of 4")).to_be_in_viewport()
    choose(plain, 3, 2)
    send(plain)
    expect(plain.get_by_role("alert").get_by_role("link")).to_have_count(2)
    assert plain.get_by_role("checkbox").is_checked(), "a person who has agreed is asked again"
    assert chosen(plain) == [0, 5, 2, 0]
    choose(plain, 1, 1)
    choose(plain, 4, 1)
    send(plain)
    plain.get_by_role("heading", name="Your answers are saved").wait_for()


def test_C43_sending_twice_shows_the_same_page_and_keeps_the_first_answers(study: PublishedStudy) -> None:
    browser = Browser()
    page = browser.get(study.accept())
    form = page.form(field="token")
    assert form is not None
    given = {**form.boxes, **{f"choice-{number}": "2" for number in range(1, 5)}}
    first = browser.submit(page, form, given)
    second = browser.submit(page, form, given)
    other = browser.submit(page, form, {**given, "choice-1": "5"})
    assert first.status == 200
    assert first.html == second.html == other.html
    assert study.stored() == (1, 1)


def test_C11_a_double_click_without_scripts_is_harmless(plain: Page, study: PublishedStudy) -> None:
    plain.goto(study.accept())
    fill_in(plain, [1, 2, 3, 4])
    plain.get_by_role("button", name="Send my answers").dblclick()
    plain.get_by_role("heading", name="Your answers are saved").wait_for()
    plain.get_by_role("button").dblclick()
    plain.get_by_role("heading", name="Thank you").wait_for()
    plain.go_back()  # to a page that can be shown again: nothing is asked about sending a form twice
    plain.get_by_role("heading", name="Your answers are saved").wait_for()
    assert [line["choice"] for line in study.responses()] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example", "http://127.0.0.1:1", "javascript:alert(1)//", ""]
)
def test_C33_a_submit_address_that_is_not_the_platforms_is_not_followed(
    plain: Page, study: PublishedStudy, elsewhere: str
) -> None:
    address = study.accept().replace(f"turkSubmitTo={_quoted(study.market_url)}", f"turkSubmitTo={elsewhere}")
    assert study.market_url not in address
    plain.goto(address)
    agree(plain)
    fill_in(plain, [1, 1, 1, 1])
    send(plain)
    plain.get_by_role("heading", name="Your answers are saved").wait_for()
    form = plain.locator("form")
    assert form.get_attribute("action") == f"{study.market_url}/mturk/externalSubmit"
    assert plain.locator("[name=assignmentId]").input_value() == assignment_of(address)


def _quoted(url: str) -> str:
    return url.replace(":", "%3A").replace("/", "%2F")
