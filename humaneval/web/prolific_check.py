"""Asks Prolific whether the ids of an address are a person's: whoever has the address can invent some."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from humaneval.crowd.prolific.client import BUSY
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.prolific.submission import Session
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError, PlatformError
from humaneval.request_turns import waiting

AT_ONCE, TURN_SECONDS = 8, 1.0
"""So many visitors at once may ask Prolific: each of them holds a thread of the server. Others wait so long
for their turn."""
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


class Checker:
    """`open_at` opens a study at an endpoint, both by name, with the requester's keys."""

    def __init__(
        self,
        open_at: Callable[[str, str], StudyAtPlatform],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._open_at = open_at
        self._platforms: dict[str, Prolific] = {}
        self._places = threading.BoundedSemaphore(AT_ONCE)
        self._clock = clock
        self._ask_from = self._silent_until = 0.0

    @property
    def is_silent(self) -> bool:
        """Whether Prolific gave no answer a moment ago."""
        return self._clock() < self._silent_until

    def session(self, endpoint: str, study: str, assignment: str) -> Session | None:
        """The submission with this id; None if there is none. Raises HumanEvalError if nobody says, with the
        code TOO_MANY if nobody was asked, or Prolific was asked too often."""
        with self._asking():
            return self._platform(endpoint, study).session(assignment, tries=1, seconds=SILENT_SECONDS)

    def listed(self, endpoint: str, study: str, hit: str) -> Listed | None:
        """The submissions of a study; None if Prolific does not say."""
        try:
            with self._asking():
                platform = self._platform(endpoint, study)
                there = frozenset(each.id for each in platform.sessions(hit))
                return Listed(there, frozenset(platform.given_up(hit)))
        except HumanEvalError as error:
            _log.warning("study %s at %s: %s", study, endpoint, error.message)
            return None

    @contextmanager
    def _asking(self) -> Iterator[None]:
        left = self._ask_from - self._clock()
        if left > 0:
            raise _too_many("Prolific asks for a pause", left)
        with waiting():
            free = self._places.acquire(timeout=TURN_SECONDS)
        if not free:
            raise _too_many(f"{AT_ONCE} visitors are waiting for Prolific's answer", RETRY_SECONDS)
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
            self._places.release()

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
