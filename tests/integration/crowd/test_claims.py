"""Rows are handed out once, come back when work ends without answers, and only people who accepted work get
one."""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine, func, select

from humaneval.crowd.claims import Opened, Outcome, open_form
from humaneval.crowd.collect import collect_work
from humaneval.crowd.form_of_row import load_form
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.store_answers import keep_answers
from humaneval.crowd.study_at import open_study_at
from humaneval.store.engine import reading
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    PassageRow,
    RowPassageRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.web.app import create_app
from tests.fixtures import nobodys_session, signed
from tests.pace import PATIENCE

START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
LEASE = timedelta(minutes=50)
"""45 minutes for the work, and 5 of grace."""


class Study:
    """A planned study, whose forms are opened without a platform."""

    def __init__(self, engine: Engine, name: str = "study") -> None:
        self.engine = engine
        with reading(engine) as session:
            self.keys = list(session.scalars(select(HitRow.key).order_by(HitRow.id)))

    def open(
        self,
        worker: str,
        *,
        assignment: str = "",
        hit: int = 0,
        now: datetime = START,
        external_hit: str = "",
        move: bool = False,
    ) -> Opened:
        return open_form(
            self.engine,
            hit_key=self.keys[hit],
            external_hit=external_hit,
            assignment=assignment or f"3{worker}",
            worker=worker,
            now=now,
            move=move,
        )

    def row(self, opened: Opened) -> int:
        with reading(self.engine) as session:
            row = session.get_one(AssignmentRow, opened.assignment_id).row_id
            assert row is not None
            return row

    def answer(self, opened: Opened, now: datetime = START) -> None:
        form = load_form(self.engine, opened.assignment_id).form
        choices = {f"choice-{shown.place}": "1" for shown in form.passages}
        keep_answers(
            self.engine, opened.assignment_id, {"form": form.form_hash, "consent": "1", **choices}, now
        )

    def state(self, opened: Opened) -> str:
        with reading(self.engine) as session:
            return session.get_one(AssignmentRow, opened.assignment_id).state


@pytest.fixture
def planned_study(study_factory: Callable, platform: MTurk) -> Callable[..., Study]:
    def make(engine: Engine, **design: Any) -> Study:
        study_factory(engine, design=design)
        plan_hits(open_study_at(engine, "study", platform))
        return Study(engine)

    return make


@pytest.mark.parametrize("rows", [50, 40], ids=["a row each", "ten too few"])
def test_C39_fifty_at_once_each_get_a_row_of_their_own_while_there_are_any(
    engine: Engine, planned_study: Callable, rows: int
) -> None:
    study, together = planned_study(engine, annotators=rows), Barrier(50)

    def go(number: int) -> Opened:
        together.wait()
        return study.open(f"W{number}", hit=number % len(study.keys))

    with ThreadPoolExecutor(50) as pool:
        outcomes = list(pool.map(go, range(50)))
    assert Counter(opened.outcome for opened in outcomes) == Counter(
        {Outcome.FORM: rows, Outcome.FULL: 50 - rows} if rows < 50 else {Outcome.FORM: 50}
    )
    given = [study.row(opened) for opened in outcomes if opened.outcome is Outcome.FORM]
    assert len(set(given)) == rows


def test_C43_one_person_in_many_tabs_at_once_has_one_form_and_takes_no_row_from_others(
    engine: Engine, planned_study: Callable
) -> None:
    study, together = planned_study(engine, annotators=4), Barrier(20)

    def go(number: int) -> Opened:
        together.wait()
        return study.open("W1") if number < 17 else study.open(f"X{number}")

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(go, range(20)))
    assert {opened.outcome for opened in outcomes} == {Outcome.FORM}
    assert len({opened.assignment_id for opened in outcomes[:17]}) == 1
    assert len({study.row(opened) for opened in outcomes}) == 4
    with reading(engine) as session:
        assert session.scalar(select(func.count()).select_from(WorkerRow)) == 4


