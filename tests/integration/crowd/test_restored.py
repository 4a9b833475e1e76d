"""An older copy of the database is put back: nobody gets another person's form, and nothing is paid twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from humaneval.crowd.approve import reject_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.store.engine import open_engine, reading, writing
from humaneval.store.identity import Identity
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow
from tests.integration.crowd.conftest import filled

Backup = Callable[[], Callable[[], None]]


def answers(engine: Engine) -> list[tuple[int, str]]:
    """The claim of each form that was answered, and the first answer."""
    with reading(engine) as session:
        rows = session.execute(select(AnswerRow.assignment_id, AnswerRow.fields))
        return [(claim, fields["choice-1"]) for claim, fields in rows]


def test_a_page_of_before_leads_to_nobody_elses_form(
    sqlite_engine: Engine, put_up: Callable, person: Callable, backup: Backup
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    put_back = backup()
    ada, ben = person("Ada").accept(up.preview), person("Ben").accept(up.preview)
    before = ada.open()
    put_back()
    ben.open()  # gets the number that Ada's claim had
    form = before.form(field="form")
    assert form is not None
    refused = ada.person.browser.submit(before, form, filled(form, 5))
    assert (refused.status, "open the task again" in refused.html) == (404, True)
    decline = before.form(action="/decline")
    assert decline is not None
    ada.person.browser.submit(before, decline, {})
    assert answers(sqlite_engine) == []
    ben.do(2)
    ada.do(3)
    assert answers(sqlite_engine) == [(1, "2"), (2, "3")]
    with reading(sqlite_engine) as session:
        assert len(set(session.scalars(select(AssignmentRow.row_id)))) == 2


def test_a_page_of_before_gives_no_answers_to_another_form_of_its_person(
    sqlite_engine: Engine, put_up: Callable, person: Callable, backup: Backup
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    put_back = backup()
    ada, ben = person("Ada").accept(up.preview), person("Ben").accept(up.preview)
    before = ada.open()
    put_back()
    ben.open()
    with writing(sqlite_engine) as session:  # as if Ada came first
        session.execute(update(AssignmentRow).values(id=7))
    after = ada.open()
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).where(AssignmentRow.id == 8).values(id=1))
    assert after.form(field="form").values["form"] != before.form(field="form").values["form"]
    assert ada.post(page=before).status == 400
    assert answers(sqlite_engine) == []
    ada.do(4)
    assert answers(sqlite_engine) == [(1, "4")]


@pytest.mark.parametrize(("static", "rows"), [(False, 10), (True, 4)])
def test_what_is_up_already_is_found_by_publish_and_not_made_again(
    sqlite_engine: Engine,
    put_up: Callable,
    study_factory: Callable,
    platform: MTurk,
    person: Callable,
    listed: Callable,
    backup: Backup,
    static: bool,
    rows: int,
) -> None:
    study_factory(sqlite_engine, design={"annotators": rows})
    Identity(sqlite_engine)  # a server ran before
    put_back = backup()
    up = put_up(sqlite_engine, design={"annotators": rows}, static=static)
    there, before = listed(), platform.balance()
    put_back()
    at = open_study_at(sqlite_engine, "study", platform)
    asked = plan_hits(at, static=static, dry_run=True)
    assert (asked.hits, asked.cost.total, asked.already_up) == (0, 0, len(there))
    plan = plan_hits(at, static=static)
    assert (plan.hits, plan.cost.total, plan.found) == (0, 0, len(there))
    again = publish_hits(at, public_url=up.forms)
    assert (again.made, again.differences) == (0, ())
    assert (listed(), platform.balance()) == (there, before)
    if not static:
        person("Ada").accept(up.preview).do(2)
        assert collect_work(at).new == 1


def test_hits_for_lost_rows_are_found_again_too(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    listed: Callable,
    backup: Backup,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4, "top_up": "ask"})
    put_back = backup()
    ada = person("Ada").accept(up.preview).do()
    at = open_study_at(sqlite_engine, "study", platform)

    def top_up() -> int:
        collect_work(at)
        reject_work(at, assignments=[ada], reason="not done as asked")
        plan_hits(at, top_up=True)
        return publish_hits(at, public_url=up.forms).made

    assert top_up() == 1
    there = listed()
    put_back()
    assert top_up() == 0
    assert listed() == there


def test_two_databases_have_other_keys_for_the_same_study(
    sqlite_engine: Engine, sqlite_template: Path, tmp_path: Path, study_factory: Callable, platform: MTurk
) -> None:
    other = open_engine(f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'other.db')}")
    keys = set[str]()
    for each in (other, sqlite_engine):
        study_factory(each, design={"annotators": 12})
        plan_hits(open_study_at(each, "study", platform))
        with reading(each) as session:
            keys |= set(session.scalars(select(HitRow.key)))
    other.dispose()
    assert len(keys) == 4
