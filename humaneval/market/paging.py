"""Pages of a list: by the last row seen, so that rows which come or go meanwhile never hide another one."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from humaneval.market.refusals import invalid

DEFAULT_RESULTS = 10

Item = TypeVar("Item")


class Page(NamedTuple):
    """The rows of one page, and what goes beside them into the reply."""

    rows: list[Any]
    envelope: dict[str, Any]


def page(
    session: Session,
    query: Select[Item],
    key: InstrumentedAttribute[int] | InstrumentedAttribute[int | None],
    params: Mapping[str, Any],
) -> Page:
    """The page of `query` that `params` (NextToken, MaxResults) ask for, ordered by `key`, which only grows.

    A full page always has a NextToken, even where nothing follows: the last page may be empty, as the real
    service's could be.
    """
    size: int = params.get("MaxResults", DEFAULT_RESULTS)
    after = _after(params["NextToken"], key.key) if "NextToken" in params else 0
    rows = list(session.scalars(query.where(key > after).order_by(key).limit(size)))
    last = getattr(rows[-1], key.key) if len(rows) == size else None
    return Page(rows, _envelope(len(rows), last, key.key))


def page_of(rows: Mapping[int, Any], name: str, params: Mapping[str, Any]) -> Page:
    """The page of `rows` that `params` ask for; their keys grow. `name` sets this list's tokens apart from others'."""
    size: int = params.get("MaxResults", DEFAULT_RESULTS)
    after = _after(params["NextToken"], name) if "NextToken" in params else 0
    keys = [key for key in rows if key > after][:size]
    last = keys[-1] if len(keys) == size else None
    return Page([rows[key] for key in keys], _envelope(len(keys), last, name))


def _envelope(count: int, last: int | None, key: str) -> dict[str, Any]:
    token = {} if last is None else {"NextToken": _token(last, key)}
    return {"NumResults": count, **token}


def _token(after: int, key: str) -> str:
    return base64.urlsafe_b64encode(f"1:{key}:{after}".encode()).decode()


def _after(token: str, key: str) -> int:
    try:
        version, name, after = base64.b64decode(token, altchars=b"-_", validate=True).decode().split(":")
        number = int(after)
    except (binascii.Error, ValueError):
        version = name = ""
        number = 0
    if (version, name) != ("1", key) or not 0 <= number < 2**63:
        raise invalid("NextToken is not one that this list gave.")
    return number
