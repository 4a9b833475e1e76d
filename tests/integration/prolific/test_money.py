"""What is published, approved, rejected and paid at Prolific: once, and only what was decided."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Engine, delete, select, update

from humaneval.crowd import bonus, bonus_tried
from humaneval.crowd.approve import approve_work, reject_work
from humaneval.crowd.ask_return import ask_returns
from humaneval.crowd.bonus import pay_bonus
from humaneval.crowd.close import close_all
from humaneval.crowd.compensate import compensate_worker
from humaneval.crowd.costs import spent
from humaneval.crowd.endpoints import prolific
from humaneval.crowd.extend import expire_all, extend_all
from humaneval.crowd.notify import notify_workers
from humaneval.crowd.open_money import open_money
from humaneval.crowd.paid_elsewhere import pay_elsewhere
from humaneval.crowd.prolific.evidence import evidence_for
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.publish import publish_hits
from humaneval.crowd.reconcile import reconcile
from humaneval.crowd.status import study_status
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PartialError, PlatformError, UsageError
from humaneval.market.prolific_standin import Faults, ProlificFault, outcomes, shown
from humaneval.market.prolific_standin.submissions import find_submission
from humaneval.market.prolific_standin.tables import Status
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from humaneval.study.enlarge import enlarge
from humaneval.study.money_paid import pretended_at
from humaneval.study.planned_cost import planned_cost
from tests.commands import Command
from tests.integration.prolific.people import Person, World

BONUS = {"amount": Decimal("0.50"), "reason": "thorough", "purpose": "thorough"}


def pay(world: World, person: Person, **changed: object) -> str:
    return pay_bonus(world.at(), assignment=person.submission, **{**BONUS, **changed}).state


def bonuses(world: World, person: Person) -> list[Decimal]:
    world.clock.move(minutes=1)
    there = world.platform().session(person.submission)
    assert there is not None
    return list(there.bonuses or ())


def write(world: World, operation: str) -> OutboxRow:
    with reading(world.engine) as session:
        row = session.scalars(select(OutboxRow).where(OutboxRow.operation == operation)).one()
        session.expunge_all()
    return row


def test_P09_a_study_in_another_currency_than_the_accounts_is_not_published(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    world = world_of(sqlite_engine, hit={"currency": "USD"})
    with pytest.raises(UsageError, match="pays in GBP, and the study's reward is in USD"):
        world.publish()
    assert not world.platform().find([world.name])


def test_P09_people_read_of_their_pay_in_their_currency(world: World) -> None:
    world.publish()
    page = world.person("Ann").take().html
    assert ("£0.80" in page, "$" in page) == (True, False)


def test_P12_approval_pays_the_reward_and_nothing_else(anywhere: World) -> None:
    anywhere.publish()
    ann, ben = anywhere.answered_by("Ann", "Ben")
    anywhere.collect()
    assert approve_work(anywhere.at(), assignments=[ann.submission]) == 1
    assert [anywhere.status_of(each.submission) for each in (ann, ben)] == ["APPROVED", "AWAITING REVIEW"]
    assert bonuses(anywhere, ann) == []
    assert approve_work(anywhere.at(), assignments=[ann.submission]) == 0
    cost = spent(anywhere.at().study, "prolific")
    assert (cost.rewards, cost.fees > 0) == (Decimal("0.80"), True)
    assert reconcile(anywhere.at()).differences == ()


def test_many_are_approved_together_and_each_is_seen_to_be(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    world = world_of(sqlite_engine, design={"annotators": 12})
    world.publish()
    people = world.answered_by(*(f"person {number}" for number in range(12)))
    world.collect()
    assert approve_work(world.at()) == 12
    assert {world.status_of(each.submission) for each in people} == {"APPROVED"}
    books = reconcile(world.at())
    assert (books.differences, books.left) == ((), Decimal("0.00"))


def test_P07_an_approval_that_comes_before_the_submission_waits_for_it(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    ann.answer()
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            ann.finish()

    world.platform(wait=wait).approve(ann.submission)
    assert world.status_of(ann.submission) == "APPROVED"
    assert len(waits) == 3


def test_P24_a_rejection_has_one_category_and_a_reason_made_from_evidence(world: World) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann", right=False)
    world.collect()
    made = evidence_for(world.at(), ann.submission)
    assert made.category == "FAILED_CHECK"
    assert len(made.reason) >= 100
    assert "In 1 of 1 stories" in made.reason
    for reason, category in (("too short", made.category), (made.reason, ""), (made.reason, "BAD")):
        with pytest.raises(UsageError):
            reject_work(world.at(), assignments=[ann.submission], reason=reason, category=category)
        assert world.status_of(ann.submission) == "AWAITING REVIEW"
    assert study_status(world.at().study)[0].unconfirmed == 0
    reject_work(world.at(), assignments=[ann.submission], reason=made.reason, category=made.category)
    assert world.status_of(ann.submission) == "REJECTED"


def test_P05_the_place_of_rejected_work_opens_again_with_its_row(anywhere: World) -> None:
    anywhere.publish()
    people = anywhere.answered_by("Ann", "Ben", "Cleo", "Dan", right=False)
    anywhere.collect()
    made = evidence_for(anywhere.at(), people[0].submission)
    reject_work(anywhere.at(), assignments=[people[0].submission], reason=made.reason, category=made.category)
    assert len(anywhere.rows()) == 3
    anywhere.answered_by("Eve")
    assert len(set(anywhere.rows())) == 4
    anywhere.collect()
    assert len(set(anywhere.rows())) == 4


def test_P17_one_failed_check_is_no_reason_in_a_longer_study(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    world = world_of(sqlite_engine, hit={"expected_minutes": 6, "reward": "1.00"})
    world.publish()
    (ann,) = world.answered_by("Ann", right=False)
    world.collect()
    with pytest.raises(UsageError) as caught:
        evidence_for(world.at(), ann.submission)
    assert "ask-return" in caught.value.hint
    reason = "The control sentence was not marked; we would rather not reject your work."
    assert ask_returns(world.at(), [ann.submission], reason, dry_run=False) == 1
    assert ask_returns(world.at(), [ann.submission], reason, dry_run=False) == 0
    assert world.status_of(ann.submission) == "AWAITING REVIEW"
    ann.give_back()
    world.collect()
    assert world.rows() == []


def test_P06_whoever_was_asked_to_return_and_did_not_is_named(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    reason = "Something went wrong on our side; a return costs you nothing."
    ask_returns(world.at(), [ann.submission], reason, dry_run=False)
    ann.answer()
    ann.finish()
    assert world.collect().notes == (
        f"{ann.submission} was asked to return and is still submitted: approve or reject it.",
    )


def test_a_bonus_is_paid_once_for_each_purpose(anywhere: World) -> None:
    anywhere.publish()
    (ann,) = anywhere.answered_by("Ann")
    anywhere.collect()
    assert pay(anywhere, ann) == "paid"
    assert pay(anywhere, ann) == "paid"
    assert pay(anywhere, ann, purpose="another") == "paid"
    assert bonuses(anywhere, ann) == [Decimal("0.50")] * 2
    books = reconcile(anywhere.at())
    assert (books.bonuses, books.bonuses_there, books.differences) == (Decimal("1.00"), Decimal("1.00"), ())


def test_a_bonus_that_a_restored_backup_does_not_know_is_found_and_not_sent_again(world: World) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    world.collect()
    assert pay(world, ann) == "paid"
    assert bonuses(world, ann) == [Decimal("0.50")]
    with writing(world.engine) as session:  # as the backup has it
        session.execute(delete(PaymentRow))
        session.execute(delete(OutboxRow).where(OutboxRow.operation == "bonus"))
    said = pay_bonus(world.at(), assignment=ann.submission, **BONUS)
    assert (said.state, said.paid_now) == ("paid", False)
    assert pay(world, ann, purpose="another") == "paid"
    assert bonuses(world, ann) == [Decimal("0.50")] * 2
    assert reconcile(world.at()).differences == ()


def test_a_payment_for_lost_work_that_a_restored_backup_does_not_know_is_not_made_elsewhere_too(
    world: World, backup: Callable[[], Callable[[], None]]
) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    ann.answer()
    world.clock.move(hours=2)
    world.collect()
    put_back = backup()
    due = {"assignment": ann.submission, "amount": Decimal("0.50"), "reason": "It was our fault."}
    compensate_worker(world.at(), **due)
    put_back()
    with pytest.raises(PlatformError, match="that the books lack") as refused:
        pay_elsewhere(world.at(), **due)
    assert f"compensate study {ann.submission} --to prolific --amount SUM" in refused.value.hint
    assert compensate_worker(world.at(), **due).paid
    assert pay_elsewhere(world.at(), **due).by_platform
    assert bonuses(world, ann) == [Decimal("0.50")]


def test_a_bonus_of_somebody_who_then_returned_the_work_stays_in_the_books(world: World) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    world.collect()
    assert pay(world, ann) == "paid"
    world.clock.move(minutes=1)
    ask_returns(world.at(), [ann.submission], "Something went wrong on our side.", dry_run=False)
    ann.give_back()
    world.collect()
    books = reconcile(world.at())
    assert (books.bonuses_there, books.differences, books.left) == (Decimal("0.50"), (), 0)


def test_P27_answers_that_prolific_does_not_have_are_named_and_paid_once_by_a_bonus(anywhere: World) -> None:
    anywhere.publish()
    ann = anywhere.person("Ann")
    ann.take()
    ann.answer()
    due = {"assignment": ann.submission, "amount": Decimal("0.50"), "reason": "It was our fault."}
    with pytest.raises(UsageError, match="can still be submitted"):
        compensate_worker(anywhere.at(), **due)
    anywhere.clock.move(hours=2)
    assert [each.assignment for each in anywhere.collect().unpaid] == [ann.submission]
    assert compensate_worker(anywhere.at(), **due, dry_run=True).made_now
    assert [compensate_worker(anywhere.at(), **due).made_now for _ in range(2)] == [True, False]
    assert bonuses(anywhere, ann) == [Decimal("0.50")]
    books = reconcile(anywhere.at())
    assert (books.bonuses, books.bonuses_there, books.differences, books.left) == (0.5, 0.5, (), 0)
    assert anywhere.collect().unpaid == ()


def paid_in_part(world: World, person: Person, status: Status, minor: int) -> None:
    """The researcher has paid another sum on Prolific's own page."""
    with world.server.books.writing() as work:
        outcomes.pay(work, find_submission(work, person.submission), status, minor)


