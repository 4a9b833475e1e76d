"""An older copy of the database is put back: nobody gets another person's form, and nothing is paid twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from humaneval.crowd.approve import reject_work
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.collect import collect_work
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.paid_elsewhere import PaidElsewhere, pay_elsewhere
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PlatformError
from humaneval.market import MarketServer
from humaneval.store.engine import open_engine, reading, writing
from humaneval.store.identity import Identity
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow
from humaneval.store.types import now
from tests.integration.crowd.conftest import Accepted, filled
from tests.integration.crowd.test_making_good import pay, payments, time_is_over

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
    plan_hits(at, static=static)
    again = publish_hits(at, public_url=up.forms)
    assert (again.made, again.adopted, again.differences) == (0, len(there), ())
    assert (listed(), platform.balance()) == (there, before)
    if not static:
        person("Ada").accept(up.preview).do(2)
        assert collect_work(at).new == 1


def test_nobody_is_asked_to_pay_for_what_is_up(
    sqlite_engine: Engine,
    put_up: Callable,
    verb: Callable,
    market: MarketServer,
    monkeypatch: pytest.MonkeyPatch,
    backup: Backup,
    study_factory: Callable,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    put_back = backup()
    put_up(sqlite_engine, design={"annotators": 4})
    put_back()
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    said = verb("publish", "study", "--json").document
    assert (said["made"], said["adopted"], said["already_up"], said["cost"]) == (0, 1, 0, "0.00")


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


@pytest.fixture
def lost_again(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, backup: Backup
) -> Callable[[Callable[[Accepted], None]], Accepted]:
    """Somebody lost work, something was done about it, and the database of before was put back. In it their
    work is there once more, and they have another number."""

    def make(done: Callable[[Accepted], None]) -> Accepted:
        up = put_up(sqlite_engine, design={"annotators": 4})
        put_back = backup()
        ada, ben = person("Ada").accept(up.preview), person("Ben").accept(up.preview)
        ada.open()
        time_is_over(sqlite_engine)
        done(ada)
        put_back()
        for each in (ben, ada):
            each.open()
        time_is_over(sqlite_engine)
        return ada

    return make


@pytest.mark.parametrize("taken", [False, True])
def test_a_compensation_that_is_forgotten_is_neither_made_again_nor_paid_elsewhere_too(
    sqlite_engine: Engine, lost_again: Callable, platform: MTurk, listed: Callable, taken: bool
) -> None:
    def compensated(work: Accepted) -> None:
        made = pay(sqlite_engine, platform, work.id)
        if taken:
            work.person.accept(made.preview_url).submit_directly({"compensation": "1"})

    work = lost_again(compensated)
    at = open_study_at(sqlite_engine, "study", platform)

    def elsewhere() -> PaidElsewhere:
        return pay_elsewhere(at, assignment=work.id, amount=Decimal("0.80"), reason="In cash.")

    if taken:
        with pytest.raises(PlatformError, match="is taken already") as refused:
            elsewhere()
        assert "humaneval collect study" in refused.value.hint
        collect_work(at)
        assert elsewhere().by_platform
        assert payments(sqlite_engine) == [("compensation", "0.80", "paid")]
    else:
        assert not pay(sqlite_engine, platform, work.id).paid
        assert not elsewhere().by_platform
        assert all(hit["Expiration"] < now() for hit in listed()[1:])
    assert len(listed()) == 2


def test_a_compensation_that_is_forgotten_and_not_taken_is_taken_down_when_it_is_paid_elsewhere(
    sqlite_engine: Engine, lost_again: Callable, platform: MTurk, listed: Callable
) -> None:
    work = lost_again(lambda work: pay(sqlite_engine, platform, work.id) and None)
    at = open_study_at(sqlite_engine, "study", platform)
    paid = pay_elsewhere(at, assignment=work.id, amount=Decimal("0.80"), reason="In cash.")
    assert not paid.by_platform
    (compensation,) = listed()[1:]
    assert compensation["Expiration"] < now()


def test_a_bonus_that_is_forgotten_is_found_and_not_paid_again(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, backup: Backup
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    put_back = backup()
    ben = person("Ben").accept(up.preview)
    work = person("Ada").accept(up.preview).do()
    at = open_study_at(sqlite_engine, "study", platform)
    bonus = {"amount": Decimal("0.50"), "reason": "thorough", "purpose": "thorough"}
    collect_work(at)
    assert pay_bonus(at, assignment=work, **bonus).paid_now
    put_back()
    ben.open()  # now Ada has another number, and so the bonus another token
    collect_work(at)
    again = pay_bonus(at, assignment=work, **bonus)
    assert (again.state, again.paid_now) == ("paid", False)
    assert [paid.amount for paid in platform.bonuses(work)] == [Decimal("0.50")]
    assert reconcile(at).differences == ()
