"""Keeps spending below a ceiling: a request that could exceed it is not sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from generators.endpoint.cache import Cache, Tokens
from generators.endpoint.client import KEPT
from generators.endpoint.options import EndpointOptions
from humaneval.errors import InputError

FRAME = 64
"""The tokens that a server may add to a request, for roles and turns."""


class Budget:
    """What one model at one server has cost and may cost, over all commands that share a cache. Thread-safe.

    Spending of other processes counts as soon as their answers are cached; their open requests do not.
    """

    def __init__(self, options: EndpointOptions, endpoint: str, cache: Cache) -> None:
        self._options, self._endpoint, self._cache = options, endpoint, cache
        self._lock = threading.Lock()
        self._on_the_way = Decimal(0)

    @contextmanager
    def room_for(self, body: Mapping[str, Any]) -> Iterator[Tokens]:
        """Reserve the most that a request can cost while it is open. Raises InputError if that exceeds the
        ceiling."""
        most = most_tokens(body, self._options.max_tokens)
        ceiling = self._options.most
        if ceiling is None:
            yield most
            return
        cost = self._cost(most)
        with self._lock:
            spent = self._cost(self._cache.spent(self._endpoint, self._options.model))
            if spent + self._on_the_way + cost > ceiling:
                raise InputError(
                    f"{_shown(spent)} of {_shown(ceiling)} is spent on {self._options.model}, and the next"
                    f" request could cost {_shown(cost)}",
                    f"To continue, raise the ceiling: --option ceiling=… {KEPT}",
                )
            self._on_the_way += cost
        try:
            yield most
        finally:
            with self._lock:
                self._on_the_way -= cost

    def _cost(self, tokens: Tokens) -> Decimal:
        prices = self._options.prices
        return tokens.read * prices.read + tokens.written * prices.written


def most_tokens(body: Mapping[str, Any], written: int) -> Tokens:
    """The most tokens of a request: one for each byte of it, and those that may be written."""
    return Tokens(len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")) + FRAME, written)


def _shown(amount: Decimal) -> str:
    """An amount of money with two to six decimal places.

    >>> _shown(Decimal("1.5")), _shown(Decimal("0.0000012"))
    ('1.50', '0.000001')
    """
    places = f"{amount:.6f}".rstrip("0")
    whole, _, rest = places.partition(".")
    return f"{whole}.{rest:0<2}"
