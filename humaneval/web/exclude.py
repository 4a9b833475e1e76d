"""Puts workers on a study's exclusion list soon after they have answered, in a thread beside the form server.

The transaction that stores the answers also stores this intention. If it fails here or is interrupted, the
next `collect` does it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

from sqlalchemy import Engine

from humaneval.crowd.participants import perform_exclusions
from humaneval.crowd.platform import Platform
from humaneval.errors import HumanEvalError

_log = logging.getLogger(__name__)


class Excluder:
    """A thread with a queue. `platform` gives the platform behind an endpoint's name, with the
    requester's keys."""

    def __init__(self, engine: Engine, platform: Callable[[str, str], Platform]) -> None:
        self._engine, self._platform = engine, platform
        self._queue: SimpleQueue[tuple[str, str] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="exclusions", daemon=True)
        self._thread.start()

    def answered(self, endpoint: str, study: str) -> None:
        """A worker's answers in this study are stored: update its list soon."""
        self._queue.put((endpoint, study))

    def stop(self) -> None:
        """End when the queue is empty."""
        self._queue.put(None)
        self._thread.join(timeout=10)

    def _work(self) -> None:
        while (entry := self._queue.get()) is not None:
            endpoint, study = entry
            try:
                failed = perform_exclusions(self._engine, study, self._platform(endpoint, study)).failed
            except HumanEvalError as error:
                failed = (error.message,)
            for reason in failed:
                _log.warning("exclusion list of %s at %s: %s", study, endpoint, reason)
