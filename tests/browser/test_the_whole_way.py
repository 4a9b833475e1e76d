"""From signing in on the worker site to responses in the database, in a real browser across two sites."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import (
    PublishedStudy,
    agree,
    choose,
    chosen,
    fill_in,
    look_at,
    reload_frame,
    send,
    sentences,
    sign_in,
)


def _finish(page: Page, choices: list[int]) -> None:
    frame = page.frame_locator("iframe")
    fill_in(frame, choices)
    send(frame)
    frame.get_by_role("heading", name="Thank you").wait_for()


def test_C34_what_a_person_clicks_inside_the_frame_is_what_collect_finds(
    page: Page, study: PublishedStudy
) -> None:
    began = monotonic()
    sign_in(page, study)
    hand_overs: list[tuple[str, bool]] = []
    page.on(
        "request",
        lambda request: (
            hand_overs.append((request.url, request.frame == page.main_frame))
            if request.method == "POST" and "externalSubmit" in request.url
            else None
        ),
    )
    assert page.url.startswith("http://127.0.0.1:")
    frame = page.frame_locator("iframe")
    agree(frame)
    assert page.frames[1].url.startswith("http://localhost:")
    for number, sentence in enumerate([1, 3, 5, 2], 1):
        look_at(frame, number)
        page.wait_for_timeout(150)
        choose(frame, number, sentence)
    send(frame)
    frame.get_by_role("heading", name="Thank you").wait_for()
    assert hand_overs == [(f"{study.market_url}/mturk/externalSubmit", False)]
    page.get_by_role("link", name="My work").first.click()
    page.get_by_text("Submitted", exact=True).wait_for()
    lines = study.responses()
    assert [line["choice"] for line in lines] == [1, 3, 5, 2]
    assert all(0.1 < float(str(line["seconds"])) < monotonic() - began for line in lines)
    assert study.responses() == lines


def test_seconds_are_how_long_a_story_was_in_sight_before_its_first_choice(
    page: Page, study: PublishedStudy
) -> None:
    address, began = study.accept(), monotonic()
    page.goto(address)
    agree(page)
    look_at(page, 1)
    page.wait_for_timeout(500)
    choose(page, 1, 4)
    first_choice = monotonic()
    page.wait_for_timeout(1000)
    choose(page, 1, 2)  # a change of mind does not count
    for number in (2, 3):
        choose(page, number, 1)
    look_at(page, 4)
    page.wait_for_timeout(300)
    choose(page, 4, 5)
    last_choice = monotonic()
    send(page)
    page.get_by_role("heading", name="Thank you").wait_for()
    lines = study.responses()
    assert [line["choice"] for line in lines] == [2, 1, 1, 5]
    first, last = (float(str(line["seconds"])) for line in (lines[0], lines[-1]))
    assert 0.4 < first < first_choice - began
    assert 0.2 < last < last_choice - first_choice


# The browser itself blocks the cookies. It has no setting for storage, so a script stands in for one: what is
# tested is our form without storage, not how a browser takes it away.
NO_STORAGE = """
if (window !== window.top) {
  for (const name of ["sessionStorage", "localStorage", "indexedDB", "caches"]) {
    Object.defineProperty(window, name, {get() { throw new DOMException("denied", "SecurityError"); }});
  }
}
"""


def test_C32_it_works_where_the_browser_blocks_the_cookies_and_the_storage_of_frames(
    page: Page, study: PublishedStudy
) -> None:
    developer = page.context.new_cdp_session(page)
    developer.send("Network.enable")
    developer.send("Network.setCookieControls", {"enableThirdPartyCookieRestriction": True})
    page.add_init_script(NO_STORAGE)
    sign_in(page, study)
    page.frame_locator("iframe").get_by_role("heading", name="About").wait_for()
    form = page.frames[1]
    kept = form.evaluate("() => { document.cookie = 'a=1; SameSite=None; Secure'; return document.cookie }")
    assert kept == "", "this browser does not block cookies, so the test shows nothing"
    storage = form.evaluate(
        "() => { try { sessionStorage.x = 1; return 'open' } catch { return 'blocked' } }"
    )
    assert storage == "blocked", "the script that takes storage away has not run in the frame"
    agree(page.frame_locator("iframe"))
    choose(page.frame_locator("iframe"), 2, 4)
    reload_frame(page)
    expect(page.frame_locator("iframe").get_by_text("1 of 4 answered")).to_be_visible()
    assert page.frame_locator("iframe").get_by_role("checkbox").is_checked()
    assert chosen(page.frame_locator("iframe")) == [0, 4, 0, 0]
    _finish(page, [5, 4, 3, 2])
    assert not [cookie for cookie in page.context.cookies() if cookie["domain"] == "localhost"]
    assert [line["choice"] for line in study.responses()] == [5, 4, 3, 2]


def test_a_static_page_is_previewed_accepted_answered_and_collected(
    page: Page, publish: Callable[..., PublishedStudy]
) -> None:
    study = publish(static=True, design={"annotators": 5})
    page.goto(study.group_url)
    page.get_by_label("Name").fill("ann")
    page.get_by_role("button", name="Sign in").click()
    frame = page.frame_locator("iframe")
    frame.get_by_text("This is only an example of what you will see.").wait_for()
    expect(page.get_by_text("This is a preview.")).to_be_visible()  # around the frame, and only there
    assert frame.get_by_text("This is a preview.").count() == 0
    assert frame.get_by_role("group", name="Example story").count() == 1
    assert frame.get_by_role("group", name="Story 1 of").count() == 0, "a row is shown before it is accepted"
    assert frame.locator("input:enabled, textarea:enabled, button:enabled").count() == 0
    page.get_by_role("button", name="Accept").click()
    frame.get_by_role("group", name="Story 1 of").wait_for()
    assert frame.get_by_role("group", name="Example story").count() == 0
    assert len(sentences(frame)) > 20
    choose(frame, 1, 2)
    send(frame)
    frame.get_by_text("Please tick the box").first.wait_for()
    _finish(page, [2, 2, 4, 1])
    lines = study.responses()
    assert [line["choice"] for line in lines] == [2, 2, 4, 1]
    assert all(line["seconds"] is not None for line in lines)


@pytest.mark.parametrize("static", [False, True])
def test_X52_a_reload_inside_the_worker_site_keeps_what_was_ticked(
    page: Page, publish: Callable[..., PublishedStudy], static: bool
) -> None:
    study = publish(static=static)
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    agree(frame)
    choose(frame, 1, 2)
    choose(frame, 3, 4)
    for reload in (lambda: page.reload(), lambda: reload_frame(page)):
        reload()
        expect(frame.get_by_text("2 of 4 answered")).to_be_visible()
        assert chosen(frame) == [2, 0, 4, 0]
        assert frame.get_by_role("checkbox").is_checked()


@pytest.mark.parametrize("static", [False, True])
def test_X52_once_the_work_is_sent_there_is_no_return_and_no_clock(
    page: Page, publish: Callable[..., PublishedStudy], static: bool
) -> None:
    study = publish(static=static)
    sign_in(page, study)
    told = page.get_by_text("Your work was submitted and is waiting for review.")
    expect(page.get_by_text("left when this page was opened")).to_be_visible()
    expect(page.get_by_role("button", name="Return this task")).to_be_visible()
    expect(told).to_be_hidden()
    _finish(page, [1, 2, 3, 4])
    expect(told).to_be_visible()
    expect(page.get_by_role("button", name="Return this task")).to_have_count(0)
    expect(page.get_by_text("left when this page was opened")).to_have_count(0)
    expect(page.get_by_role("link", name="Look for more tasks")).to_be_visible()
    expect(page.frame_locator("iframe").get_by_role("link")).to_have_count(0)  # it is said once
    expect(page.frame_locator("iframe").get_by_text("stored")).to_have_count(0)
    page.evaluate("history.back()")  # in the frame
    page.wait_for_timeout(500)
    expect(page.frame_locator("iframe").get_by_role("heading", name="Thank you")).to_be_visible()
    expect(page.frame_locator("iframe").get_by_role("group")).to_have_count(0)
    page.goto(f"{study.market_url}/my-work")
    page.go_back()
    expect(page.get_by_text("Your work was submitted")).to_be_visible()
    expect(page.get_by_role("button", name="Return this task")).to_have_count(0)
    expect(page.locator("iframe")).to_have_count(0)


def test_X52_the_list_counts_what_this_worker_may_do_and_shows_no_technical_text(
    page: Page, publish: Callable[..., PublishedStudy]
) -> None:
    study = publish()
    page.goto(study.group_url)
    page.get_by_label("Name").fill("ann")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("This task requires")).to_have_count(0)
    page.goto(f"{study.market_url}/hits")
    expect(page.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_text("for you", exact=False)).to_have_count(0)
    page.get_by_role("button", name="Accept").click()
    page.goto(f"{study.market_url}/hits")
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    page.get_by_role("link", name="Continue").click()
    _finish(page, [1, 2, 3, 4])
    study.responses()
    page.goto(f"{study.market_url}/hits")
    expect(page.get_by_text("There are no tasks for you at the moment.")).to_be_visible()
    page.goto(f"{study.market_url}/qualifications")
    held = page.get_by_role("heading", level=2).inner_text()
    assert re.fullmatch("Took part in “.+”, no. [0-9]{9}", held)


AWKWARD = [
    "{{7*7}} people and {% raw %} came.",
    "<script>window.pwned = 1</script> she typed.",
    "It ended with ]]> and <!-- nothing more.",
    "He sent 😀 and 👩‍👩‍👧 to 𝔸da.",
    "</label></fieldset></form><img src=x onerror=pwned=1> fell over.",
    "O'Neil said “fish & chips, &lt;not&gt; &amp; crisps”.",
    "ثم قال محمد ‎إنه سيعود.",
]


@pytest.mark.parametrize("static", [False, True])
def test_C44_what_models_write_arrives_as_it_is(
    page: Page, publish: Callable[..., PublishedStudy], static: bool
) -> None:
    infills = {f"awkward-{number}": [sentence] for number, sentence in enumerate(AWKWARD)}
    study = publish(
        static=static,
        infills=infills,
        design={
            "generators": ["control", "human", *infills],
            "annotators": 2,
            "allow": ["several sentences"],
        },
    )
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    frame.get_by_role("group", name="Story 9 of 9").wait_for()
    shown = frame.locator(".passage label").all_text_contents()
    assert set(AWKWARD) <= set(shown)
    assert not page.evaluate("'pwned' in window")
    assert not page.frames[1].evaluate("'pwned' in window")
