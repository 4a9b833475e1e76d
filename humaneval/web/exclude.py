"""Puts workers on a study's exclusion list, and tells a panel about them, soon after they have answered.

This happens in threads beside the form server.

The transaction that stores the answers also stores this intention. If it fails here or is interrupted, the
next `collect` does it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from humaneval.crowd.panel_postbacks import perform_postbacks
from humaneval.crowd.participants import perform_exclusions
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import HumanEvalError
from humaneval.server_logs import failure

STOP_SECONDS = 10
QUIET_SECONDS, LONGEST_SECONDS = 0.5, 5.0
"""Calls begin when no answer has come for the first, or after the second: each of them commits twice, and
people who send at the same moment would wait for that."""

_log = logging.getLogger(__name__)


class _Where(NamedTuple):
    endpoint: str
    study: str


class Excluder:
    """A thread for each study with something to do, so that no study waits for another's platform.

    `open_at` opens a study at an endpoint, both by name, with the requester's keys.
    """

    def __init__(self, open_at: Callable[[str, str], StudyAtPlatform]) -> None:
        self._open_at = open_at
        self._changed = threading.Condition()
        self._last, self._stopping = 0.0, False
        self._asked: set[_Where] = set()
        self._threads: dict[_Where, threading.Thread] = {}

    def answered(self, endpoint: str, study: str) -> None:
        """A worker's answers in this study are stored: update its list soon.

        However many answers come during one pass through the list, one more pass follows.
        """
        where = _Where(endpoint, study)
        with self._changed:
            self._asked.add(where)
            self._last = time.monotonic()
            if where in self._threads:
                return
            thread = threading.Thread(target=self._work, args=(where,), name="exclusions", daemon=True)
            self._threads[where] = thread
            thread.start()

    def stop(self) -> None:
        """Wait until everything was tried, for ten seconds at most."""
        until = time.monotonic() + STOP_SECONDS
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            threads = list(self._threads.values())
        for thread in threads:
            thread.join(timeout=max(0.0, until - time.monotonic()))

    def _work(self, where: _Where) -> None:
        while True:
            self._await_quiet()
            with self._changed:
                if where not in self._asked:
                    del self._threads[where]
                    return
                self._asked.remove(where)
            try:
                at = self._open_at(where.endpoint, where.study)
                failed = (
                    perform_exclusions(at, rested=True).failed + perform_postbacks(at, rested=True).failed
                )
            except HumanEvalError as error:
                failed = (error.message,)
            except Exception as error:  # the next answers need this thread
                _log.error("after the answers to %s at %s: %s", where.study, where.endpoint, failure(error))
                continue
            for reason in failed:
                _log.warning("after the answers to %s at %s: %s", where.study, where.endpoint, reason)

    def _await_quiet(self) -> None:
        until = time.monotonic() + LONGEST_SECONDS
        with self._changed:
            while not self._stopping:
                left = min(until, self._last + QUIET_SECONDS) - time.monotonic()
                if left <= 0:
                    return
                self._changed.wait(left)
