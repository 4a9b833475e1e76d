"""Asks Prolific whether the ids of an address are a person's: whoever has the address can invent some."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.prolific.submission import Session
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError, PlatformError
from humaneval.web_server import waiting

AT_ONCE, TURN_SECONDS = 8, 1.0
"""So many visitors at once may ask Prolific: each of them holds a thread of the server. Others wait so long
for their turn."""
SILENT_SECONDS = 5.0
"""For how long Prolific may be silent while a visitor waits."""
TOO_MANY = "too many ask"

_log = logging.getLogger(__name__)


class Checker:
    """`open_at` opens a study at an endpoint, both by name, with the requester's keys."""

    def __init__(self, open_at: Callable[[str, str], StudyAtPlatform]) -> None:
        self._open_at = open_at
        self._platforms: dict[str, Prolific] = {}
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def session(self, endpoint: str, study: str, assignment: str) -> Session | None:
        """The submission with this id; None if there is none. Raises HumanEvalError if nobody says, with the
        code TOO_MANY if nobody was asked."""
        with self._asking():
            return self._platform(endpoint, study).session(assignment, tries=1, seconds=SILENT_SECONDS)

    def given_up(self, endpoint: str, study: str, hit: str) -> frozenset[str]:
        """The submissions whose places are open again, as far as Prolific says."""
        try:
            with self._asking():
                platform = self._platform(endpoint, study)
                platform.sessions(hit)
                return frozenset(platform.given_up(hit))
        except HumanEvalError as error:
            _log.warning("study %s at %s: %s", study, endpoint, error.message)
            return frozenset()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with waiting():
            free = self._places.acquire(timeout=TURN_SECONDS)
        if not free:
            told = f"{AT_ONCE} visitors are waiting for Prolific's answer"
            raise PlatformError(told, code=TOO_MANY, nothing_done=True)
        try:
            with waiting():
                yield
        finally:
            self._places.release()

    def _platform(self, endpoint: str, study: str) -> Prolific:
        if study not in self._platforms:
            platform = self._open_at(endpoint, study).platform
            assert isinstance(platform, Prolific)
            self._platforms[study] = platform
        return self._platforms[study]
