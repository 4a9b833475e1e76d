"""People of a marketplace are forgotten: money stays explained, and collecting does not bring them back."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from sqlalchemy import Engine, select, update

from humaneval.crowd import submissions
from humaneval.crowd.approve import approve_work
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.claims import Outcome, open_form
from humaneval.crowd.close import close_all
from humaneval.crowd.collect import collect_work
from humaneval.crowd.costs import spent
from humaneval.crowd.forget import forget
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.notify import notify_workers
from humaneval.crowd.personal_data import find_person, names_in_exports, rows_about
from humaneval.crowd.pseudonyms import strangers
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.published_hits import preview_urls
from humaneval.crowd.purge import purge
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.crowd.uncollected import would_collect
from humaneval.crowd.workers import block_workers, exclude_workers
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import (
    AssignmentRow,
    ForgottenRow,
    HitRow,
    OutboxRow,
    PaymentRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.store.types import now
from humaneval.study.stored import open_study
from tests.integration.crowd.test_crowds import statements


def paid(engine: Engine, put_up: Callable, person: Callable, platform: MTurk) -> StudyAtPlatform:
    """Ada and Ben have answered and were approved; Ada has got a bonus and a letter."""
    up = put_up(engine, design={"annotators": 4}, exclusions={"missed_control": "none"})
    first = person("Ada").accept(up.preview).do(comment="ADASCOMMENT")
    person("Ben").accept(up.preview).do()
    at = open_study_at(engine, "study", platform)
    collect_work(at)
    with pytest.raises(UsageError, match="cannot be forgotten yet") as refused:
        forget(engine, person("Ada").id)
    assert f"approve study {first}" in refused.value.hint
    approve_work(at)
    pay_bonus(at, assignment=first, amount=Decimal("0.50"), reason="ADASBONUS", purpose="b")
    notify_workers(at, workers=[person("Ada").id], subject="S", text="ADASLETTER")
    return at


def test_the_books_stay_explained_without_the_person(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk, tmp_path: Path
) -> None:
    at = paid(engine, put_up, person, platform)
    whose, before = person("Ada").id, spent(open_study(engine, "study"))
    with reading(engine) as session:
        about = rows_about(session, find_person(session, whose))
        assert set(names_in_exports(session, find_person(session, whose))) == {"study"}
    assert {of.name for of, lines in about.items() if lines} == {
        "workers",
        "worker_identities",
        "assignments",
        "answers",
        "responses",
        "payments",
        "outbox",
        "consent_texts",
    }
    done = forget(engine, whose)
    assert (done.payments, done.studies[0].forms, done.studies[0].responses) == (2, 1, 4)
    assert spent(open_study(engine, "study")) == before
    for _ in range(2):
        books = reconcile(at)
        assert (books.unexplained, books.differences) == (Decimal(0), ())
        assert would_collect(at).new == 0
        collect_work(at)
    with reading(engine) as session:
        assert len(session.scalars(select(AssignmentRow)).all()) == 1
        assert len(session.scalars(select(WorkerIdentityRow)).all()) == 1
        assert len(session.scalars(select(ForgottenRow)).all()) == 1
        assert {one.reason for one in session.scalars(select(PaymentRow))} == {""}
    approve_work(at)  # finds nothing to do, and nobody to pay again
    assert spent(open_study(engine, "study")) == before
    if engine.dialect.name == "sqlite":
        content = b"".join(file.read_bytes() for file in tmp_path.glob("humaneval.db*"))
        for trace in (whose, done.worker, "ADASCOMMENT", "ADASBONUS", "ADASLETTER"):
            assert trace.encode() not in content, trace


def test_a_study_is_closed_without_those_who_were_forgotten_or_purged(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    at = paid(sqlite_engine, put_up, person, platform)
    forget(sqlite_engine, person("Ada").id)
    purge(sqlite_engine, now(), now())
    (address,) = preview_urls(open_study(sqlite_engine, "study"), platform.endpoint)
    cleo = person("Cleo").accept(address).do()
    # The platform approves it before it is collected. It is not taken for one of those that are gone.
    platform.client.approve_assignment(AssignmentId=cleo)
    with pytest.raises(PlatformError, match="1 submission at local is not collected yet"):
        close_all(at, wait=0)
    collect_work(at)
    assert close_all(at, wait=0).hits == 1


def test_a_purge_leaves_scores_and_books_and_no_id(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = paid(sqlite_engine, put_up, person, platform)
    ids, before = [person(name).id for name in ("Ada", "Ben")], spent(open_study(sqlite_engine, "study"))
    block_workers(at, ids, reason="THEIRBLOCK")
    exclude_workers(at, ids)
    for reason in ("There is no worker {}.", ""):  # what a platform says of a person, and then does it
        monkeypatch.setattr(at.platform, "notify", lambda worker, *_, reason=reason: reason.format(worker))
        notify_workers(at, workers=ids, subject="S", text=f"ANOTHERLETTER {reason}")
    monkeypatch.undo()
    assert purge(sqlite_engine, now(), now(), dry_run=True).ids == 2
    done = purge(sqlite_engine, now(), now())
    assert (done.ids, done.comments, done.texts, done.unanswered) == (2, 1, 8, 0)
    collect_work(at)
    assert spent(open_study(sqlite_engine, "study")) == before
    assert (reconcile(at).unexplained, reconcile(at).differences) == (Decimal(0), ())
    content = b"".join(file.read_bytes() for file in tmp_path.glob("humaneval.db*"))
    for trace in (*ids, "ADASCOMMENT", "ADASBONUS", "ADASLETTER", "THEIRBLOCK", "ANOTHERLETTER"):
        assert trace.encode() not in content, trace
    with pytest.raises(UsageError, match="was purged"):
        notify_workers(at, workers=[somebody(sqlite_engine)], subject="S", text="T")
    assert notify_workers(at, subject="S", text="To all who have an id").sent == 0
    assert forget(sqlite_engine, ids[0]).payments == 2


def test_people_who_never_had_a_form_are_purged_once_what_was_written_about_them_is_old(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    put_up(engine, design={"annotators": 4})
    at, began = open_study_at(engine, "study", platform), now()
    first, second = person("Ada").id, person("Ben").id
    block_workers(at, [first], reason="THEIRREASON")
    exclude_workers(at, [second])
    assert purge(engine, now(), began).nothing
    done = purge(engine, now(), now())
    assert (done.ids, done.texts, purge(engine, now(), now()).nothing) == (2, 1, True)
    with reading(engine) as session:
        assert session.scalars(select(WorkerIdentityRow)).all() == []
        assert "THEIRREASON" not in str([row.request for row in session.scalars(select(OutboxRow))])
    assert block_workers(at, [first], reason="x").before == 1  # they are still known, and blocked


def test_people_who_never_had_a_form_are_looked_up_together(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    put_up(sqlite_engine, design={"annotators": 4})
    at = open_study_at(sqlite_engine, "study", platform)

    def asked() -> int:
        with statements(sqlite_engine) as sent:
            assert not purge(sqlite_engine, now(), now(), dry_run=True).nothing
        return len(sent)

    exclude_workers(at, [person("Ada").id, person("Ben").id])
    two = asked()
    exclude_workers(at, [person(name).id for name in ("Cleo", "Dan", "Eva", "Finn", "Gus")])
    assert asked() == two


def test_people_who_came_and_got_no_form_are_purged_once_that_is_long_ago(
    engine: Engine, put_up: Callable
) -> None:
    put_up(engine, design={"annotators": 4})
    with reading(engine) as session:
        hit = session.scalars(select(HitRow)).one()
    began = now()
    came = [
        open_form(
            engine,
            hit_key=hit.key,
            external_hit=hit.external_id or "",
            assignment=f"A{number}",
            worker=f"W{number}",
            now=now(),
        ).outcome
        for number in range(5)
    ]
    assert came == [Outcome.FORM] * 4 + [Outcome.FULL]
    assert purge(engine, now(), began).nothing
    with writing(engine) as session:  # the leases of the others have run out
        session.execute(update(AssignmentRow).values(holds_row=False, lease_until=began))
    done = purge(engine, now(), now())
    assert (done.ids, done.unanswered, purge(engine, now(), now()).nothing) == (1, 4, True)
    with reading(engine) as session:
        assert session.scalars(select(WorkerIdentityRow)).all() == []


def test_somebody_whose_id_was_purged_is_forgotten_by_name_and_does_not_come_back(
    engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    at = paid(engine, put_up, person, platform)
    whose, before = person("Ada").id, spent(open_study(engine, "study"))
    with reading(engine) as session:
        name = find_person(session, whose).pseudonym
    purge(engine, now(), now())
    assert forget(engine, name).payments == 2
    assert would_collect(at).new == 0
    collect_work(at)
    approve_work(at)
    assert spent(open_study(engine, "study")) == before
    assert (reconcile(at).unexplained, reconcile(at).differences) == (Decimal(0), ())
    with writing(engine) as session:
        assert not session.scalars(select(WorkerIdentityRow)).all()
        assert strangers(session.connection(), platform.endpoint.name, [whose, "Eve"]).keys() == {"Eve"}


def test_who_is_forgotten_while_work_is_collected_is_left_out_and_the_others_are_not(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at = paid(sqlite_engine, put_up, person, platform)
    (address,) = preview_urls(open_study(sqlite_engine, "study"), platform.endpoint)
    person("Cleo").accept(address).do()
    forget(sqlite_engine, person("Ada").id)
    # As if it had been asked before.
    monkeypatch.setattr(submissions, "left_alone", lambda session, endpoint, work: [False] * len(work))
    assert collect_work(at).new == 1
    with reading(sqlite_engine) as session:
        ids = session.scalars(select(WorkerIdentityRow.external_id)).all()
    assert set(ids) == {person("Ben").id, person("Cleo").id}


def somebody(engine: Engine) -> str:
    with reading(engine) as session:
        return session.scalars(select(WorkerRow.pseudonym).order_by(WorkerRow.id)).all()[0]


def test_the_row_of_somebody_who_was_forgotten_is_handed_out_again_if_the_study_says_so(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, person: Callable, platform: MTurk
) -> None:
    sections = {"design": {"annotators": 2, "top_up": "ask"}, "exclusions": {"missed_control": "none"}}
    up = put_up(sqlite_engine, **sections)
    for name in ("Ada", "Ben"):
        answer(up, name)
    at = open_study_at(sqlite_engine, "study", platform)
    collect_work(at)
    approve_work(at)
    forget(sqlite_engine, person("Ada").id)
    assert plan_hits(at, dry_run=True).lost_rows == 1
    assert plan_hits(at, top_up=True).assignments == 1
    again = publish_hits(open_study_at(sqlite_engine, "study", platform), public_url=up.forms)
    person("Cleo").accept(again.preview_urls[0]).do()
    collect_work(at)
    assert plan_hits(at, top_up=True, dry_run=True).hits == 0
    with reading(sqlite_engine) as session:
        held = session.scalars(select(AssignmentRow.row_id).where(AssignmentRow.holds_row)).all()
    assert len(set(held)) == len(held) == 2
