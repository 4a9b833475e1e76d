"""Many annotators at once: few statements each, one commit for those who wait, pages rendered once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Event
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine, event, func, insert, select, text

from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Delivery, Form, render, render_form, render_handover
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.participants import participants_of
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.workers import list_workers
from humaneval.errors import PlatformError
from humaneval.settings import Settings
from humaneval.simulated.browser import parse_page
from humaneval.store import together
from humaneval.store.engine import reading
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow, MetaRow, RowRow, StudyRow
from humaneval.store.together import Writer
from humaneval.study.stored import open_study
from humaneval.web.app import create_app
from tests.fixtures import signed
from tests.pace import PATIENCE

MOST_TO_OPEN, MOST_TO_SEND = 13, 10


@contextmanager
def statements(engine: Engine) -> Iterator[list[str]]:
    """What is sent to the database, beginnings and ends of transactions aside."""
    seen: list[str] = []

    def note(connection: Connection, cursor: object, statement: str, *_: Any) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA")):
            seen.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


class Forms:
    """A form server without a network, and the HITs of a study whose list is made."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.client: FlaskClient = create_app(Settings(), engine).test_client()
        with reading(engine) as session:
            self.hits = list(session.scalars(select(HitRow).order_by(HitRow.id)))

    def open(self, number: int) -> tuple[str, dict[str, str]]:
        """The address of a form, and what fills it in."""
        hit = self.hits[number // 9]
        path = f"/form/{hit.key}"
        page = self.client.get(f"{path}?{signed(hit.secret, f'3A{number}', f'W{number}')}")
        form = parse_page("http://localhost" + path, page.status_code, page.text).form(field="form")
        assert form is not None, page.text
        return path, {**form.values, **form.boxes, **dict.fromkeys(form.choices, "1")}

    def send(self, number: int) -> None:
        path, fields = self.open(number)
        assert self.client.post(path, data=fields).status_code == 303


@pytest.fixture
def forms(engine: Engine, study_factory: Callable, platform: MTurk) -> Forms:
    study_factory(engine, design={"annotators": 45})
    at = open_study_at(engine, "study", platform)
    plan_hits(at)
    participants_of(at)
    return Forms(engine)


def test_opening_and_sending_take_few_statements_however_many_rows_are_taken(forms: Forms) -> None:
    forms.send(0)  # the study file is parsed now
    counts = []
    for number in (1, 30):
        with statements(forms.engine) as opening:
            path, fields = forms.open(number)
        with statements(forms.engine) as sending:
            assert forms.client.post(path, data=fields).status_code == 303
        counts.append((len(opening), len(sending)))
        assert len(opening) <= MOST_TO_OPEN, "\n".join(opening)
        assert len(sending) <= MOST_TO_SEND, "\n".join(sending)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(forms.send, range(number + 1, number + 12)))
    before, later = counts
    # Leases that have ended are released once in a while, which takes one more.
    assert later[0] <= before[0] + 1
    assert later[1] == before[1]


def test_a_crowd_loses_and_doubles_nothing(forms: Forms) -> None:
    with ThreadPoolExecutor(15) as pool:
        list(pool.map(forms.send, range(45)))
    with reading(forms.engine) as session:
        assert session.scalar(select(func.count()).select_from(AnswerRow)) == 45
        rows = session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row)).all()
        assert sorted(row for row in rows if row) == list(session.scalars(select(RowRow.id)))


