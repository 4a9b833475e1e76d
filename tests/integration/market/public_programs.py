"""The calls that public programs for Mechanical Turk make, in their order, and what they read of the replies.

Nothing here is theirs. Each function stands for one program, which `market run` has run whole (see
docs/marketplace.md). It gets a client that has Amazon's address, and `work`: people who do a HIT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

Work = Callable[..., None]

SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
EXTERNAL = f"""<ExternalQuestion xmlns="{SCHEMAS}/2006-07-14/ExternalQuestion.xsd">
<ExternalURL>https://lab.example/form?mode=a&amp;b=c</ExternalURL><FrameHeight>600</FrameHeight></ExternalQuestion>"""
HTML = f"""<HTMLQuestion xmlns="{SCHEMAS}/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!DOCTYPE html>
<form method="post" action="https://www.mturk.com/mturk/externalSubmit"><input name="assignmentId"></form>
]]></HTMLContent><FrameHeight>0</FrameHeight></HTMLQuestion>"""
FORM = f"""<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd"><Question>
<QuestionIdentifier>worker</QuestionIdentifier><IsRequired>true</IsRequired>
<QuestionContent><Text>Who are you?</Text></QuestionContent>
<AnswerSpecification><FreeTextAnswer><Constraints><Length minLength="2"/>
<AnswerFormatRegex regex="\\S" errorText="Something, please."/></Constraints></FreeTextAnswer>
</AnswerSpecification></Question></QuestionForm>"""
APPROVED_SHARE, APPROVED_COUNT, LOCALE = (
    "000000000000000000L0",
    "00000000000000000040",
    "00000000000000000071",
)
TYPE = {
    "Title": "Say what you see",
    "Description": "One picture & one sentence.",
    "Keywords": "picture, sentence",
    "Reward": "0.25",
    "AssignmentDurationInSeconds": 600,
}
LONG_AGO = datetime(2015, 1, 1)


def pages(call: Callable[..., dict[str, Any]], **arguments: Any) -> Iterator[dict[str, Any]]:
    """One page after the other, until one is empty: as programs read lists that know no paginator."""
    page = call(**arguments)
    while page["NumResults"]:
        yield page
        if "NextToken" not in page:
            return
        page = call(**arguments, NextToken=page["NextToken"])


def answers(mturk: Any, hit: str, **arguments: Any) -> list[dict[str, Any]]:
    found = mturk.get_paginator("list_assignments_for_hit").paginate(HITId=hit, **arguments)
    return [each for page in found for each in page["Assignments"]]


def amti(mturk: Any, work: Work) -> None:
    """A batch of HITs of one type, saved, reviewed and deleted."""
    kind = mturk.create_hit_type(**TYPE, AutoApprovalDelayInSeconds=300)["HITTypeId"]
    hits = [
        mturk.create_hit_with_hit_type(
            HITTypeId=kind,
            Question=question,
            MaxAssignments=1,
            LifetimeInSeconds=1800,
            UniqueRequestToken=f"batch-{number}",
        )["HIT"]["HITId"]
        for number, question in enumerate((HTML, EXTERNAL))
    ]
    work(*hits, people=1)
    for hit in hits:
        assert mturk.get_hit(HITId=hit)["HIT"]["HITStatus"] == "Reviewable"
        for answer in answers(mturk, hit, AssignmentStatuses=["Submitted"]):
            mturk.approve_assignment(AssignmentId=answer["AssignmentId"], OverrideRejection=False)
        assert len(answers(mturk, hit, AssignmentStatuses=["Submitted", "Approved", "Rejected"])) == 1
        mturk.update_expiration_for_hit(HITId=hit, ExpireAt=LONG_AGO)
        mturk.delete_hit(HITId=hit)
    test = mturk.create_qualification_type(
        Name="Example",
        Keywords="k",
        Description="d",
        QualificationTypeStatus="Active",
        RetryDelayInSeconds=60,
    )["QualificationType"]["QualificationTypeId"]
    worker = answers(mturk, hits[0])[0]["WorkerId"]
    mturk.associate_qualification_with_worker(
        QualificationTypeId=test, WorkerId=worker, IntegerValue=7, SendNotification=False
    )
    mturk.disassociate_qualification_from_worker(QualificationTypeId=test, WorkerId=worker, Reason="why")
    assert (
        mturk.notify_workers(Subject="s", MessageText="m", WorkerIds=[worker])["NotifyWorkersFailureStatuses"]
        == []
    )
    mturk.create_worker_block(WorkerId=worker, Reason="r")
    mturk.delete_worker_block(WorkerId=worker, Reason="r")


