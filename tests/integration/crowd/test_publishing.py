"""`publish`, killed at any point and run again, ends with exactly the plan; and nothing is put up that cannot
be paid."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from humaneval.crowd import outbox, publish
from humaneval.crowd.doctor import look
from humaneval.crowd.endpoints import local
from humaneval.crowd.extend import expire_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import PublishResult, publish_hits
from humaneval.crowd.publish_plan import drop_untried, plan_hits
from humaneval.crowd.published_hits import endpoints_of
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PlatformError, UsageError
from humaneval.market import SENT_AGAIN, MarketServer, Trouble
from humaneval.running.up import publish_rest
from humaneval.running.watch import Ending
from humaneval.store.engine import reading, writing
from humaneval.store.tables import HitRow, OutboxRow, StudyRow
from humaneval.study.delete import delete_study
from humaneval.study.stored import open_study
from tests.conftest import ROOT
from tests.pace import PATIENCE

FORMS = "http://localhost:9"
SIZES = {9: 2, 2: 1}
"""Assignments of a HIT → how many such HITs carry 20 rows."""


@pytest.fixture
def publish_it(platform: MTurk) -> Callable[[Engine], PublishResult]:
    def go(engine: Engine) -> PublishResult:
        plan_hits(open_study_at(engine, "study", platform))
        return publish_hits(open_study_at(engine, "study", platform), public_url=FORMS)

    return go


@pytest.fixture
def check_plan(listed: Callable, planned: Callable) -> Callable[[Engine], None]:
    """What is at the marketplace is what was planned, each HIT once, and our database knows it."""

    def check(engine: Engine) -> None:
        there = listed()
        assert Counter(hit["MaxAssignments"] for hit in there) == SIZES
        assert planned(engine) == {
            hit["RequesterAnnotation"]: (hit["HITId"], hit["MaxAssignments"]) for hit in there
        }
        (status,) = study_status(open_study(engine, "study"))
        assert (status.hits, status.hits_up, status.hits_unsent) == (3, 3, 0)
        assert (status.planned, status.unconfirmed) == (20, 0)

    return check


def forget_tokens(market_engine: Engine) -> None:
    """Mechanical Turk forgot a token after a day."""
    with market_engine.begin() as connection:
        connection.execute(text("DELETE FROM request_tokens"))


def test_C01_second_publish_creates_nothing(
    engine: Engine, study_factory: Callable, publish_it: Callable, check_plan: Callable
) -> None:
    study_factory(engine, design={"annotators": 20})
    first, second = publish_it(engine), publish_it(engine)
    assert (first.made, first.assignments, first.already_up) == (3, 20, 0)
    assert (second.made, second.adopted, second.assignments, second.already_up) == (0, 0, 0, 3)
    assert second.preview_urls == first.preview_urls
    check_plan(engine)


def test_C19_what_another_program_planned_meanwhile_is_not_put_up_at_the_price_of_this_plan(
    sqlite_engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    publish_it: Callable,
    listed: Callable,
    check_plan: Callable,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})
    first, *others = plan_hits(open_study_at(sqlite_engine, "study", platform)).keys
    assert len(others) == 2
    made = publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=FORMS, keys=[first])
    assert made.made == 1
    assert [hit["RequesterAnnotation"] for hit in listed()] == [f"humaneval:{first}"]
    assert publish_it(sqlite_engine).made == 2
    check_plan(sqlite_engine)


@pytest.mark.parametrize("forgotten", [False, True], ids=["token kept", "token forgotten"])
@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("together", [1, 10])
@pytest.mark.parametrize("when", ["before-send", "response-received"])
def test_C03_publish_killed_around_any_call_ends_with_the_plan(
    sqlite_engine: Engine,
    study_factory: Callable,
    publish_it: Callable,
    check_plan: Callable,
    die: Callable,
    listed: Callable,
    market_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    nth: int,
    forgotten: bool,
    together: int,
) -> None:
    monkeypatch.setattr(outbox, "TOGETHER", together)
    study_factory(sqlite_engine, design={"annotators": 20})
    with die(when, "CreateHIT", nth):
        publish_it(sqlite_engine)
    left_up = nth - (when == "before-send")
    assert len(listed()) == left_up
    (status,) = study_status(open_study(sqlite_engine, "study"))
    known, in_doubt = (nth - 1, 1) if together == 1 else (0, 3)
    assert (status.hits_up, status.unconfirmed, status.hits_unsent) == (known, in_doubt, 3 - known - in_doubt)
    if forgotten:
        forget_tokens(market_engine)
    again = publish_it(sqlite_engine)
    assert again.made + again.adopted + again.already_up == 3
    assert again.adopted == left_up - known
    check_plan(sqlite_engine)
    assert publish_it(sqlite_engine).made == 0


def test_C03_going_on_costs_only_what_the_interrupted_run_did_not_put_up(
    sqlite_engine: Engine,
    study_factory: Callable,
    publish_it: Callable,
    die: Callable,
    verb: Callable,
    market: MarketServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", market.url)
    study_factory(sqlite_engine, design={"annotators": 20})
    with die("response-received", "CreateHIT", 1):
        publish_it(sqlite_engine)
    told = verb("publish", "study", "--to", "local", "--json").document
    assert (told["made"], told["adopted"], told["already_up"], told["cost"]) == (2, 1, 0, "10.56")


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize(("together", "nth", "unknown"), [(1, 1, 1), (1, 3, 1), (10, 1, 3)])
def test_C03_publish_killed_before_the_confirming_commit_ends_with_the_plan(
    engine: Engine,
    study_factory: Callable,
    publish_it: Callable,
    check_plan: Callable,
    die_unconfirmed: Callable,
    market_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    together: int,
    nth: int,
    unknown: int,
) -> None:
    monkeypatch.setattr(outbox, "TOGETHER", together)
    study_factory(engine, design={"annotators": 20})
    with die_unconfirmed("publish", nth):
        publish_it(engine)
    forget_tokens(market_engine)
    assert publish_it(engine).adopted == unknown
    check_plan(engine)


def test_a_failure_among_many_leaves_only_itself_in_doubt(
    sqlite_engine: Engine, study_factory: Callable, publish_it: Callable, check_plan: Callable, troubles: Any
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})
    troubles.coming["CreateHIT"] = [None, Trouble.ODD_STATUS]
    with pytest.raises(PlatformError):
        publish_it(sqlite_engine)
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.hits_up, status.unconfirmed, status.hits_unsent) == (1, 1, 1)
    again = publish_it(sqlite_engine)
    assert (again.already_up, again.adopted, again.made) == (1, 0, 2)
    check_plan(sqlite_engine)


HARD_KILL = """
import os, sys
from humaneval.crowd import outbox
from humaneval.crowd.endpoints import local
from humaneval.crowd.extend import expire_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.store.engine import open_engine

