"""A person is forgotten between any two looks of the form server, which is storing their answers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.forget import forget
from humaneval.store import engine as store
from humaneval.store.engine import open_engine, reading
from humaneval.store.tables import WorkerRow
from tests.before_look import before_look
from tests.integration.link.people import begin, heading, send

LOOKS = 30
"""No request looks as often into the database."""


def test_who_is_forgotten_while_they_send_reads_that_the_page_is_gone(
    engine: Engine, database: str, by_link: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)
    link = by_link(engine, design={"annotators": LOOKS}).open_link()
    other, read = open_engine(database, pool=False), set()

    def forget_the_last() -> None:
        with reading(other) as session:
            last = session.scalars(select(WorkerRow.pseudonym).order_by(WorkerRow.id.desc())).first()
        assert last is not None
        forget(other, last)

    for number in range(1, LOOKS):
        page = begin(link)
        with before_look(number, forget_the_last, in_servers=True) as looks:
            sent = send(page)
        read.add((sent.status, heading(sent)))
        if looks[0] < number:  # it was through before
            break
    assert read == {(404, "Page not found"), (200, "Thank you")}
