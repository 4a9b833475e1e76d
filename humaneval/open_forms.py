"""Counts the forms that were begun and not answered, by the network address of the browser.

Whoever invents visitors could take every row of a study, or every place at the marketplace. One address may
therefore have only so many forms open. And if nothing is left, an address with many gives way to one with
few: sooner if hardly anybody there answers, as no class of people would. Nothing of this is stored.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address
from typing import Generic, TypeVar

Form = TypeVar("Form", bound=Hashable)

NEVER_SHOWN_SECONDS = 15.0
"""How long a form may be begun without its page being asked for. A browser asks at once."""
PATIENCE, LITTLE_PATIENCE = 2.0, 1.0
"""How many times the expected time a form may be open, before it gives way to other people: anywhere, and
where hardly anybody answers. Of a class, half are done after the expected time."""
MANY, ANSWERING = 10, 0.1
"""Hardly anybody answers at an address with so many open forms, and a smaller share of answered ones."""
MOST_ADDRESSES = 100_000
"""Beyond these, who has been here longest is forgotten."""


@dataclass(slots=True)
class _Begun:
    at: float
    until: float
    expected: float
    shown: bool = False

    def gives_way(self, now: float, patience: float) -> bool:
        return now >= self.at + (patience * self.expected if self.shown else NEVER_SHOWN_SECONDS)


@dataclass(slots=True)
class _Address(Generic[Form]):
    forms: dict[Form, _Begun] = field(default_factory=dict)
    answered: int = 0

    @property
    def patience(self) -> float:
        """How long its forms may be open, in expected times."""
        few = self.answered < ANSWERING * (self.answered + len(self.forms))
        return LITTLE_PATIENCE if few and len(self.forms) >= MANY else PATIENCE


class OpenForms(Generic[Form]):
    """The open forms of each address. `most`: how many one address may have."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._at: dict[str, _Address[Form]] = {}
        self._where: dict[Form, str] = {}

    def __contains__(self, form: Form) -> bool:
        return form in self._where

    def is_crowded(self, address: str) -> bool:
        """Whether this address has as many forms open as it may have."""
        with self._lock:
            return self._count(network_of(address)) >= self.most

    def begun(self, address: str, form: Form, *, seconds: float, expected: float) -> None:
        """A form was begun at an address. It is reserved for some seconds, and expected to take some."""
        now, network = self._clock(), network_of(address)
        with self._lock:
            if form in self._where:
                return
            if len(self._at) >= MOST_ADDRESSES and network not in self._at:
                for each in self._at.pop(next(iter(self._at))).forms:
                    self._where.pop(each, None)
            self._where[form] = network
            self._at.setdefault(network, _Address()).forms[form] = _Begun(now, now + seconds, expected)

    def shown(self, form: Form) -> None:
        """Its page was asked for."""
        with self._lock:
            if form in self._where:
                self._at[self._where[form]].forms[form].shown = True

    def answered(self, form: Form) -> None:
        """It was answered."""
        with self._lock:
            if form in self._where:
                self._at[self._where[form]].answered += 1
            self._forget(form)

    def ended(self, form: Form) -> None:
        """It was given back. One that has given way counts on: it tells of the address."""
        with self._lock:
            self._forget(form)

    def that_give_way(self, address: str) -> tuple[Form, ...]:
        """The forms that give way to a new one at `address`, the first one first.

        They are open at addresses that have more forms than this one, even after one has gone over.
        """
        now = self._clock()
        with self._lock:
            own = self._count(network_of(address))
            many = [each for each, there in self._at.items() if len(there.forms) > own + 1]
            crowded = sorted((-self._count(each), each) for each in many)
            found: list[Form] = []
            for negative, network in crowded:
                if -negative <= own + 1:
                    break
                there = self._at[network]
                giving = [
                    (begun.shown, begun.at, form)
                    for form, begun in there.forms.items()
                    if begun.gives_way(now, there.patience)
                ]
                found += [form for _, _, form in sorted(giving)]
            return tuple(found)

    def _count(self, network: str) -> int:
        now, there = self._clock(), self._at.get(network, _Address[Form]())
        for form in [form for form, begun in there.forms.items() if begun.until < now]:
            self._forget(form)
        return len(there.forms)

    def _forget(self, form: Form) -> None:
        network = self._where.pop(form, None)
        if network is not None:
            there = self._at[network]
            there.forms.pop(form, None)
            if not there.forms:
                del self._at[network]


def network_of(address: str) -> str:
    """An address, or for IPv6 the network of a household, which has very many.

    >>> [network_of(text) for text in ("192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1:2:3:4", "")]
    ['192.0.2.7', '192.0.2.7', '2001:db8::', '']
    >>> network_of("192.0.2.7:50001"), network_of("[2001:db8::1:2:3:4]:50001")  # as some proxies write them
    ('192.0.2.7', '2001:db8::')
    """
    bare = address[1:].partition("]")[0] if address.startswith("[") else address.partition("%")[0]
    try:
        found = ip_address(bare.partition(":")[0] if bare.count(":") == 1 else bare)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Address(int(found) >> 64 << 64))
