"""Old people are purged a few at a time: what a kill leaves, the next run finds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, Engine, event, func, select

from humaneval.crowd.answers import COMMENT
from humaneval.crowd.outbox import TOGETHER
from humaneval.crowd.purge import purge
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AnswerRow, WorkerIdentityRow
from humaneval.store.types import now
from tests.integration.link.crowd_of_thousands import answer_by_link
from tests.integration.link.people import LinkStudy

PEOPLE = 3 * TOGETHER + 2


class Killed(BaseException):
    """The program ends here."""


def test_a_purge_that_was_killed_goes_on_with_the_next_people(
    by_link: Callable[..., LinkStudy], engine: Engine
) -> None:
    study = by_link(engine, design={"annotators": PEOPLE})
    study.open_link()
    answer_by_link(engine, PEOPLE)
    with writing(engine) as session:
        for answer in session.scalars(select(AnswerRow)):
            answer.fields = {**answer.fields, COMMENT: "Fine."}
    study.collect()
    before = now()
    assert purge(engine, now(), before, dry_run=True).ids == PEOPLE
    left: list[int] = []

    def third(_: Connection) -> None:
        left.append(0)
        if len(left) == 3:
            raise Killed

    event.listen(engine, "commit", third)
    with pytest.raises(Killed):
        purge(engine, now(), before)
    event.remove(engine, "commit", third)
    assert ids(engine) == PEOPLE - 2 * TOGETHER
    done = purge(engine, now(), before)
    assert (done.ids, done.comments) == (ids(engine) + PEOPLE - 2 * TOGETHER,) * 2
    assert purge(engine, now(), before).nothing


def ids(engine: Engine) -> int:
    with reading(engine) as session:
        return session.scalar(select(func.count()).select_from(WorkerIdentityRow)) or 0
