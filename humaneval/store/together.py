"""Work that waits at the same time is done together: writes share a transaction, and reads a statement."""

from __future__ import annotations

import json
import logging
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    JSON,
    Connection,
    Engine,
    Executable,
    FromClause,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from humaneval import request_turns
from humaneval.errors import GoneError, HumanEvalError, StoreError
from humaneval.server_logs import failure
from humaneval.store.engine import batches, connected, writing

T = TypeVar("T")
Item = TypeVar("Item")

MOST_TOGETHER = 64
"""How many writes share a transaction. Nobody waits long for the first of them."""

FAILED_SECONDS = 60.0
"""For how long it counts that a transaction failed, if nobody wrote anything since."""

_YOUR_TURN = object()

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    about: int
    work: Callable[[Connection, Sequence[Any]], Sequence[Any]]
    item: Any
    outcome: Future[Any] = field(default_factory=Future)


class _Failed(NamedTuple):
    at: float
    error: StoreError


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
        self._failed: _Failed | None = None

    def check(self) -> None:
        """Raise StoreError if the last transaction failed with it, unless that is long ago."""
        failed = self._failed
        if failed is not None and monotonic() - failed.at < FAILED_SECONDS:
            raise failed.error

    def write(self, about: int, job: Callable[[Connection], T]) -> T:
        """The result of `job`, once it is committed. Only jobs about the same thing share a transaction."""
        result: T = self.write_with(about, _in_turn, job)
        return result

    def write_with(
        self, about: int, work: Callable[[Connection, Sequence[Item]], Sequence[T]], item: Item
    ) -> T:
        """What `work` gives for `item`, once it is committed. It is called once with all items that wait for
        it, and gives a result for each of them."""
        waiting = _Waiting(about, work, item)
        with self._changed:
            self._waiting.append(waiting)
            if self._thread is None:  # not before: a server may fork, and tests make many applications
                self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
                self._thread.start()
            self._changed.notify()
        with request_turns.waiting():
            result: T = waiting.outcome.result()
        return result

    def _work(self) -> None:
        while True:
            batch = self._next()
            try:
                self._run(batch)
            except Exception as error:
                # What it had begun to read would keep the connection at its old state.
                traceback.clear_frames(error.__traceback__)
                if len(batch) == 1:
                    self._fail(batch[0], error)
                    continue
                if not isinstance(error, HumanEvalError):
                    _log.warning("writes that shared a commit run again alone: %s", failure(error))
                for each in batch:
                    self._run_alone(each)
            except BaseException as error:  # nobody may wait for ever
                for each in batch:
                    each.outcome.set_exception(error)

    def _run_alone(self, waiting: _Waiting) -> None:
        try:
            self._run([waiting])
        except Exception as error:
            traceback.clear_frames(error.__traceback__)
            self._fail(waiting, error)

    def _fail(self, waiting: _Waiting, error: Exception) -> None:
        if isinstance(error, StoreError) and not isinstance(error, GoneError):
            self._failed = _Failed(monotonic(), error)
        waiting.outcome.set_exception(error)

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
            done: list[tuple[_Waiting, Any]] = []
            for work in dict.fromkeys(each.work for each in batch):
                those = [each for each in batch if each.work == work]
                results = work(connection, [each.item for each in those])
                done += zip(those, results, strict=True)
        self._ended()
        self._failed = None
        for each, result in done:
            each.outcome.set_result(result)


class Reader:
    """Reads for threads that ask at the same time: one of them asks the database for all.

    The thread that has read wakes those that it read for, and the first that came meanwhile, which reads
    next. At a lock in the place of this, one thread may be passed by for seconds.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: list[_Waiting] = []
        self._reading = False
        self._changed = threading.Lock()

    def read_with(self, work: Callable[[Connection, Sequence[Item]], Sequence[T]], item: Item) -> T:
        """What `work` gives for `item`. It is called once with all items that wait for it, as a writer's."""
        waiting = _Waiting(0, work, item)
        with self._changed:
            self._waiting.append(waiting)
            mine, self._reading = not self._reading, True
        with request_turns.waiting():
            if not mine and waiting.outcome.result() is _YOUR_TURN:
                mine, waiting.outcome = True, Future()
            if mine:
                self._read_for_all()
            result: T = waiting.outcome.result()
        return result

    def _read_for_all(self) -> None:
        with self._changed:
            batch, self._waiting = self._waiting, []
        try:
            self._read(batch)
        finally:
            with self._changed:
                following = self._waiting[0] if self._waiting else None
                self._reading = following is not None
            if following is not None:
                following.outcome.set_result(_YOUR_TURN)

    def _read(self, batch: Sequence[_Waiting]) -> None:
        for work in dict.fromkeys(each.work for each in batch):
            those = [each for each in batch if each.work == work]
            for some in batches(those, MOST_TOGETHER):
                self._read_together(some)

    def _read_together(self, some: Sequence[_Waiting]) -> None:
        try:
            with connected(self._engine) as connection:
                results = some[0].work(connection, [each.item for each in some])
        except BaseException as error:  # nobody may wait for ever
            # An error of the database itself is about none of them.
            together = isinstance(error, StoreError) or not isinstance(error, Exception)
            for each in some:
                if len(some) == 1 or together:
                    each.outcome.set_exception(error)
                else:
                    self._read_together([each])
            return
        for each, result in zip(some, results, strict=True):
            each.outcome.set_result(result)


def _in_turn(connection: Connection, jobs: Sequence[Callable[[Connection], Any]]) -> list[Any]:
    return [job(connection) for job in jobs]


def add_rows(
    connection: Connection,
    to: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    returning: tuple[str, ...] = (),
    skip: bool = False,
) -> Sequence[Any]:
    """Add rows with the same columns. Returns the columns `returning` of those that were added: with `skip`,
    rows that are there already are left out."""
    adding = _adding(connection.dialect.name, to, tuple(rows[0]), returning, skip)
    added = connection.execute(adding, _sent(connection, rows))
    return added.all() if returning else ()


def change_rows(connection: Connection, of: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Change the same columns of several rows, each of which has the id `of`."""
    connection.execute(_changing(connection.dialect.name, of, tuple(rows[0])), _sent(connection, rows))


# PostgreSQL gets all rows as one value, so that the statement is the same for any number of them.


def _sent(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> Any:
    return rows if connection.dialect.name == "sqlite" else {"rows": json.dumps(rows, default=str)}


@cache
def _adding(
    dialect: str, to: Table, names: Sequence[str], returning: Sequence[str], skip: bool
) -> Executable:
    adding: Any = insert(to)
    if skip:
        own = sqlite.insert if dialect == "sqlite" else postgresql.insert
        adding = own(to).on_conflict_do_nothing()
    if dialect != "sqlite":
        adding = adding.from_select(names, select(_told(to, names)))
    made: Executable = adding.returning(*(to.c[name] for name in returning)) if returning else adding
    return made


@cache
def _changing(dialect: str, of: Table, names: Sequence[str]) -> Executable:
    if dialect == "sqlite":
        return update(of).where(of.c.id == bindparam("of"))
    told = _told(of, names)
    changed = {name: told.c[name] for name in names if name != "of"}
    return update(of).where(of.c.id == told.c.of).values(changed)


def _told(about: Table, names: Sequence[str]) -> FromClause:
    columns = (column(name, about.c["id" if name == "of" else name].type) for name in names)
    rows = func.json_to_recordset(cast(bindparam("rows", type_=Text), JSON))
    return rows.table_valued(*columns).render_derived("told", with_types=True)