def dallinger(mturk: Any, work: Work) -> None:
    """An experiment's HIT, bought, extended and reviewed, and qualifications found by their names."""
    assert float(mturk.get_account_balance()["AvailableBalance"]) > 0
    wanted = [
        {"QualificationTypeId": APPROVED_SHARE, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [0]},
        {"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "LocaleValues": [{"Country": "US"}]},
    ]
    kind = mturk.create_hit_type(**TYPE, AutoApprovalDelayInSeconds=0, QualificationRequirements=wanted)[
        "HITTypeId"
    ]
    hit = mturk.create_hit_with_hit_type(
        HITTypeId=kind, Question=EXTERNAL, LifetimeInSeconds=3600, MaxAssignments=1, UniqueRequestToken="one"
    )["HIT"]["HITId"]
    mturk.create_additional_assignments_for_hit(
        HITId=hit, NumberOfAdditionalAssignments=1, UniqueRequestToken="more"
    )
    end = mturk.get_hit(HITId=hit)["HIT"]["Expiration"] + timedelta(hours=1)
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=end)
    for name in ("group 1", "group 10"):
        mturk.create_qualification_type(Name=name, Description="d", QualificationTypeStatus="Active")
    found = mturk.list_qualification_types(
        Query="group 1", MustBeRequestable=False, MustBeOwnedByCaller=True, MaxResults=2
    )["QualificationTypes"]
    (group,) = (each["QualificationTypeId"] for each in found if each["Name"] == "group 1")
    work(hit, people=2)
    worker = answers(mturk, hit)[0]["WorkerId"]
    with pytest.raises(ClientError, match="You requested a Qualification that does not exist"):
        mturk.get_qualification_score(QualificationTypeId=group, WorkerId=worker)
    mturk.associate_qualification_with_worker(
        QualificationTypeId=group, WorkerId=worker, IntegerValue=1, SendNotification=True
    )
    held = mturk.list_workers_with_qualification_type(
        QualificationTypeId=group, MaxResults=100, Status="Granted"
    )
    assert [each["WorkerId"] for each in held["Qualifications"]] == [worker]
    mturk.delete_qualification_type(QualificationTypeId=group)


def simple_amt(mturk: Any, work: Work) -> None:
    """HITs without a type of their own, and scripts that approve and reject from lists of ids."""
    wanted = [{"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": [{"Country": "US"}]}]
    hit = mturk.create_hit(
        **TYPE, MaxAssignments=3, LifetimeInSeconds=604800, Question=HTML, QualificationRequirements=wanted
    )["HIT"]["HITId"]
    work(hit, people=3)
    assert mturk.get_hit(HITId=hit)["HIT"]["HITId"] == hit
    first, second, third = (
        each["AssignmentId"] for each in answers(mturk, hit, PaginationConfig={"PageSize": 100})
    )
    mturk.approve_assignment(AssignmentId=first)
    mturk.reject_assignment(AssignmentId=second, RequesterFeedback="Invalid results")
    mturk.approve_assignment(AssignmentId=third)
    everything = mturk.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 100})
    assert [each["HITId"] for page in everything for each in page["HITs"]] == [hit]
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=datetime.now(UTC))
    mturk.delete_hit(HITId=hit)


def aws_samples(mturk: Any, work: Work) -> None:
    """AWS's samples in Python and JavaScript: a HIT, its answers, and their approval."""
    assert mturk.get_account_balance()["AvailableBalance"]
    wanted = [
        {
            "QualificationTypeId": APPROVED_SHARE,
            "Comparator": "GreaterThanOrEqualTo",
            "IntegerValues": [80],
            "RequiredToPreview": True,
        }
    ]
    hit = mturk.create_hit(
        **TYPE, MaxAssignments=3, LifetimeInSeconds=600, Question=HTML, QualificationRequirements=wanted
    )["HIT"]
    assert hit["HITTypeId"]
    work(hit["HITId"], people=1)
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Assignable"
    found = mturk.list_assignments_for_hit(
        HITId=hit["HITId"], AssignmentStatuses=["Submitted", "Approved"], MaxResults=10
    )
    assert found["NumResults"] == 1
    for answer in found["Assignments"]:
        mturk.approve_assignment(
            AssignmentId=answer["AssignmentId"], RequesterFeedback="good", OverrideRejection=False
        )


