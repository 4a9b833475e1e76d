"""Requesters' patterns for what strangers send, tried in one process of their own.

Some patterns take minutes for one short answer. Nobody may hold a transaction while patterns are tried.
"""

from __future__ import annotations

import atexit
import json
import logging
import subprocess
import sys
from contextlib import suppress
from threading import Lock, Timer
from time import monotonic
from typing import NamedTuple

from humaneval.request_turns import waiting

MOST_SECONDS = 1.0
"""For all patterns of one form."""

SLOW_SECONDS = 0.05
"""For a pattern that has run out of time before. For other answers it needs far less, so it still counts."""

MOST_KNOWN = 10_000
"""How many patterns are known as slow."""

# One line for each pattern; the answer is one byte. The memory is bounded where it can be.
_SEARCH = """
import json, re, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
except (ImportError, OSError, ValueError):
    pass
answer = sys.stdout.buffer
answer.write(b"?")
answer.flush()
for line in sys.stdin.buffer:
    find, expression, flags, text = json.loads(line)
    answer.write(b"1" if getattr(re, find)(expression, text, flags) else b"0")
    answer.flush()
"""

_log = logging.getLogger(__name__)


class Patterns:
    """The patterns of one form, tried one after the other."""

    def __init__(self) -> None:
        self._left = MOST_SECONDS

    def found(self, expression: str, flags: int, text: str, *, whole: bool = False) -> bool | None:
        """Whether `expression` is found in `text`, or with `whole` fits all of it. None if time runs out: it
        is not the fault of whoever sent the text."""
        if self._left <= 0:
            return None
        with waiting():
            tried = _HELPER.search("fullmatch" if whole else "search", expression, flags, text, self._left)
        self._left -= tried.seconds
        return tried.found


class _Tried(NamedTuple):
    found: bool | None
    seconds: float


class _Helper:
    """The process. One thread uses it at a time; it is started at the first pattern, and after one that came
    to no end."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._slow: dict[tuple[str, int], None] = {}

    def search(self, find: str, expression: str, flags: int, text: str, most: float) -> _Tried:
        """Whether the pattern is found, by that function of `re`, and the time that this took, without the
        wait for the process."""
        pattern = (expression, flags)
        request = json.dumps([find, expression, flags, text]).encode() + b"\n"
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            most = min(most, SLOW_SECONDS) if pattern in self._slow else most
            ending = Timer(most, process.kill)
            begun = monotonic()
            ending.start()
            said = b""
            with suppress(OSError):
                process.stdin.write(request)
                process.stdin.flush()
                said = process.stdout.read(1)
            seconds = monotonic() - begun
            ending.cancel()
            if not said:
                self._end()
                _log.warning(
                    "a pattern came to no end in %.2f s, so it did not count: %.200r", most, expression
                )
                if len(self._slow) >= MOST_KNOWN:
                    self._slow.clear()
                self._slow[pattern] = None
            return _Tried(said == b"1" if said else None, seconds)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _SEARCH],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            assert self._process.stdout is not None
            self._process.stdout.read(1)
        return self._process

    def stop(self) -> None:
        """End the process. A pattern that is being tried comes to no end then."""
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    def in_use(self) -> bool:
        """Whether a pattern is being tried."""
        return self._lock.locked() and self._process is not None

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not written yet
                    pipe.close()
        process.wait()


_HELPER = _Helper()
in_use, stop = _HELPER.in_use, _HELPER.stop
atexit.register(stop)
