"""People are paid once, whatever happens: checked against the marketplace's own books, to the cent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from humaneval.crowd.approve import approve_work, would_approve
from humaneval.crowd.bonus import BonusPaid, pay_bonus
from humaneval.crowd.collect import collect_work
from humaneval.crowd.costs import spent
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.platform import Cost
from humaneval.crowd.review import review_work
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.fees import money
from humaneval.market import SENT_AGAIN, Trouble
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, PassageRow, PaymentRow, ResponseRow
from humaneval.study.money_paid import sums_paid
from humaneval.study.stored import open_study

REWARD = Decimal("0.96")
"""$0.80 and the fee on it."""


@pytest.fixture
def work(put_up: Callable, answer: Callable, platform: MTurk) -> Callable[..., list[str]]:
    """A study of 4 rows with some submitted work; gives the assignments' ids."""

    def make(engine: Engine, people: int = 1, **sections: Any) -> list[str]:
        up = put_up(engine, **{"design": {"annotators": 4}, **sections})
        ids = [answer(up, f"worker {number}") for number in range(people)]
        collect_work(open_study_at(engine, "study", platform))
        return ids

    return make


@pytest.fixture
def bonus(platform: MTurk) -> Callable[..., BonusPaid]:
    def pay(engine: Engine, assignment: str, amount: str = "0.50", purpose: str = "bonus") -> BonusPaid:
        return pay_bonus(
            open_study_at(engine, "study", platform),
            assignment=assignment,
            amount=Decimal(amount),
            reason="Thank you & <3",
            purpose=purpose,
        )

    return pay


@pytest.fixture
def bonuses(platform: MTurk) -> Callable[[str], list[str]]:
    """What the marketplace says was paid on top for an assignment."""

    def paid(assignment: str) -> list[str]:
        pages = platform.client.get_paginator("list_bonus_payments").paginate(AssignmentId=assignment)
        return [payment["BonusAmount"] for page in pages for payment in page["BonusPayments"]]

    return paid


def local_states(engine: Engine) -> list[str]:
    with reading(engine) as session:
        return list(session.scalars(select(AssignmentRow.state).order_by(AssignmentRow.id)))


def platform_state(platform: MTurk, assignment: str) -> str:
    return platform.client.get_assignment(AssignmentId=assignment)["Assignment"]["AssignmentStatus"]


def unconfirmed(engine: Engine) -> int:
    status = study_status(open_study(engine, "study"))[0]
    return status.unconfirmed + status.refused


def test_C11_approving_twice_pays_once_and_is_no_error(
    engine: Engine, work: Callable, platform: MTurk
) -> None:
    ids = work(engine, 2)
    assert would_approve(open_study_at(engine, "study", platform)).cost.total == 2 * REWARD
    assert approve_work(open_study_at(engine, "study", platform), assignments=ids[:1]) == 1
    assert approve_work(open_study_at(engine, "study", platform), assignments=ids[:1]) == 0
    assert approve_work(open_study_at(engine, "study", platform)) == 1
    assert approve_work(open_study_at(engine, "study", platform)) == 0
    assert spent(open_study(engine, "study"), "local") == Cost(Decimal("1.60"), Decimal("0.32"))
    assert spent(open_study(engine, "study"), "sandbox") == Cost(Decimal("0.00"), Decimal("0.00"))
    assert unconfirmed(engine) == 0


def test_C11_work_that_was_approved_elsewhere_counts_as_approved(
    engine: Engine, work: Callable, platform: MTurk
) -> None:
    first, second = work(engine, 2)
    for assignment in (first, second):
        platform.client.approve_assignment(AssignmentId=assignment)
    assert approve_work(open_study_at(engine, "study", platform), assignments=[first]) == 1
    collect_work(open_study_at(engine, "study", platform))
    assert local_states(engine) == ["approved", "approved"]
    assert spent(open_study(engine, "study")).total == 2 * REWARD


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("trouble", [Trouble.UNAVAILABLE, Trouble.THROTTLED])
def test_C10_nothing_is_called_approved_here_that_is_not_approved_there(
    engine: Engine, work: Callable, platform: MTurk, troubles: Any, trouble: Trouble
) -> None:
    first, second = work(engine, 2)
    troubles.coming["ApproveAssignment"] = [trouble]
    troubles.seen.clear()
    with pytest.raises(PartialError, match="1 approved, 1 not"):
        approve_work(open_study_at(engine, "study", platform))
    assert troubles.seen.count("ApproveAssignment") == 2  # no call without a token is sent again by itself
    assert local_states(engine) == ["submitted", "approved"]
    assert (platform_state(platform, first), platform_state(platform, second)) == ("Submitted", "Approved")
    assert spent(open_study(engine, "study")).total == REWARD
    assert unconfirmed(engine) == 1
    assert approve_work(open_study_at(engine, "study", platform)) == 1
    assert local_states(engine) == ["approved", "approved"]
    assert unconfirmed(engine) == 0


