"""Whatever is done in whatever order: states and counts follow, a token works once, pages skip and repeat
nothing."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, invariant, multiple, precondition, rule
from sqlalchemy import select

from humaneval.fees import bonus_fee
from humaneval.market.assignments import accept
from humaneval.market.hits import described
from humaneval.market.protocol.paging import TOKEN_LIFE
from humaneval.market.protocol.refusals import NotPossibleError, RefusedError
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.hits import Hit
from humaneval.market.workers import find_worker
from tests.integration.market.test_money import NAMES, QUESTION, MoneyMachine

TOKENS = st.sampled_from(["a", "b", None])
WORKERS = st.sampled_from(range(len(NAMES)))
LISTS = {
    "ListHITs": ("HITs", "HITId"),
    "ListReviewableHITs": ("HITs", "HITId"),
    "ListAssignmentsForHIT": ("Assignments", "AssignmentId"),
    "ListBonusPayments": ("BonusPayments", "Reason"),
    "ListWorkerBlocks": ("WorkerBlocks", "WorkerId"),
}


class Pager:
    """A reader of a list, page by page, while other things happen in between."""

    def __init__(self, operation: str, params: dict[str, Any], there: set[str], now: datetime) -> None:
        self.operation, self.params, self.given = operation, params, now
        self.seen: Counter[str] = Counter()
        self.throughout = there
        """The rows that were in the list at every moment since the beginning."""


class AnyOrderMachine(MoneyMachine):
    """The money machine's requester and workers, with tokens, blocks, qualifications and readers of lists."""

    hits = MoneyMachine.hits
    works = MoneyMachine.works
    asking_hits = Bundle("asking_hits")

    def __init__(self) -> None:
        super().__init__()
        self.used: dict[tuple[str, str], datetime] = {}
        self.pagers: list[Pager] = []
        self.bonuses = 0
        kind = {"Name": "Reader", "Description": "D", "QualificationTypeStatus": "Active"}
        made = self.market.perform("CreateQualificationType", kind)
        self.reader = made["QualificationType"]["QualificationTypeId"]
        self.scores: dict[int, int] = {}

    def once(self, operation: str, token: str | None, **params: Any) -> dict[str, Any] | None:
        """Call with a token. It must succeed only if it has not succeeded within a day."""
        since = self.used.get((operation, token or ""))
        repeat = since is not None and self.now - since < timedelta(hours=24)
        before = self.market.perform("GetAccountBalance", {})
        given, refused, made = {"UniqueRequestToken": token} if token else {}, "", None
        try:
            made = self.market.perform(operation, {**params, **given})
        except RefusedError as refusal:
            refused = refusal.code
        assert refused.endswith(("DuplicateRequest", "HitAlreadyExists")) == repeat
        if made is None:
            assert self.market.perform("GetAccountBalance", {}) == before
            return None
        if token:
            self.used[operation, token] = self.now
        return made

    @rule(target=asking_hits, token=TOKENS, places=st.integers(1, 3), least=st.integers(1, 3))
    def create_for_readers(self, token: str | None, places: int, least: int) -> Any:
        made = self.once(
            "CreateHIT",
            token,
            Title="For readers",
            Description="D",
            Reward="0.10",
            MaxAssignments=places,
            LifetimeInSeconds=7200,
            AssignmentDurationInSeconds=600,
            Question=QUESTION,
            QualificationRequirements=[
                {
                    "QualificationTypeId": self.reader,
                    "Comparator": "GreaterThanOrEqualTo",
                    "IntegerValues": [least],
                }
            ],
        )
        return (made["HIT"]["HITId"], least) if made else multiple()

    @rule(target=works, asked=asking_hits, worker=WORKERS)
    def work_as_reader(self, asked: tuple[str, int], worker: int) -> Any:
        hit, least = asked
        try:
            with self.market.writing() as work:
                person = find_worker(work, self.workers[worker])
                assignment = accept(work, person, hit)
                fresh = assignment.accepted_at == self.now
                assert not person.blocked
                assert not fresh or self.scores.get(worker, 0) >= least
                return assignment.id
        except NotPossibleError:
            return multiple()

    @rule(worker=WORKERS, score=st.integers(0, 3))
    def grant(self, worker: int, score: int) -> None:
        self.market.perform(
            "AssociateQualificationWithWorker",
            {
                "QualificationTypeId": self.reader,
                "WorkerId": self.workers[worker],
                "IntegerValue": score,
            },
        )
        self.scores[worker] = score

    @rule(worker=WORKERS)
    def revoke(self, worker: int) -> None:
        call = {"QualificationTypeId": self.reader, "WorkerId": self.workers[worker]}
        assert (self.attempt("DisassociateQualificationFromWorker", **call) is None) == (
            worker not in self.scores
        )
        self.scores.pop(worker, None)

    @rule(worker=WORKERS, on=st.booleans())
    def block(self, worker: int, on: bool) -> None:
        call = {"WorkerId": self.workers[worker], "Reason": "R"}
        self.market.perform("CreateWorkerBlock" if on else "DeleteWorkerBlock", call)

    @rule(work=works, token=TOKENS, cents=st.integers(1, 500))
    def bonus_with_token(self, work: str, token: str | None, cents: int) -> None:
        with self.market.reading() as reading:
            found = reading.session.scalar(select(Assignment).where(Assignment.id == work))
            assert found is not None
            worker = found.worker.id
        before = self.market.perform("GetAccountBalance", {})
        amount = Decimal(cents).scaleb(-2)
        self.bonuses += 1
        paid = self.once(
            "SendBonus",
            token,
            AssignmentId=work,
            WorkerId=worker,
            BonusAmount=str(amount),
            Reason=f"{self.bonuses}",
        )
        if paid is not None:
            after = self.market.perform("GetAccountBalance", {})
            took = Decimal(before["AvailableBalance"]) - Decimal(after["AvailableBalance"])
            assert took == amount + bonus_fee(amount)

    @rule(hit=hits, token=TOKENS, more=st.integers(1, 3))
    def extend_with_token(self, hit: str, token: str | None, more: int) -> None:
        before = self.market.perform("GetHIT", {"HITId": hit})["HIT"]["MaxAssignments"]
        done = self.once(
            "CreateAdditionalAssignmentsForHIT", token, HITId=hit, NumberOfAdditionalAssignments=more
        )
        after = self.market.perform("GetHIT", {"HITId": hit})["HIT"]["MaxAssignments"]
        assert after == before + (0 if done is None else more)

    @rule(hit=hits, revert=st.booleans())
    def set_review_status(self, hit: str, revert: bool) -> None:
        was = self.market.perform("GetHIT", {"HITId": hit})["HIT"]["HITStatus"]
        done = self.attempt("UpdateHITReviewStatus", HITId=hit, Revert=revert)
        assert (done is not None) == (was == ("Reviewing" if revert else "Reviewable"))

    @rule(hours=st.sampled_from([12, 24, 25, 24 * 31, 24 * 121]))
    def wait_long(self, hours: int) -> None:
        self.now += timedelta(hours=hours)

    @precondition(lambda self: len(self.pagers) < 2)
    @rule(hit=hits, operation=st.sampled_from(sorted(LISTS)))
    def begin_to_read(self, hit: str, operation: str) -> None:
        params = {"HITId": hit} if operation in ("ListAssignmentsForHIT", "ListBonusPayments") else {}
        self.pagers.append(Pager(operation, params, self.whole(operation, params), self.now))
        self.turn(self.pagers[-1])

    @precondition(lambda self: bool(self.pagers))
    @rule()
    def read_on(self) -> None:
        self.pagers.append(self.pagers.pop(0))
        self.turn(self.pagers[-1])

    def turn(self, pager: Pager) -> None:
        """Read one more page; after the last one, check what was read."""
        if self.now - pager.given > TOKEN_LIFE:
            with pytest.raises(RefusedError, match="NextToken is too old"):
                self.market.perform(pager.operation, {**pager.params, "MaxResults": 1})
            self.pagers.remove(pager)
            return
        name, key = LISTS[pager.operation]
        page = self.market.perform(pager.operation, {**pager.params, "MaxResults": 1})
        pager.seen.update(each[key] for each in page[name])
        if "NextToken" in page:
            pager.params["NextToken"], pager.given = page["NextToken"], self.now
            return
        assert pager.throughout <= pager.seen.keys()
        assert all(pager.seen[each] == 1 for each in pager.throughout)
        self.pagers.remove(pager)

    def whole(self, operation: str, params: dict[str, Any]) -> set[str]:
        name, key = LISTS[operation]
        whole = {each: value for each, value in params.items() if each != "NextToken"}
        return {each[key] for each in self.market.perform(operation, {**whole, "MaxResults": 100})[name]}

    @invariant()
    def readers_may_miss_what_was_not_always_there(self) -> None:
        for pager in self.pagers:
            pager.throughout &= self.whole(pager.operation, pager.params)

    @invariant()
    def states_and_counts_follow_from_the_assignments(self) -> None:
        with self.market.reading() as work:
            rows = work.session.execute(select(Assignment.hit_number, Assignment.state)).all()
            hits = work.session.scalars(select(Hit)).all()
            shown = described(work, hits)
        for row, hit in zip(hits, shown, strict=True):
            states = Counter(state for of, state in rows if of == row.number)
            pending, submitted = states[State.ACCEPTED], states[State.SUBMITTED]
            decided = states[State.APPROVED] + states[State.REJECTED]
            free = hit["MaxAssignments"] - pending - submitted - decided
            status = hit["HITStatus"]
            over = hit["Expiration"] <= self.now
            assert free >= 0
            assert hit["NumberOfAssignmentsPending"] == pending
            assert hit["NumberOfAssignmentsCompleted"] == decided
            assert hit["NumberOfAssignmentsAvailable"] == (0 if over or status == "Disposed" else free)
            if status == "Disposed":
                assert pending == submitted == 0
            elif pending == 0 and (over or free == 0):
                assert status in ("Reviewable", "Reviewing")
            else:
                assert status == ("Unassignable" if over or free == 0 else "Assignable")


AnyOrderMachine.TestCase.settings = settings(MoneyMachine.TestCase.settings, stateful_step_count=30)
TestAnyOrder = AnyOrderMachine.TestCase
