"""From signing in on the worker site to a response in the database, in a real browser across two sites."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.people import PublishedStudy, fill_in, send, sign_in


def test_C34_what_a_person_clicks_inside_the_frame_is_what_collect_finds(
    page: Page, study: PublishedStudy
) -> None:
    sign_in(page, study)
    frame = page.frame_locator("iframe")
    fill_in(frame, [1, 3, 5, 2])
    send(frame)
    frame.get_by_role("heading", name="Thank you").wait_for()
    lines = study.responses()
    assert [line["choice"] for line in lines] == [1, 3, 5, 2]
    print(lines)
