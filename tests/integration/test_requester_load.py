"""A look at the requester's pages costs little, however many forms there are and however many people look."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from threading import Event, Thread

import pytest
from sqlalchemy import Engine, event, insert
from werkzeug.test import Client

from humaneval.settings import Settings
from humaneval.store.engine import writing
from humaneval.store.tables import AnswerRow, AssignmentRow, PaymentRow, WorkerRow
from humaneval.store.types import now
from humaneval.study.stored import open_study
from humaneval.web.app import create_app
from humaneval.web.requester import remembered
from tests.answered import answer_half
from tests.integration.crowd.test_crowds import statements
from tests.pace import PATIENCE

MORE = 2_000
COUNTED = ("", "live", "study/study/", "study/study/live", "study/study/comments")
OF_FEW = ("study/study/people/p001", "study/study/passages/1")


class Pages:
    """A browser at the pages, and what they cost."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.client = Client(create_app(Settings(), engine, requester_token="key"), use_cookies=False)

    def get(self, page: str) -> str:
        shown = self.client.get(f"/requester/key/{page}")
        assert shown.status_code == 200
        return shown.text

    def work(self, page: str) -> int:
        """How long the database works for a page: in hundreds of its own instructions."""
        steps = 0

        def step() -> None:
            nonlocal steps
            steps += 1

        def watch(connection: sqlite3.Connection, *_: object) -> None:
            connection.set_progress_handler(step, 100)

        event.listen(self.engine, "checkout", watch)
        self.get(page)
        event.remove(self.engine, "checkout", watch)
        return steps


@pytest.fixture
def half(sqlite_engine: Engine, study_factory: Callable) -> Pages:
    """A study of 16 forms in the middle of its life."""
    study_factory(sqlite_engine, design={"annotators": 16})
    answer_half(sqlite_engine)
    return Pages(sqlite_engine)


def many_more(engine: Engine) -> None:
    """Many more people have sent a form, and were paid for it."""
    numbers, moment = range(1000, 1000 + MORE), now()
    form = {"study_id": 1, "hit_id": 1, "endpoint": "production", "row_id": 1, "holds_row": False}
    form |= {"state": "approved", "opened_at": moment, "answered_at": moment, "submitted_at": moment}
    paid = {"study_id": 1, "endpoint": "production", "kind": "reward", "purpose": "reward", "state": "paid"}
    with writing(engine) as session:
        session.execute(insert(WorkerRow), [{"id": one, "pseudonym": f"q{one}"} for one in numbers])
        each = [{"id": one, "worker_id": one, "external_id": f"B{one}"} | form for one in numbers]
        session.execute(insert(AssignmentRow), each)
        answers = [{"assignment_id": one, "source": "server", "fields": {"comment": ""}} for one in numbers]
        session.execute(insert(AnswerRow), answers)
        payments = [{"assignment_id": one, "amount": 1, "fee": 0} | paid for one in numbers]
        session.execute(insert(PaymentRow), payments)


def test_what_others_sent_is_not_looked_through_for_one_person_or_a_passage(half: Pages) -> None:
    for page in OF_FEW:
        half.get(page)
    before = [half.work(page) for page in OF_FEW]
    many_more(half.engine)
    after = [half.work(page) for page in OF_FEW]
    assert [now < 2 * then for now, then in zip(after, before, strict=True)] == [True] * len(OF_FEW)


@pytest.mark.parametrize("page", COUNTED)
def test_forms_and_payments_are_counted_by_the_database(half: Pages, page: str) -> None:
    many_more(half.engine)
    loaded: list[object] = []

    def note(row: object, _: object) -> None:
        loaded.append(row)

    for kind in (AssignmentRow, PaymentRow, AnswerRow):
        event.listen(kind, "load", note)
    half.get(page)
    for kind in (AssignmentRow, PaymentRow, AnswerRow):
        event.remove(kind, "load", note)
    assert len(loaded) < 10


def test_the_figures_of_a_large_study_are_counted_once_for_all_who_look(
    half: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "_seconds", lambda study: PATIENCE)
    first = {page: half.get(page) for page in COUNTED}
    many_more(half.engine)
    with statements(half.engine) as asked:
        assert {page: Pages(half.engine).get(page) for page in COUNTED} == first
    assert not [each for each in asked if "FROM payments" in each or "GROUP BY assignments" in each]


def test_one_counts_and_the_others_who_look_get_the_last_figures(
    half: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, begun, go_on, found = open_study(half.engine, "study"), Event(), Event(), list[int]()
    monkeypatch.setattr(remembered, "_seconds", lambda study: 0.001)

    def slow() -> int:
        begun.set()
        assert go_on.wait(PATIENCE)
        return 2

    assert remembered.remembered(study, "figure", lambda: 1) == 1
    time.sleep(0.01)
    counting = Thread(target=lambda: found.append(remembered.remembered(study, "figure", slow)))
    counting.start()
    assert begun.wait(PATIENCE)
    assert remembered.remembered(study, "figure", lambda: 3) == 1
    go_on.set()
    counting.join(PATIENCE)
    assert found == [2]
