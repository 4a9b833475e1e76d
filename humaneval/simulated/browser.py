"""A browser without a screen or scripts: fetches pages, follows redirects, keeps cookies, fills in forms it
finds.

A redirect to another site is not followed: what is simulated stays with those who asked for it.
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
from typing import Any

from lxml.etree import ParserError
from lxml.html import HTMLParser, document_fromstring

from humaneval.errors import PlatformError

TIMEOUT_SECONDS = 60
PATIENCE = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds before each reload of somebody who does not give up at once."""


@dataclass(slots=True)
class FoundForm:
    """A form as it stands in a page: where it goes, what it is filled with, and what can be chosen."""

    action: str
    method: str
    values: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Radio buttons: name → (value, label text), in the order of the page."""
    boxes: dict[str, str] = field(default_factory=dict)
    """Unticked boxes: name → the value that ticking sends."""

    def names(self) -> set[str]:
        """Every field of the form."""
        return {*self.values, *self.choices, *self.boxes}


@dataclass(slots=True)
class Page:
    """A page that was fetched."""

    url: str
    status: int
    html: str
    forms: list[FoundForm]
    frames: list[str]

    def form(self, **wanted: str) -> FoundForm | None:
        """The first form whose action ends with `action`, or that has a field called `field`."""
        for found in self.forms:
            if (
                found.action.partition("?")[0].endswith(wanted.get("action", "\0"))
                or wanted.get("field", "\0") in found.names()
            ):
                return found
        return None


class Browser:
    """One person's browser: its own cookies.

    A page that does not come, or comes as a failure of the server, is asked for again after each of
    `patience` seconds, as by pressing reload: what was posted is posted again, which our pages and the
    marketplace's take as once.
    """

    def __init__(self, patience: Sequence[float] = ()) -> None:
        self._patience = patience
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar()), _SameSite()
        )

    def get(self, url: str) -> Page:
        """Fetch a page; an error page is a page too."""
        return self._fetch(urllib.request.Request(url))

    def submit(self, page: Page, form: FoundForm, entered: Mapping[str, str]) -> Page:
        """Send `form` with `entered` over what it holds. Only fields that the form has can be sent."""
        strange = set(entered) - form.names()
        if strange:
            raise ValueError(f"the form has no field {', '.join(sorted(strange))}")
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
                return parse_page(
                    error.url or request.full_url, error.code, error.read().decode("utf-8", "replace")
                )
        except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
            raise PlatformError(
                f"{request.full_url.partition('?')[0]} cannot be reached: {error}",
                "Are `humaneval serve` and the marketplace running?",
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
            form.choices.setdefault(name, []).append((control.get("value", "on"), _label(control)))
        elif kind == "checkbox":
            form.boxes[name] = control.get("value", "on")
        elif control.tag != "input" or kind not in ("submit", "button"):
            form.values[name] = control.get("value", "")
    return form


def _label(control: Any) -> str:
    """The text of the label around a radio button."""
    label = next(control.iterancestors("label"), None)
    return "" if label is None else str(label.text_content())
