"""A write that may have got through is never called refused: not by a later refusal, not by a kill, nor
beside another."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, delete, select, text, update

from humaneval.crowd import notify
from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.bonus import BonusPaid, pay_bonus
from humaneval.crowd.close import close_all
from humaneval.crowd.collect import collect_work
from humaneval.crowd.extend import expire_all
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.notify import notify_workers
from humaneval.crowd.outbox import Intent, intend, intent_of, perform, perform_each
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.crowd.workers import block_workers, exclude_workers, list_workers
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.market import Trouble
from humaneval.store.engine import reading, writing
from humaneval.store.tables import OutboxRow, WorkerIdentityRow
from humaneval.study.stored import open_study

LETTER = {"subject": "Your work", "text": "Thank you. It is paid."}
AWAY = PlatformError("nothing answers there", nothing_done=True)


@pytest.fixture
def assignment(sqlite_engine: Engine, put_up: Callable, answer: Callable, platform: MTurk) -> str:
    """Work that is submitted and collected."""
    done: str = answer(put_up(sqlite_engine, design={"annotators": 4}))
    collect_work(open_study_at(sqlite_engine, "study", platform))
    return done


def pay(engine: Engine, platform: MTurk, assignment: str, amount: str, purpose: str = "bonus") -> BonusPaid:
    return pay_bonus(
        open_study_at(engine, "study", platform),
        assignment=assignment,
        amount=Decimal(amount),
        reason="Thanks",
        purpose=purpose,
    )


def paid_there(platform: MTurk, assignment: str) -> list[str]:
    return [str(bonus.amount) for bonus in platform.bonuses(assignment)]


def forget_tokens(market_engine: Engine) -> None:
    with market_engine.begin() as connection:
        connection.execute(text("DELETE FROM request_tokens"))


def state(engine: Engine, operation: str) -> str:
    with reading(engine) as session:
        return session.scalars(select(OutboxRow.state).where(OutboxRow.operation == operation)).one()


def test_C04_a_bonus_killed_after_an_earlier_refusal_cannot_be_changed_and_is_paid_once(
    sqlite_engine: Engine, assignment: str, platform: MTurk, die: Callable, market_engine: Engine
) -> None:
    with pytest.raises(PlatformError, match="insufficient funds"):
        pay(sqlite_engine, platform, assignment, "99999.00")
    with die("response-received", "SendBonus"):
        pay(sqlite_engine, platform, assignment, "0.50")
    forget_tokens(market_engine)
    with pytest.raises(UsageError, match=r"\$0\.50 for 'bonus' is already due"):
        pay(sqlite_engine, platform, assignment, "0.75")
    assert pay(sqlite_engine, platform, assignment, "0.50").paid_now
    assert paid_there(platform, assignment) == ["0.50"]


def test_C04_a_refusal_after_a_lost_answer_does_not_say_that_nothing_was_paid(
    sqlite_engine: Engine,
    assignment: str,
    platform: MTurk,
    die: Callable,
    monkeypatch: pytest.MonkeyPatch,
    market_engine: Engine,
) -> None:
    with die("response-received", "SendBonus"):
        pay(sqlite_engine, platform, assignment, "0.50")
    forget_tokens(market_engine)
    with monkeypatch.context() as away:
        away.setattr(platform, "bonuses", lambda _: (_ for _ in ()).throw(AWAY))
        with pytest.raises(PlatformError, match="nothing answers"):
            pay(sqlite_engine, platform, assignment, "0.50")
    assert state(sqlite_engine, "bonus") == "pending"
    with pytest.raises(UsageError, match="already due"):
        pay(sqlite_engine, platform, assignment, "0.75")
    assert pay(sqlite_engine, platform, assignment, "0.50").paid_now
    assert paid_there(platform, assignment) == ["0.50"]


def test_C05_a_decision_that_is_looked_up_and_was_not_made_is_refused_and_not_unsure(
    sqlite_engine: Engine, assignment: str, platform: MTurk, troubles: Any
) -> None:
    reject_work(
        open_study_at(sqlite_engine, "study", platform), assignments=[assignment], reason="It was empty."
    )
    expire_all(open_study_at(sqlite_engine, "study", platform))
    close_all(open_study_at(sqlite_engine, "study", platform), wait=0)
    troubles.coming["ApproveAssignment"] = [Trouble.DROPPED]

    def undo() -> None:
        with pytest.raises(PartialError, match="0 approved, 1 not"):
            approve_work(
                open_study_at(sqlite_engine, "study", platform), assignments=[assignment], undo_rejection=True
            )

    undo()
    assert state(sqlite_engine, "approve") == "pending"
    undo()
    assert state(sqlite_engine, "approve") == "refused"
    assert study_status(open_study(sqlite_engine, "study"))[0].unconfirmed == 0


def test_C04_a_bonus_that_was_refused_does_not_hide_another_of_the_same_words_that_was_paid(
    sqlite_engine: Engine,
    assignment: str,
    platform: MTurk,
    die: Callable,
    market_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as away:
        away.setattr(platform, "bonus", lambda *_: (_ for _ in ()).throw(AWAY))
        with pytest.raises(PlatformError):
            pay(sqlite_engine, platform, assignment, "0.50", "first")
    with die("response-received", "SendBonus"):
        pay(sqlite_engine, platform, assignment, "0.50", "second")
    forget_tokens(market_engine)
    assert pay(sqlite_engine, platform, assignment, "0.50", "second").paid_now
    assert paid_there(platform, assignment) == ["0.50"]


def test_C80_a_letter_killed_after_an_earlier_refusal_is_not_written_twice(
    sqlite_engine: Engine, assignment: str, platform: MTurk, die: Callable, troubles: Any
) -> None:
    (worker,) = [line.worker for line in list_workers(open_study(sqlite_engine, "study"), "local")]
    assert notify_workers(
        open_study_at(sqlite_engine, "study", platform), **LETTER, workers=[worker]
    ).undelivered
    approve_work(open_study_at(sqlite_engine, "study", platform))
    with die("response-received", "NotifyWorkers", client=platform.once):
        notify_workers(open_study_at(sqlite_engine, "study", platform), **LETTER)
    assert notify_workers(open_study_at(sqlite_engine, "study", platform), **LETTER).unsure == (worker,)
    assert troubles.seen.count("NotifyWorkers") == 2


def test_C80_two_programs_that_write_the_same_letter_at_once_write_it_once(
    engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    troubles: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(put_up(engine, design={"annotators": 4}))
    collect_work(open_study_at(engine, "study", platform))
    approve_work(open_study_at(engine, "study", platform))
    told = []

    def beaten(*request: Any, **options: Any) -> str:
        """Between this one's plan and its call another program does all of the same."""
        with monkeypatch.context() as other:
            other.setattr(notify, "perform", perform)
            told.append(notify_workers(open_study_at(engine, "study", platform), **LETTER).sent)
        return perform(*request, **options)

    monkeypatch.setattr(notify, "perform", beaten)
    assert (len(notify_workers(open_study_at(engine, "study", platform), **LETTER).unsure), told) == (1, [1])
    assert troubles.seen.count("NotifyWorkers") == 1
    assert notify_workers(open_study_at(engine, "study", platform), **LETTER).before == 1


