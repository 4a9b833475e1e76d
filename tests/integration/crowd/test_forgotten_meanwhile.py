"""A person is forgotten between any two looks of a command into the database."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest
from sqlalchemy import Engine

from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.forget import forget
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import HumanEvalError
from humaneval.store import engine as store
from humaneval.store.engine import open_engine
from tests.before_look import before_look
from tests.commands import Command

LOOKS = 40
"""No command here looks as often into its database."""


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize(
    "verb",
    [
        "notify study WHO --subject S --text T",
        pytest.param("approve study WORK", marks=pytest.mark.long),
        pytest.param("bonus study WORK --amount 0.50 --reason R", marks=pytest.mark.long),
        pytest.param("worker exclude study WHO", marks=pytest.mark.long),
        pytest.param("worker block study WHO --reason R", marks=pytest.mark.long),
    ],
)
def test_a_person_that_goes_is_told_in_a_line(
    engine: Engine,
    database: str,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
) -> None:
    up = put_up(engine, design={"annotators": 40}, exclusions={"missed_control": "none"})
    at = open_study_at(engine, "study", platform)
    monkeypatch.setenv("HUMANEVAL_DATABASE", database)
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.client.meta.endpoint_url)
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)  # what holds the person at a look keeps them
    other, missed = open_engine(database, pool=False), 0

    def go(worker: str) -> None:
        with suppress(HumanEvalError):
            forget(other, worker)

    for number in range(1, LOOKS):
        somebody = person(f"Ada {number}")
        work = somebody.accept(up.preview).do()
        collect_work(at)
        approve_work(at)
        with before_look(number, partial(go, somebody.id)) as looks:
            said = command(*verb.replace("WORK", work).replace("WHO", somebody.id).split())
        assert said.code in (0, 1, 2, 3), said.err
        missed += said.code > 0
        if looks[0] < number:  # it was through before
            break
    assert missed  # else nobody was forgotten while it ran
