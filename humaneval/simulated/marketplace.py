"""Simulated annotators at a marketplace: they sign in, accept, answer in the frame and hand over."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import urljoin

from humaneval.errors import PlatformError
from humaneval.simulated.annotator import Crowd, Key
from humaneval.simulated.browser import Browser, Page
from humaneval.text import command

AT_ONCE = 6
HAND_OVER = "/mturk/externalSubmit"
TRIES = 50
"""How often an annotator looks again if others were faster."""


class Worked(NamedTuple):
    """How many annotators submitted, and how many found nothing left to do."""

    submitted: int
    found_nothing: int


def work_through(
    crowd: Crowd,
    preview_url: str,
    key: Key,
    advance: Callable[[int], None] = lambda amount: None,
    *,
    at_once: int = AT_ONCE,
) -> Worked:
    """Let every annotator of `crowd` take one HIT of the group behind `preview_url`.

    With `at_once=1` they come one after the other, in the order of their numbers.
    """

    def one(number: int) -> bool:
        submitted = _take_one(crowd, number, preview_url, key)
        advance(1)
        return submitted

    with ThreadPoolExecutor(at_once) as pool:
        outcomes = list(pool.map(one, range(1, crowd.size + 1)))
    return Worked(sum(outcomes), len(outcomes) - sum(outcomes))


def _take_one(crowd: Crowd, number: int, preview_url: str, key: Key) -> bool:
    browser = crowd.browser()
    entry = expect(browser.get(preview_url), 200, "signing in")
    sign_in = entry.form(action="/signin")
    if sign_in is None:
        raise PlatformError(
            f"{urljoin(preview_url, '/')} has no sign-in form",
            f"Simulated annotators work only at a marketplace of `{command('market', 'serve')}`.",
        )
    details = {"name": crowd.name(number), "country": crowd.country}
    page = browser.submit(
        entry, sign_in, {name: details[name] for name in details if name in sign_in.names()}
    )
    work = _accept(browser, page, preview_url)
    if work is None:
        return False
    form_page = expect(browser.get(work.frames[0]), 200, "opening the form")
    form = form_page.form(field="form")
    if form is None:
        return False
    handed = expect(browser.submit(form_page, form, crowd.fill_in(form, key)), 200, "sending the answers")
    if form.action.endswith(HAND_OVER):
        return True  # the fault `unseen`: the form goes to the marketplace alone
    hand_over = handed.form(action=HAND_OVER)
    if hand_over is None:
        raise PlatformError(
            "the answers were not accepted: no hand-over page came back", "Open the form in a browser."
        )
    expect(browser.submit(handed, hand_over, {}), 200, "handing the answers over")
    return True


def _accept(browser: Browser, page: Page, preview_url: str) -> Page | None:
    """Accept a HIT of the group; None if there is none left for this annotator."""
    for _ in range(TRIES):
        if page.status == 404:
            return None
        accept = page.form(action="/accept")
        if accept is not None:
            work = browser.submit(page, accept, {})
            if work.frames:
                return work
        # Another worker took the last place of this HIT in the meantime: look again.
        page = browser.get(preview_url)
    return None


def expect(page: Page, status: int, what: str) -> Page:
    """`page` if it has the expected status. Raises PlatformError, which names what failed."""
    if page.status != status:
        raise PlatformError(
            f"{what} failed with status {page.status} at {page.url.partition('?')[0]}",
            "See the server's log.",
        )
    return page
