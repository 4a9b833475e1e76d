"""Sends requests to an OpenAI-compatible server: not too fast, again after passing faults, and with a clear
error otherwise."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError, SSLError
from urllib3.util import Timeout, Url

from generators.endpoint.options import KEY_VARIABLE, EndpointOptions
from generators.sampling.replies import choice_of
from humaneval.errors import InputError
from humaneval.text import quoted
from humaneval.timed_replies import connection_pools

KEPT = "The answers so far are kept, and the same command continues from there."
REFUSALS = (400, 413, 422)
"""Statuses of a request that the server refuses."""
PASSING = (408, 409, 425, 429)
"""These statuses and all from 500 onwards may pass."""
NO_MONEY = "insufficient_quota"
LARGEST = 10_000_000
"""The most bytes of a reply."""
LONGEST_WAIT = 600.0
"""In seconds; if a server asks for a longer wait, the command ends."""


_OF_THE_TEXT = ("content_filter", "content_policy", "context_length", "context length")
_OBJECT = re.compile(r"\A(<.*?>|\w+\(.*?\)): ")


class Reply(NamedTuple):
    """What came back: 200 with a choice in `values`, or a status that the caller accepts."""

    status: int
    values: Any
    words: str = ""
    """The error message of the server."""

    @property
    def refuses_text(self) -> bool:
        """Whether it is refused for the content of the text, or for its length."""
        said = str(self.values).lower()
        return self.status != 200 and any(words in said for words in _OF_THE_TEXT)


class _PassingError(Exception):
    """A fault that may pass."""

    def __init__(self, words: str, wait: float | None = None) -> None:
        super().__init__(words)
        self.wait = wait
        """In seconds, if the server said how long."""


class Pace:
    """When the next request may be sent: evenly spread, and none while the server asks for a pause."""

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._gap = 60 / per_minute if per_minute else 0.0
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next = clock()

    def wait(self) -> None:
        """Sleep until it is this request's turn."""
        with self._lock:
            now = self._clock()
            turn = max(now, self._next)
            self._next = turn + self._gap
        if turn > now:
            self._sleep(turn - now)

    def hold(self, seconds: float) -> None:
        """Send no request for this long."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)


@dataclass(slots=True)
class Client:
    """One server. Safe for several threads."""

    url: Url
    key: str = field(repr=False)
    options: EndpointOptions
    pace: Pace
    _pool: urllib3.PoolManager = field(init=False, repr=False)
    _reached: bool = False
    """Whether it has ever answered; until then, a server that is not found ends the command at once."""

    def __post_init__(self) -> None:
        self._pool = connection_pools(str(self.url), maxsize=self.options.parallel)

    def post(self, path: str, body: Mapping[str, Any], accepted: Collection[int] = REFUSALS) -> Reply:
        """The reply to one request. Raises InputError if there is none after as many tries as the options
        allow."""
        words = ""
        for attempt in range(self.options.retries + 1):
            self.pace.wait()
            try:
                reply = self._once(path, body, accepted)
            except _PassingError as fault:
                words = str(fault)
                wait = fault.wait if fault.wait is not None else min(60.0, 2.0**attempt)
                if wait > LONGEST_WAIT:
                    raise InputError(f"{self.url} asks to wait for {wait:.0f} seconds", KEPT) from None
                self.pace.hold(wait)
            else:
                self._reached = True
                return reply
        tries = f"{self.options.retries + 1} tries" if self.options.retries else "1 try"
        raise InputError(
            f"no answer from {self.url} in {tries}: {words}",
            f"Check the server, or send fewer requests (--option per_minute=…, parallel=1). {KEPT}",
        )

    def _once(self, path: str, body: Mapping[str, Any], accepted: Collection[int]) -> Reply:
        status, headers, text = self._send(path, body)
        try:
            values: Any = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        words = _words(values)
        if status == 200:
            if choice_of(values) is None:
                raise _PassingError(
                    f"it answers 200 with an error ({words})"
                    if words
                    else "the reply is not that of an OpenAI-compatible server"
                )
            return Reply(status, values)
        if status == 402 or NO_MONEY in (_field(values, "code"), _field(values, "type")):
            raise InputError(f"the account at {self.url} has no money left: {words or status}", KEPT)
        if status in accepted:
            return Reply(status, values, words)
        if status in PASSING or status >= 500:
            raise _PassingError(f"it answers {status}{words and f' ({words})'}", _retry_after(headers))
        raise self._refused(status, words)

    def _send(self, path: str, body: Mapping[str, Any]) -> tuple[int, Mapping[str, str], str]:
        """Status, headers and text; the key is removed if the server repeats it."""
        seconds = self.options.timeout
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            response = self._pool.request(
                "POST",
                f"{self.url}{path}",
                body=json.dumps(body).encode(),
                headers=headers,
                retries=False,
                redirect=False,
                timeout=Timeout(connect=min(10.0, seconds), read=seconds),
                preload_content=False,
            )
            received = bytearray()
            while piece := response.read1(65_536):
                received += piece
                if len(received) > LARGEST:
                    response.close()
                    break
            response.release_conn()
        except SSLError as error:
            raise InputError(
                f"{self.url} cannot be trusted: {_first_line(error)}",
                "Repair its certificate, or name your own file of certificates in SSL_CERT_FILE.",
            ) from None
        except HTTPError as error:
            if isinstance(error, NewConnectionError) and not self._reached:
                raise InputError(
                    f"no server at {self.url}: {_reason(error)}",
                    f"Start it, or correct the address (--option url=…). {KEPT}",
                ) from None
            raise _PassingError(_reason(error)) from None
        text = received.decode("utf-8", "replace")
        # A short key such as "none" may be a normal word of an answer.
        if self.key and (response.status != 200 or len(self.key) >= 16):
            text = text.replace(self.key, "***")
        return response.status, response.headers, text

    def _refused(self, status: int, words: str) -> InputError:
        """The error for a status that another try would not change."""
        if status in (401, 403):
            variable = self.options.key_variable or KEY_VARIABLE
            if self.key:
                return InputError(
                    f"{self.url} does not accept the key in {variable} ({status})",
                    f"Set {variable} to a valid key. {KEPT}",
                )
            return InputError(
                f"{self.url} requires a key ({status})",
                "Put it in an environment variable, and name that with --option key_variable=NAME.",
            )
        if status == 404:
            return InputError(
                f"{self.url} has no model {self.options.model!r}, or is not an OpenAI-compatible server:"
                f" {words or status}",
                "Check --option model=… and url=… (which usually ends in /v1).",
            )
        if 300 <= status < 400:
            return InputError(
                f"{self.url} redirects to another address ({status})", "Give that address: --option url=…"
            )
        return InputError(f"{self.url} answers {status}: {words or 'no words'}", KEPT)


def _field(values: Any, name: str) -> Any:
    """A field of the error in a reply, in any of the usual shapes."""
    error = values.get("error") if isinstance(values, dict) else None
    described = error if isinstance(error, dict) else values
    return described.get(name) if isinstance(described, dict) else None


def _words(values: Any) -> str:
    """The error message of a server, on one line of at most 200 characters."""
    error = values.get("error") if isinstance(values, dict) else None
    said = error if isinstance(error, str) else _field(values, "message") or _field(values, "detail") or ""
    return quoted(said)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from the header Retry-After: a number or a date."""
    text = headers.get("Retry-After", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def _reason(error: HTTPError) -> str:
    """The network's error message, without the names of the library's objects."""
    kind = type(error).__name__
    if "Timeout" in kind:
        return "it does not answer in time (--option timeout=…)"
    return _OBJECT.sub("", _first_line(error))


def _first_line(error: Exception) -> str:
    return quoted((str(error).strip() or type(error).__name__).splitlines()[0])
