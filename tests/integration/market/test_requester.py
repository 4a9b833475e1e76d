"""What a requester's boto3 program sees: states, tokens, limits and refusals, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError
from sqlalchemy import Engine

from humaneval.market import Mode, Trouble
from humaneval.market.serving import THREADS
from tests.integration.market.asking import balances, refusal

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]


def hit_now(mturk: Any, hit: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = mturk.get_hit(HITId=hit["HITId"])["HIT"]
    return found


def test_C01_a_second_create_with_the_same_token_makes_nothing_and_names_the_first(
    mturk: Any, new_hit: NewHit
) -> None:
    hit = new_hit(UniqueRequestToken="study-7/hit-1")
    with pytest.raises(mturk.exceptions.RequestError) as caught:
        new_hit(UniqueRequestToken="study-7/hit-1")
    assert caught.value.response["TurkErrorCode"] == "AWS.MechanicalTurk.HitAlreadyExists"
    assert hit["HITId"] in caught.value.response["Error"]["Message"]
    assert mturk.list_hits()["NumResults"] == 1
    assert balances(mturk) == (Decimal("9998.80"), Decimal("1.20"))


def test_C01_a_lost_reply_is_retried_by_boto3_and_still_makes_one_hit(
    mturk: Any, new_hit: NewHit, troubles: list[Trouble | None]
) -> None:
    troubles.append(Trouble.REPLY_LOST)
    assert refusal(new_hit, UniqueRequestToken="t") == "HitAlreadyExists"
    assert mturk.list_hits()["NumResults"] == 1


def test_C01_of_many_creates_at_once_with_one_token_one_makes_a_hit(mturk: Any, new_hit: NewHit) -> None:
    def create(_: int) -> str:
        try:
            return str(new_hit(UniqueRequestToken="t")["HITStatus"])
        except ClientError as error:
            return str(error.response["TurkErrorCode"])

    with ThreadPoolExecutor(8) as pool:
        outcomes = sorted(pool.map(create, range(8)))
    assert outcomes == ["AWS.MechanicalTurk.HitAlreadyExists"] * 7 + ["Assignable"]
    assert balances(mturk)[1] == Decimal("1.20")


def test_C01_a_refused_create_does_not_use_up_its_token(mturk: Any, new_hit: NewHit) -> None:
    assert refusal(new_hit, Reward="9000.00", MaxAssignments=9, UniqueRequestToken="t") == "InsufficientFunds"
    assert new_hit(UniqueRequestToken="t")["HITStatus"] == "Assignable"


def test_C04_a_bonus_with_the_same_token_is_paid_once(mturk: Any, new_hit: NewHit, person: SignIn) -> None:
    worker = person()
    assignment_id = worker.do(new_hit()["HITId"])
    bonus = {"WorkerId": worker.id, "AssignmentId": assignment_id, "BonusAmount": "1.00", "Reason": "Thanks"}
    mturk.send_bonus(**bonus, UniqueRequestToken="b")
    assert refusal(mturk.send_bonus, **bonus, UniqueRequestToken="b") == "DuplicateRequest"
    assert mturk.list_bonus_payments(AssignmentId=assignment_id)["NumResults"] == 1
    mturk.send_bonus(**bonus, UniqueRequestToken="another purpose")
    payments = mturk.list_bonus_payments(AssignmentId=assignment_id)["BonusPayments"]
    assert [payment["BonusAmount"] for payment in payments] == ["1.00", "1.00"]
    assert balances(mturk)[0] == Decimal("10000.00") - Decimal("1.20") - 2 * Decimal("1.20")


def test_C04_a_repeat_names_the_request_that_did_the_work(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    worker, hit = person(), new_hit()
    bonus = {
        "WorkerId": worker.id,
        "AssignmentId": worker.do(hit["HITId"]),
        "BonusAmount": "1",
        "Reason": "R",
    }
    extend = {"HITId": hit["HITId"], "NumberOfAdditionalAssignments": 1}
    for call, params in ((mturk.send_bonus, bonus), (mturk.create_additional_assignments_for_hit, extend)):
        done = call(**params, UniqueRequestToken="t")["ResponseMetadata"]["RequestId"]
        with pytest.raises(ClientError, match=done) as repeated:
            call(**params, UniqueRequestToken="t")
        assert repeated.value.response["ResponseMetadata"]["RequestId"] != done


def test_C11_approving_twice_is_refused_with_the_state_and_pays_once(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    assignment_id = person().do(new_hit()["HITId"])
    mturk.approve_assignment(AssignmentId=assignment_id)
    after = balances(mturk)
    with pytest.raises(ClientError, match="called with a status of: Submitted"):
        mturk.approve_assignment(AssignmentId=assignment_id)
    assert (
        refusal(mturk.reject_assignment, AssignmentId=assignment_id, RequesterFeedback="no")
        == "InvalidAssignmentState"
    )
    assert balances(mturk) == after


def test_C12_work_that_was_not_submitted_can_be_neither_read_nor_approved_nor_rewarded(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    worker = person()
    assignment_id = worker.accept(new_hit()["HITId"])
    for call, params in (
        (mturk.get_assignment, {}),
        (mturk.approve_assignment, {}),
        (mturk.reject_assignment, {"RequesterFeedback": "no"}),
        (mturk.send_bonus, {"WorkerId": worker.id, "BonusAmount": "1", "Reason": "Thanks"}),
    ):
        assert refusal(call, AssignmentId=assignment_id, **params) == "InvalidAssignmentState"
    assert refusal(mturk.approve_assignment, AssignmentId="3NOSUCH") == "AssignmentDoesNotExist"


def test_C14_ten_assignments_cost_forty_per_cent_and_nine_cost_twenty(mturk: Any, new_hit: NewHit) -> None:
    new_hit(MaxAssignments=9)
    assert balances(mturk)[1] == 9 * Decimal("0.60")
    new_hit(MaxAssignments=10)
    assert balances(mturk)[1] == 9 * Decimal("0.60") + 10 * Decimal("0.70")


def test_C14_a_hit_that_cannot_be_paid_for_is_refused_and_changes_nothing(
    mturk: Any, new_hit: NewHit
) -> None:
    assert refusal(new_hit, Reward="2000.00", MaxAssignments=5) == "InsufficientFunds"
    assert balances(mturk) == (Decimal("10000.00"), Decimal("0.00"))
    assert mturk.list_hits()["NumResults"] == 0


def test_a_hit_of_fewer_than_ten_assignments_cannot_be_extended_to_ten(mturk: Any, new_hit: NewHit) -> None:
    hit = new_hit(MaxAssignments=8)
    extend = mturk.create_additional_assignments_for_hit
    assert (
        refusal(extend, HITId=hit["HITId"], NumberOfAdditionalAssignments=2)
        == "InvalidMaximumAssignmentsIncrease"
    )
    extend(HITId=hit["HITId"], NumberOfAdditionalAssignments=1, UniqueRequestToken="more")
    again = {"HITId": hit["HITId"], "NumberOfAdditionalAssignments": 1, "UniqueRequestToken": "more"}
    assert refusal(extend, **again) == "DuplicateRequest"
    assert hit_now(mturk, hit)["MaxAssignments"] == 9
    assert balances(mturk)[1] == 9 * Decimal("0.60")


def test_C16_submitted_work_is_approved_by_itself_at_its_deadline(
    mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
) -> None:
    assignment_id = person().do(new_hit(AutoApprovalDelayInSeconds=3600, MaxAssignments=1)["HITId"])
    due = clock.now + timedelta(hours=1)
    clock.pass_time(minutes=59)
    assert mturk.get_assignment(AssignmentId=assignment_id)["Assignment"]["AssignmentStatus"] == "Submitted"
    clock.pass_time(days=2)
    assignment = mturk.get_assignment(AssignmentId=assignment_id)["Assignment"]
    assert (assignment["AssignmentStatus"], assignment["ApprovalTime"]) == ("Approved", due)
    assert balances(mturk) == (Decimal("9999.40"), Decimal("0.00"))


@pytest.mark.parametrize("amount", ["0.9752", "1,00", "-1", "1.00\n", "$1", "1e3", ""])
def test_C17_an_amount_that_is_not_dollars_and_cents_is_refused(
    mturk: Any, new_hit: NewHit, amount: str
) -> None:
    assert refusal(new_hit, Reward=amount) == "ValidationException"


@pytest.mark.parametrize("year", [1970, 1969, 1])
def test_C22_a_hit_expired_with_a_time_long_past_can_be_reviewed_and_then_deleted(
    mturk: Any, new_hit: NewHit, person: SignIn, year: int
) -> None:
    hit = new_hit()
    assignment_id = person().do(hit["HITId"])
    assert refusal(mturk.delete_hit, HITId=hit["HITId"]) == "InvalidHITState"
    mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=datetime(year, 1, 1, tzinfo=UTC))
    assert hit_now(mturk, hit)["HITStatus"] == "Reviewable"
    assert refusal(mturk.delete_hit, HITId=hit["HITId"]) == "InvalidHITState"
    mturk.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Empty")
    mturk.delete_hit(HITId=hit["HITId"])
    assert hit_now(mturk, hit)["HITStatus"] == "Disposed"
    assert mturk.list_hits()["HITs"] == []
    assert balances(mturk) == (Decimal("10000.00"), Decimal("0.00"))


def test_C23_work_in_hand_when_a_hit_is_expired_may_be_finished_and_paid(
    mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
) -> None:
    hit = new_hit(MaxAssignments=3)
    ada, grace = person("Ada"), person("Grace")
    assignment_id = ada.accept(hit["HITId"])
    mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=clock.now - timedelta(seconds=1))
    now = hit_now(mturk, hit)
    assert (now["HITStatus"], now["NumberOfAssignmentsPending"], now["NumberOfAssignmentsAvailable"]) == (
        "Unassignable",
        1,
        0,
    )
    assert balances(mturk)[1] == Decimal("0.60")
    assert grace.post(f"/hits/{hit['HITId']}/accept", csrf=grace.csrf()).status == 409
    assert ada.submit(assignment_id, choice="2").status == 200
    assert hit_now(mturk, hit)["HITStatus"] == "Reviewable"
    mturk.approve_assignment(AssignmentId=assignment_id)
    assert balances(mturk) == (Decimal("9999.40"), Decimal("0.00"))


def test_a_hit_that_is_given_time_again_is_open_again_and_its_price_is_held_again(
    mturk: Any, new_hit: NewHit, clock: Any
) -> None:
    hit = new_hit(MaxAssignments=3)
    clock.pass_time(days=2)
    assert (hit_now(mturk, hit)["HITStatus"], balances(mturk)[1]) == ("Reviewable", Decimal("0.00"))
    mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=clock.now + timedelta(days=1))
    assert (hit_now(mturk, hit)["HITStatus"], balances(mturk)[1]) == ("Assignable", Decimal("1.80"))


def test_C30_emoji_and_markup_in_a_question_and_title_come_back_as_they_were(
    mturk: Any, new_hit: NewHit, html: str
) -> None:
    question = html.replace(
        "<title>q</title>", "<title>\U0001f600 {{7*7}} <script>alert('&')</script></title>"
    )
    hit = new_hit(Title="\U0001f600 <b>{{7*7}}</b>", Question=question)
    now = hit_now(mturk, hit)
    assert (now["Title"], now["Question"]) == ("\U0001f600 <b>{{7*7}}</b>", question)


def test_C31_a_question_of_65535_bytes_is_taken_and_one_more_is_not(new_hit: NewHit, html: str) -> None:
    room = 65_535 - len(html.encode())
    filling = "ä" * (room // 2) + "a" * (room % 2)
    assert new_hit(Question=html.replace("</form>", filling + "</form>"))["HITStatus"] == "Assignable"
    assert refusal(new_hit, Question=html.replace("</form>", filling + "a</form>")) == "InvalidParameterValue"


def test_C48_completed_counts_only_work_that_was_reviewed(
    mturk: Any, new_hit: NewHit, person: SignIn
) -> None:
    hit = new_hit(MaxAssignments=4)
    ids = [person(name).do(hit["HITId"]) for name in ("Ada", "Grace", "Mary")]
    person("Joan").accept(hit["HITId"])

    def numbers() -> tuple[int, int, int, str]:
        now = hit_now(mturk, hit)
        return (
            now["NumberOfAssignmentsPending"],
            now["NumberOfAssignmentsAvailable"],
            now["NumberOfAssignmentsCompleted"],
            now["HITStatus"],
        )

    assert numbers() == (1, 0, 0, "Unassignable")
    mturk.approve_assignment(AssignmentId=ids[0])
    mturk.reject_assignment(AssignmentId=ids[1], RequesterFeedback="Sorry")
    assert numbers() == (1, 0, 2, "Unassignable")


def test_C68_throttling_and_an_outage_are_retried_by_boto3(
    mturk: Any, new_hit: NewHit, troubles: list[Trouble | None]
) -> None:
    troubles.extend([Trouble.THROTTLED, Trouble.UNAVAILABLE])
    assert new_hit()["HITStatus"] == "Assignable"
    assert mturk.list_hits()["NumResults"] == 1


def test_C68_without_retries_throttling_reaches_the_caller(
    connect: Callable[..., Any], troubles: list[Trouble | None]
) -> None:
    troubles.append(Trouble.THROTTLED)
    assert refusal(connect(retries=0).get_account_balance) == "ThrottlingException"


def test_C25_where_every_connection_waits_programs_and_people_are_told_to_try_again(
    connect: Callable[..., Any], person: SignIn, engine: Engine
) -> None:
    worker, mturk = person(), connect(retries=0)
    engine.pool._timeout = 0.01
    with ExitStack() as stack:
        # One fewer than the server has threads.
        for _ in range(THREADS - 1):
            stack.enter_context(engine.connect())
        assert refusal(mturk.get_account_balance) == "ServiceUnavailable"
        reply = worker.get("/hits")
    assert (reply.status, reply.headers["Retry-After"]) == (503, "2")
    assert "Nothing was lost" in reply.text


def test_a_rejection_can_be_overridden_for_thirty_days(
    mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
) -> None:
    hit = new_hit()
    early, late = (person(name).do(hit["HITId"]) for name in ("Ada", "Grace"))
    for assignment_id in (early, late):
        mturk.reject_assignment(AssignmentId=assignment_id, RequesterFeedback="Too fast")
    assert balances(mturk) == (Decimal("10000.00"), Decimal("0.00"))
    assert refusal(mturk.approve_assignment, AssignmentId=early) == "InvalidAssignmentState"
    mturk.approve_assignment(AssignmentId=early, OverrideRejection=True)
    assert balances(mturk) == (Decimal("9999.40"), Decimal("0.00"))
    clock.pass_time(days=31)
    assert (
        refusal(mturk.approve_assignment, AssignmentId=late, OverrideRejection=True)
        == "InvalidAssignmentState"
    )


def test_reviewing_and_back(mturk: Any, new_hit: NewHit, person: SignIn) -> None:
    hit = new_hit(MaxAssignments=1)
    assert refusal(mturk.update_hit_review_status, HITId=hit["HITId"]) == "InvalidHITState"
    person().do(hit["HITId"])
    assert [item["HITId"] for item in mturk.list_reviewable_hits()["HITs"]] == [hit["HITId"]]
    mturk.update_hit_review_status(HITId=hit["HITId"])
    assert mturk.list_reviewable_hits()["NumResults"] == 0
    assert mturk.list_reviewable_hits(Status="Reviewing", HITTypeId=hit["HITTypeId"])["NumResults"] == 1
    mturk.update_hit_review_status(HITId=hit["HITId"], Revert=True)
    assert hit_now(mturk, hit)["HITStatus"] == "Reviewable"


def test_the_same_parameters_give_the_same_hit_type(mturk: Any, external: str) -> None:
    kind = {"Title": "T", "Description": "D", "Reward": "0.10", "AssignmentDurationInSeconds": 60}
    first = mturk.create_hit_type(**kind)["HITTypeId"]
    assert mturk.create_hit_type(**kind)["HITTypeId"] == first
    assert mturk.create_hit_type(**{**kind, "Reward": "0.11"})["HITTypeId"] != first
    hit = mturk.create_hit_with_hit_type(HITTypeId=first, LifetimeInSeconds=60, Question=external)["HIT"]
    assert (hit["HITTypeId"], hit["Reward"], hit["MaxAssignments"]) == (first, "0.10", 1)
    unknown = {"HITTypeId": "3NONE", "LifetimeInSeconds": 60, "Question": external}
    assert refusal(mturk.create_hit_with_hit_type, **unknown) == "HITTypeDoesNotExist"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"Title": "x" * 129}, "InvalidParameterValue"),
        ({"Title": "a\x00b"}, "ValidationException"),
        ({"MaxAssignments": 0}, "InvalidParameterValue"),
        ({"LifetimeInSeconds": 29}, "InvalidParameterValue"),
        ({"AutoApprovalDelayInSeconds": 2_592_001}, "InvalidParameterValue"),
        ({"UniqueRequestToken": "t" * 65}, "ValidationException"),
        ({"Question": None}, "InvalidParameterValue"),
        ({"Question": None, "HITLayoutId": "3ABC"}, "HITLayoutDoesNotExist"),
        ({"Question": "<not xml"}, "XMLParseError"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_made(
    mturk: Any, new_hit: NewHit, changes: dict[str, Any], code: str
) -> None:
    assert refusal(new_hit, **changes) == code
    assert mturk.list_hits()["NumResults"] == 0


class TestSandbox:
    """A sandbox's money is not real, and neither is its end."""

    @pytest.fixture
    def mode(self) -> Mode:
        return Mode.SANDBOX

    def test_its_balance_never_falls(
        self, mturk: Any, new_hit: NewHit, person: SignIn, external: str
    ) -> None:
        question = external.replace("https://lab.example", "http://localhost:5000")
        hit = new_hit(Reward="9000.00", MaxAssignments=9, Question=question)
        mturk.approve_assignment(AssignmentId=person().do(hit["HITId"]))
        assert balances(mturk) == (Decimal("10000.00"), Decimal("0.00"))

    def test_it_asks_for_https_as_the_real_one_does(self, new_hit: NewHit, external: str) -> None:
        assert refusal(new_hit, Question=external.replace("https:", "http:")) == "InvalidParameterValue"
