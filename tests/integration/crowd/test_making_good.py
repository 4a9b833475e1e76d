"""Writing to people, and paying those whose work was lost through our fault."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, delete, select, update

from humaneval.crowd import publish_plan
from humaneval.crowd.approve import approve_work
from humaneval.crowd.collect import collect_work
from humaneval.crowd.compensate import Compensated, compensate_worker
from humaneval.crowd.costs import spent
from humaneval.crowd.forget import forget
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.notify import Notified, notify_workers
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.workers import list_workers
from humaneval.errors import PlatformError, UsageError
from humaneval.market import Trouble
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from humaneval.study.stored import open_study
from tests.integration.crowd.conftest import filled

LETTER = {"subject": "Your work", "text": "Thank you. It is paid."}


@pytest.fixture
def lost(put_up: Callable, person: Callable) -> Callable[..., Any]:
    """Somebody with a form open whose time ran out, or whose answers we lost; gives their work."""

    def make(engine: Engine) -> Any:
        work = person("Ada").accept(put_up(engine, design={"annotators": 4}).preview)
        work.open()
        time_is_over(engine)
        return work

    return make


def time_is_over(engine: Engine) -> None:
    """All forms that are open have run out of time."""
    with writing(engine) as session:
        session.execute(update(AssignmentRow).values(lease_until=now() - timedelta(minutes=1)))


def pay(
    engine: Engine, platform: MTurk, assignment: str, amount: str = "0.80", worker: str = ""
) -> Compensated:
    return compensate_worker(
        open_study_at(engine, "study", platform),
        assignment=assignment,
        amount=Decimal(amount),
        reason="Our server was away.",
        worker=worker,
    )


def payments(engine: Engine) -> list[tuple[str, str, str]]:
    with reading(engine) as session:
        return [(row.kind, str(row.amount), row.state) for row in session.scalars(select(PaymentRow))]


def test_C23_who_lost_work_takes_a_hit_of_their_own_and_is_paid_once(
    engine: Engine, lost: Callable, person: Callable, platform: MTurk, listed: Callable
) -> None:
    work = lost(engine)
    before = platform.balance()
    made = pay(engine, platform, work.id)
    assert (made.made_now, made.paid, made.cost.total) == (True, False, Decimal("0.96"))
    assert not pay(engine, platform, work.id).made_now
    assert len(listed()) == 2  # the study's, and this one
    assert before - platform.balance() == Decimal("0.96")
    assert person("Ben").browser.get(made.preview_url).status == 404  # nobody else is even shown it
    taken = work.person.accept(made.preview_url)
    taken.submit_directly({"compensation": "1"})
    collect_work(open_study_at(engine, "study", platform))
    assert payments(engine) == [("compensation", "0.80", "paid")]
    assert pay(engine, platform, work.id).paid
    assert spent(open_study(engine, "study")).total == Decimal("0.96")
    assert reconcile(open_study_at(engine, "study", platform)).unexplained == 0
    with pytest.raises(UsageError, match=r"a compensation of \$0\.80 for .* is on its way already"):
        pay(engine, platform, work.id, "0.90")


@pytest.mark.parametrize("taken", [False, True])
def test_C23_a_backup_that_knows_of_no_compensation_pays_no_second_one(
    sqlite_engine: Engine, lost: Callable, platform: MTurk, listed: Callable, taken: bool
) -> None:
    work = lost(sqlite_engine)
    made = pay(sqlite_engine, platform, work.id)
    if taken:
        work.person.accept(made.preview_url).submit_directly({"compensation": "1"})
    with writing(sqlite_engine) as session:  # as the backup has it
        session.execute(delete(PaymentRow))
        session.execute(delete(OutboxRow).where(OutboxRow.operation.not_in(("publish", "balance"))))
    again = pay(sqlite_engine, platform, work.id)
    assert again.preview_url == made.preview_url
    if not taken:
        work.person.accept(again.preview_url).submit_directly({"compensation": "1"})
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert payments(sqlite_engine) == [("compensation", "0.80", "paid")]
    assert len(listed()) == 2
    assert reconcile(open_study_at(sqlite_engine, "study", platform)).unexplained == 0


def test_C23_a_compensation_that_is_refused_is_neither_owed_nor_given(
    engine: Engine, lost: Callable, platform: MTurk
) -> None:
    work = lost(engine)
    with pytest.raises(PlatformError):
        pay(engine, platform, work.id, "50000")  # more than there is
    assert payments(engine) == []
    at = open_study_at(engine, "study", platform)
    assert reconcile(at).unexplained == 0
    assert pay(engine, platform, work.id).made_now
    assert payments(engine) == [("compensation", "0.80", "due")]


def test_C23_work_that_can_still_be_sent_in_is_not_compensated(
    sqlite_engine: Engine, put_up: Callable, person: Callable, platform: MTurk
) -> None:
    work = person("Ada").accept(put_up(sqlite_engine, design={"annotators": 4}).preview)
    work.open()
    with pytest.raises(UsageError, match="can still be submitted until"):
        pay(sqlite_engine, platform, work.id)
    assert payments(sqlite_engine) == []
    time_is_over(sqlite_engine)
    assert pay(sqlite_engine, platform, work.id).made_now


def test_C06_C23_of_several_people_whom_the_platform_gave_one_assignment_each_can_be_compensated(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    troubles: Any,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    preview = put_up(sqlite_engine, design={"annotators": 4}).preview
    ada = person("Ada").accept(preview)
    ada.open()
    ada.give_back()
    troubles.coming["accept"] = [Trouble.REUSED_ID]
    ben = person("Ben").accept(preview)
    ben.open()
    assert ben.id == ada.id
    time_is_over(sqlite_engine)
    people = [line.worker for line in list_workers(open_study(sqlite_engine, "study"), "local")]
    with pytest.raises(UsageError, match=f"gave assignment {ben.id} to 2 people, .*: {', '.join(people)}"):
        pay(sqlite_engine, platform, ben.id)
    assert payments(sqlite_engine) == []
    for name, pseudonym in zip(("Ada", "Ben"), people, strict=True):
        told = verb(
            "compensate",
            "study",
            ben.id,
            "--amount",
            "0.80",
            "--reason",
            "It was lost.",
            "--worker",
            pseudonym,
        )
        assert told.out.startswith(f"{pseudonym} can now take $0.80 at "), told
        taken = person(name).accept(told.out.split()[-1])
        taken.submit_directly({"compensation": "1"})
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert payments(sqlite_engine) == [("compensation", "0.80", "paid")] * 2
    with pytest.raises(UsageError, match="no worker 'A1NOBODY'"):
        pay(sqlite_engine, platform, ben.id, worker="A1NOBODY")


@pytest.mark.parametrize("answered", [False, True])
def test_C23_what_is_made_good_is_not_done_and_paid_again_under_the_same_id(
    sqlite_engine: Engine, lost: Callable, platform: MTurk, answered: bool
) -> None:
    work = lost(sqlite_engine)
    if answered:
        work.post()
        assert work.open().form(action="/mturk/externalSubmit") is not None
    else:
        assert work.open().form(field="form") is not None
    time_is_over(sqlite_engine)
    pay(sqlite_engine, platform, work.id)
    page = work.open()
    assert page.form(action="/mturk/externalSubmit") is page.form(field="form") is None
    assert "Another task pays for this work" in page.html
    assert "Return this task" in page.html


def test_C23_until_it_is_taken_it_is_due_and_said_so(
    sqlite_engine: Engine, lost: Callable, platform: MTurk, verb: Callable
) -> None:
    pay(sqlite_engine, platform, lost(sqlite_engine).id)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert payments(sqlite_engine) == [("compensation", "0.80", "due")]
    assert study_status(open_study(sqlite_engine, "study"))[0].compensations_due == 1
    assert "1 compensation not taken yet" in verb("status", "study").out
    assert reconcile(open_study_at(sqlite_engine, "study", platform)).unexplained == 0


@pytest.mark.parametrize(
    ("when", "operation"),
    [
        ("before-send", "CreateQualificationType"),
        ("response-received", "CreateQualificationType"),
        ("response-received", "AssociateQualificationWithWorker"),
        ("before-send", "CreateHIT"),
        ("response-received", "CreateHIT"),
        ("unconfirmed", "compensate"),
    ],
)
def test_C23_a_kill_at_any_step_ends_in_one_compensation(
    sqlite_engine: Engine,
    lost: Callable,
    platform: MTurk,
    die: Callable,
    die_unconfirmed: Callable,
    listed: Callable,
    when: str,
    operation: str,
) -> None:
    work = lost(sqlite_engine)
    client = platform.client if operation == "CreateHIT" else platform.once
    with die_unconfirmed(operation) if when == "unconfirmed" else die(when, operation, client=client):
        pay(sqlite_engine, platform, work.id)
    assert pay(sqlite_engine, platform, work.id).preview_url
    assert len(listed()) == 2
    work.person.accept(pay(sqlite_engine, platform, work.id).preview_url)


def test_C23_submitted_work_is_paid_as_such_and_not_compensated(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, listed: Callable
) -> None:
    assignment = answer(put_up(sqlite_engine, design={"annotators": 4}))
    collect_work(open_study_at(sqlite_engine, "study", platform))
    with pytest.raises(UsageError, match="was submitted"):
        pay(sqlite_engine, platform, assignment)
    with pytest.raises(UsageError, match="no assignment"):
        pay(sqlite_engine, platform, "3NOBODYS")
    assert len(listed()) == 1


def test_C23_what_was_submitted_is_not_compensated_before_it_is_collected(
    sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, listed: Callable
) -> None:
    assignment = answer(put_up(sqlite_engine, design={"annotators": 4}))
    time_is_over(sqlite_engine)
    with pytest.raises(UsageError, match="was submitted at local, and is not collected yet"):
        pay(sqlite_engine, platform, assignment)
    assert payments(sqlite_engine) == []
    assert len(listed()) == 1
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 1


def test_C23_so_is_what_was_submitted_after_its_row_went_to_somebody_else(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(publish_plan, "MAX_ASSIGNMENTS", 1)
    up, ada = put_up(sqlite_engine, design={"annotators": 4}), person("Ada")
    work = ada.accept(up.preview)
    form = work.open().form(field="form")
    work.submit_directly({**form.values, **filled(form)})
    time_is_over(sqlite_engine)
    ada.accept(up.preview).open()  # one form at a time: the first is given up
    with reading(sqlite_engine) as session:
        assert session.scalar(select(AssignmentRow.state).order_by(AssignmentRow.id)) == "superseded"
    with pytest.raises(UsageError, match="was submitted at local, and is not collected yet"):
        pay(sqlite_engine, platform, work.id)
    assert payments(sqlite_engine) == []
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert approve_work(open_study_at(sqlite_engine, "study", platform), assignments=[work.id]) == 1


def test_C23_somebody_whose_hit_is_deleted_is_compensated(
    sqlite_engine: Engine, lost: Callable, platform: MTurk
) -> None:
    work = lost(sqlite_engine)
    with reading(sqlite_engine) as session:
        (hit,) = session.scalars(select(HitRow.external_id)).all()
    work.give_back()
    platform.expire(hit)
    platform.close(hit)
    assert pay(sqlite_engine, platform, work.id).made_now


@pytest.fixture
def paid(put_up: Callable, answer: Callable, platform: MTurk) -> Callable[[Engine], str]:
    """A study with two workers, one of whom is paid; gives that one's pseudonym."""

    def make(engine: Engine) -> str:
        up_there = put_up(engine, design={"annotators": 4})
        first = answer(up_there, "Ada")
        answer(up_there, "Ben")
        collect_work(open_study_at(engine, "study", platform))
        approve_work(open_study_at(engine, "study", platform), assignments=[first])
        return next(
            line.worker for line in list_workers(open_study(engine, "study"), "local") if line.approved
        )

    return make


