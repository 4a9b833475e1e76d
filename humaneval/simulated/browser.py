"""A browser without a screen or scripts: it fetches pages, follows redirects, keeps cookies, fills in forms.

A redirect to another site is not followed: simulated answers must not reach other sites.
"""

from __future__ import annotations

import select
import string
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from http.cookiejar import CookieJar
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urljoin, urlsplit
from urllib.request import Request

from lxml.etree import ParserError
from lxml.html import HTMLParser, document_fromstring

from humaneval.errors import PlatformError
from humaneval.text import command

UNREACHED = "cannot be reached"
"""In the message of an error if nothing answers."""
TIMEOUT_SECONDS = 60
MOST_REDIRECTS = 10
PATIENCE = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds before each reload by a patient person."""


class Choice(NamedTuple):
    """One radio button: the value that it sends, and the text of its label."""

    value: str
    label: str


@dataclass(slots=True)
class FoundForm:
    """A form in a page: its address, its values, and what can be chosen."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[Choice]] = field(default_factory=dict)
    """Radio buttons by name, in the order of the page."""
    boxes: dict[str, str] = field(default_factory=dict)
    """Unticked boxes: name → the value that ticking sends."""

    def names(self) -> set[str]:
        """Every field of the form."""
        return {*self.values, *self.choices, *self.boxes}


@dataclass(slots=True)
class Page:
    """A fetched page."""

    url: str
    status: int
    html: str
    forms: list[FoundForm]
    frames: list[str]
    leads_to: str = ""
    """Where a redirect to another site leads, which was not followed."""

    def form(self, **wanted: str) -> FoundForm | None:
        """The first form whose action ends with `action`, or that has a field named `field`."""
        for found in self.forms:
            if (
                found.action.partition("?")[0].endswith(wanted.get("action", "\0"))
                or wanted.get("field", "\0") in found.names()
            ):
                return found
        return None


class _Answer(NamedTuple):
    """What a server sent."""

    status: int
    html: str
    leads_to: str = ""


class Browser:
    """One person's browser: its own cookies, and one open connection to each server that it asks.

    If a page does not come or the server fails, it is requested again after each of `patience` seconds, as
    by pressing reload. What was posted is posted again; our pages and the marketplace count it once.
    """

    def __init__(self, patience: Sequence[float] = (), *, program: str = "") -> None:
        """It gives the name `program` to every server, if there is one: see `program_name`."""
        self._patience = patience
        self._cookies = CookieJar()
        self._headers = {"User-Agent": program} if program else {}
        self._connections: dict[str, HTTPConnection] = {}
        weakref.finalize(self, _close, self._connections)

    def get(self, url: str) -> Page:
        """Fetch a page. An error page is a page too."""
        return self._fetch(url)

    def submit(self, page: Page, form: FoundForm, entered: Mapping[str, str]) -> Page:
        """Send `form` with its values and `entered`. Only fields that the form has can be sent."""
        unknown = set(entered) - form.names()
        if unknown:
            raise ValueError(f"the form has no field {', '.join(sorted(unknown))}")
        data = urlencode({**form.values, **entered})
        target = urljoin(page.url, form.action)
        if form.method == "get":
            return self.get(f"{target}?{data}")
        return self._fetch(target, data.encode())

    def _fetch(self, url: str, sent: bytes | None = None) -> Page:
        for seconds in self._patience:
            try:
                page = self._fetch_once(url, sent)
            except PlatformError:
                pass
            else:
                if page.status not in (400, 429) and page.status < 500:
                    return page
            time.sleep(seconds)
        return self._fetch_once(url, sent)

    def _fetch_once(self, url: str, sent: bytes | None) -> Page:
        """The page at the end of the redirects that stay at this server."""
        for _ in range(MOST_REDIRECTS):
            answer = self._ask(url, sent)
            again = answer.status in (301, 302, 303) or (answer.status in (307, 308) and sent is None)
            if not again or not answer.leads_to or _server(answer.leads_to) != _server(url):
                break
            url, sent = answer.leads_to, None
        page = parse_page(url, answer.status, answer.html)
        page.leads_to = answer.leads_to
        return page

    def _ask(self, url: str, sent: bytes | None) -> _Answer:
        request = Request(url, sent, self._headers)
        self._cookies.add_cookie_header(request)
        if sent is not None:
            request.add_header("Content-Type", "application/x-www-form-urlencoded")
        there = _server(url)
        connection = self._connection(there, url)
        try:
            connection.request(request.get_method(), request.selector, sent, dict(request.header_items()))
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException) as error:
            connection.close()
            raise PlatformError(
                f"{url.partition('?')[0]} {UNREACHED}: {error}",
                f"Check that `{command('serve')}` and the marketplace are running.",
            ) from None
        if spare := self._connections.pop(there, None):
            spare.close()
        self._connections[there] = connection
        self._cookies.extract_cookies(answer, request)
        if answer.status < 300:
            return _Answer(answer.status, content.decode("utf-8"))
        # Bytes that no address can have are read as Latin-1, and are meant to be escaped.
        onward = quote(answer.headers["Location"] or "", string.punctuation, "latin-1")
        return _Answer(answer.status, content.decode("utf-8", "replace"), onward and urljoin(url, onward))

    def _connection(self, there: str, url: str) -> HTTPConnection:
        """A connection to a server, which nobody else has: two tabs may be at work at once."""
        connection = self._connections.pop(there, None)
        if connection is None:
            kind = HTTPSConnection if urlsplit(url).scheme == "https" else HTTPConnection
            connection = kind(there, timeout=TIMEOUT_SECONDS)
        elif connection.sock is not None and select.select([connection.sock], [], [], 0)[0]:
            connection.close()  # by the server; it is opened again
        return connection


def _server(url: str) -> str:
    return urlsplit(url).netloc


def _close(connections: Mapping[str, HTTPConnection]) -> None:
    for each in connections.values():
        each.close()


def parse_page(url: str, status: int, html: str) -> Page:
    """The forms and frames of a page."""
    try:
        # As bytes with their encoding named: a page's own word on its encoding does not count.
        root = document_fromstring(html.encode(), HTMLParser(encoding="utf-8"))
    except ParserError:  # a page without content
        return Page(url, status, html, [], [])
    frames = [urljoin(url, frame.get("src")) for frame in root.iter("iframe") if frame.get("src")]
    return Page(url, status, html, [_form(form) for form in root.iter("form")], frames)


def _form(element: Any) -> FoundForm:
    form = FoundForm(element.get("action", ""), element.get("method", "get").lower())
    for control in element.iter("input", "textarea", "select"):
        name, kind = control.get("name"), control.get("type", "text")
        if not name or "disabled" in control.attrib:
            continue
        if kind == "radio":
            choice = Choice(control.get("value", "on"), _label(control))
            form.choices.setdefault(name, []).append(choice)
        elif kind == "checkbox":
            form.boxes[name] = control.get("value", "on")
        elif control.tag != "input" or kind not in ("submit", "button"):
            form.values[name] = control.get("value", "")
    return form


def _label(control: Any) -> str:
    """The text of the label around a radio button."""
    label = next(control.iterancestors("label"), None)
    return "" if label is None else str(label.text_content())