def test_C38_a_lease_that_ran_out_frees_the_row_and_one_that_runs_does_not(
    engine: Engine, planned_study: Callable
) -> None:
    study = planned_study(engine, annotators=2)
    first, second = study.open("W1"), study.open("W2", now=START + timedelta(minutes=10))
    assert study.open("W3", now=START + LEASE).outcome is Outcome.FULL
    third = study.open("W3", now=START + LEASE + timedelta(seconds=1))
    assert study.row(third) == study.row(first)
    assert study.state(first) == "superseded"
    assert study.state(second) == "opened"


def test_C38_what_is_answered_keeps_its_row_after_the_lease(engine: Engine, planned_study: Callable) -> None:
    study = planned_study(engine, annotators=1)
    study.answer(study.open("W1"))
    assert study.open("W2", now=START + timedelta(days=2)).outcome is Outcome.FULL


def test_C38_answers_after_the_lease_are_kept_and_hold_their_row_if_it_is_still_free(
    engine: Engine, planned_study: Callable
) -> None:
    study = planned_study(engine, annotators=2)
    late, later = study.open("W1"), START + LEASE + timedelta(minutes=1)
    other = study.open("W2", now=later)  # takes the freed row
    assert study.row(other) == study.row(late)
    study.answer(late, later)
    assert study.state(late) == "answered"
    third = study.open("W3", now=later)
    assert third.outcome is Outcome.FORM
    assert study.row(third) != study.row(late)


def test_C38_who_comes_back_after_the_lease_gets_the_same_form_while_it_is_free(
    engine: Engine, planned_study: Callable
) -> None:
    study = planned_study(engine, annotators=3)
    first, second = study.open("W1"), study.open("W2")
    own, later = study.row(second), START + LEASE + timedelta(minutes=1)
    third = study.open("W3", now=later)  # frees both rows and takes the first
    assert study.row(third) == study.row(first)
    assert study.row(study.open("W2", now=later)) == own


def test_C38_who_opens_the_form_again_after_the_lease_has_their_time_anew(
    engine: Engine, planned_study: Callable
) -> None:
    study, later = planned_study(engine, annotators=2), START + LEASE + timedelta(minutes=1)
    first = study.open("W1")
    assert study.open("W1", now=later) == first
    study.open("W2", now=later)
    assert study.open("W3", now=later + LEASE).outcome is Outcome.FULL
    third = study.open("W3", now=later + LEASE + timedelta(seconds=1))
    assert study.row(third) == study.row(first)


def test_C38_a_return_gives_the_row_to_whoever_gets_the_place(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 2})
    person("Ada").accept(up.preview).do()
    returned = person("Ben").accept(up.preview)
    assert returned.open().form(field="form") is not None
    returned.give_back()
    assert person("Cy").accept(up.preview).open().form(field="form") is not None


def test_C38_answers_that_never_reached_the_platform_do_not_keep_its_place_for_ever(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 1})
    ada = person("Ada").accept(up.preview)
    ada.post()
    ada.give_back()
    monkeypatch.setattr("humaneval.crowd.signatures.RETURNED_PATH", "/nowhere")  # an older marketplace
    ben = person("Ben").accept(up.preview)
    assert "All forms are taken" in ben.open().html
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).not_handed_over == 1
    assert "All forms are taken" in ben.open().html  # Ada's time runs: she might still hand over
    later = datetime.now(UTC) + LEASE + timedelta(minutes=1)
    monkeypatch.setattr("humaneval.crowd.collect.now", lambda: later)
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).not_handed_over == 1
    assert ben.open().form(field="form") is not None


def test_C06_C38_an_assignment_id_that_the_platform_gave_to_another_frees_the_first_ones_row(
    engine: Engine, planned_study: Callable
) -> None:
    study = planned_study(engine, annotators=1)
    first = study.open("W1", assignment="3REUSED")
    second = study.open("W2", assignment="3REUSED")
    assert second.outcome is Outcome.FORM
    assert second.assignment_id != first.assignment_id
    assert study.state(first) == "superseded"


