"""What somebody does by hand at the platform, or in another tool, stops none of our commands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, select, update

from humaneval.crowd.approve import approve_work
from humaneval.crowd.close import close_all
from humaneval.crowd.collect import collect_work
from humaneval.crowd.compensate import Compensated, compensate_worker
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.uncollected import would_collect
from humaneval.crowd.workers import exclude_workers
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, PaymentRow
from humaneval.store.types import now
from humaneval.study.enlarge import enlarge
from humaneval.study.stored import open_study


def hit_ids(engine: Engine) -> list[str]:
    with reading(engine) as session:
        return [id for id in session.scalars(select(HitRow.external_id).order_by(HitRow.id)) if id]


def delete_by_hand(platform: MTurk, hit: str) -> None:
    platform.expire(hit)
    platform.close(hit)


def forget(engine: Engine, which: int) -> str:
    """The HIT is under an id that the platform does not know: so it stands long after a deletion."""
    gone = "3GONE0000000000000000000000000"
    with writing(engine) as session:
        session.scalars(select(HitRow).order_by(HitRow.id)).all()[which].external_id = gone
    return gone


@pytest.mark.parametrize("how", ["deleted", "forgotten"])
def test_C22_a_hit_that_was_deleted_by_hand_does_not_keep_the_others_up(
    sqlite_engine: Engine, put_up: Callable, platform: MTurk, listed: Callable, how: str
) -> None:
    put_up(sqlite_engine, design={"annotators": 20})
    first = hit_ids(sqlite_engine)[0]
    delete_by_hand(platform, first)
    gone = forget(sqlite_engine, 0) if how == "forgotten" else first
    with pytest.raises(PartialError, match=f"no longer has the HIT {gone}; the others were extended"):
        extend_all(open_study_at(sqlite_engine, "study", platform), 3)
    with pytest.raises(PartialError, match=f"no longer has the HIT {gone}; the others were taken down"):
        expire_all(open_study_at(sqlite_engine, "study", platform))
    assert [hit["HITStatus"] for hit in listed()] == ["Reviewable", "Reviewable"]
    with pytest.raises(PartialError):
        extend_all(open_study_at(sqlite_engine, "study", platform), 3)
    assert close_all(open_study_at(sqlite_engine, "study", platform), wait=0).hits == 2
    assert listed() == []


@pytest.mark.parametrize("how", ["deleted", "forgotten"])
def test_C22_work_that_was_decided_by_hand_before_its_hit_was_deleted_does_not_stop_close(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, how: str
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 20})
    assignment = answer(up)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    platform.client.approve_assignment(AssignmentId=assignment)
    with reading(sqlite_engine) as session:
        hit = session.scalars(select(AssignmentRow)).one().hit_id
    delete_by_hand(platform, hit_ids(sqlite_engine)[hit - 1])
    if how == "forgotten":
        forget(sqlite_engine, hit - 1)
    assert close_all(open_study_at(sqlite_engine, "study", platform), wait=0).hits == 2


def test_C22_a_hit_that_is_gone_does_not_stop_what_collect_does_after_the_answers(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, listed: Callable, market: Any
) -> None:
    put_up(sqlite_engine, design={"annotators": 20})
    lost = person("Ada").accept(f"{market.url}/hits/{hit_ids(sqlite_engine)[1]}")
    lost.open()
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=now() - timedelta(minutes=1)))
    made = pay(sqlite_engine, platform, lost.id)
    forget(sqlite_engine, 0)
    taken = person("Ada").accept(made.preview_url)
    form = taken.page.form(action="/mturk/externalSubmit") or taken.open().form(
        action="/mturk/externalSubmit"
    )
    assert form is not None
    taken.submit_directly({})
    with pytest.raises(PartialError, match="no longer has the HIT"):
        collect_work(open_study_at(sqlite_engine, "study", platform))
    assert payment_state(sqlite_engine) == "paid"
    assert would_collect(open_study_at(sqlite_engine, "study", platform)).submissions == 0


def pay(
    engine: Engine, platform: MTurk, assignment: str, amount: str = "0.80", **options: Any
) -> Compensated:
    return compensate_worker(
        open_study_at(engine, "study", platform),
        assignment=assignment,
        amount=Decimal(amount),
        reason="Our server was away.",
        **options,
    )


def payment_state(engine: Engine) -> str:
    with reading(engine) as session:
        return session.scalars(select(PaymentRow.state)).one()


@pytest.fixture
def lost(sqlite_engine: Engine, put_up: Callable, person: Callable) -> Any:
    """Somebody with a form open whose time ran out; gives their work."""
    work = person("Ada").accept(put_up(sqlite_engine, design={"annotators": 4}).preview)
    work.open()
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=now() - timedelta(minutes=1)))
    return work


def compensation(listed: Callable) -> dict[str, Any]:
    (found,) = [hit for hit in listed() if hit["Title"].startswith("Payment for")]
    return dict(found)


def test_C23_a_compensation_that_was_not_taken_in_time_is_put_up_again_and_paid_once(
    sqlite_engine: Engine, lost: Any, person: Callable, platform: MTurk, listed: Callable
) -> None:
    pay(sqlite_engine, platform, lost.id)
    platform.expire(compensation(listed)["HITId"])
    assert pay(sqlite_engine, platform, lost.id, dry_run=True).made_now
    assert compensation(listed)["HITStatus"] == "Reviewable"
    again = pay(sqlite_engine, platform, lost.id)
    assert (again.made_now, compensation(listed)["HITStatus"]) == (True, "Assignable")
    assert not pay(sqlite_engine, platform, lost.id).made_now
    person("Ada").accept(again.preview_url).submit_directly({})
    assert not pay(sqlite_engine, platform, lost.id).made_now
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert payment_state(sqlite_engine) == "paid"
    assert pay(sqlite_engine, platform, lost.id).paid


def test_C23_a_compensation_that_was_deleted_by_hand_is_not_paid_again_and_does_not_stop_collect(
    sqlite_engine: Engine, lost: Any, platform: MTurk, listed: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay(sqlite_engine, platform, lost.id)
    gone = compensation(listed)["HITId"]
    delete_by_hand(platform, gone)
    with pytest.raises(PlatformError, match=f"no longer has the HIT {gone}"):
        pay(sqlite_engine, platform, lost.id)
    there = platform.submissions

    def forgotten(hit: str) -> Any:
        if hit == gone:
            raise PlatformError("no such HIT", code="AWS.MechanicalTurk.HITDoesNotExist", nothing_done=True)
        return there(hit)

    monkeypatch.setattr(platform, "submissions", forgotten)
    assert collect_work(open_study_at(sqlite_engine, "study", platform)).submissions == 0


def test_C23_a_compensation_that_was_refused_can_be_changed(
    sqlite_engine: Engine, lost: Any, platform: MTurk, listed: Callable
) -> None:
    with pytest.raises(PlatformError, match="insufficient funds"):
        pay(sqlite_engine, platform, lost.id, "99999.00")
    assert pay(sqlite_engine, platform, lost.id, "0.50").made_now
    assert compensation(listed)["Reward"] == "0.50"
    with reading(sqlite_engine) as session:
        payment = session.scalars(select(PaymentRow)).one()
        assert (payment.amount, payment.fee) == (Decimal("0.50"), Decimal("0.10"))
    with pytest.raises(UsageError, match=r"\$0\.50 for .* is on its way already"):
        pay(sqlite_engine, platform, lost.id, "0.80")


def test_C23_work_submitted_at_a_hit_that_was_never_recorded_is_not_compensated(
    sqlite_engine: Engine, orphan: Callable, person: Callable, platform: MTurk, listed: Callable
) -> None:
    assignment = person("Ada").accept(orphan(sqlite_engine)).do()
    with writing(sqlite_engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=now() - timedelta(minutes=1)))
    with pytest.raises(UsageError, match="was submitted at local, and is not collected yet"):
        pay(sqlite_engine, platform, assignment)
    assert len(listed()) == 1
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 1


def lists(platform: MTurk) -> dict[str, set[str]]:
    """The people on each of the account's lists that stand."""
    turk = platform.client
    standing = turk.list_qualification_types(MustBeRequestable=False, MustBeOwnedByCaller=True)
    return {
        kind["QualificationTypeId"]: {
            one["WorkerId"]
            for one in turk.list_workers_with_qualification_type(
                QualificationTypeId=kind["QualificationTypeId"], Status="Granted"
            )["Qualifications"]
        }
        for kind in standing["QualificationTypes"]
    }