def psiturk(mturk: Any, work: Work) -> None:
    """A HIT for an experiment's advertisement; bonuses without a token; a rejection taken back."""
    assert mturk.get_account_balance()["AvailableBalance"]
    wanted = [
        {"QualificationTypeId": APPROVED_SHARE, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [0]},
        {"QualificationTypeId": APPROVED_COUNT, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [0]},
        {"QualificationTypeId": LOCALE, "Comparator": "EqualTo", "LocaleValues": [{"Country": "US"}]},
    ]
    kind = mturk.create_hit_type(**TYPE, QualificationRequirements=wanted)["HITTypeId"]
    hit = mturk.create_hit_with_hit_type(
        HITTypeId=kind, Question=EXTERNAL, LifetimeInSeconds=7200, MaxAssignments=2
    )["HIT"]["HITId"]
    mturk.create_additional_assignments_for_hit(HITId=hit, NumberOfAdditionalAssignments=2)
    end = mturk.get_hit(HITId=hit)["HIT"]["Expiration"] + timedelta(minutes=30)
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=end)
    work(hit, people=2)
    for page in mturk.get_paginator("list_hits").paginate():
        for each in page["HITs"]:
            first, second = (answer["AssignmentId"] for answer in answers(mturk, each["HITId"]))
    worker = mturk.get_assignment(AssignmentId=first)["Assignment"]["WorkerId"]
    mturk.approve_assignment(AssignmentId=first, OverrideRejection=False)
    mturk.send_bonus(WorkerId=worker, AssignmentId=first, BonusAmount="0.5", Reason="thanks")
    mturk.reject_assignment(AssignmentId=second, RequesterFeedback="")
    mturk.approve_assignment(AssignmentId=second, OverrideRejection=True)
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=datetime.now(UTC) - timedelta(days=30))
    mturk.delete_hit(HITId=hit)


def mephisto(mturk: Any, work: Work) -> None:
    """Qualifications that are looked up before they are made, a compensation HIT, and the end of all HITs."""
    wanted = {"Query": "block", "MustBeRequestable": True}
    for own in (True, False):
        found = mturk.list_qualification_types(**wanted, MustBeOwnedByCaller=own)["QualificationTypes"]
        assert [each for each in found if each["Name"] == "block"] == []
    made = {"Name": "block", "Description": "d", "QualificationTypeStatus": "Active"}
    block = mturk.create_qualification_type(**made)["QualificationType"]["QualificationTypeId"]
    with pytest.raises(ClientError) as refused:
        mturk.create_qualification_type(**made)
    taken = "You have already created a QualificationType with this name."
    assert refused.value.response["Error"]["Message"].startswith(taken)
    kind = mturk.create_hit_type(
        **TYPE,
        AutoApprovalDelayInSeconds=600,
        QualificationRequirements=[
            {
                "QualificationTypeId": block,
                "Comparator": "DoesNotExist",
                "ActionsGuarded": "DiscoverPreviewAndAccept",
            }
        ],
    )["HITTypeId"]
    month = 60 * 60 * 24 * 31
    hit, _ = (
        mturk.create_hit_with_hit_type(
            HITTypeId=kind, MaxAssignments=2, LifetimeInSeconds=month, Question=question
        )["HIT"]["HITId"]
        for question in (EXTERNAL, FORM)
    )
    work(hit, people=2)
    first, second = mturk.list_assignments_for_hit(HITId=hit)["Assignments"]
    mturk.approve_assignment(AssignmentId=first["AssignmentId"], OverrideRejection=False)
    mturk.reject_assignment(AssignmentId=second["AssignmentId"], RequesterFeedback="no")
    mturk.approve_assignment(AssignmentId=second["AssignmentId"], OverrideRejection=True)
    worker = {"WorkerId": first["WorkerId"]}
    mturk.send_bonus(
        **worker,
        BonusAmount="0.25",
        AssignmentId=first["AssignmentId"],
        Reason="good",
        UniqueRequestToken="b",
    )
    paid = mturk.list_bonus_payments(AssignmentId=first["AssignmentId"], MaxResults=100)["BonusPayments"]
    assert [each["BonusAmount"] for each in paid] == ["0.25"]
    mturk.create_worker_block(**worker, Reason="r")
    assert [each["WorkerId"] for each in mturk.list_worker_blocks(MaxResults=100)["WorkerBlocks"]] == [
        first["WorkerId"]
    ]
    mturk.delete_worker_block(**worker, Reason="r")
    everything = [each["HITId"] for page in pages(mturk.list_hits, MaxResults=100) for each in page["HITs"]]
    assert len(everything) == 2
    for each in everything:
        mturk.update_expiration_for_hit(HITId=each, ExpireAt=LONG_AGO)
        mturk.delete_hit(HITId=each)
    mturk.delete_qualification_type(QualificationTypeId=block)


def otree(mturk: Any, work: Work) -> None:
    """A HIT with a token; its answers in pages of 100; a bonus before the approval."""
    hit = mturk.create_hit(
        **TYPE, MaxAssignments=4, LifetimeInSeconds=7200, UniqueRequestToken="session", Question=HTML
    )["HIT"]
    assert hit["HITGroupId"]
    work(hit["HITId"], people=2)
    asked = {"MaxResults": 100, "AssignmentStatuses": ["Submitted", "Approved", "Rejected"]}
    first, second = (
        each
        for page in pages(mturk.list_assignments_for_hit, HITId=hit["HITId"], **asked)
        for each in page["Assignments"]
    )
    paid = {"WorkerId": first["WorkerId"], "AssignmentId": first["AssignmentId"]}
    mturk.send_bonus(**paid, BonusAmount="0.30", UniqueRequestToken="once", Reason="Thank you")
    mturk.approve_assignment(AssignmentId=first["AssignmentId"])
    mturk.reject_assignment(AssignmentId=second["AssignmentId"], RequesterFeedback="")
    mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=LONG_AGO)