def test_C40_nobody_takes_two_forms_of_a_study_at_different_hits(
    engine: Engine, planned_study: Callable
) -> None:
    study = planned_study(engine, annotators=20)
    study.answer(study.open("W1", hit=0))
    assert study.open("W1", hit=1, assignment="3OTHER").outcome is Outcome.LIMIT
    assert study.open("W2", hit=1).outcome is Outcome.FORM


def test_C41_a_returned_hit_does_not_count_and_its_row_is_free(
    engine: Engine, planned_study: Callable
) -> None:
    study = planned_study(engine, annotators=20)
    returned = study.open("W1", hit=0)
    assert study.open("W1", hit=1, assignment="3OTHER").outcome is Outcome.IN_HAND
    again = study.open("W1", hit=1, assignment="3OTHER", move=True)
    assert again.outcome is Outcome.FORM
    assert study.row(again) == study.row(returned)
    assert study.state(returned) == "superseded"


def test_C42_the_sandbox_and_a_pilot_do_not_count_against_anyone(
    engine: Engine, planned_study: Callable, study_factory: Callable, platform: MTurk
) -> None:
    from humaneval.crowd.endpoints import SANDBOX

    study = planned_study(engine, annotators=2)
    plan_hits(open_study_at(engine, "study", MTurk(SANDBOX, session=nobodys_session())))
    study_factory(engine, "pilot", design={"annotators": 2, "pilot": True})
    plan_hits(open_study_at(engine, "pilot", platform))
    everywhere = Study(engine)
    for hit, kinds in enumerate(((), ("rehearsal",), ("pilot",))):
        opened = everywhere.open("W1", hit=hit, assignment=f"3AT{hit}")
        assert opened.outcome is Outcome.FORM
        assert load_form(engine, opened.assignment_id).form.tests == kinds
        everywhere.answer(opened)
    assert study.open("W2").outcome is Outcome.FORM  # the other row of the study is still there


def test_C43_a_reload_and_a_second_tab_show_the_same_form_and_a_second_post_changes_nothing(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    work = person("Ada").accept(up.preview)
    first, second = work.open(), work.open()
    shown = [page.form(field="form").choices for page in (first, second)]
    assert shown[0] == shown[1]
    work.post(2)
    late = second.form(field="form")
    again = work.person.browser.submit(second, late, {**late.boxes, **dict.fromkeys(late.choices, "5")})
    assert again.form(action="/mturk/externalSubmit").values["choice-1"] == "2"
    assert work.open().form(action="/mturk/externalSubmit").values["choice-1"] == "2"


def test_of_whoever_declines_at_a_hit_nothing_is_kept_and_the_row_is_free(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 1})
    work = person("Ada").accept(up.preview)
    page = work.open()
    for _ in range(2):  # again, as with a second click
        told = work.person.browser.submit(page, page.form(action="/decline"), {})
        assert "You are not taking part" in told.html
    with reading(sqlite_engine) as session:
        for table in (WorkerRow, WorkerIdentityRow, AssignmentRow):
            assert session.scalar(select(func.count()).select_from(table)) == 0
    assert work.open().form(field="form") is not None  # who thinks again gets a form


def test_C11_a_double_click_keeps_one_set_of_answers(engine: Engine, planned_study: Callable) -> None:
    study, together = planned_study(engine, annotators=1), Barrier(8)
    opened = study.open("W1")

    def post(choice: int) -> str:
        together.wait()
        kept = keep_answers(engine, opened.assignment_id, {"choice-1": str(choice % 5 + 1)}, START)
        return kept["choice-1"]

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(post, range(8)))) == 1
    with reading(engine) as session:
        assert session.scalar(select(func.count()).select_from(AnswerRow)) == 1