def test_C10_an_approval_whose_answer_was_lost_is_found_done(
    sqlite_engine: Engine, work: Callable, platform: MTurk, troubles: Any
) -> None:
    work(sqlite_engine)
    troubles.coming["ApproveAssignment"] = [Trouble.REPLY_LOST]
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 1
    assert local_states(sqlite_engine) == ["approved"]


@pytest.mark.once_on_postgresql
@pytest.mark.parametrize("then", ["approve", "collect"])
def test_C10_a_kill_after_the_approval_leaves_nothing_open_after_the_next_run(
    engine: Engine, work: Callable, platform: MTurk, die: Callable, then: str
) -> None:
    work(engine)
    before = platform.balance()
    with die("response-received", "ApproveAssignment", client=platform.once):
        approve_work(open_study_at(engine, "study", platform))
    assert local_states(engine) == ["submitted"]
    assert unconfirmed(engine) == 1
    if then == "approve":
        assert approve_work(open_study_at(engine, "study", platform)) == 1
    else:
        collect_work(open_study_at(engine, "study", platform))
    assert local_states(engine) == ["approved"]
    assert unconfirmed(engine) == 0
    assert spent(open_study(engine, "study")).total == REWARD
    assert platform.balance() == before  # it was on hold since the HIT was made


def test_rejected_work_is_neither_approved_nor_passed_over_in_silence(
    sqlite_engine: Engine, work: Callable, platform: MTurk
) -> None:
    first, second = work(sqlite_engine, 2)
    platform.client.reject_assignment(AssignmentId=first, RequesterFeedback="No")
    collect_work(open_study_at(sqlite_engine, "study", platform))
    with pytest.raises(PlatformError, match=first):
        approve_work(open_study_at(sqlite_engine, "study", platform), assignments=[first, second])
    assert platform_state(platform, second) == "Submitted"
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 1


def test_C04_a_bonus_is_paid_once_however_often_it_is_asked_for(
    engine: Engine, work: Callable, platform: MTurk, bonus: Callable, bonuses: Callable
) -> None:
    (assignment,) = work(engine)
    before = platform.balance()
    assert bonus(engine, assignment) == BonusPaid(Decimal("0.50"), Decimal("0.10"), True, "paid")
    assert bonus(engine, assignment) == BonusPaid(Decimal("0.50"), Decimal("0.10"), False, "paid")
    assert bonuses(assignment) == ["0.50"]
    assert before - platform.balance() == Decimal("0.60")
    assert spent(open_study(engine, "study")) == Cost(Decimal("0.50"), Decimal("0.10"))
    with pytest.raises(UsageError, match=r"a bonus of \$0\.50 for 'bonus' is already paid"):
        bonus(engine, assignment, "0.70")
    assert bonus(engine, assignment, "0.50", "second look").paid_now
    assert bonuses(assignment) == ["0.50", "0.50"]
    assert before - platform.balance() == Decimal("1.20")


@pytest.mark.parametrize("forgotten", [False, True], ids=["token kept", "token forgotten"])
@pytest.mark.parametrize("when", ["before-send", "response-received", "unconfirmed"])
def test_C04_a_bonus_killed_around_its_call_is_paid_once(
    sqlite_engine: Engine,
    work: Callable,
    platform: MTurk,
    bonus: Callable,
    bonuses: Callable,
    die: Callable,
    die_unconfirmed: Callable,
    market_engine: Engine,
    when: str,
    forgotten: bool,
) -> None:
    (assignment,) = work(sqlite_engine)
    bonus(sqlite_engine, assignment, purpose="earlier, the same sum and reason")
    before = platform.balance()
    with die_unconfirmed("bonus") if when == "unconfirmed" else die(when, "SendBonus"):
        bonus(sqlite_engine, assignment)
    with reading(sqlite_engine) as session:
        assert session.scalars(select(PaymentRow.state).order_by(PaymentRow.id)).all() == ["paid", "due"]
    if forgotten:
        with market_engine.begin() as connection:
            connection.execute(text("DELETE FROM request_tokens"))
    assert bonus(sqlite_engine, assignment).state == "paid"
    assert not bonus(sqlite_engine, assignment).paid_now
    assert bonuses(assignment) == ["0.50", "0.50"]
    assert before - platform.balance() == Decimal("0.60")
    assert unconfirmed(sqlite_engine) == 0


