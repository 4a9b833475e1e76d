"""Our books beside the marketplace's; what pay comes to an hour; where the higher fee begins."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, delete, select

from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.close import close_all
from humaneval.crowd.collect import collect_work
from humaneval.crowd.extend import expire_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.reconcile import Reconciled, reconcile
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.market.account import deposit
from humaneval.market.tables.database import Mode, transaction
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, PaymentRow
from humaneval.store.types import now
from humaneval.study.stored import open_study


def books(engine: Engine, platform: MTurk) -> Reconciled:
    return reconcile(open_study_at(engine, "study", platform))


def test_every_cent_of_a_study_is_explained_at_every_step(
    engine: Engine, put_up: Callable, answer: Callable, person: Callable, platform: MTurk
) -> None:
    began = platform.balance()
    up_there = put_up(engine, design={"annotators": 4})
    nothing = Decimal(0)
    assert books(engine, platform) == Reconciled(
        balance=began - Decimal("3.84"),
        balance_before=began,
        paid=nothing,
        elsewhere=nothing,
        held=Decimal("3.84"),
        unexplained=nothing,
        others=nothing,
        others_held=nothing,
        left=nothing,
        bonuses=nothing,
        bonuses_there=nothing,
        bonuses_unlisted=nothing,
        differences=(),
    )
    first, second, third = (answer(up_there, name) for name in ("Ada", "Ben", "Cleo"))
    person("Dana").accept(up_there.preview).open()
    collect_work(open_study_at(engine, "study", platform))
    approve_work(open_study_at(engine, "study", platform), assignments=[first])
    reject_work(open_study_at(engine, "study", platform), assignments=[second], reason="No.")
    pay_bonus(
        open_study_at(engine, "study", platform),
        assignment=first,
        amount=Decimal("0.50"),
        reason="Thanks",
        purpose="b",
    )
    now = books(engine, platform)
    assert (now.paid, now.held, now.bonuses, now.bonuses_there) == (
        Decimal("1.56"),
        Decimal("1.92"),
        Decimal("0.50"),
        Decimal("0.50"),
    )
    assert (now.unexplained, now.differences) == (Decimal(0), ())
    expire_all(open_study_at(engine, "study", platform))
    approve_work(open_study_at(engine, "study", platform), assignments=[third])
    now = books(engine, platform)
    assert (now.unexplained, now.held) == (Decimal(0), Decimal("0.96"))  # Dana is still at work


def test_what_others_took_and_what_our_books_lack_is_said(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, person: Callable
) -> None:
    assignment = answer(put_up(sqlite_engine, design={"annotators": 4}))
    collect_work(open_study_at(sqlite_engine, "study", platform))
    approve_work(open_study_at(sqlite_engine, "study", platform))
    platform.client.send_bonus(
        AssignmentId=assignment,
        WorkerId=person("Ada").id,
        BonusAmount="2.00",
        Reason="By hand",
        UniqueRequestToken="t",
    )
    now = books(sqlite_engine, platform)
    assert now.unexplained == Decimal("2.40")
    assert now.differences == (f"bonus of $2.00 for {assignment}: 1 at local, 0 in our books",)
    with writing(sqlite_engine) as session:
        session.execute(delete(PaymentRow))
        session.scalars(select(AssignmentRow)).one().state = "submitted"
    now = books(sqlite_engine, platform)
    assert f"assignment {assignment}: approved at local, submitted here" in now.differences
    assert (now.paid, now.unexplained) == (Decimal(0), Decimal("3.36"))
    collect_work(
        open_study_at(sqlite_engine, "study", platform)
    )  # follows the platform: the reward is in the books again
    assert books(sqlite_engine, platform).unexplained == Decimal("2.40")


def test_status_prints_the_books_when_it_is_asked_to(
    sqlite_engine: Engine,
    put_up: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
    troubles: Any,
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    troubles.seen.clear()
    assert "Balance" not in verb("status", "study").out
    assert troubles.seen == []
    out = verb("status", "study", "--reconcile").out
    assert "Bonuses: $0.00 by our books, $0.00 by local's." in out
    assert "Balance at local: $9996.16; this study used $0.00 and may still use $3.84." in out
    assert "Our books and local's agree." in out
    told = verb("status", "study", "--reconcile", "--json").document
    assert told["books"]["local"]["unexplained"] == "0.00"
    assert set(troubles.seen) <= {"GetHIT", "ListAssignmentsForHIT", "ListBonusPayments", "GetAccountBalance"}


def test_C14_the_cost_before_publishing_names_the_fee_that_splitting_avoids_and_the_hourly_pay(
    sqlite_engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20}, hit={"expected_minutes": 6})
    plan = plan_hits(open_study_at(sqlite_engine, "study", platform), dry_run=True)
    assert (plan.hits, plan.cost.fees, plan.fees_unsplit, plan.hourly) == (
        3,
        Decimal("3.20"),
        Decimal("6.40"),
        Decimal("8.00"),
    )
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    out = verb("publish", "study", "--dry-run").out
    assert "You owe people $16.00 if all are approved. Nobody takes fees." in out
    assert "Pay: $8.00 an hour for an annotator who takes the 6 minutes that you expect." in out


def test_hourly_pay_is_measured_from_the_times_that_people_took(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, verb: Callable
) -> None:
    up_there = put_up(sqlite_engine, design={"annotators": 4})
    assert study_status(open_study(sqlite_engine, "study"))[0].hourly is None
    for name in ("Ada", "Ben", "Cleo"):
        answer(up_there, name)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    with writing(sqlite_engine) as session:
        for minutes, row in zip((2, 3, 30), session.scalars(select(AssignmentRow)), strict=True):
            assert row.answered_at is not None
            row.opened_at = row.answered_at - timedelta(minutes=minutes)
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.median_minutes, status.hourly, status.hourly_expected) == (
        3.0,
        Decimal("16.00"),
        Decimal("12.00"),
    )
    assert "Median time 3 minutes: $16.00 per hour, expected $12.00." in verb("status", "study").out


def test_the_books_name_what_other_studies_of_the_database_paid_meanwhile(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    put_up(sqlite_engine, design={"annotators": 4})
    answer(put_up(sqlite_engine, "other", design={"annotators": 4, "seed": 1}), "Ada")
    collect_work(open_study_at(sqlite_engine, "other", platform))
    assert approve_work(open_study_at(sqlite_engine, "other", platform)) == 1
    assert (books(sqlite_engine, platform).others, books(sqlite_engine, platform).unexplained) == (
        Decimal("0.96"),
        Decimal("3.84"),
    )
    told = verb("status", "study", "--reconcile")
    assert "Other studies of this database used $0.96 at local meanwhile, and may still use $2.88" in told.out
    assert (told.code, "Our books and local's agree." in told.out) == (0, True)
    assert verb("status", "other", "--reconcile").code == 0


def test_the_first_balance_is_kept(sqlite_engine: Engine, put_up: Callable, platform: MTurk) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    first = books(sqlite_engine, platform).balance_before
    put_up(sqlite_engine, "other", design={"annotators": 4, "seed": 1})
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url="http://localhost:9")
    now = books(sqlite_engine, platform)
    assert (now.balance_before, now.unexplained) == (first, Decimal("3.84"))  # the other study's
    with reading(sqlite_engine) as session:
        assert session.scalars(select(PaymentRow)).all() == []


def test_bonuses_at_hits_that_were_deleted_stay_in_the_books(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    work = answer(put_up(sqlite_engine, design={"annotators": 4}))
    collect_work(open_study_at(sqlite_engine, "study", platform))
    approve_work(open_study_at(sqlite_engine, "study", platform))
    bonus = {"assignment": work, "amount": Decimal("0.50"), "reason": "Thanks", "purpose": "b"}
    pay_bonus(open_study_at(sqlite_engine, "study", platform), **bonus)
    close_all(open_study_at(sqlite_engine, "study", platform))
    now = books(sqlite_engine, platform)
    assert (now.bonuses, now.bonuses_there, now.bonuses_unlisted) == (Decimal("0.50"), Decimal("0.50"), 0)
    assert (now.held, now.unexplained, now.differences) == (0, 0, ())
    with writing(sqlite_engine) as session:  # a platform forgets, in the end
        session.scalars(select(HitRow)).one().external_id = "3GONE0000000000000000000000000"
    now = books(sqlite_engine, platform)
    assert (now.bonuses, now.bonuses_there, now.bonuses_unlisted) == (0, 0, Decimal("0.50"))
    assert now.differences == ()
    told = verb("status", "study", "--reconcile").out
    assert "$0.50 more by our books, for HITs that local no longer has." in told


def test_X40_what_nothing_explains_ends_with_exit_code_3_and_names_the_next_step(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    market_engine: Engine,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    work = answer(put_up(sqlite_engine, design={"annotators": 4}))
    assert verb("collect", "study").code == 0
    platform.client.approve_assignment(AssignmentId=work)
    told = verb("status", "study", "--reconcile")
    assert (told.code, f"Differs: assignment {work}: approved at local, submitted here" in told.out) == (
        3,
        True,
    )
    assert "humaneval collect study --to local" in told.err
    assert verb("collect", "study").code == 0
    assert verb("status", "study", "--reconcile").code == 0
    with transaction(market_engine, Mode.LOCAL, now, writes=True) as work:
        deposit(work, 500)
    told = verb("status", "study", "--reconcile", "--json")
    assert (told.code, told.document["books"]["local"]["left"]) == (3, "-5.00")
    assert "the balance rose by $5.00 that no study" in verb("status", "study", "--reconcile").out
    assert verb("status", "study").code == 0


def test_X40_in_a_sandbox_the_balance_says_nothing(
    sqlite_engine: Engine, put_up: Callable, market_engine: Engine, platform: MTurk
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    with transaction(market_engine, Mode.LOCAL, now, writes=True) as work:
        deposit(work, 384)
    now_ = books(sqlite_engine, platform)
    assert (now_.balance, now_.unexplained, now_.agree) == (now_.balance_before, None, True)