@pytest.mark.parametrize("who", ["collect", "publish", "exclude"])
def test_C55_a_list_that_was_deleted_by_hand_is_made_anew_with_everyone_on_it(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk, market: Any, who: str
) -> None:
    put_up(sqlite_engine, design={"annotators": 12})
    people = [person(name) for name in ("Ada", "Ben", "Cleo", "Dan")]
    hits = hit_ids(sqlite_engine)
    for one in people[:3]:
        one.accept(f"{market.url}/hits/{hits[0]}").do()
    collect_work(open_study_at(sqlite_engine, "study", platform))
    ada, ben, cleo, dan = (one.id for one in people)
    exclude_workers(open_study_at(sqlite_engine, "study", platform), [cleo], on=False)
    (old,) = lists(platform)
    assert lists(platform)[old] == {ada, ben}
    platform.client.delete_qualification_type(QualificationTypeId=old)
    wanted = {ada, ben}
    if who == "publish":
        enlarge(open_study(sqlite_engine, "study"), 4, "")
        plan_hits(open_study_at(sqlite_engine, "study", platform))
        url = "https://study.example.org"
        assert publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=url).made == 1
    elif who == "exclude":
        exclude_workers(open_study_at(sqlite_engine, "study", platform), [dan])
        collect_work(open_study_at(sqlite_engine, "study", platform))
        wanted |= {dan}
    else:
        people[3].accept(f"{market.url}/hits/{hits[0]}").do()
        assert collect_work(open_study_at(sqlite_engine, "study", platform)).not_listed == ()
        wanted |= {dan}
    ((new, members),) = lists(platform).items()
    assert (new != old, members) == (True, wanted)


def test_C55_two_databases_with_the_same_study_have_a_list_each(
    sqlite_engine: Engine,
    sqlite_template: Any,
    study_factory: Callable,
    platform: MTurk,
    tmp_path: Any,
    person: Callable,
) -> None:
    import shutil

    from humaneval.store.engine import open_engine

    other = open_engine(f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'other.db')}")
    for engine, who in ((sqlite_engine, "Ada"), (other, "Ben")):
        study_factory(engine, design={"annotators": 4})
        exclude_workers(open_study_at(engine, "study", platform), [person(who).id])
    other.dispose()
    assert [len(members) for members in lists(platform).values()] == [1, 1]
