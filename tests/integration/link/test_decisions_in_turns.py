"""Decisions about many people: nobody waits while they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.outbox import TOGETHER
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.crowd.workers import Turned, exclude_workers
from tests.integration.link.crowd_of_thousands import answer_by_link
from tests.integration.link.people import LinkStudy

PEOPLE = 3 * TOGETHER


@contextmanager
def intended(engine: Engine) -> Iterator[list[int]]:
    """How many writes each transaction intends."""
    counts: list[int] = []

    def see(connection: Connection, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("BEGIN"):
            counts.append(0)
        counts[-1] += statement.startswith("INSERT INTO outbox")

    event.listen(engine, "before_cursor_execute", see)
    yield counts
    event.remove(engine, "before_cursor_execute", see)


@contextmanager
def written(engine: Engine) -> Iterator[list[int]]:
    """How many rows each transaction writes."""
    counts, before = list[int](), [0]

    def changes(connection: Connection) -> int:
        driver: Any = connection.connection.driver_connection
        return int(driver.total_changes)

    def begin(connection: Connection) -> None:
        before[0] = changes(connection)

    def commit(connection: Connection) -> None:
        counts.append(changes(connection) - before[0])

    event.listen(engine, "begin", begin)
    event.listen(engine, "commit", commit)
    yield counts
    event.remove(engine, "begin", begin)
    event.remove(engine, "commit", commit)


def answered(by_link: Callable[..., LinkStudy], engine: Engine) -> StudyAtPlatform:
    study = by_link(engine, design={"annotators": PEOPLE})
    study.open_link()
    answer_by_link(engine, PEOPLE)
    return open_study_at(engine, "study", study.platform)


def test_forms_are_collected_ten_at_a_time(by_link: Callable[..., LinkStudy], sqlite_engine: Engine) -> None:
    at = answered(by_link, sqlite_engine)
    with written(sqlite_engine) as counts:
        assert collect_work(at).new == PEOPLE
    assert max(counts) <= sum(counts) * TOGETHER / PEOPLE + TOGETHER


def test_no_transaction_grows_with_the_number_of_decisions(
    by_link: Callable[..., LinkStudy], sqlite_engine: Engine
) -> None:
    at = answered(by_link, sqlite_engine)
    collect_work(at)
    some = [f"a{number}" for number in range(1, 13)]
    names = [f"one {number}" for number in range(1, 13)] + [f"new-{number}" for number in range(12)]
    with intended(sqlite_engine) as counts:
        assert reject_work(at, assignments=some, reason="Every answer is the first sentence.") == 12
        assert approve_work(at) == PEOPLE - 12
        assert exclude_workers(at, [*names, *names], dry_run=True) == Turned(24, 0)
    assert max(counts) == TOGETHER
    assert sum(counts) == PEOPLE + 24
