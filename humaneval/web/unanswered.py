"""Counts the forms that were begun by link and not answered, by the network address of the browser.

Whoever invents visitors could take every row of a study. One address may therefore have only so many forms
open. And if a link is full, an address with many gives way to one with few. Nothing of this is stored.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

NEVER_SHOWN_SECONDS = 15.0
"""How long a form may be begun without its page being asked for. A browser asks at once."""
PATIENCE = 2.0
"""How many times the expected time a form may be open, before it gives way to other people."""
MOST_ADDRESSES = 100_000
"""Beyond these, who has been here longest is forgotten."""


@dataclass(slots=True)
class _Begun:
    at: float
    until: float
    yields: float
    shown: bool = False

    def gives_way(self, now: float) -> bool:
        return now >= (self.yields if self.shown else self.at + NEVER_SHOWN_SECONDS)


class Unanswered:
    """The open forms of each address. `most`: how many one address may have."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._at: dict[str, dict[int, _Begun]] = {}
        self._where: dict[int, str] = {}

    def is_crowded(self, address: str) -> bool:
        """Whether this address has as many forms open as it may have."""
        with self._lock:
            return self._count(_network(address)) >= self.most

    def begun(self, address: str, form: int, *, seconds: float, expected: float) -> None:
        """A form was begun at an address. It is reserved for some seconds, and expected to take some."""
        now, network = self._clock(), _network(address)
        with self._lock:
            if form in self._where:
                return
            if len(self._at) >= MOST_ADDRESSES and network not in self._at:
                for each in self._at.pop(next(iter(self._at))):
                    self._where.pop(each, None)
            self._where[form] = network
            begun = _Begun(now, now + seconds, now + PATIENCE * expected)
            self._at.setdefault(network, {})[form] = begun

    def shown(self, form: int) -> None:
        """Its page was asked for."""
        with self._lock:
            begun = self._at.get(self._where.get(form, ""), {}).get(form)
            if begun is not None:
                begun.shown = True

    def answered(self, form: int) -> None:
        """It was answered."""
        with self._lock:
            self._forget(form)

    def that_give_way(self, address: str) -> tuple[int, ...]:
        """The forms that give way to a new one at `address`, the first one first.

        They are open at addresses that have more forms than this one, even after one has gone over.
        """
        now = self._clock()
        with self._lock:
            own = self._count(_network(address))
            crowded = sorted((-self._count(each), each) for each in list(self._at))
            found: list[int] = []
            for negative, network in crowded:
                if -negative <= own + 1:
                    break
                forms = self._at[network].items()
                giving = [(begun.shown, begun.at, form) for form, begun in forms if begun.gives_way(now)]
                found += [form for _, _, form in sorted(giving)]
            return tuple(found)

    def _count(self, network: str) -> int:
        now, forms = self._clock(), self._at.get(network, {})
        for form in [form for form, begun in forms.items() if begun.until < now]:
            self._forget(form)
        return len(forms)

    def _forget(self, form: int) -> None:
        network = self._where.pop(form, None)
        if network is not None:
            forms = self._at[network]
            forms.pop(form, None)
            if not forms:
                del self._at[network]


def _network(address: str) -> str:
    """An address, or for IPv6 the network of a household, which has very many.

    >>> [_network(text) for text in ("192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1:2:3:4", "")]
    ['192.0.2.7', '192.0.2.7', '2001:db8::', '']
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Address(int(found) >> 64 << 64))