def test_C80_a_letter_goes_to_each_of_those_it_may_go_to_once(
    engine: Engine, paid: Callable, platform: MTurk, troubles: Any
) -> None:
    paid(engine)
    assert notify_workers(open_study_at(engine, "study", platform), **LETTER, dry_run=True) == Notified(
        1, 0, {}, ()
    )
    assert "NotifyWorkers" not in troubles.seen
    assert notify_workers(open_study_at(engine, "study", platform), **LETTER) == Notified(1, 0, {}, ())
    assert notify_workers(open_study_at(engine, "study", platform), **LETTER) == Notified(0, 1, {}, ())
    assert troubles.seen.count("NotifyWorkers") == 1
    assert notify_workers(
        open_study_at(engine, "study", platform), subject="Another", text="More."
    ) == Notified(1, 0, {}, ())


def test_C80_whom_a_letter_does_not_reach_is_named_by_pseudonym_and_tried_again(
    sqlite_engine: Engine, paid: Callable, platform: MTurk, troubles: Any
) -> None:
    paid(sqlite_engine)
    (other,) = [
        line.worker for line in list_workers(open_study(sqlite_engine, "study"), "local") if not line.approved
    ]
    for _ in range(2):
        told = notify_workers(open_study_at(sqlite_engine, "study", platform), **LETTER, workers=[other])
        assert (told.sent, list(told.undelivered)) == (0, [other])
    approve_work(open_study_at(sqlite_engine, "study", platform))
    assert (
        notify_workers(open_study_at(sqlite_engine, "study", platform), **LETTER, workers=[other]).sent == 1
    )


