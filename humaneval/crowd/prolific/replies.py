"""What Prolific's replies say, whatever shape they have."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from humaneval.errors import PlatformError

UNSURE_HINT = (
    "It may have been done. Run the same command again: it looks up what was done, and pays nothing twice."
)
LONGEST_WAIT = 60.0
"""The longest that a server may ask for, in seconds."""


class Told(dict[str, Any]):
    """What a call gave, or a part of it. If a field that is needed is missing, an error names it."""

    def __init__(self, who: str, what: str, said: Mapping[str, Any], *, looked: bool = False) -> None:
        super().__init__(said)
        self._who, self._what, self._looked = who, what, looked

    def __missing__(self, name: str) -> Any:
        raise PlatformError(
            f"{self._who} did not say {name!r} when it was to {self._what}",
            "" if self._looked else UNSURE_HINT,
            nothing_done=self._looked,
        )


def reason_in(body: bytes) -> str:
    """What an error says, in any of its shapes.

    >>> reason_in(b'{"error": {"status": 400, "title": "Invalid", "detail": {"reward": ["too low"]}}}')
    'reward: too low'
    >>> reason_in(b'{"message": "Not found", "detail": "no such study"}')
    'no such study'
    """
    said = read_json(body)
    if isinstance(said, dict):
        error = said.get("error", said)
        if isinstance(error, dict):
            parts = [error.get(name) for name in ("detail", "message", "title")]
            said = next((part for part in parts if part), said)
        else:
            said = error
    try:
        return _flat(said)
    except RecursionError:
        return ""


def _flat(said: object) -> str:
    if isinstance(said, dict):
        return "; ".join(f"{name}: {_flat(each)}" for name, each in said.items())
    if isinstance(said, list):
        return "; ".join(map(_flat, said))
    return "" if said is None else str(said)


def read_json(body: bytes, part: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """JSON, of which `part` makes each object; or else the text as it is."""
    if not body.strip():
        return None
    text = body.decode("utf-8", "replace")
    try:
        return json.loads(text, object_hook=part)
    except (ValueError, RecursionError):
        return text


def parts_of(url: str) -> SplitResult:
    """The parts of an address; one that cannot be read leads nowhere."""
    try:
        return urlsplit(url)
    except ValueError:  # a host in brackets that is none
        return urlsplit("//unreadable")


def seconds_asked(asked: str | None) -> float | None:
    """How long a server asks us to wait; None if it does not say so in seconds."""
    return min(float(asked), LONGEST_WAIT) if asked is not None and asked.strip().isdecimal() else None
