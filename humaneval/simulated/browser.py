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
from html.parser import HTMLParser
from http.client import HTTPException
from http.cookiejar import CookieJar
from typing import Any

from humaneval.errors import PlatformError

TIMEOUT_SECONDS = 60
PATIENCE = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds before each reload of somebody who does not give up at once."""
_VOID = frozenset({"input", "br", "img", "link", "meta", "hr"})


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
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return Page(
        url, status, html, parser.forms, [urllib.parse.urljoin(url, source) for source in parser.frames]
    )


class _Parser(HTMLParser):
    """Collects forms and frames. A radio button's text is that of the label around it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[FoundForm] = []
        self.frames: list[str] = []
        self._form: FoundForm | None = None
        self._label: list[str] | None = None
        self._labelled: tuple[str, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = FoundForm(values.get("action", ""), values.get("method", "get").lower())
            self.forms.append(self._form)
        elif tag == "iframe" and values.get("src"):
            self.frames.append(values["src"])
        elif tag == "label":
            self._label, self._labelled = [], None
        elif self._form is not None and tag in ("input", "textarea", "select"):
            self._field(tag, values)

    def _field(self, tag: str, values: dict[str, str]) -> None:
        name, kind = values.get("name", ""), values.get("type", "text")
        assert self._form is not None
        if not name or "disabled" in values:
            return
        if kind == "radio":
            self._form.choices.setdefault(name, [])
            self._labelled = (name, values.get("value", "on"))
        elif kind == "checkbox":
            self._form.boxes[name] = values.get("value", "on")
        elif tag != "input" or kind not in ("submit", "button"):
            self._form.values[name] = values.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "label" and self._label is not None:
            if self._form is not None and self._labelled is not None:
                name, value = self._labelled
                self._form.choices[name].append((value, "".join(self._label)))
            self._label = None

    def handle_data(self, data: str) -> None:
        if self._label is not None:
            self._label.append(data)
