"""People who come from Prolific, in a browser: the form, and the way back with answers or without."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import fill_in, send
from tests.integration.prolific.people import World

NARROW = {"width": 320, "height": 640}


def comes(world: World, page: Page, name: str) -> None:
    """Take a place on the stand-in's own pages, and go to the form."""
    page.goto(f"{world.server.url}/enter?next=/studies/{world.hit().external_id}")
    page.locator("input[name=name]").fill(name)
    page.locator("form[action*=enter] button, form:has(input[name=name]) button").first.click()
    page.locator("form[action*=reserve] button").click()
    page.locator("form[action*=start] button").click()
    expect(page.get_by_role("button", name="Send my answers")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_from_prolific_and_back_with_answers(
    world: World, visit: Callable, axe: Callable, scheme: str
) -> None:
    world.publish()
    page = visit(viewport=NARROW, color_scheme=scheme)
    comes(world, page, "Ann")
    assert axe(page) == []
    fill_in(page, [1, 2, 3, 4])
    send(page)
    expect(page).to_have_url(re.compile(f"{world.server.url}/submissions/[0-9a-f]{{24}}"))
    assert world.collect().new == 1


def test_who_does_not_want_to_take_part_goes_back_without_answers(world: World, visit: Callable) -> None:
    world.publish()
    page = visit(viewport=NARROW)
    comes(world, page, "Ann")
    leave = page.get_by_role("button", name="Leave without sending")
    expect(leave).to_be_hidden()  # one touch beside "Send my answers" loses nothing
    page.get_by_text("I do not want to take part").click()
    leave.click()
    expect(page).to_have_url(re.compile(f"{world.server.url}/submissions/[0-9a-f]{{24}}"))
    assert world.rows() == []
