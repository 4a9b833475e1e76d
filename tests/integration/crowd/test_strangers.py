"""Strangers who know the address of a form: they take no rows and act in nobody's name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, func, select, update

from humaneval.crowd.claims import Outcome, open_form
from humaneval.crowd.collect import collect_work
from humaneval.crowd.form_of_row import load_form
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.participants import participants_of
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.signatures import is_signed, returned_of
from humaneval.crowd.store_answers import keep_answers
from humaneval.crowd.study_at import open_study_at
from humaneval.market import MarketServer
from humaneval.settings import Settings
from humaneval.simulated.browser import Browser
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, WorkerRow
from humaneval.web.app import create_app, running
from humaneval.web.hits_in_hand import Asker
from tests.fixtures import signed

NOW = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
FORGED = "assignmentId=FORGED{0}&workerId=AVICTIM{0}"


def count(engine: Engine, table: type, *where: object) -> int:
    with reading(engine) as session:
        return session.scalar(select(func.count()).select_from(table).where(*where)) or 0


@pytest.fixture
def unsigned(sqlite_engine: Engine, study_factory: Callable, platform: MTurk) -> list[HitRow]:
    """The HITs of a study with 18 rows, at a platform that does not sign."""
    study_factory(sqlite_engine, design={"annotators": 18})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with writing(sqlite_engine) as session:
        session.execute(update(HitRow).values(secret=""))
        return list(session.scalars(select(HitRow).order_by(HitRow.id)))


def test_without_the_marketplaces_signature_nobody_takes_a_row_or_becomes_a_worker(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 18})
    ada = person("Ada").accept(up.preview)
    address, _, query = ada.frame.partition("?")
    other = person("Ben").accept(up.preview).frame.partition("?")[2]
    signature = query.partition("turkSignature=")[2]
    forged = [FORGED.format(number) for number in range(30)]
    forged += [
        query.replace(signature, other.partition("turkSignature=")[2]),  # somebody else's signature
        query.replace(signature, "\u00e9"),
        query.replace(signature, ""),
        query.replace("workerId=", "workerId=X"),
        query.replace("assignmentId=", "assignmentId=X"),
        query.replace("hitId=", "hitId=X"),
    ]
    pages = [Browser().get(f"{address}?{each}".encode("ascii", "ignore").decode()) for each in forged]
    assert {page.status for page in pages} == {403}
    assert "not opened from the marketplace" in pages[0].html
    assert "You still have it" not in pages[0].html  # nobody knows that of a stranger
    assert count(sqlite_engine, AssignmentRow) == count(sqlite_engine, WorkerRow) == 0
    assert ada.open().form(field="form") is not None


def test_no_page_shows_the_secret_that_the_marketplace_signs_with(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    ada = person("Ada")
    preview, work = ada.browser.get(up.preview), ada.accept(up.preview)
    with reading(sqlite_engine) as session:
        secret = session.scalars(select(HitRow.secret)).one()
    assert len(secret) >= 16
    for page in (preview, work.page, work.open(), work.post()):
        assert secret not in page.html
        assert "sign=" not in page.html
    assert "turkSignature" not in preview.html
    assert ada.browser.get(preview.frames[0]).status == 200


def test_a_form_sent_in_somebodys_name_puts_nobody_on_the_list_and_keeps_nobody_out(
    sqlite_engine: Engine, unsigned: list[HitRow], platform: MTurk, market: MarketServer
) -> None:
    at = open_study_at(sqlite_engine, "study", platform)
    with running(create_app(Settings(market_url=market.url), sqlite_engine)) as port:
        publish_hits(at, public_url=f"http://localhost:{port}")
        participants_of(at)  # makes the list
        browser = Browser()
        page = browser.get(f"http://localhost:{port}/form/{unsigned[0].key}?{FORGED.format('')}")
        form = page.form(field="form")
        assert form is not None
        answers = {**form.boxes, **dict.fromkeys(form.choices, "1")}
        assert browser.submit(page, form, answers).form(action="/mturk/externalSubmit") is not None
        assert count(sqlite_engine, OutboxRow, OutboxRow.operation == "exclude") == 0
        collect_work(at)  # the platform shows no such submission
        assert count(sqlite_engine, OutboxRow, OutboxRow.operation == "exclude") == 0
        victim = browser.get(
            f"http://localhost:{port}/form/{unsigned[1].key}?assignmentId=3REAL&workerId=AVICTIM"
        )
        assert victim.form(field="form") is not None


def test_who_is_not_confirmed_ends_nobodys_hold_and_takes_no_answers_over(
    sqlite_engine: Engine, unsigned: list[HitRow]
) -> None:
    engine, key = sqlite_engine, unsigned[0].key
    mine = open_form(engine, hit_key=key, external_hit="", assignment="3A", worker="W1", now=NOW)
    later = NOW + timedelta(minutes=1)
    for assignment, worker in (("3A", "W2"), ("3B", "W1")):  # the same assignment, the same worker
        open_form(
            engine,
            hit_key=key,
            external_hit="",
            assignment=assignment,
            worker=worker,
            now=later,
            move=True,
            confirmed=False,
        )
    keep_answers(engine, mine.assignment_id, {"choice-1": "1"}, later)
    place = load_form(engine, mine.assignment_id)
    assert not place.passed_on
    with reading(engine) as session:
        kept = session.get_one(AssignmentRow, mine.assignment_id)
        assert (kept.state, kept.holds_row) == ("answered", True)


def test_invented_claims_never_hold_more_rows_than_their_hit_has_places(
    engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(engine, design={"annotators": 18})
    plan_hits(open_study_at(engine, "study", platform))
    with reading(engine) as session:
        first, second = session.scalars(select(HitRow).order_by(HitRow.id))

    def claim(hit: HitRow, number: int, in_hand: int) -> Outcome:
        at = NOW + timedelta(seconds=number)
        return open_form(
            engine,
            hit_key=hit.key,
            external_hit="",
            assignment=f"3F{number}",
            worker=f"W{number}",
            now=at,
            confirmed=False,
            in_hand=in_hand,
        ).outcome

    held = (AssignmentRow.hit_id == first.id, AssignmentRow.holds_row)
    outcomes = [claim(first, number, 0) for number in range(30)]
    assert outcomes == [Outcome.FORM] * 9 + [Outcome.BEYOND] * 21  # the platform says that nobody is there
    assert count(engine, AssignmentRow, *held) == 9
    outcomes = [claim(first, 100 + number, 1) for number in range(30)]  # somebody is: it could be any of them
    assert outcomes == [Outcome.FORM] * 9 + [Outcome.FULL] * 21
    assert count(engine, AssignmentRow, *held) == 9
    assert [claim(second, 200 + number, 0) for number in range(9)] == [Outcome.FORM] * 9


def test_beyond_a_hits_places_the_platform_is_asked_once_in_a_while(
    sqlite_engine: Engine,
    unsigned: list[HitRow],
    platform: MTurk,
    market: MarketServer,
    troubles: Any,
) -> None:
    at = open_study_at(sqlite_engine, "study", platform)
    asker = Asker(lambda endpoint, study: at)
    settings = Settings(market_url=market.url)
    with running(create_app(settings, sqlite_engine, in_hand=asker.in_hand)) as port:
        publish_hits(at, public_url=f"http://localhost:{port}")
        troubles.seen.clear()
        address = f"http://localhost:{port}/form/{unsigned[0].key}?{FORGED}"
        pages = [Browser().get(address.format(number)) for number in range(14)]
    assert [page.form(field="form") is not None for page in pages] == [True] * 9 + [False] * 5
    assert "All forms are taken" in pages[-1].html
    assert troubles.seen == ["GetHIT"]


def test_where_no_address_is_signed_nobody_is_told_which_assignment_a_worker_has(
    sqlite_engine: Engine, unsigned: list[HitRow], market: MarketServer
) -> None:
    with running(create_app(Settings(market_url=market.url), sqlite_engine)) as port:
        address = f"http://localhost:{port}/form/{{0.key}}?assignmentId={{1}}&workerId=AVICTIM"
        assert Browser().get(address.format(unsigned[0], "3SECRET")).form(field="form") is not None
        told = Browser().get(address.format(unsigned[1], "3INVENTED"))
    assert "You have another task of this study" in told.html
    assert "3SECRET" not in told.html
    assert "Continue my form" not in told.html
    assert "continue here" in told.html  # who has returned the other one


def test_who_accepts_opens_and_returns_takes_no_row_from_others(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    ada = person("Ada").accept(up.preview)
    shown = ada.open().form(field="form").choices
    for number in range(8):
        work = person(f"B{number}").accept(up.preview)
        assert work.open().form(field="form") is not None, number
        if number % 2:
            work.post()  # to us, and not to the marketplace
        work.give_back()
    held = (AssignmentRow.holds_row, AssignmentRow.state.in_(("opened", "answered")))
    assert count(sqlite_engine, AssignmentRow, *held) <= 4
    assert ada.open().form(field="form").choices == shown  # who is at work keeps the row
    for number in range(3):
        assert person(f"C{number}").accept(up.preview).open().form(field="form") is not None
    with reading(sqlite_engine) as session:
        rows = session.scalars(select(AssignmentRow.row_id).where(*held)).all()
    assert len(set(rows)) == len(rows) == 4


def test_the_address_of_returned_work_takes_no_row_beyond_the_places(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 18})
    kept = []
    for number in range(4):
        work = person(f"B{number}").accept(up.preview)
        kept.append(work.frame)
        work.give_back()
    first = kept[0].partition("?")[0]
    people = [person(f"A{number}").accept(up.preview) for number in range(18)]
    there = [each for each in people if each.frame.startswith(first)]
    assert [each.open().status for each in there] == [200] * 9
    assert [Browser().get(address).status for address in kept] == [403] * 4
    rest = [each for each in people if each not in there]
    assert [each.open().form(field="form") is not None for each in rest] == [True] * 9


def test_who_returned_and_comes_back_gets_the_same_form(
    sqlite_engine: Engine, put_up: Callable, person: Callable
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    person("Cy").accept(up.preview).open()
    ben = person("Ben")
    work = ben.accept(up.preview)
    work.open()
    work.give_back()
    person("Dee").accept(up.preview).open()
    ben.accept(up.preview).open()
    with reading(sqlite_engine) as session:
        rows = session.scalars(select(AssignmentRow.row_id).order_by(AssignmentRow.id)).all()
    assert rows[3] == rows[1]
    assert rows[2] not in (rows[0], rows[1])


def test_if_the_marketplace_does_not_say_what_was_returned_whoever_it_lets_in_gets_a_row(
    sqlite_engine: Engine, put_up: Callable, person: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 2})
    monkeypatch.setattr("humaneval.crowd.signatures.RETURNED_PATH", "/nowhere")
    for number in range(2):
        work = person(f"W{number}").accept(up.preview)
        assert work.open().form(field="form") is not None
        work.give_back()
    assert "All forms are taken" in person("Ada").accept(up.preview).open().html


def test_what_was_returned_is_told_only_to_who_knows_the_secret(
    sqlite_engine: Engine, put_up: Callable, person: Callable, market: MarketServer
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    ada, ben = (person(name).accept(up.preview) for name in ("Ada", "Ben"))
    for work in (ada, ben):
        work.open()
    ben.give_back()
    with reading(sqlite_engine) as session:
        secret, hit = session.execute(select(HitRow.secret, HitRow.external_id)).one()
        both = session.scalars(select(AssignmentRow.external_id).order_by(AssignmentRow.id)).all()
    assert returned_of(market.url, secret, hit, [*both, "3NOBODYS"]) == {both[1]}
    assert returned_of(market.url, "s" * 16, hit, both) == frozenset()
    assert returned_of(market.url, secret, "3NOBODYS", both) == frozenset()
    assert Browser().get(f"{market.url}/mturk/returned?hitId={hit}&assignmentId={both[1]}").status == 403


def test_the_signature_is_over_three_lines_and_needs_the_secret() -> None:
    query = dict(pair.split("=") for pair in signed("s" * 16, "3A", "W1", "3H").split("&"))
    signature = query["turkSignature"]
    assert is_signed("s" * 16, "3A", "W1", "3H", signature)
    assert not is_signed("t" * 16, "3A", "W1", "3H", signature)
    assert not is_signed("", "3A", "W1", "3H", signed("", "3A", "W1", "3H")[-64:])
    assert not is_signed("s" * 16, "3A", "W1", "3H", "\ud800")