def test_C80_a_letter_whose_answer_was_lost_is_not_written_twice_unless_somebody_says_so(
    sqlite_engine: Engine, paid: Callable, platform: MTurk, troubles: Any
) -> None:
    worker = paid(sqlite_engine)
    troubles.coming["NotifyWorkers"] = [Trouble.REPLY_LOST]
    for _ in range(2):
        assert notify_workers(open_study_at(sqlite_engine, "study", platform), **LETTER) == Notified(
            0, 0, {}, (worker,)
        )
    assert troubles.seen.count("NotifyWorkers") == 1
    assert notify_workers(open_study_at(sqlite_engine, "study", platform), **LETTER, again=True).sent == 1


def test_C80_a_letter_that_another_program_is_sending_is_not_sent_again(
    sqlite_engine: Engine, paid: Callable, platform: MTurk, troubles: Any
) -> None:
    worker = paid(sqlite_engine)
    seen: list[Notified] = []

    def meanwhile(**_: Any) -> None:
        if not seen:
            seen.append(Notified(0, 0, {}, ()))
            there = open_study_at(sqlite_engine, "study", platform)
            seen.append(notify_workers(there, **LETTER, again=True))

    platform.once.meta.events.register("before-send.mturk.NotifyWorkers", meanwhile)
    assert notify_workers(open_study_at(sqlite_engine, "study", platform), **LETTER).sent == 1
    assert seen[1:] == [Notified(0, 0, {}, (worker,))]
    assert troubles.seen.count("NotifyWorkers") == 1


