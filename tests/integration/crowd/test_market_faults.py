"""The marketplace's own mishaps against the real form server and `collect`: forms and ids that went
astray."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, select

from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.workers import list_workers
from humaneval.errors import PlatformError
from humaneval.market import Trouble
from humaneval.simulated import Crowd, Skills, annotator, work_through
from humaneval.store.engine import reading
from humaneval.store.tables import AnswerRow, AssignmentRow, ResponseRow
from humaneval.study.stored import open_study, study_key


def sources(engine: Engine) -> Counter[str]:
    with reading(engine) as session:
        return Counter(session.scalars(select(ResponseRow.source)))


def test_C07_a_form_that_went_to_the_marketplace_alone_is_collected_all_the_same(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    troubles.coming["work"] = [Trouble.UNSEEN]
    done = person("Ada").accept(up.preview)
    assert "/unseen/" in done.frame
    assert done.post(4).status == 200  # and there is no page to hand over: this was it
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.new, found.rebuilt, found.responses, found.strays) == (1, 1, 4, 0)
    assert sources(sqlite_engine) == {"platform": 4}
    person("Ben").accept(up.preview).do()
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).rebuilt == 0


def test_C06_an_id_that_went_to_another_worker_gets_that_workers_answers(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    ada = person("Ada").accept(up.preview)
    ada.post(5)  # answered at our server, and then given back
    ada.give_back()
    troubles.coming["accept"] = [Trouble.REUSED_ID]
    ben = person("Ben").accept(up.preview)
    assert ben.id == ada.id
    ben.do(2)
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.submissions, found.new) == (1, 1)
    with reading(sqlite_engine) as session:
        states = {
            external_worker_id(session, row.worker_id): row.state for row in session.query(AssignmentRow)
        }
        choices = set(session.scalars(select(ResponseRow.choice)))
    assert states == {ada.person.id: "superseded", ben.person.id: "submitted"}
    assert choices == {2}


def test_C26_pages_that_come_back_empty_hide_no_submission(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    for name in ("Ada", "Ben", "Cy"):
        person(name).accept(up.preview).do()
    troubles.coming["ListAssignmentsForHIT"] = [Trouble.EMPTY_PAGE] * 9
    troubles.coming["ListHITs"] = [Trouble.EMPTY_PAGE] * 9
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).new == 3


def test_C68_simulated_annotators_reload_what_was_lost_and_submit_once_each(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    lost = [Trouble.REPLY_LOST, Trouble.DROPPED, Trouble.THROTTLED, Trouble.UNAVAILABLE, Trouble.ODD_STATUS]
    troubles.coming |= {"accept": lost[:], "submit": lost[:], "work": [*lost, Trouble.UNSEEN]}
    worked = work_through(Crowd(5, Skills()), up.preview, study_key(open_study(sqlite_engine, "study")))
    assert worked == (4, 1)
    assert not any(troubles.coming[step] for step in ("accept", "submit", "work")), "all of it happened"
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.submissions, found.new, found.responses, found.strays, found.rebuilt) == (4, 4, 16, 0, 1)
    with reading(sqlite_engine) as session:
        workers = [row.worker_id for row in session.query(AssignmentRow)]
    assert len(workers) == len(set(workers)) == 4


def test_simulated_annotators_say_when_nothing_answers_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotator, "PATIENCE", (0.0, 0.0))
    with pytest.raises(PlatformError, match="cannot be reached"):
        work_through(Crowd(2, Skills()), "http://127.0.0.1:9/", {})


def test_C06_what_is_sent_after_a_return_is_not_handed_over_as_the_work_of_the_worker_with_the_id_now(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    ada = person("Ada").accept(up.preview)
    tab = ada.open()
    ada.give_back()
    troubles.coming["accept"] = [Trouble.REUSED_ID]
    ben = person("Ben").accept(up.preview)
    form = ben.open()
    assert ben.id == ada.id
    sent = ada.post(5, tab)
    assert "You have returned this task" in sent.html
    assert sent.form(action="/mturk/externalSubmit") is None
    ben.hand_over(ben.post(2, form))
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.submissions, found.new, found.differences, found.unpaid) == (1, 1, (), ())
    with reading(sqlite_engine) as session:
        assert set(session.scalars(select(ResponseRow.choice))) == {2}
        assert len(session.scalars(select(AnswerRow)).all()) == 3  # what Ada sent is kept, too
    people = {line.forms: line for line in list_workers(open_study(sqlite_engine, "study"), "local")}
    assert (people[0].on_list, people[1].approved) == (False, 0)
    again = person("Ada").accept(up.preview)
    again.do(3)  # who returned has not taken part
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).new == 1


def test_C06_a_worker_with_the_id_again_sends_under_it(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    first = person("Ada").accept(up.preview)
    first.open()
    first.give_back()
    troubles.coming["accept"] = [Trouble.REUSED_ID, Trouble.REUSED_ID]
    ben = person("Ben").accept(up.preview)
    ben.open()
    ben.give_back()
    again = person("Ada").accept(up.preview)
    assert again.id == ben.id == first.id
    again.do(2)
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).new == 1