@pytest.mark.parametrize("told", [True, False])
def test_what_was_paid_in_part_is_booked_as_that_or_said_to_be_unknown(
    world: World, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    ann, ben = world.answered_by("Ann", "Ben")
    paid_in_part(world, ann, Status.PARTIALLY_APPROVED, 30)
    real = shown.submission_of_study

    def silent(*asked: Any) -> dict[str, Any]:
        return {**real(*asked), "reward": None}

    monkeypatch.setattr(shown, "submission_of_study", real if told else silent)
    found = world.collect()
    assert world.states() == {"approved": 1, "submitted": 1}
    books = reconcile(world.at())
    if told:
        assert spent(world.at().study, "prolific").rewards == Decimal("0.30")
        assert (found.notes, books.differences, books.left) == ((), (), 0)
    else:
        assert found.notes[0].startswith(f"{ann.submission} was approved in part")
        assert (books.paid, books.left) == (0, Decimal("0.42"))
    approve_work(world.at())
    assert spent(world.at().study, "prolific").rewards == Decimal("0.80") + (Decimal("0.30") if told else 0)
    assert ben.submission


def test_somebody_who_was_screened_out_is_named_and_has_submitted_nothing(world: World) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    paid_in_part(world, ann, Status.SCREENED_OUT, 20)
    found = world.collect()
    assert (found.submissions, found.notes[0].startswith(f"{ann.submission} was screened out")) == (0, True)


def test_lost_work_that_is_entered_as_paid_elsewhere_meanwhile_is_not_paid(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    ann.answer()
    world.clock.move(hours=2)
    world.collect()
    due = {"assignment": ann.submission, "amount": Decimal("0.50"), "reason": "It was our fault."}
    at = world.at()
    prepare = at.platform.prepare_bonus

    def meanwhile(assignment: str, amount: Decimal) -> object:
        pay_elsewhere(world.at(), **due)
        return prepare(assignment, amount)

    monkeypatch.setattr(at.platform, "prepare_bonus", meanwhile)
    with pytest.raises(PlatformError, match="meanwhile"):
        compensate_worker(at, **due)
    assert (bonuses(world, ann), write(world, "bonus").state) == ([], "refused")


def test_a_bonus_that_was_killed_before_it_was_set_up_is_not_open_after_the_work_was_given_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    world.collect()
    at = world.at()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(at.platform, "prepare_bonus", killed)
    with pytest.raises(KeyboardInterrupt):
        pay_bonus(at, assignment=ann.submission, **BONUS)
    assert isinstance(at.platform, Prolific)
    ask = at.platform.request_return
    monkeypatch.setattr(at.platform, "request_return", lambda *asked: killed(ask(*asked)))
    with pytest.raises(KeyboardInterrupt):
        ask_returns(at, [ann.submission], "Please return it.", dry_run=False)
    assert study_status(world.at().study)[0].unconfirmed == 2
    ann.give_back()
    world.collect()
    with pytest.raises(PlatformError, match="no longer submitted"):
        pay(world, ann)
    assert ask_returns(world.at(), [ann.submission], "Please return it.", dry_run=False) == 0
    assert study_status(world.at().study)[0].unconfirmed == 0
    with reading(world.engine) as session:
        assert not open_money(session, [1], now())


def test_P14_a_bonus_of_zero_is_recorded_and_not_sent(world: World) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    world.collect()
    assert pay(world, ann, amount=Decimal("0.00")) == "nothing due"
    assert bonuses(world, ann) == []


def paid_beside(
    world: World, person: Person, monkeypatch: pytest.MonkeyPatch, *, before: bool
) -> StudyAtPlatform:
    """The study in a program that looks for payments while another one pays a bonus alike: before the list is
    made, or after it."""
    at = world.at()
    real = at.platform.bonuses

    def look(submission: str) -> Any:
        found = [] if before else list(real(submission))
        assert pay(world, person, purpose="another") == "paid"
        bonuses(world, person)  # it is shown a little later
        return real(submission) if before else found

    monkeypatch.setattr(at.platform, "bonuses", look)
    return at


@pytest.mark.parametrize("before", [True, False])
def test_a_bonus_alike_that_is_paid_at_the_same_moment_is_not_taken_for_this_one(
    anywhere: World, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    anywhere.publish()
    (ann,) = anywhere.answered_by("Ann")
    anywhere.collect()
    at = paid_beside(anywhere, ann, monkeypatch, before=before)
    assert pay_bonus(at, assignment=ann.submission, **BONUS).paid_now
    assert bonuses(anywhere, ann) == [Decimal("0.50")] * 2
    assert reconcile(anywhere.at()).differences == ()


class TestLostAnswers:
    """The call that pays was carried out or not, and its answer was lost."""

    @pytest.fixture
    def faults(self, request: pytest.FixtureRequest) -> Faults:
        return Faults([ProlificFault(kind=request.param, only=("pay_bonuses",), times=1)], of=ProlificFault)

    @pytest.mark.parametrize("faults", ["reply-lost", "dropped"], indirect=True)
    def test_a_bonus_whose_answer_was_lost_is_found_and_never_sent_again(self, world: World) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        world.collect()
        books = world.server.books
        books.terms = replace(books.terms, delay=timedelta(seconds=50))  # a slow machine is not faster
        with pytest.raises(PlatformError):
            pay(world, ann)
        assert write(world, "bonus").state == "pending"
        with pytest.raises(PlatformError, match="unconfirmed"):  # Prolific pays later
            pay(world, ann)
        assert bonuses(world, ann) == [Decimal("0.50")]
        assert pay(world, ann) == "paid"
        assert bonuses(world, ann) == [Decimal("0.50")]

    @pytest.mark.parametrize("faults", ["reply-lost", "unavailable"], indirect=True)
    def test_P12_a_bonus_whose_answer_was_lost_is_looked_up_after_the_work_was_given_back(
        self, world: World
    ) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        world.collect()
        with pytest.raises(PlatformError):
            pay(world, ann)
        ask_returns(world.at(), [ann.submission], "Please return it.", dry_run=False)
        ann.give_back()
        there = bonuses(world, ann)
        world.collect()
        assert world.states() == {"superseded": 1}
        if there:
            assert pay(world, ann) == "paid"
        else:
            with pytest.raises(PlatformError, match="unconfirmed"):
                pay(world, ann)
        assert bonuses(world, ann) == there
        books = reconcile(world.at())
        assert (books.differences, books.left) == ((), 0)
        with pytest.raises(PlatformError, match="it was given back, or its time ran out"):
            pay(world, ann, purpose="another")

    @pytest.mark.parametrize("faults", ["reply-lost", "unavailable"], indirect=True)
    def test_lost_work_whose_payment_was_not_answered_is_never_paid_twice(self, world: World) -> None:
        world.publish()
        ann = world.person("Ann")
        ann.take()
        ann.answer()
        world.clock.move(hours=2)
        world.collect()
        due = {"assignment": ann.submission, "amount": Decimal("0.50"), "reason": "It was our fault."}
        for _ in range(3):
            with suppress(PlatformError):
                compensate_worker(world.at(), **due)
            there = bonuses(world, ann)
        assert there in ([], [Decimal("0.50")])
        books = reconcile(world.at())
        assert (books.differences, books.left) == ((), 0)

    @pytest.mark.parametrize("faults", ["unavailable"], indirect=True)
    def test_a_bonus_that_may_have_been_paid_stays_unconfirmed(self, world: World) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        world.collect()
        for _ in range(3):
            with pytest.raises(PlatformError):
                pay(world, ann)
            assert bonuses(world, ann) == []
        assert write(world, "bonus").request["prepared"]

    @pytest.mark.parametrize("again", [Decimal("0.50"), Decimal("0.00")])
    @pytest.mark.parametrize("faults", ["unavailable"], indirect=True)
    def test_a_bonus_that_is_not_shown_for_a_day_was_not_paid_and_can_be_paid_or_dropped(
        self, world: World, monkeypatch: pytest.MonkeyPatch, again: Decimal
    ) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        world.collect()
        for _ in range(2):
            with pytest.raises(PlatformError):
                pay(world, ann)
        assert pay(world, ann, purpose="another") == "paid"
        approve_work(world.at())
        monkeypatch.setattr(bonus_tried, "SHOWN_WITHIN", timedelta(0))
        with pytest.raises(PlatformError, match="was not paid: prolific has not shown it"):
            pay(world, ann)
        assert study_status(world.at().study)[0].unconfirmed == 0
        assert pay(world, ann, amount=again) == ("paid" if again else "nothing due")
        assert len(bonuses(world, ann)) == (2 if again else 1)
        assert reconcile(world.at()).differences == ()
        with reading(world.engine) as session:
            assert not open_money(session, [1], now())

    @pytest.mark.parametrize("faults", ["unavailable"], indirect=True)
    @pytest.mark.parametrize("first", ["thorough", "another"])
    def test_of_two_unconfirmed_bonuses_alike_one_is_entered_for_each_payment_that_is_shown(
        self, world: World, monkeypatch: pytest.MonkeyPatch, first: str
    ) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        world.collect()
        with pytest.raises(PlatformError):
            pay(world, ann)
        at = world.at()
        real = at.platform.bonus

        def killed(*given: Any) -> None:
            real(*given)
            raise KeyboardInterrupt

        monkeypatch.setattr(at.platform, "bonus", killed)
        with pytest.raises(KeyboardInterrupt):
            pay_bonus(at, assignment=ann.submission, **{**BONUS, "purpose": "another"})
        assert bonuses(world, ann) == [Decimal("0.50")]
        purposes = [first, *({"thorough", "another"} - {first})]
        assert pay(world, ann, purpose=purposes[0]) == "paid"
        assert reconcile(world.at()).differences == ()
        with pytest.raises(PlatformError, match="does not show it"):
            pay(world, ann, purpose=purposes[1])
        assert bonuses(world, ann) == [Decimal("0.50")]

    @pytest.mark.parametrize("faults", ["reply-lost"], indirect=True)
    def test_one_payment_that_is_shown_is_entered_once_by_two_programs(
        self, anywhere: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        anywhere.publish()
        (ann,) = anywhere.answered_by("Ann")
        anywhere.collect()
        with pytest.raises(PlatformError):
            pay(anywhere, ann)
        at = anywhere.at()
        monkeypatch.setattr(at.platform, "bonus", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pay_bonus(at, assignment=ann.submission, **{**BONUS, "purpose": "another"})
        assert bonuses(anywhere, ann) == [Decimal("0.50")]
        real, others = bonus._others, ["another"]

        def count(*given: Any) -> int:
            found = real(*given)
            while others:
                assert pay(anywhere, ann, purpose=others.pop()) == "paid"
            return found

        monkeypatch.setattr(bonus, "_others", count)
        with pytest.raises(PlatformError, match="another program has entered the payment that is shown"):
            pay(anywhere, ann)
        assert reconcile(anywhere.at()).differences == ()
        assert study_status(anywhere.at().study)[0].unconfirmed == 1

    @pytest.mark.parametrize("faults", ["unavailable"], indirect=True)
    def test_lost_work_whose_payment_stays_unconfirmed_can_be_entered_as_paid_elsewhere(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.publish()
        ann = world.person("Ann")
        ann.take()
        ann.answer()
        world.clock.move(hours=2)
        world.collect()
        due = {"assignment": ann.submission, "amount": Decimal("0.50"), "reason": "It was our fault."}
        for _ in range(2):
            with pytest.raises(PlatformError) as refused:
                compensate_worker(world.at(), **due)
        assert "Run the same command again then" in refused.value.hint
        with pytest.raises(PlatformError, match="was sent to prolific and does not show there yet"):
            pay_elsewhere(world.at(), **due)  # it may be on its way
        with reading(world.engine) as session:
            (open_now,) = {one.way_out for one in open_money(session, [1], now())}
        assert "humaneval compensate study" in open_now
        monkeypatch.setattr(bonus_tried, "SHOWN_WITHIN", timedelta(0))
        pay_elsewhere(world.at(), **due)
        with reading(world.engine) as session:
            assert not open_money(session, [1], now())
        assert compensate_worker(world.at(), **due).paid
        assert bonuses(world, ann) == []

    @pytest.mark.parametrize("faults", ["throttled"], indirect=True)
    def test_a_bonus_that_was_refused_can_be_paid(self, world: World) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        world.collect()
        with pytest.raises(PlatformError):
            pay(world, ann)
        assert pay(world, ann) == "paid"
        assert bonuses(world, ann) == [Decimal("0.50")]


def test_a_bonus_that_costs_more_than_was_agreed_is_not_paid(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    world.collect()
    at = world.at()
    assert isinstance(at.platform, Prolific)
    monkeypatch.setattr(
        at.platform.account, "bonus_cost", lambda amount: at.platform.cost(Decimal("0.01"), 1)
    )
    with pytest.raises(PlatformError, match="was agreed"):
        pay_bonus(at, assignment=ann.submission, **BONUS)
    assert bonuses(world, ann) == []


def test_P15_nothing_that_spends_leaves_for_the_real_host_without_live(sqlite_engine: Engine) -> None:
    there = Prolific(prolific("https://api.prolific.com"), sqlite_engine, token="t", project="p")
    with pytest.raises(UsageError, match="--live"):
        there.bonus("S", "P", Decimal("1.00"), "thanks", "B")
    with pytest.raises(UsageError, match="--live"):
        there.publish(object(), "")


def test_P15_money_is_play_money_only_where_the_study_went_in_the_end(world: World) -> None:
    world.plan()
    with writing(world.engine) as session:  # an interrupted try had gone to the stand-in
        row = session.scalars(select(OutboxRow).where(OutboxRow.operation == "publish")).one()
        row.request = {**row.request, "stand_in": True}
    real = replace(prolific(world.server.url), spends_money=True)
    given = {"token": world.server.token, "project": world.project, "wait": world.wait}
    there = world.at(Prolific(real, world.engine, live=True, **given))
    publish_hits(there, public_url=world.forms)
    with reading(world.engine) as session:
        assert "prolific" not in pretended_at(session, there.id)


def test_more_places_that_the_balance_does_not_cover_are_not_planned(
    world_of: Callable[..., World], sqlite_engine: Engine
) -> None:
    world = world_of(sqlite_engine, hit={"reward": "900.00"})
    world.publish()
    enlarge(world.at().study, 4, "more")
    with pytest.raises(PlatformError, match="the balance at prolific is"):
        world.plan()
    with reading(world.engine) as session:
        assert not session.scalars(select(OutboxRow).where(OutboxRow.operation == "places")).all()
    assert world.plan(dry_run=True).more_places == 4


def test_more_forms_are_more_places_of_the_same_study(anywhere: World) -> None:
    anywhere.publish()
    anywhere.answered_by("Ann", "Ben", "Cleo", "Dan")
    anywhere.collect()
    enlarge(anywhere.at().study, 3, "more")
    planned = anywhere.plan()
    assert (planned.hits, planned.more_places, planned.assignments) == (0, 3, 3)
    assert planned.cost.rewards == Decimal("2.40")
    anywhere.publish()
    there = anywhere.study_there()
    assert (there["total_available_places"], there["status"]) == (7, "ACTIVE")
    anywhere.answered_by("Eve", "Fay", "Gil")
    assert anywhere.collect().hits_differ == ()
    assert len(set(anywhere.rows())) == 7
    assert anywhere.plan().more_places == 0


@pytest.mark.parametrize("were_given", [True, False])
def test_places_that_were_asked_for_before_a_kill_are_settled(world: World, were_given: bool) -> None:
    world.publish()
    for more in (1, 2):
        enlarge(world.at().study, more, f"{more} more")
        world.plan()
    if were_given:
        world.at().platform.more_places(world.hit().external_id or "", 7)
        assert world.collect().hits_differ == ()
    close_all(world.at(), wait=0)
    assert world.collect().hits_differ == ()
    assert world.hit().assignments == (7 if were_given else 4)
    with reading(world.engine) as session:
        asked = session.scalars(select(OutboxRow.state).where(OutboxRow.operation == "places")).all()
    assert asked == ["confirmed" if were_given else "refused"] * 2


def test_a_study_is_paused_started_and_stopped(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    assert expire_all(world.at()).hits == 1
    assert world.study_there()["status"] == "PAUSED"
    assert not world.person("Ben").reserve()
    ann.answer()  # who is at work can finish
    ann.finish()
    extend_all(world.at(), 1)
    assert world.study_there()["status"] == "ACTIVE"
    world.collect()
    with pytest.raises(PlatformError, match="neither approved nor rejected"):
        close_all(world.at(), wait=0)
    approve_work(world.at())
    close_all(world.at(), wait=0)
    assert world.study_there()["status"] == "COMPLETED"


def test_a_letter_goes_to_a_participant_once(world: World) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    world.collect()
    sent = [notify_workers(world.at(), subject="Hello", text="Thanks", workers=[ann.id]).sent for _ in "ab"]
    assert sent == [1, 0]


def test_earlier_peoples_group_is_kept_out(world_of: Callable[..., World], sqlite_engine: Engine) -> None:
    first = world_of(sqlite_engine, "first")
    first.publish()
    (ann,) = first.answered_by("Ann")
    first.collect()
    second = world_of(sqlite_engine, "second", participants={"exclude_studies": ["first"]})
    second.publish()
    there = second.study_there()
    assert [each["filter_id"] for each in there["filters"]] == ["participant_group_blocklist"]
    assert not ann.reserve_at(there["id"])
    assert second.person("Ben").reserve_at(there["id"])


def test_what_is_otherwise_there_than_planned_stops_approvals(world: World) -> None:
    world.publish()
    (ann,) = world.answered_by("Ann")
    world.collect()
    world.platform()._client.set(
        "change", "PATCH", f"/studies/{world.hit().external_id}/", {"total_available_places": 5}
    )
    with pytest.raises(PartialError):
        world.collect()
    with pytest.raises((PlatformError, PartialError), match="what is planned is not what is there"):
        approve_work(world.at())
    assert world.status_of(ann.submission) == "AWAITING REVIEW"


def test_P09_what_is_planned_has_the_fees_that_prolific_named_and_its_currency(
    world: World, sqlite_database: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned() -> Decimal | None:
        with reading(world.engine) as session:
            return planned_cost(session, world.at().id, world.at().settings)

    monkeypatch.setenv("HUMANEVAL_DATABASE", sqlite_database)
    monkeypatch.setenv("PROLIFIC_URL", world.server.url)
    assert "They get £3.20 if all 4 forms are paid £0.80." in command("study", "plan", "study").out
    world.plan()
    assert planned() is None  # it was not asked yet
    told = world.platform().cost(Decimal("0.80"), 4).total
    world.publish()
    assert planned() == told != 4 * Decimal("0.96")
    said = command("study", "plan", "study").out
    assert "£3.20 if all 4 forms are paid £0.80, and Prolific takes fees, which `humaneval" in said
    assert command("study", "plan", "study", "--json").json["outlook"]["cost"] is None
    more = command("study", "enlarge", "study", "--annotators", "4", "--dry-run")
    assert "They get £3.20 if all are approved, and Prolific takes fees" in more.out
    enlarge(world.at().study, 4, "more")
    world.publish()
    assert planned() == 2 * told
    assert approve_work(world.at(), assignments=[each.submission for each in collected(world)]) == 1
    paid = spent(world.at().study, "prolific")
    assert paid.total == told / 4


def collected(world: World) -> list[Person]:
    people = world.answered_by("Ann")
    world.collect()
    return people


def test_P38_lost_work_is_not_paid_while_prolific_may_pay_it(world: World) -> None:
    world.publish()
    ann = world.person("Ann")
    ann.take()
    ann.answer()
    world.clock.move(minutes=20)
    ann.finish()  # in time, and not collected
    world.clock.move(hours=2)
    with writing(world.engine) as session:  # our time for her is over, and her row was given up
        session.execute(update(AssignmentRow).values(state="superseded", lease_until=None, holds_row=False))
    due = {"assignment": ann.submission, "amount": Decimal("0.50"), "reason": "It was our fault."}
    with pytest.raises(UsageError, match="was submitted at prolific, and is not collected yet"):
        compensate_worker(world.at(), **due)
    assert bonuses(world, ann) == []


class TestUnknownStates:
    """The list of submissions says nothing of what they are."""

    @pytest.fixture
    def faults(self, request: pytest.FixtureRequest) -> Faults:
        kind, times = request.param
        fault = ProlificFault(kind=kind, only=("list_submissions",), times=times)
        return Faults([fault], of=ProlificFault)

    @pytest.mark.parametrize("faults", [("processing", 1), ("unknown-status", 3)], indirect=True)
    def test_P38_a_study_is_not_closed_while_a_state_says_nothing(self, world: World) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        with pytest.raises((PartialError, PlatformError)):
            close_all(world.at(), wait=0)
        assert world.hit().closed_at is None
        while not world.collect().new:
            assert world.hit().closed_at is None
        approve_work(world.at())
        assert close_all(world.at(), wait=0).hits == 1
        assert world.status_of(ann.submission) == "APPROVED"


class TestDecidedAndReturned:
    """A decision was intended when the person gave the work back."""

    @pytest.fixture
    def faults(self) -> Faults:
        fault = ProlificFault(kind="unavailable", only=("transition_submission",), times=1)
        return Faults([fault], of=ProlificFault)

    def test_P12_an_approval_that_was_never_made_is_withdrawn_with_the_work(self, world: World) -> None:
        world.publish()
        (ann,) = world.answered_by("Ann")
        world.collect()
        with suppress(PlatformError, PartialError):
            approve_work(world.at())
        assert write(world, "approve").state == "pending"
        ask_returns(world.at(), [ann.submission], "Please return it.", dry_run=False)
        ann.give_back()
        world.collect()
        assert write(world, "approve").state == "refused"
        assert approve_work(world.at()) == 0
