"""A browser without a screen or scripts: it fetches pages, follows redirects, keeps cookies, fills in forms.

A redirect to another site is not followed: simulated answers must not reach other sites.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any, NamedTuple

from lxml.etree import ParserError
from lxml.html import HTMLParser, document_fromstring

from humaneval.domain import PROGRAM
from humaneval.errors import PlatformError
from humaneval.text import command

UNREACHED = "cannot be reached"
"""In the message of an error if nothing answers."""
TIMEOUT_SECONDS = 60
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


class Browser:
    """One person's browser: its own cookies.

    If a page does not come or the server fails, it is requested again after each of `patience` seconds, as
    by pressing reload. What was posted is posted again; our pages and the marketplace count it once.
    """

    def __init__(self, patience: Sequence[float] = (), *, program: bool = False) -> None:
        """With `program`, it says to every server that no person uses it."""
        self._patience = patience
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar()), _SameSite()
        )
        if program:
            self._opener.addheaders = [("User-Agent", PROGRAM)]

    def get(self, url: str) -> Page:
        """Fetch a page. An error page is a page too."""
        return self._fetch(urllib.request.Request(url))

    def submit(self, page: Page, form: FoundForm, entered: Mapping[str, str]) -> Page:
        """Send `form` with its values and `entered`. Only fields that the form has can be sent."""
        unknown = set(entered) - form.names()
        if unknown:
            raise ValueError(f"the form has no field {', '.join(sorted(unknown))}")
        data = urllib.parse.urlencode({**form.values, **entered})
        target = urllib.parse.urljoin(page.url, form.action)
        if form.method == "get":
            return self.get(f"{target}?{data}")
        return self._fetch(
            urllib.request.Request(
                target, data.encode(), {"Content-Type": "application/x-www-form-urlencoded"}
            )
        )

    def _fetch(self, request: urllib.request.Request) -> Page:
        for seconds in self._patience:
            try:
                page = self._fetch_once(request)
            except PlatformError:
                pass
            else:
                if page.status not in (400, 429) and page.status < 500:
                    return page
            time.sleep(seconds)
        return self._fetch_once(request)

    def _fetch_once(self, request: urllib.request.Request) -> Page:
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                return parse_page(response.url, response.status, response.read().decode("utf-8"))
        except urllib.error.HTTPError as error:
            with error:
                page = parse_page(
                    error.url or request.full_url, error.code, error.read().decode("utf-8", "replace")
                )
                if location := error.headers.get("Location"):
                    page.leads_to = urllib.parse.urljoin(page.url, location)
                return page
        except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
            raise PlatformError(
                f"{request.full_url.partition('?')[0]} {UNREACHED}: {error}",
                f"Check that `{command('serve')}` and the marketplace are running.",
            ) from None


class _SameSite(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).netloc != urllib.parse.urlsplit(req.full_url).netloc:
            return None  # its answer is then the redirect itself
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def parse_page(url: str, status: int, html: str) -> Page:
    """The forms and frames of a page."""
    try:
        # As bytes with their encoding named: a page's own word on its encoding does not count.
        root = document_fromstring(html.encode(), HTMLParser(encoding="utf-8"))
    except ParserError:  # a page without content
        return Page(url, status, html, [], [])
    frames = [
        urllib.parse.urljoin(url, frame.get("src")) for frame in root.iter("iframe") if frame.get("src")
    ]
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
