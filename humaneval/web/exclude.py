"""Puts workers on a study's exclusion list soon after they have answered, in a thread beside the form server.

The transaction that stores the answers also stores this intention. If it fails here or is interrupted, the
next `collect` does it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import NamedTuple

from humaneval.crowd.participants import perform_exclusions
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError

FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3600.0
"""Seconds for which a study waits whose list could not be changed: twice as long each time."""

_log = logging.getLogger(__name__)


class _Place(NamedTuple):
    endpoint: str
    study: str


class _Pause(NamedTuple):
    seconds: float
    until: float


class Excluder:
    """A thread with a queue. `open_at` opens a study at an endpoint, both by name, with the requester's
    keys."""

    def __init__(self, open_at: Callable[[str, str], StudyAtPlatform]) -> None:
        self._open_at = open_at
        self._queue: SimpleQueue[_Place | None] = SimpleQueue()
        self._pauses: dict[_Place, _Pause] = {}
        self._thread = threading.Thread(target=self._work, name="exclusions", daemon=True)
        self._thread.start()

    def answered(self, endpoint: str, study: str) -> None:
        """A worker's answers in this study are stored: update its list soon."""
        self._queue.put(_Place(endpoint, study))

    def stop(self) -> None:
        """End when the queue is empty."""
        self._queue.put(None)
        self._thread.join(timeout=10)

    def _work(self) -> None:
        going_on = True
        while going_on:
            # One pass is for all that have answered by now.
            entries = [self._queue.get()]
            while not self._queue.empty():
                entries.append(self._queue.get())
            going_on = None not in entries
            for place in dict.fromkeys(entry for entry in entries if entry is not None):
                self._update(place)

    def _update(self, place: _Place) -> None:
        pause = self._pauses.get(place)
        if pause is not None and time.monotonic() < pause.until:
            return
        try:
            failed = perform_exclusions(self._open_at(place.endpoint, place.study)).failed
        except HumanEvalError as error:
            failed = (error.message,)
        if not failed:
            self._pauses.pop(place, None)
            return
        seconds = min(2 * pause.seconds, LONGEST_PAUSE) if pause else FIRST_PAUSE
        self._pauses[place] = _Pause(seconds, time.monotonic() + seconds)
        for reason in sorted(set(failed)):
            _log.warning("exclusion list of %s at %s: %s", place.study, place.endpoint, reason)