def test_writes_that_wait_share_a_commit_and_one_that_fails_spoils_no_other(engine: Engine) -> None:
    begun, go_on, ends = Event(), Event(), []

    def begins(connection: Connection, about: int) -> None:
        begun.set()
        go_on.wait(PATIENCE)

    writer = Writer(engine, begins, lambda: ends.append(1))

    def job(number: int) -> Callable[[Connection], int]:
        def write(connection: Connection) -> int:
            connection.execute(insert(MetaRow), {"key": f"number {number}", "value": ""})
            if number == 7:
                connection.execute(select(MetaRow))  # what is not read to its end would hold the connection
                raise PlatformError("seven", "")
            return number

        return write

    def outcome(number: int) -> object:
        try:
            return writer.write(number // 20, job(number))
        except PlatformError as error:
            return error.message

    with ThreadPoolExecutor(41) as pool:
        first = pool.submit(outcome, 40)
        assert begun.wait(PATIENCE)
        others = [pool.submit(outcome, number) for number in range(40)]
        until = time.monotonic() + PATIENCE
        while len(writer._waiting) < 40 and time.monotonic() < until:
            time.sleep(0.002)
        go_on.set()
        found = [each.result() for each in others]
    assert first.result() == 40
    assert found == [*range(7), "seven", *range(8, 40)]
    # One for the first, one for each of the twenty beside the failure that ran alone, one for the others.
    assert len(ends) == 1 + 19 + 1
    with reading(engine) as session:
        keys = session.scalars(select(MetaRow.key).where(MetaRow.key.startswith("number"))).all()
    assert sorted(keys) == sorted(f"number {number}" for number in range(41) if number != 7)


def test_a_page_that_is_filled_in_is_the_page_that_would_be_rendered(
    sqlite_engine: Engine, study_factory: Callable
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4}, page={"show_titles": True})
    with reading(sqlite_engine) as session:
        study = session.scalars(select(StudyRow)).one()
        forms = [form_of(session, study, row.id) for row in study.rows]
    odd = replace(forms[0].passages[0], title="", sentences=("<b>", "&amp;", '"', "{{ x }}", "\\1 \\g<0>"))
    forms.append(replace(forms[0], passages=(odd, *forms[0].passages[1:])))
    delivery = Delivery(action="form/a?b&c", token="t'", root="../")
    for form in (*forms, *forms):
        assert render_form(form, delivery) == _rendered(form, delivery)
    chosen = replace(
        forms[0], passages=(replace(odd, given={"choice": 2}), *forms[0].passages[1:]), missing=(2,)
    )
    assert render_form(chosen, delivery) == _rendered(chosen, delivery)
    fields = {"form": "<x>", "comment": "a\n&b"}
    for _ in range(2):
        made = render_handover(forms[0].study, "https://m/?a&b", fields, "../")
        whole = {"root": "../", "action": "https://m/?a&b", "fields": fields}
        assert made == render("handover.html", forms[0].study, "task", **whole)


def _rendered(form: Form, delivery: Delivery) -> str:
    return render("form.html", form.study, delivery.channel, form=form, delivery=delivery, root=delivery.root)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_health_says_that_answers_find_no_room_although_the_little_that_it_writes_does(
    forms: Forms, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, values = forms.open(0)
    refuse = "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'"
    with forms.engine.begin() as connection:
        full = f"CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {refuse}; END $$"
        connection.execute(text(full))
        when = "CREATE TRIGGER full_disk BEFORE INSERT ON answers EXECUTE FUNCTION full_disk()"
        connection.execute(text(when))
    assert forms.client.get("/health").status_code == 200
    assert forms.client.post(path, data=values).status_code == 503
    assert forms.client.get("/health").status_code == 503
    with monkeypatch.context() as later:
        later.setattr(together, "FAILED_SECONDS", -1.0)
        assert forms.client.get("/health").status_code == 200
    with forms.engine.begin() as connection:
        connection.execute(text("DROP TRIGGER full_disk ON answers"))
    assert forms.client.get("/health").status_code == 503
    assert forms.client.post(path, data=values).status_code == 303
    assert forms.client.get("/health").status_code == 200


def test_a_list_of_many_workers_takes_as_many_statements_as_one_of_few(forms: Forms) -> None:
    study, taken = open_study(forms.engine, "study"), []
    for people in (1, 12):
        for number in range(len(taken), people):
            forms.send(number)
        with statements(forms.engine) as seen:
            assert len(list_workers(study, forms.hits[0].endpoint)) == people
        taken.append(len(seen))
    assert taken[0] == taken[1]
