"""`collect`: the platform's answers are the record, our copy adds timing, and nothing is lost, doubled or
guessed at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, func, select, text

from humaneval.crowd import publish_plan
from humaneval.crowd.approve import approve_work
from humaneval.crowd.claims import open_form
from humaneval.crowd.collect import CollectedWork, collect_work
from humaneval.crowd.form_of_row import load_form
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import submitted
from humaneval.crowd.review import review_work
from humaneval.crowd.status import study_status
from humaneval.crowd.store_answers import keep_answers
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PartialError, PlatformError
from humaneval.market.assignments import accept, give_back
from humaneval.market.protocol.answer_xml import Field, answer_xml
from humaneval.market.submissions import Answer, submit
from humaneval.market.tables.database import Mode, transaction
from humaneval.market.workers import sign_up
from humaneval.store.engine import reading, writing
from humaneval.store.responses import response_lines
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    PaymentRow,
    ResponseRow,
    RowRow,
)
from humaneval.store.types import now
from humaneval.study.stored import get_study, open_study

Table = list[dict[str, Any]]


def responses(engine: Engine) -> Table:
    with reading(engine) as session:
        return response_lines(session, get_study(session, "study"))


def sources(engine: Engine) -> Counter[str]:
    with reading(engine) as session:
        return Counter(session.scalars(select(ResponseRow.source)))


def states(engine: Engine) -> dict[str, str]:
    """Platform's worker id → state of the worker's assignment."""
    with reading(engine) as session:
        return {external_worker_id(session, row.worker_id): row.state for row in session.query(AssignmentRow)}


def form_fields(engine: Engine, ordinal: int, choice: int = 1) -> dict[str, str]:
    """What the form of a row sends."""
    with reading(engine) as session:
        row = session.scalars(select(RowRow).where(RowRow.ordinal == ordinal)).one()
        choices = {f"choice-{place.place}": str(choice) for place in row.places}
        return {"form": row.shown_hash, "consent": "1", **choices}


def test_C47_collecting_any_time_and_twice_gives_the_same_rows(
    engine: Engine, put_up: Callable, answer: Callable, platform: MTurk
) -> None:
    up = put_up(engine, design={"annotators": 4})
    assert collect_work(open_study_at(engine, "study", platform)) == CollectedWork(0, 0, 0, 0, 0, 0, ())
    answer(up, "Ada", 2)
    assert collect_work(open_study_at(engine, "study", platform)) == CollectedWork(1, 1, 4, 0, 0, 0, ())
    early = responses(engine)
    answer(up, "Ben", 3)
    assert collect_work(open_study_at(engine, "study", platform)) == CollectedWork(2, 1, 8, 0, 0, 0, ())
    assert collect_work(open_study_at(engine, "study", platform)) == CollectedWork(2, 0, 8, 0, 0, 0, ())
    table = responses(engine)
    assert table[:4] == early
    assert Counter(line["choice"] for line in table) == {2: 4, 3: 4}
    assert sources(engine) == {"both": 8}


def test_C47_two_that_collect_at_once_give_each_response_once(
    engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, market: Any
) -> None:
    from humaneval.crowd.endpoints import local

    up = put_up(engine, design={"annotators": 4})
    for name in ("Ada", "Ben", "Cy"):
        answer(up, name)
    platforms, together = [MTurk(local(market.url)) for _ in range(4)], Barrier(4)

    def go(platform: MTurk) -> int:
        together.wait()
        return collect_work(open_study_at(engine, "study", platform)).new

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(go, platforms)) == 3
    assert len(responses(engine)) == 12


def test_C26_every_page_of_250_assignments_is_fetched(
    sqlite_engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    market_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publish_plan, "MAX_ASSIGNMENTS", 250)
    study_factory(sqlite_engine, design={"annotators": 250})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")
    with reading(sqlite_engine) as session:
        hit_id = session.scalars(select(HitRow.external_id)).one()
        hashes = session.scalars(select(RowRow.shown_hash).order_by(RowRow.ordinal)).all()
    assert hit_id
    with transaction(market_engine, Mode.LOCAL, now, writes=True) as work:
        for number, form in enumerate(hashes):
            mine = accept(work, sign_up(work, f"worker {number}", ""), hit_id)
            fields = {"form": form, "consent": "1", **{f"choice-{n}": "3" for n in (1, 2, 3, 4)}}
            submit(work, mine.id, Answer(answer_xml([Field(name, value) for name, value in fields.items()])))
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.submissions, found.new, found.responses, found.strays) == (250, 250, 1000, 0)
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).new == 0


def test_C07_answers_that_never_reached_our_server_are_rebuilt_from_the_platforms(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(engine, design={"annotators": 4})
    opened = person("Ada").accept(up.preview)
    opened.open()  # our server handed row 1 out, and never saw its answers
    opened.submit_directly(form_fields(engine, 1, 4))
    person("Ben").accept(up.preview).submit_directly(form_fields(engine, 3, 5))  # nor that Ben was there
    found = collect_work(open_study_at(engine, "study", platform))
    assert (found.new, found.rebuilt, found.responses, found.strays) == (2, 2, 8, 0)
    assert sources(engine) == {"platform": 8}
    assert Counter((line["row"], line["choice"]) for line in responses(engine)) == {(1, 4): 4, (3, 5): 4}
    # Both rows are taken: the next people get 2 and 4.
    for name in ("Cy", "Di"):
        person(name).accept(up.preview).do()
    assert collect_work(open_study_at(engine, "study", platform)).rebuilt == 0
    assert {line["row"] for line in responses(engine)} == {1, 2, 3, 4}


def test_C06_of_two_workers_under_one_assignment_id_the_platforms_one_counts(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk, planned: Callable
) -> None:
    up = put_up(engine, design={"annotators": 4})
    ben = person("Ben").accept(up.preview)
    key = next(iter(planned(engine))).removeprefix("humaneval:")
    # Before Ben, Ada had this assignment id, answered on our server and returned the HIT.
    ada = open_form(
        engine, hit_key=key, external_hit="", assignment=ben.id, worker="AADA", now=datetime.now(UTC)
    )
    form = load_form(engine, ada.assignment_id).form
    keep_answers(
        engine,
        ada.assignment_id,
        {"form": form.form_hash, "consent": "1", "choice-1": "5"},
        datetime.now(UTC),
    )
    ben.do(2)
    found = collect_work(open_study_at(engine, "study", platform))
    assert (found.submissions, found.new, found.not_handed_over, found.differences) == (1, 1, 0, ())
    assert states(engine) == {"AADA": "superseded", ben.person.id: "submitted"}
    assert {line["choice"] for line in responses(engine)} == {2}
    assert approve_work(open_study_at(engine, "study", platform)) == 1
    with reading(engine) as session:
        paid = session.scalars(select(PaymentRow.assignment_id)).one()
        assert external_worker_id(session, session.get_one(AssignmentRow, paid).worker_id) == ben.person.id
    assert [(line.external_id, line.state) for line in review_work(open_study(engine, "study"), "local")] == [
        (ben.id, "approved")
    ]


def test_C08_no_get_moves_money_answers_or_the_platforms_state(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    troubles: Any,
    market_engine: Engine,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    work = person("Ada").accept(up.preview)
    work.post()
    troubles.seen.clear()
    before = _market_state(market_engine), platform.balance()
    troubles.seen.clear()
    for url in (
        f"{up.forms}/",
        f"{up.forms}/health",
        work.frame,
        work.frame.partition("?")[0],
        work.page.url,
    ):
        work.person.browser.get(url)
    assert set(troubles.seen) <= {"work"}  # the worker's own page, and no call of the API
    assert (_market_state(market_engine), platform.balance()) == before
    with reading(sqlite_engine) as session:
        assert session.scalar(select(func.count()).select_from(AnswerRow)) == 1
        assert session.scalar(select(func.count()).select_from(PaymentRow)) == 0


def _market_state(market_engine: Engine) -> list[Any]:
    with market_engine.connect() as connection:
        return [
            connection.execute(text(f"SELECT * FROM {table} ORDER BY number")).all()
            for table in ("assignments", "entries", "bonuses", "hits")
        ]


def test_C12_who_answers_while_it_is_collected_has_lost_nothing(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    ada, at = person("Ada").accept(up.preview), open_study_at(sqlite_engine, "study", platform)

    def meanwhile(*args: Any) -> Any:
        found = submitted(*args)
        ada.post()
        return found

    monkeypatch.setattr("humaneval.crowd.collect.submitted", meanwhile)
    found = collect_work(at)
    assert (found.submissions, found.not_handed_over, found.unpaid) == (0, 0, ())
    monkeypatch.undo()
    found = collect_work(at)
    assert (found.submissions, found.not_handed_over, len(found.unpaid)) == (0, 1, 1)


def test_C12_work_in_hand_is_not_collected_and_approving_it_says_so(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    work = person("Ada").accept(up.preview)
    work.open()
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).submissions == 0
    with pytest.raises(PlatformError, match="is not submitted yet"):
        approve_work(open_study_at(sqlite_engine, "study", platform), assignments=[work.id])
    assert platform.balance() is not None
    handed = work.post()
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.submissions, found.not_handed_over, found.responses) == (0, 1, 0)
    work.hand_over(handed)
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.new, found.not_handed_over) == (1, 0)
    assert approve_work(open_study_at(sqlite_engine, "study", platform), assignments=[work.id]) == 1


def test_C48_status_counts_submitted_work_although_the_platform_calls_none_completed(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, listed: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4}, hit={"auto_approval_days": 1})
    for name in ("Ada", "Ben", "Cy"):
        answer(up, name)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert [hit["NumberOfAssignmentsCompleted"] for hit in listed()] == [0]
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.planned, status.submitted, status.approved, status.opened) == (4, 3, 0, 0)
    assert status.next_auto_approval is not None
    hours = (status.next_auto_approval - datetime.now(UTC)).total_seconds() / 3600
    assert 23.9 < hours < 24


def test_differences_between_the_platforms_answers_and_ours_are_reported_and_the_platform_counts(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(engine, design={"annotators": 4})
    work = person("Ada").accept(up.preview)
    page = work.post(2, **{"seconds-1": "0.001"})
    form = page.form(action="/mturk/externalSubmit")
    work.person.browser.submit(page, form, {"choice-1": "4", "choice-3": "9"})
    found = collect_work(open_study_at(engine, "study", platform))
    assert found.differences == (
        f"assignment {work.id}: passage 1: platform 4, our server 2; passage 3: platform none, our server 2",
    )
    assert [(line["order"], line["choice"], line["seconds"]) for line in responses(engine)] == [
        (1, 4, 0.001),
        (2, 2, None),
        (4, 2, None),
    ]
    assert [line.excluded for line in review_work(open_study(engine, "study"), "local")] == ["incomplete"]
    assert collect_work(open_study_at(engine, "study", platform)).differences == found.differences


def test_answers_to_a_row_that_someone_else_holds_by_now_are_kept_for_that_row(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(engine, design={"annotators": 4})
    ada, ben = (person(name).accept(up.preview) for name in ("Ada", "Ben"))
    ada.open()
    ben.open()  # row 2 is handed to Ben
    ada.submit_directly(form_fields(engine, 2, 3))  # and Ada answers it, from an old tab
    ben.do(1)
    found = collect_work(open_study_at(engine, "study", platform))
    assert found.new == 2
    assert found.differences == (
        f"assignment {ada.id}: the answers are to another row than the one handed out last",
    )
    assert Counter(line["row"] for line in responses(engine)) == {2: 8}
    person("Cy").accept(up.preview).do()
    collect_work(open_study_at(engine, "study", platform))
    assert Counter(line["row"] for line in responses(engine)) == {1: 4, 2: 8}  # Ada's row was free again


def test_an_orphan_hit_of_an_interrupted_publish_is_collected_too(
    sqlite_engine: Engine, orphan: Callable, person: Callable, platform: MTurk
) -> None:
    person("Ada").accept(orphan(sqlite_engine)).do()
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).responses == 4


def test_a_hit_that_the_platform_has_no_more_does_not_stop_the_others(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, listed: Callable, market: Any
) -> None:
    put_up(sqlite_engine, design={"annotators": 20})
    with writing(sqlite_engine) as session:
        first = session.scalars(select(HitRow).order_by(HitRow.id)).first()
        assert first is not None
        first.external_id = "3GONE0000000000000000000000000"
    person("Ada").accept(f"{market.url}/hits/{listed()[2]['HITId']}").submit_directly(
        form_fields(sqlite_engine, 5)
    )
    with pytest.raises(PartialError, match="no longer has the HIT 3GONE"):
        collect_work(open_study_at(sqlite_engine, "study", platform))
    assert {line["row"] for line in responses(sqlite_engine)} == {5}


def test_one_answer_that_cannot_be_read_does_not_stop_the_others(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, market_engine: Engine
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    ids = [person(name).accept(up.preview).do() for name in ("Ada", "Ben")]
    never_ours = person("Cy").accept(up.preview)
    never_ours.submit_directly(form_fields(sqlite_engine, 3))
    bomb = "<!DOCTYPE a [<!ENTITY b 'c'>]><QuestionFormAnswers>&b;</QuestionFormAnswers>"
    with market_engine.begin() as connection:
        for broken in (ids[0], never_ours.id):
            connection.execute(
                text("UPDATE assignments SET answer = :answer WHERE id = :id"), {"answer": bomb, "id": broken}
            )
    found = collect_work(open_study_at(sqlite_engine, "study", platform))
    assert (found.submissions, found.responses, found.strays) == (3, 4, 1)
    assert "defines XML entities of its own" in found.differences[0]
    excluded = {
        line.external_id: line.excluded for line in review_work(open_study(sqlite_engine, "study"), "local")
    }
    assert set(excluded) == {*ids, never_ours.id}
    assert excluded[ids[0]] == "incomplete" != excluded[ids[1]]
    assert "entities" in excluded[never_ours.id]
    with reading(sqlite_engine) as session:
        stray = session.scalars(select(AssignmentRow).where(AssignmentRow.is_stray)).one()
        fields = session.scalars(select(AnswerRow.fields).where(AnswerRow.assignment_id == stray.id)).one()
        assert (stray.external_id, fields) == (never_ours.id, {"answer": bomb})


def test_returned_work_that_another_finishes_is_one_assignment_each(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, market_engine: Engine, planned: Callable
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    ((hit_id, _),) = planned(sqlite_engine).values()
    with transaction(market_engine, Mode.LOCAL, now, writes=True) as work:
        ada, ben = sign_up(work, "Ada", ""), sign_up(work, "Ben", "")
        give_back(work, ada, accept(work, ada, hit_id).id)
        fields = form_fields(sqlite_engine, 2)
        sent = answer_xml(Field(*pair) for pair in fields.items())
        submit(work, accept(work, ben, hit_id).id, Answer(sent))
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).submissions == 1


@pytest.mark.parametrize(
    "value",
    ["& < > \" '", "]]>", "a😀b", "{{7*7}}", "<script>alert(1)</script>", "<!DOCTYPE x>", "  edge  ", "ẞ\tß"],
)
def test_C29_what_workers_write_arrives_as_they_wrote_it(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, value: str
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    person("Ada").accept(up.preview).do(comment=value)
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).strays == 0
    with reading(sqlite_engine) as session:
        kept = {row.source: row.fields["comment"] for row in session.query(AnswerRow)}
    assert kept == {"server": value, "platform": value}


def test_of_what_is_sent_past_our_server_each_field_is_kept_up_to_a_length(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    sent = {**form_fields(sqlite_engine, 2), "comment": "ö" * 3000}
    person("Ada").accept(up.preview).submit_directly(sent)
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).new == 1
    with reading(sqlite_engine) as session:
        kept = {row.source: row.fields for row in session.query(AnswerRow)}
    assert kept == {"platform": {**sent, "comment": "ö" * 2000}}
