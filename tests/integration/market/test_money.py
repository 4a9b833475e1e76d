"""Operations in any order: no cent appears, disappears or is promised twice."""

from __future__ import annotations

import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule
from sqlalchemy import select

from humaneval.errors import SettingsError, UsageError
from humaneval.fees import reward_fee
from humaneval.market import Mode, open_account, open_market
from humaneval.market.account import balance, dollars
from humaneval.market.assignments import accept, give_back, sums_of
from humaneval.market.operations import Market
from humaneval.market.panel.funds import add_funds
from humaneval.market.protocol.answer_xml import Field, answer_xml
from humaneval.market.protocol.refusals import NotPossibleError, RefusedError
from humaneval.market.submissions import Answer, submit
from humaneval.market.tables.account import Entry
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.workers import find_worker, sign_up
from tests.integration.market.sums import counted_sums, kept_sums

QUESTION = """<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">
<ExternalURL>https://lab.example/</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"""
OPENING = Decimal("30.00")


def _policy(name: str, **values: int) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [{"Key": key, "Values": [str(value)]} for key, value in values.items()]
    if name.startswith("Score"):
        parameters.append({"Key": "AnswerKey", "MapEntries": [{"Key": "choice", "Values": ["1"]}]})
    else:
        parameters.append({"Key": "QuestionIds", "Values": ["choice"]})
    return {"PolicyName": name, "Parameters": parameters}


POLICIES = {
    "AssignmentReviewPolicy": _policy(
        "ScoreMyKnownAnswers/2011-09-01",
        ApproveIfKnownAnswerScoreIsAtLeast=100,
        ExtendIfKnownAnswerScoreIsLessThan=100,
    ),
    "HITReviewPolicy": _policy(
        "SimplePlurality/2011-09-01",
        QuestionAgreementThreshold=50,
        ExtendIfHITAgreementScoreIsLessThan=100,
        ExtendMaximumAssignments=4,
        ExtendMinimumTimeInSeconds=3600,
        RejectIfWorkerAgreementScoreIsLessThan=100,
    ),
}
"""Right answers are approved, wrong ones ask for one more worker, and who disagrees with the others is
rejected."""
NAMES = ("Ada", "Grace", "Mary")


class MoneyMachine(RuleBasedStateMachine):
    """A requester and three workers, who do anything at any time, allowed or not."""

    hits = Bundle("hits")
    works = Bundle("works")

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 11, 2, tzinfo=UTC)
        self.added = Decimal(0)
        self.folder = tempfile.TemporaryDirectory()
        self.engine = open_market(Path(self.folder.name) / "market.db")
        open_account(self.engine, Mode.LOCAL, balance=OPENING)
        self.market = Market(self.engine, Mode.LOCAL, lambda: self.now)
        with self.market.writing() as work:
            self.workers = [sign_up(work, name, "").id for name in NAMES]

    def teardown(self) -> None:
        self.engine.dispose()
        self.folder.cleanup()

    def attempt(self, operation: str, **params: Any) -> dict[str, Any] | None:
        try:
            return self.market.perform(operation, params)
        except RefusedError:
            return None

    @rule(
        target=hits,
        cents=st.integers(0, 300),
        places=st.integers(1, 11),
        lifetime=st.integers(30, 7200),
        policies=st.booleans(),
    )
    def create(self, cents: int, places: int, lifetime: int, policies: bool) -> Any:
        made = self.attempt(
            "CreateHIT",
            Title="T",
            Description="D",
            Reward=str(Decimal(cents).scaleb(-2)),
            MaxAssignments=places,
            LifetimeInSeconds=lifetime,
            AssignmentDurationInSeconds=600,
            AutoApprovalDelayInSeconds=1800,
            Question=QUESTION,
            **(POLICIES if policies else {}),
        )
        return made["HIT"]["HITId"] if made else multiple()

    @rule(cents=st.integers(-1, 500))
    def fund(self, cents: int) -> None:
        amount = dollars(cents)
        try:
            add_funds(self.engine, amount)
        except UsageError:
            assert cents <= 0
        else:
            self.added += amount

    @rule(target=works, hit=hits, worker=st.sampled_from(range(len(NAMES))), finish=st.booleans())
    def work(self, hit: str, worker: int, finish: bool) -> Any:
        try:
            with self.market.writing() as work:
                person = find_worker(work, self.workers[worker])
                assignment_id = accept(work, person, hit).id
        except NotPossibleError:
            return multiple()
        if finish:
            self.hand_in(assignment_id, "1")
        return assignment_id

    @rule(assignment=works, choice=st.sampled_from("12"))
    def hand_in(self, assignment: str, choice: str) -> None:
        try:
            with self.market.writing() as work:
                submit(work, assignment, Answer(answer_xml([Field("choice", choice)])))
        except NotPossibleError:
            pass

    @rule(assignment=works, worker=st.sampled_from(range(len(NAMES))))
    def return_it(self, assignment: str, worker: int) -> None:
        try:
            with self.market.writing() as work:
                person = find_worker(work, self.workers[worker])
                give_back(work, person, assignment)
        except NotPossibleError:
            pass

    @rule(assignment=works, override=st.booleans())
    def approve(self, assignment: str, override: bool) -> None:
        self.attempt("ApproveAssignment", AssignmentId=assignment, OverrideRejection=override)

    @rule(assignment=works)
    def reject(self, assignment: str) -> None:
        self.attempt("RejectAssignment", AssignmentId=assignment, RequesterFeedback="no")

    @rule(assignment=works, cents=st.integers(0, 500), worker=st.sampled_from(range(len(NAMES))))
    def bonus(self, assignment: str, cents: int, worker: int) -> None:
        self.attempt(
            "SendBonus",
            AssignmentId=assignment,
            WorkerId=self.workers[worker],
            BonusAmount=str(Decimal(cents).scaleb(-2)),
            Reason="well done",
        )

    @rule(hit=hits, more=st.integers(0, 9))
    def extend(self, hit: str, more: int) -> None:
        self.attempt("CreateAdditionalAssignmentsForHIT", HITId=hit, NumberOfAdditionalAssignments=more)

    @rule(hit=hits, cents=st.integers(0, 300))
    def change_type(self, hit: str, cents: int) -> None:
        kind = self.attempt(
            "CreateHITType",
            Title="T",
            Description="D",
            Reward=str(Decimal(cents).scaleb(-2)),
            AssignmentDurationInSeconds=600,
        )
        assert kind is not None
        self.attempt("UpdateHITTypeOfHIT", HITId=hit, HITTypeId=kind["HITTypeId"])

    @rule(hit=hits, minutes=st.integers(-600, 600))
    def move_expiry(self, hit: str, minutes: int) -> None:
        self.attempt("UpdateExpirationForHIT", HITId=hit, ExpireAt=self.now + timedelta(minutes=minutes))

    @rule(hit=consumes(hits))
    def delete(self, hit: str) -> None:
        self.attempt("DeleteHIT", HITId=hit)

    @rule(minutes=st.integers(1, 120))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    @invariant()
    def no_cent_is_lost(self) -> None:
        with self.market.reading() as work:
            pots = balance(work.session)
            earned = sum(sums_of(work, find_worker(work, worker_id)).earned for worker_id in self.workers)
        assert pots.available + pots.on_hold + pots.paid + pots.fees == (OPENING + self.added) * 100
        assert min(pots.available, pots.on_hold, pots.paid, pots.fees) >= 0
        assert pots.paid == earned

    @invariant()
    def what_is_approved_was_paid_once_and_nothing_else_was(self) -> None:
        with self.market.reading() as work:
            rewards = Counter(
                work.session.scalars(select(Entry.assignment_number).where(Entry.kind == "reward"))
            )
            approved = work.session.scalars(
                select(Assignment.number).where(Assignment.state == State.APPROVED)
            )
            assert rewards == Counter(approved)

    @invariant()
    def what_is_held_is_what_may_still_be_paid(self) -> None:
        wanted = Decimal(0)
        with self.market.reading() as work:
            rows = work.session.scalars(select(Assignment).where(Assignment.state == State.SUBMITTED)).all()
            submitted_of = Counter(row.hit.id for row in rows)
        for hit in self.market.perform("ListHITs", {"MaxResults": 100})["HITs"]:
            submitted = submitted_of[hit["HITId"]]
            reward = Decimal(hit["Reward"])
            places = hit["NumberOfAssignmentsAvailable"] + hit["NumberOfAssignmentsPending"] + submitted
            wanted += places * (reward + reward_fee(reward, hit["MaxAssignments"]))
        assert Decimal(self.market.perform("GetAccountBalance", {})["OnHoldBalance"]) == wanted

    @invariant()
    def the_sums_of_hits_are_those_of_their_assignments_and_lines(self) -> None:
        with self.engine.connect() as connection:
            assert kept_sums(connection) == counted_sums(connection)


