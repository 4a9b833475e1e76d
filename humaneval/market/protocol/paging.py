"""Pages of a list, by the last row seen: rows that come or go in the meantime never hide another row."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from humaneval.market.protocol.refusals import invalid

DEFAULT_RESULTS = 10

Item = TypeVar("Item")


class Page(NamedTuple):
    """The rows of one page, and the other members of the reply."""

    rows: list[Any]
    envelope: dict[str, Any]


def page(
    session: Session,
    query: Select[Item],
    key: InstrumentedAttribute[int] | InstrumentedAttribute[int | None],
    params: Mapping[str, Any],
) -> Page:
    """The page of `query` that `params` (NextToken, MaxResults) ask for, ordered by `key`, which only grows.

    A full page always has a NextToken, even if nothing follows. So the last page may be empty, as in the
    real service.
    """
    size: int = params.get("MaxResults", DEFAULT_RESULTS)
    name = f"{key.class_.__tablename__}.{key.key}"
    after = _after(params["NextToken"], name) if "NextToken" in params else 0
    rows = list(session.scalars(query.where(key > after).order_by(key).limit(size)))
    last = getattr(rows[-1], key.key) if len(rows) == size else None
    return Page(rows, _envelope(len(rows), last, name))


def page_of(rows: Mapping[int, Any], name: str, params: Mapping[str, Any]) -> Page:
    """The page of `rows` that `params` ask for. Their keys grow. `name` identifies this list's tokens."""
    size: int = params.get("MaxResults", DEFAULT_RESULTS)
    after = _after(params["NextToken"], name) if "NextToken" in params else 0
    keys = [key for key in rows if key > after][:size]
    last = keys[-1] if len(keys) == size else None
    return Page([rows[key] for key in keys], _envelope(len(keys), last, name))


def _envelope(count: int, last: int | None, name: str) -> dict[str, Any]:
    token = {} if last is None else {"NextToken": _token(last, name)}
    return {"NumResults": count, **token}


def emptied(reply: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """A page without its rows, and with a token that gets them. It never happens twice at one place.

    The real service gave such pages in the middle of lists, so a client must go on until there is no token.
    """
    version, key, after = _parts(params["NextToken"]) if "NextToken" in params else (_FULL, "", "0")
    if version == _AGAIN:
        return dict(reply)
    rows: dict[str, Any] = {name: [] for name, value in reply.items() if isinstance(value, list)}
    return {**reply, **rows, "NumResults": 0, "NextToken": _token(int(after), key, _AGAIN)}


_FULL, _AGAIN = "1", "2"
"""The versions of a token: the end of a page, and the beginning of a page that came without its rows."""


def _token(after: int, key: str, version: str = _FULL) -> str:
    return base64.urlsafe_b64encode(f"{version}:{key}:{after}".encode()).decode()


def _parts(token: str) -> list[str]:
    """Version, key and last row of a token. Raises RefusedError if no list gave it."""
    try:
        parts = base64.b64decode(token, altchars=b"-_", validate=True).decode().split(":")
        known = len(parts) == 3 and parts[0] in (_FULL, _AGAIN) and 0 <= int(parts[2]) < 2**63
    except (binascii.Error, ValueError):
        known = False
    if not known:
        raise invalid("This list did not give that NextToken.")
    return parts


def _after(token: str, key: str) -> int:
    version, name, after = _parts(token)
    # The first page has no token, so the token for its missing rows names no key.
    if name != key and (version, name) != (_AGAIN, ""):
        raise invalid("This list did not give that NextToken.")
    return int(after)