def test_C09_a_block_killed_after_an_earlier_refusal_can_be_undone(
    sqlite_engine: Engine, assignment: str, platform: MTurk, die: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    (worker,) = [line.worker for line in list_workers(open_study(sqlite_engine, "study"), "local")]
    with monkeypatch.context() as away:
        away.setattr(platform, "block", lambda *_: (_ for _ in ()).throw(AWAY))
        with pytest.raises(PartialError):
            block_workers(open_study_at(sqlite_engine, "study", platform), [worker], reason="Spam")
    with die("response-received", "CreateWorkerBlock", client=platform.once):
        block_workers(open_study_at(sqlite_engine, "study", platform), [worker], reason="Spam")
    assert (
        block_workers(open_study_at(sqlite_engine, "study", platform), [worker], reason="", on=False).now == 1
    )
    assert platform.client.list_worker_blocks()["WorkerBlocks"] == []


def test_a_failure_beside_another_program_does_not_undo_what_that_one_confirmed(
    sqlite_engine: Engine, assignment: str, platform: MTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay_there = platform.bonus

    def beaten(*request: Any) -> None:
        """While this call is on its way another program pays the same bonus; then this one is cut off."""
        with monkeypatch.context() as other:
            other.setattr(platform, "bonus", pay_there)
            pay(sqlite_engine, platform, assignment, "0.50")
        raise PlatformError("cut off")

    with monkeypatch.context() as cut:
        cut.setattr(platform, "bonus", beaten)
        with pytest.raises(PlatformError, match="cut off"):
            pay(sqlite_engine, platform, assignment, "0.50")
    assert state(sqlite_engine, "bonus") == "confirmed"
    assert study_status(open_study(sqlite_engine, "study"))[0].unconfirmed == 0
    assert paid_there(platform, assignment) == ["0.50"]


@pytest.mark.parametrize("when", ["before the call", "during the call"])
def test_a_write_whose_id_another_one_got_changes_nothing_of_that_one(
    engine: Engine, study_factory: Callable, when: str
) -> None:
    study_factory(engine)
    study = open_study(engine, "study")

    def planned(operation: str) -> Intent:
        about = {"endpoint": "local", "operation": operation, "subject": "worker 1", "key": "k"}
        with writing(engine) as session:
            return intent_of(intend(session, study_id=study.id, request={}, **about))

    first = planned("block")
    others: list[Intent] = []

    def goes() -> None:
        """Another program deletes the write, and its id is the next one's, as in a copy of before."""
        with writing(engine) as session:
            session.execute(delete(OutboxRow))
        others.append(planned("unblock"))
        with writing(engine) as session:
            session.execute(update(OutboxRow).values(id=first.id))

    if when == "before the call":
        goes()
        with pytest.raises(PlatformError, match="has deleted what this is about"):
            perform(engine, first, lambda: None, lambda *_: {})
    else:
        perform(engine, first, goes, lambda *_: {})
    with reading(engine) as session:
        row = session.get_one(OutboxRow, first.id)
        assert row.token == others[0].token
        assert (row.state, row.attempts, row.confirmed_at) == ("pending", 0, None)


def test_what_collect_was_told_before_an_approval_does_not_take_it_back(
    engine: Engine, put_up: Callable, answer: Callable, platform: MTurk, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(put_up(engine, design={"annotators": 4}))
    collect_work(open_study_at(engine, "study", platform))
    ask = platform.submissions

    def slow(hit: str) -> Any:
        told = list(ask(hit))
        assert approve_work(open_study_at(engine, "study", platform)) == 1  # another program
        return iter(told)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(platform, "submissions", slow)
        collect_work(open_study_at(engine, "study", platform))
    assert study_status(open_study(engine, "study"))[0].approved == 1


def test_what_is_collected_while_the_sum_is_typed_is_not_approved_with_it(
    sqlite_engine: Engine,
    put_up: Callable,
    answer: Callable,
    platform: MTurk,
    verb: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    answer(up, "Ada")
    collect_work(open_study_at(sqlite_engine, "study", platform))
    monkeypatch.setenv("HUMANEVAL_MARKET_URL", platform.endpoint.api_url)
    asked = []

    def typing(*question: Any, **_: Any) -> None:
        asked.append(question[1])
        answer(up, "Ben")
        collect_work(open_study_at(sqlite_engine, "study", platform))

    monkeypatch.setattr("humaneval.cli.approve.confirm_spending", typing)
    assert "1 approved at local now" in verb("review", "study", "--approve").out
    assert (asked, study_status(open_study(sqlite_engine, "study"))[0].spent) == (
        [Decimal("0.96")],
        Decimal("0.96"),
    )


def test_a_readmission_whose_answer_was_lost_is_confirmed_by_the_next_try(
    sqlite_engine: Engine, assignment: str, platform: MTurk, die: Callable
) -> None:
    (worker,) = (line.worker for line in list_workers(open_study(sqlite_engine, "study"), "local"))
    exclude_workers(open_study_at(sqlite_engine, "study", platform), [worker])
    with die("response-received", "DisassociateQualificationFromWorker", client=platform.once):
        exclude_workers(open_study_at(sqlite_engine, "study", platform), [worker], on=False)
    assert state(sqlite_engine, "readmit") == "pending"
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert state(sqlite_engine, "readmit") == "confirmed"


def test_an_exclusion_that_was_called_off_before_it_was_sent_and_is_wanted_again_survives_a_kill(
    sqlite_engine: Engine,
    assignment: str,
    platform: MTurk,
    monkeypatch: pytest.MonkeyPatch,
    die: Callable,
    person: Callable,
) -> None:
    other = person("Cy").id

    def turn(on: bool) -> None:
        exclude_workers(open_study_at(sqlite_engine, "study", platform), [other], on=on)

    with monkeypatch.context() as away:
        away.setattr(platform, "put_on_list", lambda *_: (_ for _ in ()).throw(AWAY))
        with pytest.raises(PartialError, match="nothing answers"):
            turn(True)
    turn(False)
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert about(sqlite_engine, other) == [("exclude", "refused")]
    with die("before-send", "AssociateQualificationWithWorker", client=platform.once):
        turn(True)
    assert about(sqlite_engine, other) == [("exclude", "pending")]
    collect_work(open_study_at(sqlite_engine, "study", platform))
    assert about(sqlite_engine, other) == [("exclude", "confirmed")]


def about(engine: Engine, worker: str) -> list[tuple[str, str]]:
    """The writes about a worker and how they stand."""
    with reading(engine) as session:
        id = session.scalar(
            select(WorkerIdentityRow.worker_id).where(WorkerIdentityRow.external_id == worker)
        )
        rows = session.execute(
            select(OutboxRow.operation, OutboxRow.state).where(OutboxRow.subject.contains(f" worker {id} #"))
        )
        return [tuple(row) for row in rows]


def test_what_was_undone_before_it_was_confirmed_is_not_called_refused(
    sqlite_engine: Engine, assignment: str, platform: MTurk, die: Callable
) -> None:
    (worker,) = (line.worker for line in list_workers(open_study(sqlite_engine, "study"), "local"))
    with die("response-received", "AssociateQualificationWithWorker", client=platform.once):
        exclude_workers(open_study_at(sqlite_engine, "study", platform), [worker])
    assert study_status(open_study(sqlite_engine, "study"))[0].unconfirmed == 1
    exclude_workers(open_study_at(sqlite_engine, "study", platform), [worker], on=False)
    line = study_status(open_study(sqlite_engine, "study"))[0]
    assert (line.unconfirmed, line.refused) == (0, 0)


def test_what_we_refuse_ourselves_waits_for_nothing_and_undoes_nothing(
    sqlite_engine: Engine, assignment: str
) -> None:
    with writing(sqlite_engine) as session:
        known = {"study_id": open_study(sqlite_engine, "study").id, "endpoint": "local", "operation": "try"}
        intents = [intend(session, **known, subject=name, key=name, request={}) for name in "abc"]

    def call(intent: Intent) -> dict[str, str]:
        if intent == intents[1]:
            raise UsageError("it lacks a category")
        return {"said": "done"}

    with pytest.raises(UsageError, match="category"):
        list(perform_each(sqlite_engine, intents, call, lambda session, intent, said: said))
    with reading(sqlite_engine) as session:
        rows = session.scalars(select(OutboxRow).where(OutboxRow.operation == "try").order_by(OutboxRow.id))
        found = [(row.state, row.attempts, row.error) for row in rows]
    assert found == [("confirmed", 1, ""), ("refused", 1, "it lacks a category"), ("pending", 0, "")]
