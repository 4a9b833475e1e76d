"""Asks Prolific whether the ids of an address are a person's: whoever has the address can invent some."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from humaneval.crowd.prolific.client import BUSY
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.prolific.submission import Session
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError, PlatformError
from humaneval.open_forms import network_of
from humaneval.request_turns import waiting

AT_ONCE, TURN_SECONDS = 8, 1.0
"""So many visitors at once may ask Prolific: each of them holds a thread of the server. Others wait so long
for their turn, and from one network address no more than ask."""
UNKNOWN_IDS, MOST_ADDRESSES = 10, 10_000
"""From an address with so many more unknown than known ids, one visitor at once may ask. Beyond so many
addresses all is forgotten."""
SILENT_SECONDS = 5.0
"""For how long Prolific may be silent while a visitor waits."""
TOO_MANY = "too many ask"
RETRY_SECONDS, MOST_RETRY_SECONDS = 5.0, 60.0
"""When visitors may come again if too many ask, unless Prolific says when; and the most that it may say."""

_log = logging.getLogger(__name__)


class Listed(NamedTuple):
    """All submissions of a study, and those whose places are open again."""

    submissions: frozenset[str]
    given_up: frozenset[str]


class _Turns:
    """The turns at Prolific. One that comes free goes to the address that has fewest: nobody who sends many
    visitors takes them all."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._has: Counter[str] = Counter()
        self._waiting: list[tuple[str, object]] = []
        self._unknown: Counter[str] = Counter()

    def take(self, address: str) -> bool:
        """Wait for a turn. False if none came, or as many from there wait already."""
        mine = (address, object())
        with self._changed:
            if sum(each == address for each, _ in self._waiting) >= AT_ONCE:
                return False
            self._waiting.append(mine)
            taken = self._changed.wait_for(lambda: self._next() is mine, TURN_SECONDS)
            self._waiting.remove(mine)
            self._has[address] += taken
            self._changed.notify_all()
            return taken

    def _next(self) -> tuple[str, object] | None:
        if self._has.total() >= AT_ONCE:
            return None
        may = [each for each in self._waiting if self._has[each[0]] < self._most(each[0])]
        return min(may, key=lambda each: self._has[each[0]], default=None)

    def _most(self, address: str) -> int:
        return 1 if self._unknown[address] >= UNKNOWN_IDS else AT_ONCE

    def give_back(self, address: str) -> None:
        """End a turn."""
        with self._changed:
            self._has[address] -= 1
            self._has += Counter()  # drops who has none
            self._changed.notify_all()

    def heard(self, address: str, *, known: bool) -> None:
        """Prolific has said whether it knows an id from there."""
        with self._changed:
            if len(self._unknown) >= MOST_ADDRESSES:
                self._unknown.clear()
            unknown = self._unknown[address] + (-1 if known else 1)
            # No more, or one flood would hold up a whole proxy's people for the rest of the server's life.
            self._unknown[address] = min(2 * UNKNOWN_IDS, max(0, unknown))


class Checker:
    """`open_at` opens a study at an endpoint, both by name, with the requester's keys."""

    def __init__(
        self,
        open_at: Callable[[str, str], StudyAtPlatform],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_at = open_at
        self._platforms: dict[str, Prolific] = {}
        self._turns = _Turns()
        self._clock = clock
        self._ask_from = self._silent_until = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether Prolific gave no answer a moment ago."""
        return self._clock() < self._silent_until

    def session(self, endpoint: str, study: str, assignment: str, address: str) -> Session | None:
        """The submission with this id, for a visitor from this network address; None if there is none.

        Raises HumanEvalError if nobody says, with the code TOO_MANY if nobody was asked, or Prolific was
        asked too often.
        """
        with self._asking(address):
            found = self._platform(endpoint, study).session(assignment, tries=1, seconds=SILENT_SECONDS)
            self._turns.heard(network_of(address), known=found is not None)
            return found

    def listed(self, endpoint: str, study: str, hit: str, address: str) -> Listed | None:
        """The submissions of a study; None if Prolific does not say."""
        try:
            with self._asking(address):
                platform = self._platform(endpoint, study)
                there = frozenset(each.id for each in platform.sessions(hit))
                return Listed(there, frozenset(platform.given_up(hit)))
        except HumanEvalError as error:
            _log.warning("study %s at %s: %s", study, endpoint, error.message)
            return None

    @contextmanager
    def _asking(self, address: str) -> Iterator[None]:
        network = network_of(address)
        left = self._ask_from - self._clock()
        if left > 0:
            raise _too_many("Prolific asks for a pause", left)
        with waiting():
            free = self._turns.take(network)
        if not free:
            raise _too_many("other visitors are waiting for Prolific's answer", RETRY_SECONDS)
        try:
            with waiting():
                yield
        except PlatformError as error:
            if error.code != str(BUSY):
                self._silent_until = self._clock() + SILENT_SECONDS
                raise
            pause = min(RETRY_SECONDS if error.retry_after is None else error.retry_after, MOST_RETRY_SECONDS)
            self._ask_from = self._clock() + pause
            raise _too_many(error.message, pause) from None
        finally:
            self._turns.give_back(network)

    def _platform(self, endpoint: str, study: str) -> Prolific:
        if study not in self._platforms:
            platform = self._open_at(endpoint, study).platform
            assert isinstance(platform, Prolific)
            self._platforms[study] = platform
        return self._platforms[study]


def _too_many(told: str, seconds: float) -> PlatformError:
    error = PlatformError(told, code=TOO_MANY, nothing_done=True)
    error.retry_after = seconds
    return error