def p808(mturk: Any, work: Work) -> None:
    """Listening tests: known answers are scored; people get messages, bonuses and qualifications."""
    kind = mturk.create_hit_type(**TYPE, AutoApprovalDelayInSeconds=604800, QualificationRequirements=[])
    known = {"Key": "AnswerKey", "MapEntries": [{"Key": "trap", "Values": ["0"]}]}
    policy = {
        "PolicyName": "ScoreMyKnownAnswers/2011-09-01",
        "Parameters": [known, {"Key": "RejectIfKnownAnswerScoreIsLessThan", "Values": ["100"]}],
    }
    hit = mturk.create_hit_with_hit_type(
        HITTypeId=kind["HITTypeId"],
        MaxAssignments=3,
        LifetimeInSeconds=604800,
        AssignmentReviewPolicy=policy,
        Question=HTML,
        RequesterAnnotation="batch.csv",
    )["HIT"]["HITId"]
    work(hit, people=2, trap="0")
    first, second = mturk.list_assignments_for_hit(HITId=hit, MaxResults=100)["Assignments"]
    mturk.approve_assignment(AssignmentId=first["AssignmentId"])
    mturk.reject_assignment(AssignmentId=second["AssignmentId"], RequesterFeedback="bad")
    worker = first["WorkerId"]
    mturk.send_bonus(WorkerId=worker, BonusAmount="0.25", AssignmentId=first["AssignmentId"], Reason="good")
    mturk.create_additional_assignments_for_hit(
        HITId=hit, NumberOfAdditionalAssignments=3, UniqueRequestToken="extend"
    )
    assert mturk.get_hit(HITId=hit)["HIT"]["NumberOfAssignmentsAvailable"] == 4
    sent = mturk.notify_workers(Subject="s", MessageText="m", WorkerIds=[worker, second["WorkerId"]])
    assert sent["ResponseMetadata"]["HTTPStatusCode"] == 200
    mturk.create_qualification_type(Name="ear", Description="d", QualificationTypeStatus="Active")
    (kind,) = mturk.list_qualification_types(
        Query="ear", MustBeRequestable=True, MustBeOwnedByCaller=True, MaxResults=10
    )["QualificationTypes"]
    mturk.associate_qualification_with_worker(
        QualificationTypeId=kind["QualificationTypeId"], WorkerId=worker, IntegerValue=5
    )


def pymturkr(mturk: Any, work: Work) -> None:
    """From R: every list is asked for at most 100 rows, and HITs are found by their type or annotation."""
    kind = mturk.create_hit_type(**TYPE, AutoApprovalDelayInSeconds=30)["HITTypeId"]
    hit = mturk.create_hit_with_hit_type(
        HITTypeId=kind, Question=HTML, MaxAssignments=2, LifetimeInSeconds=86400, RequesterAnnotation="mine"
    )["HIT"]["HITId"]
    listed = [each for page in pages(mturk.list_hits, MaxResults=100) for each in page["HITs"]]
    assert [each["HITId"] for each in listed if each["RequesterAnnotation"] == "mine"] == [hit]
    work(hit, people=2)
    reviewable = mturk.list_reviewable_hits(HITTypeId=kind, Status="Reviewable", MaxResults=100)
    assert [each["HITId"] for each in reviewable["HITs"]] == [hit]
    mturk.update_hit_review_status(HITId=hit, Revert=False)
    mturk.update_hit_review_status(HITId=hit, Revert=True)
    mturk.list_review_policy_results_for_hit(HITId=hit, PolicyLevels=["Assignment", "HIT"], MaxResults=100)
    for each in mturk.list_assignments_for_hit(HITId=hit, MaxResults=100)["Assignments"]:
        mturk.approve_assignment(AssignmentId=each["AssignmentId"], RequesterFeedback="Thanks")
    assert mturk.list_bonus_payments(HITId=hit, MaxResults=100)["NumResults"] == 0
    other = mturk.create_hit_type(**{**TYPE, "Title": "Another"}, AutoApprovalDelayInSeconds=30)["HITTypeId"]
    mturk.update_hit_type_of_hit(HITId=hit, HITTypeId=other)
    mturk.update_expiration_for_hit(HITId=hit, ExpireAt=LONG_AGO)
    mturk.delete_hit(HITId=hit)


PROGRAMS = (amti, dallinger, simple_amt, aws_samples, psiturk, mephisto, otree, p808, pymturkr)
