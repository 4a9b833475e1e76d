"""Pages of a list, by the last row seen: rows that come or go in the meantime never hide another row."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from humaneval.market.protocol.refusals import invalid

DEFAULT_RESULTS = 10

TOKEN = "NextToken"

TOKEN_LIFE = timedelta(days=1)
"""How long a token leads to the next page."""

_NOT_BOUND = (TOKEN, "MaxResults")
"""The parameters that may differ from page to page."""

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
    *,
    newest_first: bool = False,
) -> Page:
    """The page of `query` that `params` (NextToken, MaxResults) ask for, ordered by `key`, which only grows.

    NextToken is the place of a row here; `Bookmarks` makes tokens of places and places of tokens. A page
    with rows always has one, even if nothing follows. So the last page is empty, as in the real service.
    """
    size: int = params.get("MaxResults", DEFAULT_RESULTS)
    if newest_first:
        rest = query.where(key < params[TOKEN]) if params.get(TOKEN) else query
        ordered = rest.order_by(key.desc())
    else:
        ordered = query.where(key > params.get(TOKEN, 0)).order_by(key)
    rows = list(session.scalars(ordered.limit(size)))
    return Page(rows, _envelope([getattr(row, key.key) for row in rows]))


def page_of(rows: Mapping[int, Any], params: Mapping[str, Any]) -> Page:
    """The page of `rows` that `params` ask for. Their keys grow."""
    size: int = params.get("MaxResults", DEFAULT_RESULTS)
    keys = [key for key in rows if key > params.get(TOKEN, 0)][:size]
    return Page([rows[key] for key in keys], _envelope(keys))


def _envelope(keys: list[int]) -> dict[str, Any]:
    return {"NumResults": len(keys), **({TOKEN: keys[-1]} if keys else {})}


@dataclass(frozen=True, slots=True)
class Bookmarks:
    """The tokens of one list: of one operation with one set of parameters. No other list takes them."""

    key: str
    operation: str
    params: Mapping[str, Any]
    now: datetime

    def place(self) -> dict[str, Any]:
        """The parameters, with the place of a row as NextToken. Raises RefusedError for a token that this
        list did not give, or gave too long ago."""
        return {**self.params, TOKEN: self._opened()[0]} if TOKEN in self.params else dict(self.params)

    def marked(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """The reply, with a token in place of the place of its last row."""
        return {**reply, TOKEN: self._token(reply[TOKEN])} if TOKEN in reply else dict(reply)

    def emptied(self, reply: Mapping[str, Any]) -> dict[str, Any]:
        """A page without its rows, and with a token that gets them. It never happens twice at one place.

        The real service gave such pages in the middle of lists, so a client must continue until there is no
        token.
        """
        after, again = self._opened() if TOKEN in self.params else (0, False)
        if again or TOKEN not in reply:
            return self.marked(reply)
        rows: dict[str, Any] = {name: [] for name, value in reply.items() if isinstance(value, list)}
        return {**reply, **rows, "NumResults": 0, TOKEN: self._token(after, again=True)}

    def _token(self, after: int, *, again: bool = False) -> str:
        text = f"{after}:{again:d}:{int(self.now.timestamp())}"
        return base64.urlsafe_b64encode(f"{text}:{self._seal(text)}".encode()).decode()

    def _opened(self) -> tuple[int, bool]:
        """The place that the token stands for, and if it is for a page that came without its rows."""
        try:
            text = base64.b64decode(self.params[TOKEN], altchars=b"-_", validate=True).decode("ascii")
        except ValueError:
            text = ""
        text, _, seal = text.rpartition(":")
        if not hmac.compare_digest(seal, self._seal(text)):
            raise invalid("This list did not give that NextToken. Begin again without one.")
        after, again, given = map(int, text.split(":"))
        if self.now.timestamp() - given > TOKEN_LIFE.total_seconds():
            raise invalid("That NextToken is too old. Begin again without one.")
        return after, bool(again)

    def _seal(self, text: str) -> str:
        filters = {
            name: sorted(value) if isinstance(value, list) else value
            for name, value in self.params.items()
            if name not in _NOT_BOUND
        }
        of_list = json.dumps([self.operation, filters, text], sort_keys=True, default=str)
        return hmac.digest(self.key.encode(), f"next token {of_list}".encode(), hashlib.sha256).hex()[:32]
