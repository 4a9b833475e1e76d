"""What servers write into their logs: no ids of people, and of each kind one line a minute."""

from __future__ import annotations

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable

SECONDS_BETWEEN, MOST_KINDS = 60.0, 1000
"""Between two lines of a kind in a log; and how many kinds are remembered."""


def failure(error: BaseException | None) -> str:
    """What a log says of an error: its classes, and the lines of code. A message may hold an id of a person:
    PostgreSQL's about a value that is there already does."""
    lines: list[str] = []
    while error is not None:
        lines += [type(error).__name__, *(line.rstrip() for line in traceback.format_tb(error.__traceback__))]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(lines)


def without_people(record: logging.LogRecord) -> bool:
    """A filter for loggers that write the addresses and paths of visitors with each error."""
    if error := sys.exc_info()[1]:
        record.msg, record.args, record.exc_info = "a request failed: %s", (failure(error),), None
    return True


class _Rarely(logging.Filter):
    """Lets one line of a kind through in a minute. The next one says how many were left out."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock, self._lock = clock, threading.Lock()
        self._told: dict[str, tuple[float, int]] = {}
        """Kind → when it was told, and how many were left out since."""

    def filter(self, record: logging.LogRecord) -> bool:
        # An error is a fault of ours, and each of them is wanted.
        kind = str(record.msg) if record.levelno < logging.ERROR else record.getMessage()
        with self._lock:
            moment = self._clock()
            at, left_out = self._told.get(kind, (moment - SECONDS_BETWEEN, 0))
            if moment - at < SECONDS_BETWEEN:
                self._told[kind] = (at, left_out + 1)
                return False
            if len(self._told) >= MOST_KINDS:
                self._told.clear()
            self._told[kind] = (moment, 0)
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out:,} more like it before)", ()
        return True


def log_rarely(*loggers: str, clock: Callable[[], float] = time.monotonic) -> None:
    """Let these loggers write each kind of line at most once a minute: strangers can bring them about as
    often as they like, and would fill the disk."""
    for logger in map(logging.getLogger, loggers):
        logger.filters = [each for each in logger.filters if not isinstance(each, _Rarely)]
        logger.addFilter(_Rarely(clock))
