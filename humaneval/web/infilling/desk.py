"""Opens generators, keeps the last ones open, and lets one request at a time use them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from humaneval.domain import Drawing, FillsText, GappedText
from humaneval.errors import BusyError, InputError
from humaneval.free_text import Candidate, fill_text
from humaneval.infills.free_text import Offer

KEPT = 3
"""So many generators stay open: models take memory."""
RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Doing:
    """What is being done now, and since when (seconds on the monotonic clock)."""

    what: str
    since: float


class Desk:
    """The generators of a page."""

    def __init__(self, offers: Sequence[Offer], *, device: str = "auto", kept: int = KEPT) -> None:
        self.offers = {offer.key: offer for offer in offers}
        self._device, self._kept = device, kept
        self._open: OrderedDict[str, FillsText] = OrderedDict()
        self._at_work = threading.Lock()
        self._doing: Doing | None = None

    @property
    def doing(self) -> Doing | None:
        """What the request at work is at."""
        return self._doing

    @property
    def open_now(self) -> tuple[str, ...]:
        """The keys of the generators that are open, the last used at the end."""
        return tuple(self._open)

    def types(self, key: str) -> tuple[str, ...]:
        """The types of blanks that a generator fills; empty if that is not known before it is opened."""
        opened = self._open.get(key)
        return tuple(opened.types) if opened else self.offers[key].types

    def fill(self, key: str, text: GappedText, samples: int, how: Drawing) -> tuple[Candidate, ...]:
        """Candidates of the generator `key`. Raises BusyError while another request is at work, and
        InputError for a generator that is not offered."""
        offer = self.offers.get(key)
        if offer is None:
            raise InputError("that generator is no longer here", "Load the page again.")
        if not self._at_work.acquire(blocking=False):
            raise BusyError("another request is being written", "Try again in a few seconds.")
        try:
            generator = self._opened(offer)
            self._doing = Doing(f"{offer.name} is writing", monotonic())
            found = fill_text(generator, text, samples, how)
            alike = len({one.text for one in found}) == 1  # a generator that draws nothing writes one text
            return found[:1] if alike else found
        finally:
            self._doing = None
            self._at_work.release()

    def _opened(self, offer: Offer) -> FillsText:
        """The generator of an offer; the one that was not used for the longest time makes room for it."""
        known = self._open.pop(offer.key, None)
        if known is None:
            self._doing = Doing(f"{offer.name} is being opened", monotonic())
            while len(self._open) >= self._kept:
                self._open.popitem(last=False)
            known = offer.open(self._device)
        self._open[offer.key] = known
        return known
