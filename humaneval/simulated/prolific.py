"""Simulated participants at the stand-in for Prolific.

They take a study, answer it at its own address, and come back with the completion link.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from urllib.parse import urlsplit

from humaneval.errors import PlatformError
from humaneval.simulated.annotator import Crowd, Key
from humaneval.simulated.browser import Page
from humaneval.simulated.links import answer
from humaneval.simulated.marketplace import AT_ONCE, Worked, expect
from humaneval.text import command

COMPLETION = "/submissions/complete"


def take_part(
    crowd: Crowd,
    site: str,
    study_id: str,
    key: Key,
    advance: Callable[[int], None] = lambda amount: None,
    *,
    at_once: int = AT_ONCE,
) -> Worked:
    """Let every annotator of `crowd` take a place in a study at the stand-in whose address is `site`.

    With `at_once=1` they come one after the other, in the order of their numbers.
    """

    def one(number: int) -> bool:
        submitted = _take_one(crowd, number, site, study_id, key)
        advance(1)
        return submitted

    with ThreadPoolExecutor(at_once) as pool:
        outcomes = list(pool.map(one, range(1, crowd.size + 1)))
    return Worked(sum(outcomes), len(outcomes) - sum(outcomes))


def _take_one(crowd: Crowd, number: int, site: str, study_id: str, key: Key) -> bool:
    browser = crowd.browser()
    entry = expect(browser.get(f"{site}/studies/{study_id}"), 200, "coming in")
    come_in = entry.form(action="/enter")
    if come_in is None:
        raise PlatformError(
            f"{site} does not ask for a name",
            f"Simulated annotators take part only at `{command('prolific', 'serve')}`.",
        )
    study = browser.submit(entry, come_in, {"name": crowd.name(number)})
    reserve = study.form(action="/reserve")
    if reserve is None:
        return False
    held = browser.submit(study, reserve, {})
    start = held.form(action="/start")
    if start is None:  # another was faster, or the work is done
        return False
    away = browser.submit(held, start, {})
    done = answer(browser, browser.get(away.leads_to), crowd, key) if away.leads_to else None
    if done is None:
        return False
    back = browser.get(f"{site}{_way_back(done)}")
    expect(back, 200, "coming back with the completion link")
    return True


def _way_back(done: Page) -> str:
    """The path and code of the completion link: of a redirect, or in the page. Its host is not called, which
    may be Prolific's own."""
    links = [done.leads_to, *(unescape(each) for each in re.findall(r'(?:href|action)="([^"]+)"', done.html))]
    for each in links:
        parts = urlsplit(each)
        if parts.path == COMPLETION:
            return f"{COMPLETION}?{parts.query}"
    raise PlatformError(
        "the page after the answers has no completion link", "Open the study in a browser, and see."
    )
