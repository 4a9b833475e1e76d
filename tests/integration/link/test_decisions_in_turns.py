"""Decisions about many people: nobody waits while they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


def answered(by_link: Callable[..., LinkStudy], engine: Engine) -> StudyAtPlatform:
    study = by_link(engine, design={"annotators": PEOPLE})
    study.open_link()
    answer_by_link(engine, PEOPLE)
    at = open_study_at(engine, "study", study.platform)
    collect_work(at)
    return at


def test_no_transaction_grows_with_the_number_of_decisions(
    by_link: Callable[..., LinkStudy], sqlite_engine: Engine
) -> None:
    at = answered(by_link, sqlite_engine)
    some = [f"a{number}" for number in range(1, 13)]
    names = [f"one {number}" for number in range(1, 13)] + [f"new-{number}" for number in range(12)]
    with intended(sqlite_engine) as counts:
        assert reject_work(at, assignments=some, reason="Every answer is the first sentence.") == 12
        assert approve_work(at) == PEOPLE - 12
        assert exclude_workers(at, [*names, *names], dry_run=True) == Turned(24, 0)
    assert max(counts) == TOGETHER
    assert sum(counts) == PEOPLE + 24