def test_C04_two_bonuses_alike_that_were_both_interrupted_are_both_paid(
    sqlite_engine: Engine, work: Callable, bonus: Callable, bonuses: Callable, die: Callable
) -> None:
    (assignment,) = work(sqlite_engine)
    with die("response-received", "SendBonus"):
        bonus(sqlite_engine, assignment, purpose="a")
    with die("before-send", "SendBonus"):
        bonus(sqlite_engine, assignment, purpose="b")
    bonus(sqlite_engine, assignment, purpose="b")
    bonus(sqlite_engine, assignment, purpose="a")
    assert bonuses(assignment) == ["0.50", "0.50"]


@pytest.mark.parametrize("trouble", SENT_AGAIN)
def test_C04_a_bonus_that_the_client_sends_again_is_paid_once(
    sqlite_engine: Engine, work: Callable, bonus: Callable, bonuses: Callable, troubles: Any, trouble: Trouble
) -> None:
    (assignment,) = work(sqlite_engine)
    troubles.coming["SendBonus"] = [trouble, trouble]
    assert bonus(sqlite_engine, assignment).paid_now
    assert bonuses(assignment) == ["0.50"]


def test_C04_two_programs_that_pay_the_same_bonus_at_once_pay_it_once(
    engine: Engine, work: Callable, bonus: Callable, bonuses: Callable
) -> None:
    (assignment,), together = work(engine), Barrier(4)

    def pay(_: int) -> str:
        together.wait()
        return bonus(engine, assignment).state

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(pay, range(4))) == {"paid"}
    assert bonuses(assignment) == ["0.50"]


def test_C05_a_bonus_and_the_approval_do_not_wait_for_each_other(
    sqlite_engine: Engine, work: Callable, platform: MTurk, bonus: Callable, bonuses: Callable, troubles: Any
) -> None:
    (assignment,) = work(sqlite_engine)
    troubles.coming["ApproveAssignment"] = [Trouble.UNAVAILABLE]
    assert bonus(sqlite_engine, assignment).paid_now
    with pytest.raises(PartialError):
        approve_work(open_study_at(sqlite_engine, "study", platform))
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 1
    assert not bonus(sqlite_engine, assignment).paid_now
    assert bonuses(assignment) == ["0.50"]
    assert spent(open_study(sqlite_engine, "study")).total == REWARD + Decimal("0.60")


def test_a_bonus_that_was_refused_or_not_due_can_be_changed_and_a_paid_one_cannot(
    sqlite_engine: Engine, work: Callable, bonus: Callable, bonuses: Callable
) -> None:
    (assignment,) = work(sqlite_engine)
    with pytest.raises(PlatformError, match="insufficient funds"):
        bonus(sqlite_engine, assignment, "99999.00")
    assert bonus(sqlite_engine, assignment, "0.50").paid_now
    with pytest.raises(UsageError, match=r"\$0.50 for 'bonus' is already paid"):
        bonus(sqlite_engine, assignment, "0.75")
    assert not bonus(sqlite_engine, assignment, "0.00", "thanks").paid_now
    assert bonus(sqlite_engine, assignment, "0.25", "thanks").paid_now
    assert bonuses(assignment) == ["0.50", "0.25"]


@pytest.mark.parametrize("balance", [Decimal("4.00")])
def test_C10_C13_a_bonus_without_funds_is_due_until_there_are_some(
    sqlite_engine: Engine, work: Callable, bonus: Callable, bonuses: Callable, platform: MTurk
) -> None:
    (assignment,) = work(sqlite_engine)  # $3.84 of the $4.00 are on hold
    with pytest.raises(PlatformError, match="insufficient funds") as refused:
        bonus(sqlite_engine, assignment)
    assert refused.value.hint.startswith("Add funds with `humaneval market fund SUM`, then run")
    with reading(sqlite_engine) as session:
        assert session.scalars(select(PaymentRow.state)).one() == "due"
        assert (
            session.scalars(select(OutboxRow.state).where(OutboxRow.operation == "bonus")).one() == "refused"
        )
    from humaneval.crowd.extend import expire_all

    expire_all(open_study_at(sqlite_engine, "study", platform))  # the three free places give their money back
    assert bonus(sqlite_engine, assignment).paid_now
    assert bonuses(assignment) == ["0.50"]


def test_C12_a_bonus_for_work_that_is_not_submitted_is_not_sent(
    sqlite_engine: Engine, put_up: Callable, person: Callable, bonus: Callable, troubles: Any
) -> None:
    up = put_up(sqlite_engine, design={"annotators": 4})
    in_hand = person("Ada").accept(up.preview)
    in_hand.open()
    with pytest.raises(PlatformError, match="not submitted yet"):
        bonus(sqlite_engine, in_hand.id)
    with pytest.raises(UsageError, match="no assignment"):
        bonus(sqlite_engine, "3NOBODYS")
    assert "SendBonus" not in troubles.seen


