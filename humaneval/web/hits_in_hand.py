"""Asks a platform how many workers have a HIT in hand: only if more people come to it than it has places."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import BoundedSemaphore

from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError
from humaneval.request_turns import waiting

FRESH_SECONDS = 10.0
"""How long an answer counts: strangers can make us ask, and must not make us ask often."""
MOST_KEPT = 1000
MOST_WHO_WAIT = 4
"""So many threads wait for a platform at once. Others get what it said before."""

_log = logging.getLogger(__name__)


class Asker:
    """`open_at` opens a study at an endpoint, both by name, with the requester's keys."""

    def __init__(self, open_at: Callable[[str, str], StudyAtPlatform]) -> None:
        self._open_at = open_at
        self._said: dict[str, tuple[float, int]] = {}
        self._places = BoundedSemaphore(MOST_WHO_WAIT)

    def in_hand(self, endpoint: str, study: str, hit: str) -> int:
        """How many workers have the HIT in hand; 0 if the platform does not say."""
        at, said = self._said.get(hit, (-FRESH_SECONDS, 0))
        if not hit or time.monotonic() - at < FRESH_SECONDS or not self._places.acquire(blocking=False):
            return said
        said = 0
        try:
            with waiting():
                standing = self._open_at(endpoint, study).platform.standing(hit)
            said = standing.in_hand if standing is not None else 0
        except HumanEvalError as error:
            _log.warning("HIT %s at %s: %s", hit, endpoint, error.message)
        finally:
            self._places.release()
        if len(self._said) >= MOST_KEPT:
            self._said.clear()
        self._said[hit] = (time.monotonic(), said)
        return said
