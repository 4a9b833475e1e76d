"""Pages of lists, by `page` or by `offset`, with `_links` and `meta` as they are seen live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from humaneval.market.prolific_standin.refusals import Refusal

PAGE_SIZE, LIMIT = 20, 100


def by_page(items: Sequence[Any], asked: Mapping[str, str], url: str, most: int) -> dict[str, Any]:
    """The page that was asked for. A page past the end is not found, except the first of an empty list."""
    size = min(_number(asked, "page_size", PAGE_SIZE, least=1), most)
    page = _number(asked, "page", 1, least=1)
    last = max(1, -(-len(items) // size))
    if page > last:
        raise Refusal("Invalid page.", 404)

    def link(number: int, title: str) -> dict[str, Any]:
        inside = 1 <= number <= last
        query = urlencode({**asked, "page": number, "page_size": size})
        return {"href": f"{url}?{query}" if inside else None, "title": title}

    return _page(
        items[(page - 1) * size : page * size],
        len(items),
        self=link(page, "Current"),
        next=link(page + 1, "Next"),
        previous=link(page - 1, "Previous"),
        last=link(last, "Last"),
    )


def by_offset(
    items: Sequence[Any], asked: Mapping[str, str], url: str, *, limit: int = LIMIT, most: int = LIMIT
) -> dict[str, Any]:
    """The part that was asked for. An offset past the end gives an empty one."""
    size = min(_number(asked, "limit", limit, least=1), most)
    offset = _number(asked, "offset", 0, least=0)
    end = max(0, (len(items) - 1) // size * size)

    def link(start: int, title: str) -> dict[str, Any]:
        inside = 0 <= start <= end
        query = urlencode({**asked, "offset": start, "limit": size})
        return {"href": f"{url}?{query}" if inside else None, "title": title}

    return _page(
        items[offset : offset + size],
        len(items),
        self=link(min(offset, end), "Current"),
        next=link(offset + size, "Next"),
        previous=link(max(0, offset - size) if offset else -1, "Previous"),
        last=link(end, "Last"),
    )


def _page(results: Sequence[Any], count: int, **links: dict[str, Any]) -> dict[str, Any]:
    return {"results": list(results), "_links": links, "meta": {"count": count}}


def _number(asked: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    given = asked.get(name, "")
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 10 and int(given) >= least):
        if name == "page":
            raise Refusal("Invalid page.", 404)
        raise Refusal({name: ["A valid number is required."]})
    return int(given)