@pytest.mark.parametrize(
    "letter", [{"subject": "x" * 201}, {"text": "x" * 4097}, {"text": "🎉"}, {"text": " "}]
)
def test_C80_a_letter_that_the_platform_would_not_take_is_not_sent(
    sqlite_engine: Engine, paid: Callable, platform: MTurk, troubles: Any, letter: dict[str, str]
) -> None:
    worker = paid(sqlite_engine)
    try:
        told = notify_workers(open_study_at(sqlite_engine, "study", platform), **{**LETTER, **letter})
        assert list(told.undelivered) == [worker]
    except (UsageError, PlatformError):
        pass
    assert "NotifyWorkers" not in troubles.seen


def test_C23_who_was_never_paid_is_named_until_it_is_made_good(
    sqlite_engine: Engine,
    put_up: Callable,
    person: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    work = person("Ada").accept(put_up(sqlite_engine, design={"annotators": 4}).preview)
    work.post()
    (line,) = list_workers(open_study(sqlite_engine, "study"), "local")
    told = verb("collect", "study")
    assert f"  {work.id} of {line.worker}" in told.out
    assert "humaneval compensate study ASSIGNMENT" in told.out
    named = verb("collect", "study", "--json").document
    assert named["unpaid"] == [{"assignment": work.id, "worker": line.worker}]
    assert "1 form answered on our server and never paid" in verb("close", "study", "--dry-run").out
    time_is_over(sqlite_engine)
    pay(sqlite_engine, platform, work.id)
    assert verb("collect", "study", "--json").document["unpaid"] == []
    with pytest.raises(UsageError, match="already with another reason: Our server was away"):
        compensate_worker(
            open_study_at(sqlite_engine, "study", platform),
            assignment=work.id,
            amount=Decimal("0.80"),
            reason="Something else.",
        )


def test_who_is_forgotten_meanwhile_gets_no_letter_and_the_others_get_theirs(
    sqlite_engine: Engine, paid: Callable, platform: MTurk, troubles: Any
) -> None:
    paid(sqlite_engine)
    at = open_study_at(sqlite_engine, "study", platform)
    approve_work(at)
    first, second = [line.worker for line in list_workers(at.study, "local")]
    done: list[str] = []

    def meanwhile(**_: object) -> None:
        if not done:
            done.append(forget(sqlite_engine, second).worker)

    platform.once.meta.events.register("before-send.mturk.NotifyWorkers", meanwhile)
    told = notify_workers(at, **LETTER, workers=[first, second])
    assert done == [second]
    assert (told.sent, list(told.undelivered), told.unsure) == (1, [second], ())
    assert troubles.seen.count("NotifyWorkers") == 1
