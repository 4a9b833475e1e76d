"""Prolific's REST API over HTTP. Errors say whether anything was done; listings are read to the end.

Reads, and writes that set a value, are sent again after a fault. All other writes are sent once, and our own
code decides whether to repeat them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, MutableSet
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
)

from humaneval import __version__
from humaneval.crowd.prolific.replies import (
    UNSURE_HINT,
    Told,
    parts_of,
    read_json,
    reason_in,
    seconds_asked,
)
from humaneval.errors import PlatformError, SettingsError
from humaneval.text import quoted
from humaneval.timed_replies import connection_pools, is_loopback

PAGE_SIZE = 100
"""Larger pages of submissions are not known to work."""
SMALL_PAGE = 20
"""The smallest size that pages are known to have: other lists may not take ours, and give shorter pages."""
MOST_PAGES = 1000
PASSES = 3
"""How often a list that changes meanwhile is read."""
TRIES = 5
FIRST_WAIT = 0.5
"""Seconds before the second try, which double."""
CONNECT_SECONDS, SILENT_SECONDS = 5, 30
BUSY = 429
REFERER = "humaneval-toolkit"
PAGE = "it answered with a page, which the API does not do"

_NEVER_SENT: tuple[type[HTTPError], ...] = (
    NewConnectionError,
    ConnectTimeoutError,
    NameResolutionError,
    LocationValueError,
    ProxyError,  # raised only before the proxy was reached
)


class WithHeader(NamedTuple):
    """What a call gave, and one header of it."""

    body: Told
    header: str


class ProlificClient:
    """Calls of one account. `wait` sleeps between tries."""

    def __init__(self, url: str, token: str, wait: Callable[[float], None] = time.sleep) -> None:
        if not is_loopback(url) and not url.startswith("https://"):
            raise SettingsError(
                f"prolific_url is {url}: the token would go over the net unencrypted", "Use https."
            )
        self._url, self._token, self._wait = url.rstrip("/"), token, wait
        self._timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=SILENT_SECONDS)
        self._pool = connection_pools(self._url, num_pools=2, maxsize=4, retries=False)

    @property
    def url(self) -> str:
        """Where the calls go."""
        return self._url

    def read(
        self,
        what: str,
        path: str,
        query: Mapping[str, object] | None = None,
        *,
        tries: int = TRIES,
        seconds: float | None = None,
    ) -> Any:
        """The object that a GET gives. `what` says in messages what it is about, as in "look up a study".
        `seconds`: how long each try may be silent, if that is not as usual."""
        found = self._got(what, path, query, tries, seconds)
        if not isinstance(found, dict):
            raise self._odd(what)
        return found

    def items(self, what: str, path: str, query: Mapping[str, object] | None = None) -> list[dict[str, Any]]:
        """The objects of a list, which may stand in an object."""
        return self._listed(what, self._got(what, path, query))

    def _listed(self, what: str, page: Any) -> list[dict[str, Any]]:
        found = (page.get("results") or []) if isinstance(page, dict) else page
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self._odd(what)
        return found

    def _odd(self, what: str) -> PlatformError:
        said = f"{self._url} answered with something else than was asked for: could not {what}"
        return PlatformError(said, nothing_done=True)

    def _got(self, what: str, path: str, query: Mapping[str, object] | None, *patience: Any) -> Any:
        found = self._patiently(what, "GET", _with_query(path, query or {}), None, *(patience or (TRIES,)))
        if not isinstance(found, (dict, list)):
            raise PlatformError(
                f"{self._url} could not {what}: {PAGE}",
                "Set PROLIFIC_URL to the API's own address: https://api.prolific.com",
                "page",
                nothing_done=True,
            )
        return found

    def set(self, what: str, method: str, path: str, body: object) -> Any:
        """Make a call that sets a value: twice is the same as once."""
        return self._patiently(what, method, path, body, TRIES)

    def send(self, what: str, path: str, body: object = None, method: str = "POST") -> Told:
        """Make a call that is sent once, whatever happens. The result is empty if the answer is no object."""
        said = self._call(what, method, path, body)
        return said if isinstance(said, Told) else Told(self._url, what, {})

    def send_and_read_header(self, what: str, path: str, body: object, *, header: str) -> WithHeader:
        """As `send`, with a header of the answer; empty if it has none."""
        reply = self._reply(what, "POST", path, body)
        said = read_json(reply.data)
        told = Told(self._url, what, said if isinstance(said, dict) else {})
        return WithHeader(told, reply.headers.get(header, ""))

    def pages(
        self, what: str, path: str, query: Mapping[str, object] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Every item of a listing, each once.

        A list that changes while it is read may have moved an item to a page that was read before. Then it is
        read again, for those that are missing.
        """
        seen: set[str] = set()
        counted: int | None = None
        for _ in range(PASSES):
            counted = yield from self._pages_once(what, path, dict(query or {}), seen)
            if counted is None or len(seen) >= counted:
                return
        raise PlatformError(
            f"{self._url} counts {counted} and lists {len(seen)}: could not {what}",
            "The list changed while it was read. Run the command again.",
            nothing_done=True,
        )

    def _pages_once(
        self, what: str, path: str, query: dict[str, object], known: MutableSet[str]
    ) -> Generator[dict[str, Any], None, int | None]:
        """The items that are not known yet. Returns the server's count, if it gives one.

        It ends where the server names no next page. If the server names none at all, it ends at the server's
        count, or at a page that is shorter than the first one. It also ends at a page that does not exist,
        because the server answers with an error after the last one. A page without anything that this reading
        has not had is the last one, too.
        """
        asked: dict[str, object] = {"page": 1, "page_size": PAGE_SIZE, **query}
        seen: set[str] = set()
        counted: int | None = None
        full = 0
        for number in range(1, MOST_PAGES + 1):
            try:
                page = self._got(what, path, asked)
            except PlatformError as error:
                if error.code != "404" or number == 1:
                    raise
                page = {}
            items = self._listed(what, page)
            page = page if isinstance(page, dict) else {}
            meta, links = page.get("meta"), page.get("_links")
            total = meta.get("count") if isinstance(meta, dict) else None
            counted = total if counted is None and isinstance(total, int) else counted
            full, before = full or len(items), len(seen)
            seen.update(str(item.get("id")) for item in items)
            for item in items:
                if str(item.get("id")) not in known:
                    known.add(str(item.get("id")))
                    yield item
            if len(seen) == before:
                return counted
            if isinstance(links, dict) and "next" in links:
                following = links["next"].get("href") if isinstance(links["next"], dict) else None
                if not following:
                    return counted
                asked = {**asked, **self._query_of(what, str(following))}
            elif (counted is not None and len(seen) >= counted) or (
                counted is None and len(items) < max(full, SMALL_PAGE)
            ):
                return counted
            else:
                asked = {**asked, "page": number + 1}
        raise PlatformError(f"{self._url} has more than {MOST_PAGES} pages: could not {what}")

    def by_offset(self, what: str, path: str, **query: object) -> Iterator[dict[str, Any]]:
        """A listing by offset, each item once. It ends with a page that has nothing new, or is shorter than
        the first one."""
        offset = full = 0
        seen: set[str] = set()
        while True:
            items = self.items(what, path, {"limit": PAGE_SIZE, "offset": offset, **query})
            new = [item for item in items if str(item.get("id")) not in seen]
            yield from new
            full = full or len(items)
            if not new or len(items) < max(full, SMALL_PAGE):
                return
            seen.update(str(item.get("id")) for item in new)
            offset += len(items)

    def _query_of(self, what: str, following: str) -> dict[str, str]:
        """The parameters of the next page, which is asked for at our own host only: the token goes along."""
        there = parts_of(following)
        if there.netloc and there.hostname != urlsplit(self._url).hostname:
            raise self._elsewhere(what, there.hostname or "")
        return dict(parse_qsl(there.query))

    def _elsewhere(self, what: str, host: str) -> PlatformError:
        return PlatformError(
            f"{self._url} would not {what}: it points to {quoted(host, 100)}, which must not get the token",
            "Set PROLIFIC_URL to the API's own address: https://api.prolific.com",
            "elsewhere",
            nothing_done=True,
        )

    def _patiently(
        self, what: str, method: str, path: str, body: object, tries: int, seconds: float | None = None
    ) -> Any:
        unsure, attempt = False, 1
        while True:
            try:
                return self._call(what, method, path, body, seconds)
            except PlatformError as error:
                passing = error.code in ("", str(BUSY)) or error.code.startswith("5")
                unsure = unsure or not error.nothing_done
                if not passing or attempt == tries:
                    error.nothing_done = not unsure
                    raise
                asked = error.retry_after
            self._wait(FIRST_WAIT * 2 ** (attempt - 1) if asked is None else asked)
            attempt += 1

    def _call(self, what: str, method: str, path: str, body: object, seconds: float | None = None) -> Any:
        part = partial(Told, self._url, what, looked=method == "GET")
        said = read_json(self._reply(what, method, path, body, seconds).data, part)
        if method != "GET" and isinstance(said, str) and said.lstrip().startswith("<"):
            # A proxy's page, or a network's. One call does reply with a sentence.
            raise PlatformError(f"{self._url} did not say it could {what}: {PAGE}", UNSURE_HINT, "page")
        return said

    def _reply(
        self, what: str, method: str, path: str, body: object, seconds: float | None = None
    ) -> urllib3.BaseHTTPResponse:
        headers = {
            "Authorization": f"Token {self._token}",
            "Accept": "application/json",
            "Referer": f"{REFERER}/{__version__}",
        }
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, ensure_ascii=False).encode()
        try:
            reply = self._pool.request(
                method,
                f"{self._url}/api/v1{path}",
                body=data,
                headers=headers,
                redirect=False,
                timeout=self._timeout if seconds is None else seconds,
            )
        except HTTPError as error:
            raise PlatformError(
                f"{self._url} could not {what}: {quoted(_told(error), 300)}",
                "Check the network and PROLIFIC_URL." if isinstance(error, _NEVER_SENT) else UNSURE_HINT,
                nothing_done=isinstance(error, _NEVER_SENT) or method == "GET",
            ) from None
        if 300 <= reply.status < 400:
            host = parts_of(reply.headers.get("Location", "")).hostname
            raise self._elsewhere(what, host or "another address")
        if reply.status >= 400:
            raise self._refused(what, method, reply)
        return reply

    def _refused(self, what: str, method: str, reply: urllib3.BaseHTTPResponse) -> PlatformError:
        reason, status = quoted(reason_in(reply.data), 500), reply.status
        if status >= 500:
            return PlatformError(
                f"{self._url} did not say whether it could {what}: HTTP {status} {reason}",
                UNSURE_HINT,
                str(status),
                nothing_done=method == "GET",
            )
        hint = ""
        if status in (401, 403):
            hint = "Set PROLIFIC_TOKEN to a token of the researcher's account (Settings, API tokens)."
        elif status == BUSY:
            hint = "Too many calls in a short time. Nothing was done; run the command again in a minute."
        error = PlatformError(
            f"{self._url} would not {what}: {reason or f'HTTP {status}'}",
            hint,
            str(status),
            nothing_done=True,
        )
        error.retry_after = seconds_asked(reply.headers.get("Retry-After"))
        return error


def _with_query(path: str, query: Mapping[str, object]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _told(error: Exception) -> str:
    return str(error).rpartition(": ")[2] or type(error).__name__