def test_C35_looking_prefetching_and_foreign_hits_never_claim(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    frame = person("Ada").accept(up.preview).frame
    address, hit_id = frame.partition("?")[0], frame.partition("hitId=")[2].partition("&")[0]
    with reading(sqlite_engine) as session:
        secret = session.scalars(select(HitRow.secret)).one()
    accepted = signed(secret, "3X", "W", hit_id)
    looks: list[tuple[str, str, dict[str, str], int]] = [
        ("HEAD", accepted, {}, 204),
        ("GET", accepted, {"Sec-Purpose": "prefetch;prerender"}, 204),
        ("GET", accepted, {"Purpose": "prefetch"}, 204),
        ("GET", "", {}, 200),
        ("GET", f"assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&workerId=W&hitId={hit_id}", {}, 200),
        ("GET", f"assignmentId=3X&hitId={hit_id}", {}, 400),
        ("GET", "assignmentId=3X&workerId=W&hitId=3SOMEBODYELSES", {}, 403),
        ("GET", signed(secret, "3X", "W", "3SOMEBODYELSES"), {}, 404),
    ]
    for method, query, headers, status in looks:
        assert _ask(method, f"{address}?{query}", headers) == status, (method, query, headers)
    assert _ask("GET", f"{up.forms}/form/nobodys-key?{accepted}", {}) == 404
    with reading(sqlite_engine) as session:
        assert session.scalar(select(func.count()).select_from(AssignmentRow)) == 0
        assert session.scalar(select(func.count()).select_from(WorkerRow)) == 0
    assert _ask("GET", f"{address}?{accepted}", {}) == 200
    with reading(sqlite_engine) as session:
        assert session.scalar(select(func.count()).select_from(AssignmentRow)) == 1


def _ask(method: str, url: str, headers: dict[str, str]) -> int:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=PATIENCE)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_one_persons_assignment_is_not_taken_to_another_study(
    engine: Engine, planned_study: Callable, study_factory: Callable, platform: MTurk
) -> None:
    planned_study(engine, annotators=2)
    study_factory(engine, "other", design={"annotators": 2, "seed": 1})
    plan_hits(open_study_at(engine, "other", platform))
    both = Study(engine)
    assert both.open("W1", hit=0, assignment="3A").outcome is Outcome.FORM
    assert both.open("W1", hit=1, assignment="3A").outcome is Outcome.UNKNOWN


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("annotators", [8, 24])
def test_rows_per_annotator_2_gives_two_forms_and_never_a_story_twice(
    engine: Engine, planned_study: Callable, annotators: int
) -> None:
    study = planned_study(engine, annotators=annotators, rows_per_annotator=2)
    second_forms = 0
    for number in range(annotators // 2):
        worker, rows = f"W{number}", []
        for go in range(3):
            opened = study.open(worker, hit=min(go, len(study.keys) - 1), assignment=f"3{number}-{go}")
            if go == 2:
                assert opened.outcome is (Outcome.LIMIT if len(rows) == 2 else Outcome.FULL)
            if opened.outcome is Outcome.FORM:
                study.answer(opened)
                rows.append(study.row(opened))
        stories = _stories(engine, rows)
        assert len(stories) == len(set(stories))
        second_forms += len(rows) == 2
    assert second_forms >= annotators // 2 - 1  # the last ones may find only stories they have met


def _stories(engine: Engine, rows: list[int]) -> list[int]:
    with reading(engine) as session:
        return list(
            session.scalars(
                select(PassageRow.story_id).join(RowPassageRow).where(RowPassageRow.row_id.in_(rows))
            )
        )


def test_form_servers_that_start_at_once_share_one_key(engine: Engine) -> None:
    from humaneval.settings import Settings

    together = Barrier(6)

    def start(_: int) -> str:
        together.wait()
        signed = create_app(Settings(), engine).extensions["humaneval"].signer.dumps([1, ""])
        return str(signed)

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(start, range(6)))) == 1
