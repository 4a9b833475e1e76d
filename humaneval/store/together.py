"""One thread that writes for all others: writes that wait at the same time share a transaction."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from humaneval import serving
from humaneval.store.engine import writing

T = TypeVar("T")

MOST_TOGETHER = 64
"""How many writes share a transaction. Nobody waits long for the first of them."""


@dataclass(slots=True)
class _Waiting:
    about: int
    job: Callable[[Connection], Any]
    outcome: Future[Any] = field(default_factory=Future)


class Writer:
    """Runs jobs in transactions. None returns before its transaction is on the disk.

    `begun` is called at the beginning of each transaction with what its jobs are about, and `ended` after its
    commit. If a job raises, nothing of its transaction is kept, and the others of it run again alone.
    """

    def __init__(
        self, engine: Engine, begun: Callable[[Connection, int], None], ended: Callable[[], None]
    ) -> None:
        self._engine, self._begun, self._ended = engine, begun, ended
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def write(self, about: int, job: Callable[[Connection], T]) -> T:
        """The result of `job`, once it is committed. Only jobs about the same thing share a transaction."""
        waiting = _Waiting(about, job)
        with self._changed:
            self._waiting.append(waiting)
            if self._thread is None:  # not before: a server may fork, and tests make many applications
                self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
                self._thread.start()
            self._changed.notify()
        with serving.waiting():
            result: T = waiting.outcome.result()
        return result

    def _work(self) -> None:
        while True:
            batch = self._next()
            try:
                self._run(batch)
            except Exception as error:
                if len(batch) == 1:
                    batch[0].outcome.set_exception(error)
                    continue
                for each in batch:
                    try:
                        self._run([each])
                    except Exception as own:
                        each.outcome.set_exception(own)
            except BaseException as error:  # nobody may wait for ever
                for each in batch:
                    each.outcome.set_exception(error)

    def _next(self) -> list[_Waiting]:
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            batch = [self._waiting.popleft()]
            later: list[_Waiting] = []
            while self._waiting and len(batch) < MOST_TOGETHER:
                each = self._waiting.popleft()
                (batch if each.about == batch[0].about else later).append(each)
            self._waiting.extendleft(reversed(later))
            return batch

    def _run(self, batch: list[_Waiting]) -> None:
        with writing(self._engine) as session:
            connection = session.connection()
            self._begun(connection, batch[0].about)
            results = [each.job(connection) for each in batch]
        self._ended()
        for each, result in zip(batch, results, strict=True):
            each.outcome.set_result(result)
