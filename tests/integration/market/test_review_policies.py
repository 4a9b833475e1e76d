"""Review policies: known answers and agreement, and all the actions that they can take."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from tests.integration.market.asking import balances, refusal

NewHit = Callable[..., dict[str, Any]]
SignIn = Callable[..., Any]


def policy(name: str, entries: dict[str, list[str]] | None = None, **values: Any) -> dict[str, Any]:
    """A review policy; `entries` are those of its AnswerKey."""
    parameters: list[dict[str, Any]] = [
        {"Key": key, "Values": value if isinstance(value, list) else [str(value)]}
        for key, value in values.items()
    ]
    if entries is not None:
        pairs = [{"Key": key, "Values": given} for key, given in entries.items()]
        parameters.append({"Key": "AnswerKey", "MapEntries": pairs})
    return {"PolicyName": name, "Parameters": parameters}


def known(entries: dict[str, list[str]] | None = None, **values: Any) -> dict[str, Any]:
    """ScoreMyKnownAnswers for two questions."""
    return policy("ScoreMyKnownAnswers/2011-09-01", entries or {"a": ["1"], "b": ["2"]}, **values)


def plurality(**values: Any) -> dict[str, Any]:
    """SimplePlurality over the questions A to D, or the given ones."""
    given = {"QuestionIds": ["A", "B", "C", "D"], "QuestionAgreementThreshold": 50, **values}
    return policy("SimplePlurality/2011-09-01", **given)


def status(mturk: Any, assignment_id: str) -> str:
    """An assignment's status."""
    found: str = mturk.get_assignment(AssignmentId=assignment_id)["Assignment"]["AssignmentStatus"]
    return found