engine, platform, calls = open_engine(sys.argv[1]), MTurk(local(sys.argv[2])), []

def die(**_):
    calls.append(1)
    if len(calls) == 2:
        os._exit(9)

platform.client.meta.events.register("response-received.mturk.CreateHIT", die)
at = open_study_at(engine, "study", platform)
plan_hits(at)
publish_hits(at, public_url="http://localhost:9")
"""


def test_C03_a_process_that_vanishes_leaves_nothing_that_a_second_run_does_not_find(
    sqlite_engine: Engine,
    sqlite_database: str,
    study_factory: Callable,
    publish_it: Callable,
    check_plan: Callable,
    market: MarketServer,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})
    died = subprocess.run(
        [sys.executable, "-c", HARD_KILL, sqlite_database, market.url],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=PATIENCE,
    )
    assert died.returncode == 9
    assert publish_it(sqlite_engine).adopted == 2
    check_plan(sqlite_engine)


@pytest.mark.parametrize("trouble", SENT_AGAIN, ids=[trouble.name for trouble in SENT_AGAIN])
def test_C01_C68_a_call_that_is_sent_again_by_the_client_makes_one_hit(
    sqlite_engine: Engine,
    study_factory: Callable,
    publish_it: Callable,
    check_plan: Callable,
    troubles: Any,
    trouble: Trouble,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})
    troubles.coming["CreateHIT"] = [trouble, None, trouble]
    assert publish_it(sqlite_engine).made == 3
    assert troubles.seen.count("CreateHIT") == 5
    check_plan(sqlite_engine)


def test_C01_two_that_publish_at_once_make_one_study(
    engine: Engine, study_factory: Callable, check_plan: Callable, market: MarketServer
) -> None:
    study_factory(engine, design={"annotators": 20})
    platforms, together = [MTurk(local(market.url)) for _ in range(3)], Barrier(3)

    def go(platform: MTurk) -> None:
        together.wait()
        plan_hits(open_study_at(engine, "study", platform))
        publish_hits(open_study_at(engine, "study", platform), public_url=FORMS)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(go, platforms))
    check_plan(engine)


def test_C13_what_cannot_be_paid_in_full_is_not_begun(
    sqlite_engine: Engine, study_factory: Callable, publish_it: Callable, listed: Callable, troubles: Any
) -> None:
    # 20 x ($600 + $120 fee) is more than the $10,000 there are, and a part of it is not.
    study_factory(sqlite_engine, design={"annotators": 20}, hit={"reward": "600.00"})
    with pytest.raises(PlatformError, match=r"\$10000\.00, and this costs \$14400\.00") as refused:
        publish_it(sqlite_engine)
    assert "humaneval market fund SUM" in refused.value.hint
    assert listed() == []
    assert "CreateHIT" not in troubles.seen
    with reading(sqlite_engine) as session:
        assert session.scalars(select(StudyRow.published_at)).one() is None


def test_C13_a_refusal_before_the_first_call_keeps_no_plan_and_the_next_one_is_the_same(
    engine: Engine, study_factory: Callable, platform: MTurk, publish_it: Callable
) -> None:
    study_factory(engine, design={"annotators": 20}, hit={"reward": "600.00"})
    planned = plan_hits(open_study_at(engine, "study", platform)).keys
    with pytest.raises(PlatformError, match="the balance at local is"):
        publish_it(engine)
    assert endpoints_of(open_study(engine, "study")) == ()
    assert plan_hits(open_study_at(engine, "study", platform)).keys == planned
    with pytest.raises(PlatformError, match="the balance at local is"):
        publish_it(engine)
    delete_study(engine, "study")


def test_C13_a_refusal_once_something_may_be_out_keeps_the_plan(
    sqlite_engine: Engine,
    study_factory: Callable,
    publish_it: Callable,
    die: Callable,
    market_engine: Engine,
    planned: Callable,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})
    with die("before-send", "CreateHIT", 2):
        publish_it(sqlite_engine)
    before = planned(sqlite_engine)
    with market_engine.begin() as connection:
        connection.execute(text("UPDATE account SET available = 0"))
    with pytest.raises(PlatformError, match=r"the balance at local is \$0\.00") as refused:
        publish_it(sqlite_engine)
    assert refused.value.hint.endswith("a part of it was tried: the next publish goes on.")
    assert planned(sqlite_engine).keys() == before.keys()


@pytest.mark.parametrize("moment", ["balance", "participants_of", "perform_each"])
def test_C13_nothing_is_called_for_a_plan_that_another_program_drops_meanwhile(
    engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
    troubles: Any,
    moment: str,
) -> None:
    study_factory(engine, design={"annotators": 20})
    at = open_study_at(engine, "study", platform)
    plan_hits(at)
    where: Any = platform if moment == "balance" else publish
    then = getattr(where, moment)

    def meanwhile(*args: Any, **options: Any) -> Any:
        drop_untried(at)
        return then(*args, **options)

    monkeypatch.setattr(where, moment, meanwhile)
    with pytest.raises(PlatformError, match="another program has deleted what this is about"):
        publish_hits(at, public_url=FORMS)
    assert "CreateHIT" not in troubles.seen


@pytest.mark.parametrize("balance", [Decimal("19.20")])
def test_C13_money_held_for_a_hit_that_a_kill_left_unrecorded_is_not_asked_for_again(
    sqlite_engine: Engine, study_factory: Callable, publish_it: Callable, check_plan: Callable, die: Callable
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})  # 20 x $0.96: to the cent what there is
    with die("response-received", "CreateHIT", 2):
        publish_it(sqlite_engine)
    publish_it(sqlite_engine)
    check_plan(sqlite_engine)


def test_C13_a_refusal_half_way_keeps_what_is_up_and_a_second_run_goes_on(
    sqlite_engine: Engine,
    study_factory: Callable,
    platform: MTurk,
    publish_it: Callable,
    check_plan: Callable,
) -> None:
    study_factory(sqlite_engine, design={"annotators": 20})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with writing(sqlite_engine) as session:
        last = session.scalars(select(HitRow).order_by(HitRow.id.desc())).first()
        assert last is not None
        key, last.key = last.key, "x" * 255  # an annotation that the platform refuses
    with pytest.raises(PlatformError, match="RequesterAnnotation"):
        publish_it(sqlite_engine)
    with writing(sqlite_engine) as session:
        refused = session.scalars(select(OutboxRow).where(OutboxRow.state == "refused")).one()
        assert "RequesterAnnotation" in refused.error
        assert refused.attempts == 1
        session.scalars(select(HitRow).where(HitRow.key == "x" * 255)).one().key = key
    (status,) = study_status(open_study(sqlite_engine, "study"))
    assert (status.hits_up, status.unconfirmed, status.refused) == (2, 0, 1)
    result = publish_it(sqlite_engine)
    assert (result.made, result.already_up) == (1, 2)
    check_plan(sqlite_engine)


def test_C14_hits_stay_below_the_higher_fee_and_the_cost_counts_it(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, design={"annotators": 40}, hit={"reward": "0.50"})
    plan = plan_hits(open_study_at(sqlite_engine, "study", platform))
    assert (plan.hits, plan.assignments) == (5, 40)
    assert (plan.cost.rewards, plan.cost.fees, plan.cost.total) == (
        Decimal("20.00"),
        Decimal("4.00"),
        Decimal("24.00"),
    )
    assert platform.cost(Decimal("0.50"), 10).fees == Decimal("2.00")


def test_a_plan_that_was_only_looked_at_binds_nobody(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    seen = plan_hits(open_study_at(sqlite_engine, "study", platform), static=True, dry_run=True)
    assert (seen.hits, seen.assignments, seen.cost.total) == (4, 4, Decimal("3.84"))
    assert study_status(open_study(sqlite_engine, "study")) == []
    plan_hits(open_study_at(sqlite_engine, "study", platform), static=True)
    again = plan_hits(
        open_study_at(sqlite_engine, "study", platform)
    )  # nothing was sent: the other way is still open
    assert (again.hits, again.assignments) == (1, 4)
    publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=FORMS)
    with pytest.raises(UsageError, match="the other way") as refused:
        plan_hits(open_study_at(sqlite_engine, "study", platform), static=True)
    assert refused.value.hint == "To go on as before: humaneval publish study --to local"


def test_static_pages_that_are_up_stay_so_for_every_verb(
    sqlite_engine: Engine, study_factory: Callable, platform: MTurk
) -> None:
    study_factory(sqlite_engine, design={"annotators": 4})
    at = open_study_at(sqlite_engine, "study", platform)
    plan_hits(at, static=True)
    publish_hits(at, public_url=FORMS)
    with pytest.raises(UsageError, match="the other way") as refused:
        plan_hits(at)
    assert refused.value.hint == "To go on as before: humaneval publish study --to local --static"
    assert {found.what: found.ok for found in look(at, FORMS)}["Balance"]
    assert publish_rest(at, FORMS, Ending()).made == 0


def test_C21_only_hits_of_this_study_are_ever_touched(
    sqlite_engine: Engine, study_factory: Callable, publish_it: Callable, platform: MTurk, listed: Callable
) -> None:
    foreign = platform.client.create_hit(
        Title="Somebody else's",
        Description="Not ours",
        Reward="0.10",
        AssignmentDurationInSeconds=600,
        LifetimeInSeconds=3600,
        MaxAssignments=1,
        RequesterAnnotation="humaneval:somebody-elses",
        Question=platform._question(_offer("https://elsewhere.example/form")),
    )["HIT"]
    study_factory(sqlite_engine, design={"annotators": 20})
    publish_it(sqlite_engine)
    assert expire_all(open_study_at(sqlite_engine, "study", platform)) == (3, 0)
    by_id = {hit["HITId"]: hit for hit in listed()}
    assert len(by_id) == 4
    assert by_id[foreign["HITId"]]["HITStatus"] == "Assignable"
    assert by_id[foreign["HITId"]]["Expiration"] == foreign["Expiration"]


def _offer(url: str) -> Any:
    from humaneval.crowd.platform import Offer

    return Offer("k", "t", "d", (), Decimal("0.10"), 1, 600, 3600, 0, form_url=url)
