"""Simulated annotators at a marketplace: sign in, accept, answer inside the frame, hand over, as a person
would."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urljoin

from humaneval.errors import PlatformError
from humaneval.simulated.annotator import Crowd, Key
from humaneval.simulated.browser import PATIENCE, Browser, Page

AT_ONCE = 6
HAND_OVER = "/mturk/externalSubmit"
TRIES = 50
"""How often an annotator looks again when others were faster."""


class Worked(NamedTuple):
    """How many annotators submitted, and how many found nothing left to do."""

    submitted: int
    found_nothing: int


def work_through(
    crowd: Crowd, preview_url: str, key: Key, advance: Callable[[int], None] = lambda amount: None
) -> Worked:
    """Let every annotator of `crowd` take one HIT of the group behind `preview_url`."""

    def one(number: int) -> bool:
        submitted = _take_one(crowd, number, preview_url, key)
        advance(1)
        return submitted

    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(one, range(1, crowd.size + 1)))
    return Worked(sum(outcomes), len(outcomes) - sum(outcomes))


def _take_one(crowd: Crowd, number: int, preview_url: str, key: Key) -> bool:
    browser = Browser(PATIENCE)
    entry = expect(browser.get(preview_url), 200, "signing in")
    sign_in = entry.form(action="/signin")
    if sign_in is None:
        raise PlatformError(
            f"{urljoin(preview_url, '/')} has no form to sign in with",
            "Simulated annotators work at `humaneval market serve` only.",
        )
    said = {"name": crowd.name(number), "country": crowd.country}
    page = browser.submit(entry, sign_in, {name: said[name] for name in said if name in sign_in.names()})
    work = _accept(browser, page, preview_url)
    if work is None:
        return False
    form_page = expect(browser.get(work.frames[0]), 200, "opening the form")
    form = form_page.form(field="form")
    if form is None:
        return False
    handed = expect(browser.submit(form_page, form, crowd.fill_in(form, key)), 200, "sending the answers")
    if form.action.endswith(HAND_OVER):
        return True  # the marketplace's fault `unseen`: this form goes to it alone
    hand_over = handed.form(action=HAND_OVER)
    if hand_over is None:
        raise PlatformError(
            "the answers were not taken: no hand-over came back", "Look at the form in a browser."
        )
    expect(browser.submit(handed, hand_over, {}), 200, "handing the answers over")
    return True


def _accept(browser: Browser, page: Page, preview_url: str) -> Page | None:
    """Accept a HIT of the group; None where there is none left for this annotator."""
    for _ in range(TRIES):
        if page.status == 404:
            return None
        accept = page.form(action="/accept")
        if accept is not None:
            work = browser.submit(page, accept, {})
            if work.frames:
                return work
        # Someone else took the last place of this HIT between looking and accepting: look again.
        page = browser.get(preview_url)
    return None


def expect(page: Page, status: int, what: str) -> Page:
    """`page`, where its status is the one that was hoped for; else PlatformError naming what failed."""
    if page.status != status:
        raise PlatformError(
            f"{what} failed with status {page.status} at {page.url.partition('?')[0]}",
            "The server's own log says why.",
        )
    return page
