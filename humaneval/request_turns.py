"""The turns of requests: which comes next, and how many compute at the same time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

MOST_POOLED = 15
"""How many connections to a database the threads that answer requests have at most."""

RANKS = 4
Rank = Callable[[str, str], int]
"""Of a request, by method and path: from 0, which comes first, to RANKS - 1."""


class Threads(Protocol):
    """The threads of a server, which know how many of them compute."""

    def pause(self) -> None:
        """One of them computes no more, so another one may begin."""

    def go_on(self) -> None:
        """One that paused computes again."""


_this_thread = threading.local()


@contextmanager
def waiting() -> Iterator[None]:
    """While the block runs, this thread computes nothing: another one may answer a request meanwhile."""
    threads: Threads | None = getattr(_this_thread, "computes_for", None)
    if threads is None:
        yield
        return
    threads.pause()
    try:
        yield
    finally:
        threads.go_on()


class Counted:
    """A task that counts among those that compute, from when a thread takes it until it is done."""

    def __init__(self, threads: Threads, task: Any) -> None:
        self._threads, self._task = threads, task
        self.requests, self.cancel = task.requests, task.cancel
        self.counts = True

    def service(self) -> None:
        """Do it."""
        if not self.counts:
            self._task.service()
            return
        _this_thread.computes_for = self._threads
        try:
            self._task.service()
        finally:
            _this_thread.computes_for = None
            self._threads.pause()


class RankedQueue:
    """A queue of requests: of those with the lowest rank, the one that came first. It seems empty while
    enough threads compute.

    Files come first, but at each fourth turn: somebody may fetch one again and again. The next two ranks take
    turns: a person who sends answers waits for one of a crowd that opens forms, not for all, and a crowd that
    sends answers lets others open forms, too.
    """

    def __init__(self, rank: Rank, most: int) -> None:
        self._rank, self._most = rank, most
        self.computing = 0
        self._ranks: list[deque[Any]] = [deque() for _ in range(RANKS)]
        self._turn, self._files = False, 0

    def append(self, task: Any) -> None:
        """Put a task behind those of its rank."""
        asked = task.requests[0] if task.requests else None
        whole = asked is not None and asked.error is None
        self._ranks[self._rank(asked.command, asked.path) if asked and whole else 0].append(task)

    def popleft(self) -> Any:
        """Take the task whose turn it is."""
        chosen = self._next() if self.computing < self._most else self._ranks[-1]
        task = chosen.popleft()
        task.counts = chosen is not self._ranks[-1]
        self.computing += task.counts
        return task

    def _next(self) -> deque[Any]:
        files, *forms, last = self._ranks
        people = [each for each in forms if each]
        if files and (people or last):
            self._files = (self._files + 1) % 4
        if files and (self._files or not (people or last)):
            return files
        if len(people) > 1:
            self._turn = not self._turn
            return people[not self._turn]
        return people[0] if people else last

    def __len__(self) -> int:
        return sum(map(len, self._ranks if self.computing < self._most else self._ranks[-1:]))