def test_C17_amounts_are_exact_cents_and_written_as_such(
    sqlite_engine: Engine, work: Callable, bonus: Callable, bonuses: Callable, platform: MTurk
) -> None:
    (assignment,) = work(sqlite_engine)
    sums = {
        "0.1+0.2": Decimal("0.1") + Decimal("0.2"),
        "one": Decimal(1),
        "cent": Decimal("0.010"),
        "E": Decimal("1E+1"),
    }
    for purpose, amount in sums.items():
        assert bonus(sqlite_engine, assignment, str(amount), purpose).paid_now
    assert bonuses(assignment) == ["0.30", "1.00", "0.01", "10.00"]
    for wrong in ("0.9752", "0.001", "-0.50", "NaN", "Infinity", "1e40"):
        with pytest.raises(UsageError):
            bonus(sqlite_engine, assignment, wrong, "wrong")
    with pytest.raises(UsageError, match="finer than a cent"):
        money(0.1 + 0.2)
    with pytest.raises(UsageError, match="reason"):
        pay_bonus(
            open_study_at(sqlite_engine, "study", platform),
            assignment=assignment,
            amount=Decimal("0.50"),
            reason="🎉",
            purpose="x",
        )
    assert len(bonuses(assignment)) == 4


def test_C18_a_bonus_of_nothing_is_settled_and_not_sent(
    sqlite_engine: Engine, work: Callable, bonus: Callable, bonuses: Callable, troubles: Any
) -> None:
    (assignment,) = work(sqlite_engine)
    for _ in range(2):
        assert bonus(sqlite_engine, assignment, "0.00") == BonusPaid(
            Decimal("0.00"), Decimal("0.00"), False, "nothing due"
        )
    assert bonuses(assignment) == []
    assert "SendBonus" not in troubles.seen
    assert unconfirmed(sqlite_engine) == 0


def test_everyone_is_paid_whose_answers_the_rule_excludes(
    sqlite_engine: Engine, work: Callable, platform: MTurk
) -> None:
    work(sqlite_engine, 4)
    excluded = [line for line in review_work(open_study(sqlite_engine, "study"), "local") if line.excluded]
    assert excluded  # marking the first sentence everywhere misses some controls
    assert approve_work(open_study_at(sqlite_engine, "study", platform)) == 4
    assert spent(open_study(sqlite_engine, "study")).total == 4 * REWARD


def test_who_missed_a_control_in_one_form_is_excluded_with_all_forms_as_score_does(
    sqlite_engine: Engine, work: Callable
) -> None:
    work(sqlite_engine, 2, design={"annotators": 4, "rows_per_annotator": 2})
    with writing(sqlite_engine) as session:
        first, second = session.scalars(select(AssignmentRow).order_by(AssignmentRow.id)).all()
        second.worker_id = first.worker_id  # one person with two forms
        for response, passage in session.execute(
            select(ResponseRow, PassageRow)
            .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
            .where(PassageRow.role == "control")
        ):
            missed = response.assignment_id == first.id
            response.choice = passage.position % 5 + 1 if missed else passage.position
    reasons = [line.excluded for line in review_work(open_study(sqlite_engine, "study"), "local")]
    assert reasons == ["missed the control", "missed the control in another form"]
    assert study_status(open_study(sqlite_engine, "study"))[0].usable == 0


def test_play_money_is_in_no_sum_of_what_was_paid(sqlite_engine: Engine, study_factory: Callable) -> None:
    study_factory(sqlite_engine, "study")
    study = open_study(sqlite_engine, "study")
    lines = [
        ("production", "reward", "1.00", "0.20"),
        ("production", "bonus", "2.00", "0.40"),
        ("production", "compensation", "4.00", "0.80"),
        ("local", "reward", "8.00", "1.60"),  # nobody takes this fee
        ("sandbox", "reward", "16.00", "3.20"),
        ("prolific", "reward", "32.00", "6.40"),
    ]
    with writing(sqlite_engine) as session:
        for endpoint, kind, amount, fee in lines:
            paid = {"amount": Decimal(amount), "fee": Decimal(fee), "state": "paid", "purpose": kind}
            session.add(PaymentRow(study_id=study.id, endpoint=endpoint, kind=kind, **paid))
        up = {"operation": "publish", "subject": "hit 1", "token": "1", "state": "confirmed"}
        request = {"stand_in": True}
        session.add(OutboxRow(study_id=study.id, endpoint="prolific", request=request, **up))
    with reading(sqlite_engine) as session:
        found = sums_paid(session, study.id)
    assert tuple(map(str, found)) == ("9.00", "2.00", "4.00", "1.40", "57.60")
    assert str(found.spent) == "16.40"