MoneyMachine.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
TestMoney = MoneyMachine.TestCase


def test_an_account_opens_once_with_its_own_balance_and_keeps_its_mode(tmp_path: Path) -> None:
    engine = open_market(tmp_path / "market.db")
    key = open_account(engine, Mode.LOCAL, balance=Decimal("5.00"))
    assert open_account(engine, Mode.LOCAL) == key
    assert open_account(engine, Mode.LOCAL, balance=Decimal("5.00")) == key  # a script that starts it again
    assert Market(engine, Mode.LOCAL).perform("GetAccountBalance", {})["AvailableBalance"] == "5.00"
    with pytest.raises(SettingsError, match="cannot be set again") as again:
        open_account(engine, Mode.LOCAL, balance=Decimal("6.00"))
    assert "humaneval market fund SUM" in again.value.hint
    with pytest.raises(SettingsError, match="made in local mode"):
        open_account(engine, Mode.SANDBOX)
    engine.dispose()


def test_a_rejection_is_overridden_only_where_the_reward_can_still_be_paid(tmp_path: Path) -> None:
    engine = open_market(tmp_path / "market.db")
    open_account(engine, Mode.LOCAL, balance=Decimal("1.20"))
    market = Market(engine, Mode.LOCAL)
    hit = {"Title": "T", "Description": "D", "LifetimeInSeconds": 60, "AssignmentDurationInSeconds": 60}
    first = market.perform("CreateHIT", {**hit, "Reward": "1.00", "Question": QUESTION})["HIT"]["HITId"]
    with market.writing() as work:
        assignment_id = accept(work, sign_up(work, "Ada", ""), first).id
        submit(work, assignment_id, Answer(answer_xml([])))
    market.perform("RejectAssignment", {"AssignmentId": assignment_id, "RequesterFeedback": "no"})
    second = market.perform("CreateHIT", {**hit, "Reward": "0.50", "Question": QUESTION})["HIT"]["HITId"]
    override = {"AssignmentId": assignment_id, "OverrideRejection": True}
    before = market.perform("GetAccountBalance", {})
    with pytest.raises(RefusedError, match="insufficient funds"):
        market.perform("ApproveAssignment", override)
    assert market.perform("GetAccountBalance", {}) == before
    market.perform("UpdateExpirationForHIT", {"HITId": second, "ExpireAt": datetime(1970, 1, 1, tzinfo=UTC)})
    market.perform("ApproveAssignment", override)
    assert market.perform("GetAccountBalance", {}) == {"AvailableBalance": "0.00", "OnHoldBalance": "0.00"}
    engine.dispose()