def results(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The results: question (or nothing), key, value."""
    return [(each.get("QuestionId", ""), each["Key"], each["Value"]) for each in report["ReviewResults"]]


def actions(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The actions: action, status, target's type."""
    return [(each["ActionName"], each["Status"], each["TargetType"]) for each in report["ReviewActions"]]


class TestKnownAnswers:
    """Applied as soon as an assignment is submitted."""

    def test_right_answers_are_approved_and_wrong_ones_rejected_and_replaced(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        hit = new_hit(
            MaxAssignments=2,
            AssignmentReviewPolicy=known(
                ApproveIfKnownAnswerScoreIsAtLeast=100,
                ApproveReason="Well done",
                RejectIfKnownAnswerScoreIsLessThan=50,
                RejectReason="Both were wrong",
                ExtendIfKnownAnswerScoreIsLessThan=50,
                ExtendMaximumAssignments=3,
            ),
        )
        right = person("Ada").do(hit["HITId"], a=" 1 ", b="2")
        half = person("Grace").do(hit["HITId"], a="1", b="7")
        assert [status(mturk, each) for each in (right, half)] == ["Approved", "Submitted"]
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["MaxAssignments"] == 2
        report = mturk.list_review_policy_results_for_hit(HITId=hit["HITId"])["AssignmentReviewReport"]
        assert results(report) == [
            ("a", "KnownAnswerCorrect", "1"),
            ("b", "KnownAnswerCorrect", "1"),
            ("", "KnownAnswerScore", "100"),
            ("a", "KnownAnswerCorrect", "1"),
            ("b", "KnownAnswerCorrect", "0"),
            ("", "KnownAnswerScore", "50"),
        ]
        assert actions(report) == [
            ("review", "Succeeded", "Assignment"),
            ("approve", "Succeeded", "Assignment"),
            ("review", "Succeeded", "Assignment"),
        ]
        feedback = mturk.get_assignment(AssignmentId=right)["Assignment"]["RequesterFeedback"]
        assert feedback == "Well done"

    def test_a_wrong_answer_gives_its_place_to_someone_else_up_to_the_maximum(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        hit = new_hit(
            MaxAssignments=1,
            AssignmentReviewPolicy=known(
                RejectIfKnownAnswerScoreIsLessThan=50,
                ExtendIfKnownAnswerScoreIsLessThan=50,
                ExtendMaximumAssignments=2,
            ),
        )
        first = person("Ada").do(hit["HITId"], a="0")
        now = mturk.get_hit(HITId=hit["HITId"])["HIT"]
        assert (now["MaxAssignments"], now["HITStatus"]) == (2, "Assignable")
        second = person("Grace").do(hit["HITId"], a="0")
        now = mturk.get_hit(HITId=hit["HITId"])["HIT"]
        assert (now["MaxAssignments"], now["HITStatus"]) == (2, "Reviewable")
        assert [status(mturk, each) for each in (first, second)] == ["Rejected", "Rejected"]
        assert balances(mturk) == (Decimal("10000.00"), Decimal("0.00"))

    @pytest.mark.parametrize(
        ("entries", "sent", "score"),
        [
            ({"box": ["a", "b"]}, [("box", "b"), ("box", "a")], "100"),
            ({"box": ["a", "b"]}, [("box", "a")], "0"),
            ({"box": ["a"]}, [("box", "a"), ("box", "b")], "0"),
            ({"box": []}, [("box", "a")], "0"),
            ({"box": []}, [], "100"),
            ({"Question_1": ["Yes"]}, [("Question_1", "yes")], "0"),
            ({"x": ["1"], "y": ["1"], "z": ["1"]}, [("x", "1"), ("y", "1")], "66"),
        ],
    )
    def test_all_values_must_match_and_case_counts(
        self,
        mturk: Any,
        new_hit: NewHit,
        person: SignIn,
        submit_raw: Callable[..., Any],
        entries: dict[str, list[str]],
        sent: list[tuple[str, str]],
        score: str,
    ) -> None:
        hit = new_hit(AssignmentReviewPolicy=known(entries))
        assignment_id = person().accept(hit["HITId"])
        assert submit_raw([("assignmentId", assignment_id), *sent]).status == 200
        report = mturk.list_review_policy_results_for_hit(HITId=hit["HITId"])["AssignmentReviewReport"]
        assert results(report)[-1] == ("", "KnownAnswerScore", score)

    def test_an_extension_that_is_not_possible_is_told_and_the_answer_is_stored(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        hit = new_hit(
            Reward="4000.00",
            MaxAssignments=2,
            AssignmentReviewPolicy=known(ExtendIfKnownAnswerScoreIsLessThan=101),
        )
        before = balances(mturk)
        person().do(hit["HITId"], a="1", b="2")
        report = mturk.list_review_policy_results_for_hit(HITId=hit["HITId"])["AssignmentReviewReport"]
        assert actions(report)[-1] == ("extend", "Failed", "HIT")
        assert report["ReviewActions"][-1]["ErrorCode"] == "AWS.MechanicalTurk.InsufficientFunds"
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["MaxAssignments"] == 2
        assert balances(mturk) == before


class TestPlurality:
    """Applied when a HIT becomes Reviewable. The numbers are those of MTurk's own worked example."""

    ANSWERS = (
        {"A": "coat", "B": "blue", "C": "large", "D": "Furry"},
        {"A": "sweater", "B": "blue", "C": "large", "D": "fur"},
        {"A": "coat", "B": "green", "C": "large", "D": "furr"},
    )

    def do_all(self, person: SignIn, hit: dict[str, Any]) -> list[str]:
        names = ("Ada", "Grace", "Mary")
        return [person(name).do(hit["HITId"], **each) for name, each in zip(names, self.ANSWERS, strict=True)]

    def test_the_worked_example_comes_out_as_it_is_printed(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        hit = new_hit(
            MaxAssignments=3,
            HITReviewPolicy=plurality(
                ApproveIfWorkerAgreementScoreIsAtLeast=100, RejectIfWorkerAgreementScoreIsLessThan=66
            ),
        )
        ids = self.do_all(person, hit)
        report = mturk.list_review_policy_results_for_hit(HITId=hit["HITId"], MaxResults=100)[
            "HITReviewReport"
        ]
        found = results(report)
        assert [each for each in found if each[1].startswith(("Plurality", "HIT"))] == [
            ("A", "PluralityAnswer", "coat"),
            ("A", "PluralityLevel", "66"),
            ("B", "PluralityAnswer", "blue"),
            ("B", "PluralityLevel", "66"),
            ("C", "PluralityAnswer", "large"),
            ("C", "PluralityLevel", "100"),
            ("", "HITAgreementScore", "75"),
        ]
        assert [value for _, key, value in found if key == "WorkerAgreementScore"] == ["100", "66", "66"]
        assert [status(mturk, each) for each in ids] == ["Approved", "Submitted", "Submitted"]

    def test_disagreement_extends_the_hit_until_there_is_agreement(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
    ) -> None:
        hit = new_hit(
            MaxAssignments=2,
            HITReviewPolicy=plurality(
                QuestionIds="A",
                ExtendIfHITAgreementScoreIsLessThan=100,
                ExtendMaximumAssignments=4,
                ExtendMinimumTimeInSeconds=30 * 86400,
                ApproveIfWorkerAgreementScoreIsAtLeast=100,
                RejectIfWorkerAgreementScoreIsLessThan=100,
                RejectReason="Others saw something else",
            ),
        )
        ids = [person("Ada").do(hit["HITId"], A="cat"), person("Grace").do(hit["HITId"], A="dog")]
        now = mturk.get_hit(HITId=hit["HITId"])["HIT"]
        assert (now["MaxAssignments"], now["HITStatus"]) == (3, "Assignable")
        assert (now["Expiration"] - clock.now).days == 30
        assert [status(mturk, each) for each in ids] == ["Submitted", "Submitted"]
        ids.append(person("Mary").do(hit["HITId"], A="cat"))
        assert [status(mturk, each) for each in ids] == ["Approved", "Rejected", "Approved"]
        report = mturk.list_review_policy_results_for_hit(HITId=hit["HITId"], MaxResults=100)[
            "HITReviewReport"
        ]
        assert [each[0] for each in actions(report)] == ["extend", "approve", "reject", "approve"]
        assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Reviewable"
        assert balances(mturk) == (Decimal("9998.80"), Decimal("0.00"))

    def test_expiring_a_measured_hit_again_does_nothing_a_second_time(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any
    ) -> None:
        policy = plurality(ApproveIfWorkerAgreementScoreIsAtLeast=100)
        hit = new_hit(MaxAssignments=3, HITReviewPolicy=policy)
        self.do_all(person, hit)
        call = {"HITId": hit["HITId"], "MaxResults": 100}
        before = mturk.list_review_policy_results_for_hit(**call)["HITReviewReport"]
        mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=clock.now)
        assert mturk.list_review_policy_results_for_hit(**call)["HITReviewReport"] == before

    @pytest.mark.parametrize("in_hand", [False, True])
    def test_C16_what_comes_after_a_hits_end_comes_after_its_policy_though_nobody_looked_meanwhile(
        self, mturk: Any, new_hit: NewHit, person: SignIn, clock: Any, in_hand: bool
    ) -> None:
        decides = plurality(
            QuestionIds="A",
            ApproveIfWorkerAgreementScoreIsAtLeast=100,
            RejectIfWorkerAgreementScoreIsLessThan=100,
        )
        hit = new_hit(
            MaxAssignments=5,
            LifetimeInSeconds=3600,
            AssignmentDurationInSeconds=5400,
            AutoApprovalDelayInSeconds=7200,
            HITReviewPolicy=decides,
        )
        who = (("Ada", "cat"), ("Grace", "cat"), ("Mary", "dog"))
        ids = [person(name).do(hit["HITId"], A=answer) for name, answer in who]
        if in_hand:
            person("Joan").accept(hit["HITId"])
        clock.pass_time(days=2)
        assert [status(mturk, each) for each in ids] == ["Approved", "Approved", "Rejected"]
        assert balances(mturk) == (Decimal("9998.80"), Decimal("0.00"))

    def test_what_was_rejected_or_missed_known_answers_can_be_left_out(
        self, mturk: Any, new_hit: NewHit, person: SignIn
    ) -> None:
        hit = new_hit(
            MaxAssignments=3,
            AssignmentReviewPolicy=known({"gold": ["1"]}, RejectIfKnownAnswerScoreIsLessThan=1),
            HITReviewPolicy=plurality(QuestionIds="A", DisregardAssignmentIfRejected="true"),
        )
        for name, gold, answer in (("Ada", "1", "cat"), ("Grace", "1", "cat"), ("Mary", "0", "dog")):
            person(name).do(hit["HITId"], gold=gold, A=answer)
        report = mturk.list_review_policy_results_for_hit(
            HITId=hit["HITId"], PolicyLevels=["HIT"], RetrieveActions=False
        )
        assert ("A", "PluralityLevel", "100") in results(report["HITReviewReport"])
        assert report["AssignmentReviewReport"]["ReviewResults"] == []

    def test_a_hit_that_expires_unanswered_is_left_alone(
        self, mturk: Any, new_hit: NewHit, clock: Any
    ) -> None:
        hit = new_hit(
            HITReviewPolicy=plurality(
                ExtendIfHITAgreementScoreIsLessThan=100,
                ExtendMaximumAssignments=9,
                ExtendMinimumTimeInSeconds=3600,
            )
        )
        clock.pass_time(days=2)
        now = mturk.get_hit(HITId=hit["HITId"])["HIT"]
        assert (now["MaxAssignments"], now["HITStatus"]) == (2, "Reviewable")

    def test_C26_every_page_of_results_comes(self, mturk: Any, new_hit: NewHit, person: SignIn) -> None:
        hit = new_hit(MaxAssignments=3, HITReviewPolicy=plurality())
        self.do_all(person, hit)
        # The one list that botocore has no paginator for.
        call, found = {"HITId": hit["HITId"], "MaxResults": 5}, []
        while call:
            page = mturk.list_review_policy_results_for_hit(**call)
            found += results(page["HITReviewReport"])
            call = {**call, "NextToken": page["NextToken"]} if "NextToken" in page else {}
        whole = mturk.list_review_policy_results_for_hit(HITId=hit["HITId"], MaxResults=100)
        assert found == results(whole["HITReviewReport"])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"AssignmentReviewPolicy": plurality()}, "must be ScoreMyKnownAnswers"),
        ({"HITReviewPolicy": known()}, "must be SimplePlurality"),
        ({"AssignmentReviewPolicy": policy("ScoreMyKnownAnswers/2011-09-01")}, "at least one entry"),
        ({"AssignmentReviewPolicy": known(ApproveIfKnownAnswerScoreIsAtLeast=102)}, "from 0 to 101"),
        ({"AssignmentReviewPolicy": known(ApproveIfKnownAnswerScoreIsAtLeast="all")}, "whole number"),
        ({"AssignmentReviewPolicy": known(ExtendMaximumAssignments=26)}, "from 2 to 25"),
        ({"AssignmentReviewPolicy": known(Nonsense=1)}, "no parameter Nonsense"),
        ({"AssignmentReviewPolicy": known(ApproveReason=["a", "b"])}, "exactly one value"),
        ({"HITReviewPolicy": plurality(QuestionIds="A,,A")}, "no question twice"),
        ({"HITReviewPolicy": plurality(QuestionAgreementThreshold="")}, "QuestionAgreementThreshold must"),
        ({"HITReviewPolicy": plurality(DisregardAssignmentIfRejected="maybe")}, "true or false"),
        (
            {"HITReviewPolicy": plurality(ExtendIfHITAgreementScoreIsLessThan=50)},
            "ExtendMaximumAssignments must",
        ),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(
    mturk: Any, new_hit: NewHit, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(mturk.exceptions.RequestError, match=words):
        new_hit(**changes)
    assert refusal(new_hit, **changes) == "InvalidParameterValue"
    assert mturk.list_hits()["NumResults"] == 0
