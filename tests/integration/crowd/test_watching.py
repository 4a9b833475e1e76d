"""Collecting as answers come goes on after a while in which the database is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.status import EndpointStatus
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.errors import HumanEvalError
from humaneval.running import watch as watching
from humaneval.running.other_studies import OtherStudies
from humaneval.running.watch import Ending, Pulse, pulse_of, watch
from tests.pace import PATIENCE


def wait_for(what: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_database_that_is_restarted_is_waited_for_and_told_of_once(
    engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    up, other = put_up(engine, design={"annotators": 4}), put_up(engine, "other", design={"annotators": 4})
    at, ending = open_study_at(engine, "study", platform), Ending()
    told: list[EndpointStatus] = []
    troubles: list[HumanEvalError] = []
    joined: list[str] = []
    beside = OtherStudies(
        at,
        lambda endpoint, name: open_study_at(engine, name, platform),
        ending,
        troubles.append,
        joined.append,
    )
    looks = failed = 0

    def look() -> None:
        nonlocal looks
        beside()
        looks += 1

    def pulse(at: StudyAtPlatform) -> Pulse:
        nonlocal failed
        try:
            return pulse_of(at)
        except HumanEvalError:
            failed += 1
            raise

    monkeypatch.setattr("humaneval.running.watch.pulse_of", pulse)
    watching = threading.Thread(
        target=watch, args=(at, ending, told.append, troubles.append), kwargs={"beside": look}
    )
    watching.start()
    administrator = create_engine(make_url(engine.url).set(database="postgres"), isolation_level="AUTOCOMMIT")
    name = engine.url.database
    try:
        wait_for(lambda: looks)
        with administrator.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
            gone = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name")
            connection.execute(gone, {"name": name})
            wait_for(lambda: failed > 2)
            connection.execute(text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))
        before = looks
        wait_for(lambda: looks > before)
        answer(up)
        wait_for(lambda: told[-1].submitted == 1)
    finally:
        ending.stop()
        watching.join(PATIENCE)
        administrator.dispose()
    assert joined == [other.name]
    assert len({error.message for error in troubles}) == len(troubles)


def test_while_answers_come_all_the_time_collecting_rests(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    at, ending, looks, passes = open_study_at(sqlite_engine, "study", platform), Ending(), [0], [0]

    def look() -> None:
        looks[0] += 1

    def collect(*given: Any) -> object:
        passes[0] += 1
        return collect_work(*given)

    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(watching, "SOON_SECONDS", 0.0)
    monkeypatch.setattr(watching, "REST", 1e9)
    monkeypatch.setattr(watching, "collect_work", collect)
    thread = threading.Thread(target=watch, args=(at, ending), kwargs={"beside": look})
    thread.start()
    try:
        wait_for(lambda: looks[0])
        answer(up)
        before = looks[0]
        wait_for(lambda: looks[0] > before + 2)
        assert (passes, pulse_of(at).answered) == ([1], 1)
    finally:
        ending.stop()
        thread.join(PATIENCE)
