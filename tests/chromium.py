"""The machine's Chromium, one for all tests of a process: Playwright takes no second one beside it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from humaneval.running.screenshots import HOW_TO_GET, find_chromium
from tests.conftest import lacking

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Where the machine's own Chromium is."""
    path = find_chromium()
    if path is None:
        lacking("Chromium", HOW_TO_GET)
    return str(path)


@pytest.fixture(scope="session")
def _one_chromium(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def chromium(_one_chromium: Browser) -> Iterator[Browser]:
    """One browser for all tests; each test makes profiles of its own, whose pages do not outlive it."""
    yield _one_chromium
    for profile in _one_chromium.contexts:
        profile.close()
