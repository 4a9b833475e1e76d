"""A client that reads on until a page is not full, and asks for a page past the last one."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from humaneval.crowd.prolific.client import PAGE_SIZE, ProlificClient


def until_short(
    self: ProlificClient, what: str, path: str, query: Mapping[str, object] | None = None
) -> Iterator[dict[str, Any]]:
    for number in count(1):
        page = self.read(what, path, {"page": number, "page_size": PAGE_SIZE, **(query or {})})
        yield from page["results"]
        if len(page["results"]) < PAGE_SIZE:
            return


ProlificClient.pages = until_short
