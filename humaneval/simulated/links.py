"""Simulated annotators with links: they open one, begin, answer and send, as a person would."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from humaneval.errors import PlatformError
from humaneval.simulated.annotator import Crowd, Key
from humaneval.simulated.browser import Browser, Page
from humaneval.simulated.marketplace import AT_ONCE, Worked, expect


def follow_links(
    crowd: Crowd,
    links: Sequence[str],
    key: Key,
    advance: Callable[[int], None] = lambda amount: None,
    *,
    at_once: int = AT_ONCE,
) -> Worked:
    """Let every annotator of `crowd` follow a link: one each, or all the same if there is only one.

    With `at_once=1` they come one after the other, in the order of their numbers.
    """
    own = len(links) > 1

    def one(number: int) -> bool:
        link = links[number - 1] if own else links[0]
        submitted = _follow(crowd, link.replace("{number}", str(number)), key)
        advance(1)
        return submitted

    with ThreadPoolExecutor(at_once) as pool:
        outcomes = list(pool.map(one, range(1, min(crowd.size, len(links) if own else crowd.size) + 1)))
    return Worked(sum(outcomes), len(outcomes) - sum(outcomes))


def _follow(crowd: Crowd, link: str, key: Key) -> bool:
    browser = crowd.browser()
    return answer(browser, browser.get(link), crowd, key) is not None


def answer(browser: Browser, welcome: Page, crowd: Crowd, key: Key) -> Page | None:
    """Begin at the page that a link leads to, answer and send. The page after that; None if there is nothing
    to do. Raises PlatformError if the answers were not accepted."""
    if welcome.status == 410:  # closed
        return None
    expect(welcome, 200, "opening the link")
    if not welcome.forms:
        return None
    form_page = browser.submit(welcome, welcome.forms[0], {})
    form = form_page.form(field="form")
    if form is None:
        return None
    done = browser.submit(form_page, form, crowd.fill_in(form, key))
    if done.status == 303:  # a redirect to a panel's own page, which simulated annotators must not visit
        return done
    expect(done, 200, "sending the answers")
    if done.form(field="form") is not None:
        raise PlatformError(
            "the answers were not accepted: the form came back", "Open the form in a browser."
        )
    return done
