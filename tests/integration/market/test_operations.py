"""Every operation of the API through real boto3, which is told to check nothing itself: one success, one
refusal."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from humaneval.market.protocol.shapes import service_model
from tests.integration.market.conftest import EXTERNAL
from tests.integration.market.forms import KEY, TEST, Scene, build_scene
from tests.pace import PATIENCE

KIND = {"Title": "T", "Description": "D", "Reward": "0.10", "AssignmentDurationInSeconds": 60}
NOTIFICATION = {
    "Destination": "arn:aws:sns:us-east-1:1:events",
    "Transport": "SNS",
    "Version": "2006-05-05",
    "EventTypes": ["AssignmentSubmitted"],
}
POLICY = {
    "PolicyName": "ScoreMyKnownAnswers/2011-09-01",
    "Parameters": [{"Key": "AnswerKey", "MapEntries": [{"Key": "choice", "Values": ["3"]}]}],
}


class Case(NamedTuple):
    """A call that succeeds, what its reply must contain, and a call that is refused with a code."""

    good: Callable[[Scene], dict[str, Any]]
    shows: Callable[[Scene, Any], bool]
    bad: Callable[[Scene], dict[str, Any]]
    code: str


def _type(scene: Scene, **changes: Any) -> dict[str, Any]:
    return {"QualificationTypeId": scene.kind, **changes}


def _of_worker(scene: Scene, **changes: Any) -> dict[str, Any]:
    return {"QualificationTypeId": scene.kind, "WorkerId": scene.worker.id, **changes}


def _hit(**changes: Any) -> dict[str, Any]:
    return {**KIND, "LifetimeInSeconds": 60, "Question": EXTERNAL, **changes}


NO_HIT, NO_WORKER, NO_TYPE = {"HITId": "3NONE"}, {"WorkerId": "A1NOBODY"}, {"QualificationTypeId": "3NONE"}
NOTHING = set()


def empty(_: Scene, reply: dict[str, Any]) -> bool:
    """Whether a reply is empty, as for most changes."""
    return reply.keys() - {"ResponseMetadata"} == NOTHING


CASES = {
    "AcceptQualificationRequest": Case(
        lambda s: {"QualificationRequestId": s.request, "IntegerValue": 7},
        empty,
        lambda s: {"QualificationRequestId": "3NONE"},
        "QualificationRequestDoesNotExist",
    ),
    "ApproveAssignment": Case(
        lambda s: {"AssignmentId": s.assignment},
        empty,
        lambda s: {"AssignmentId": "3NONE"},
        "AssignmentDoesNotExist",
    ),
    "AssociateQualificationWithWorker": Case(
        _of_worker, empty, lambda s: _of_worker(s, **NO_WORKER), "WorkerDoesNotExist"
    ),
    "CreateAdditionalAssignmentsForHIT": Case(
        lambda s: {"HITId": s.hit["HITId"], "NumberOfAdditionalAssignments": 1},
        empty,
        lambda s: {"HITId": s.hit["HITId"], "NumberOfAdditionalAssignments": 8},
        "InvalidMaximumAssignmentsIncrease",
    ),
    "CreateHIT": Case(
        lambda s: _hit(),
        lambda s, reply: reply["HIT"]["HITStatus"] == "Assignable",
        lambda s: _hit(Reward="0.125"),
        "ValidationException",
    ),
    "CreateHITType": Case(
        lambda s: KIND,
        lambda s, reply: reply["HITTypeId"].startswith("3"),
        lambda s: {**KIND, "Title": ""},
        "InvalidParameterValue",
    ),
    "CreateHITWithHITType": Case(
        lambda s: {"HITTypeId": s.hit["HITTypeId"], "LifetimeInSeconds": 60, "Question": EXTERNAL},
        lambda s, reply: reply["HIT"]["HITTypeId"] == s.hit["HITTypeId"],
        lambda s: {"HITTypeId": "3NONE", "LifetimeInSeconds": 60, "Question": EXTERNAL},
        "HITTypeDoesNotExist",
    ),
    "CreateQualificationType": Case(
        lambda s: {
            "Name": "Sky",
            "Description": "D",
            "QualificationTypeStatus": "Active",
            "Test": TEST,
            "AnswerKey": KEY,
            "TestDurationInSeconds": 60,
        },
        lambda s, reply: reply["QualificationType"]["IsRequestable"] is True,
        lambda s: {"Name": "Reader", "Description": "D", "QualificationTypeStatus": "Active"},
        "QualificationTypeAlreadyExists",
    ),
    "CreateWorkerBlock": Case(
        lambda s: {"WorkerId": s.worker.id, "Reason": "R"},
        empty,
        lambda s: {**NO_WORKER, "Reason": "R"},
        "WorkerDoesNotExist",
    ),
    "DeleteHIT": Case(
        lambda s: {"HITId": _reviewed(s)}, empty, lambda s: {"HITId": s.hit["HITId"]}, "InvalidHITState"
    ),
    "DeleteQualificationType": Case(_type, empty, lambda s: NO_TYPE, "QualificationTypeDoesNotExist"),
    "DeleteWorkerBlock": Case(
        lambda s: {"WorkerId": s.worker.id}, empty, lambda s: NO_WORKER, "WorkerDoesNotExist"
    ),
    "DisassociateQualificationFromWorker": Case(
        _of_worker, empty, lambda s: _of_worker(s, WorkerId=_other(s)), "QualificationDoesNotExist"
    ),
    "GetAccountBalance": Case(
        lambda s: {},
        lambda s, reply: float(reply["AvailableBalance"]) > 9000,
        lambda s: _with_unknown_parameter(s),
        "ValidationException",
    ),
    "GetAssignment": Case(
        lambda s: {"AssignmentId": s.assignment},
        lambda s, reply: reply["HIT"]["HITId"] == s.hit["HITId"],
        lambda s: {"AssignmentId": "3NONE"},
        "AssignmentDoesNotExist",
    ),
    "GetFileUploadURL": Case(
        lambda s: {"AssignmentId": s.file_assignment, "QuestionIdentifier": "scan"},
        lambda s, reply: _fetched(reply["FileUploadURL"]) == b"scanned",
        lambda s: {"AssignmentId": s.assignment, "QuestionIdentifier": "scan"},
        "InvalidParameterValue",
    ),
    "GetHIT": Case(
        lambda s: {"HITId": s.hit["HITId"]},
        lambda s, reply: reply["HIT"]["Title"] == s.hit["Title"],
        lambda s: NO_HIT,
        "HITDoesNotExist",
    ),
    "GetQualificationScore": Case(
        _of_worker,
        lambda s, reply: reply["Qualification"]["IntegerValue"] == 80,
        lambda s: _of_worker(s, WorkerId=_other(s)),
        "QualificationDoesNotExist",
    ),
    "GetQualificationType": Case(
        _type,
        lambda s, reply: reply["QualificationType"]["Name"] == "Reader",
        lambda s: NO_TYPE,
        "QualificationTypeDoesNotExist",
    ),
    "ListAssignmentsForHIT": Case(
        lambda s: {"HITId": s.hit["HITId"]},
        lambda s, reply: reply["Assignments"][0]["WorkerId"] == s.worker.id,
        lambda s: NO_HIT,
        "HITDoesNotExist",
    ),
    "ListBonusPayments": Case(
        lambda s: {"HITId": s.hit["HITId"]},
        lambda s, reply: reply["NumResults"] == 0,
        lambda s: {},
        "InvalidParameterValue",
    ),
    "ListHITs": Case(
        lambda s: {"MaxResults": 100},
        lambda s, reply: reply["NumResults"] == 3,
        lambda s: {"MaxResults": 101},
        "ValidationException",
    ),
    "ListHITsForQualificationType": Case(
        _type,
        lambda s, reply: [hit["HITId"] for hit in reply["HITs"]] == [s.hit["HITId"]],
        lambda s: NO_TYPE,
        "QualificationTypeDoesNotExist",
    ),
    "ListQualificationRequests": Case(
        _type,
        lambda s, reply: reply["QualificationRequests"][0]["QualificationRequestId"] == s.request,
        lambda s: NO_TYPE,
        "QualificationTypeDoesNotExist",
    ),
    "ListQualificationTypes": Case(
        lambda s: {"MustBeRequestable": True, "Query": "reads READER"},
        lambda s, reply: [each["QualificationTypeId"] for each in reply["QualificationTypes"]] == [s.kind],
        lambda s: {"Query": "reader"},
        "ValidationException",
    ),
    "ListReviewPolicyResultsForHIT": Case(
        lambda s: {"HITId": s.mturk.create_hit(**_hit(AssignmentReviewPolicy=POLICY))["HIT"]["HITId"]},
        lambda s, reply: reply["AssignmentReviewPolicy"] == {"PolicyName": POLICY["PolicyName"]},
        lambda s: NO_HIT,
        "HITDoesNotExist",
    ),
    "ListReviewableHITs": Case(
        lambda s: {"HITTypeId": s.hit["HITTypeId"]},
        lambda s, reply: reply["NumResults"] == 0,
        lambda s: {"Status": "Finished"},
        "ValidationException",
    ),
    "ListWorkerBlocks": Case(
        lambda s: {},
        lambda s, reply: reply["WorkerBlocks"] == [],
        lambda s: {"NextToken": "x"},
        "InvalidParameterValue",
    ),
    "ListWorkersWithQualificationType": Case(
        _type,
        lambda s, reply: reply["Qualifications"][0]["WorkerId"] == s.worker.id,
        lambda s: NO_TYPE,
        "QualificationTypeDoesNotExist",
    ),
    "NotifyWorkers": Case(
        lambda s: {"Subject": "S", "MessageText": "M", "WorkerIds": [_approved(s)]},
        lambda s, reply: reply["NotifyWorkersFailureStatuses"] == [],
        lambda s: {"Subject": "S", "MessageText": "M", "WorkerIds": ["A1"] * 101},
        "InvalidParameterValue",
    ),
    "RejectAssignment": Case(
        lambda s: {"AssignmentId": s.assignment, "RequesterFeedback": "R"},
        empty,
        lambda s: {"AssignmentId": "3NONE", "RequesterFeedback": "R"},
        "AssignmentDoesNotExist",
    ),
    "RejectQualificationRequest": Case(
        lambda s: {"QualificationRequestId": s.request, "Reason": "R"},
        empty,
        lambda s: {"QualificationRequestId": "3NONE"},
        "QualificationRequestDoesNotExist",
    ),
    "SendBonus": Case(
        lambda s: {"AssignmentId": s.assignment, "WorkerId": s.worker.id, "BonusAmount": "1", "Reason": "R"},
        empty,
        lambda s: {"AssignmentId": s.second, "WorkerId": s.worker.id, "BonusAmount": "1", "Reason": "R"},
        "InvalidParameterValue",
    ),
    "SendTestEventNotification": Case(
        lambda s: {"Notification": NOTIFICATION, "TestEventType": "Ping"},
        empty,
        lambda s: {"Notification": {**NOTIFICATION, "Destination": "nowhere"}, "TestEventType": "Ping"},
        "InvalidTransportEndpoint",
    ),
    "UpdateExpirationForHIT": Case(
        lambda s: {"HITId": s.hit["HITId"], "ExpireAt": datetime(2000, 1, 1, tzinfo=UTC)},
        empty,
        lambda s: {"HITId": s.hit["HITId"], "ExpireAt": datetime(2100, 1, 1, tzinfo=UTC)},
        "InvalidParameterValue",
    ),
    "UpdateHITReviewStatus": Case(
        lambda s: {"HITId": _reviewed(s)}, empty, lambda s: {"HITId": s.hit["HITId"]}, "InvalidHITState"
    ),
    "UpdateHITTypeOfHIT": Case(
        lambda s: {"HITId": s.hit["HITId"], "HITTypeId": s.mturk.create_hit_type(**KIND)["HITTypeId"]},
        empty,
        lambda s: {"HITId": s.hit["HITId"], "HITTypeId": "3NONE"},
        "HITTypeDoesNotExist",
    ),
    "UpdateNotificationSettings": Case(
        lambda s: {"HITTypeId": s.hit["HITTypeId"], "Notification": NOTIFICATION},
        empty,
        lambda s: {"HITTypeId": s.hit["HITTypeId"]},
        "InvalidParameterValue",
    ),
    "UpdateQualificationType": Case(
        lambda s: _type(s, Description="New", RetryDelayInSeconds=60),
        lambda s, reply: reply["QualificationType"]["RetryDelayInSeconds"] == 60,
        lambda s: _type(s, AnswerKey=KEY),
        "InvalidParameterValue",
    ),
}


def _other(scene: Scene) -> str:
    worker: str = scene.mturk.get_assignment(AssignmentId=scene.second)["Assignment"]["WorkerId"]
    return worker


def _approved(scene: Scene) -> str:
    scene.mturk.approve_assignment(AssignmentId=scene.assignment)
    worker: str = scene.worker.id
    return worker


def _reviewed(scene: Scene) -> str:
    """A HIT whose only answer was approved and that has expired."""
    scene.mturk.approve_assignment(AssignmentId=scene.assignment)
    hit_id: str = scene.hit["HITId"]
    scene.mturk.update_expiration_for_hit(HITId=hit_id, ExpireAt=datetime(1970, 1, 1, tzinfo=UTC))
    return hit_id


def _with_unknown_parameter(scene: Scene) -> dict[str, Any]:
    """Give the next call a parameter that the model does not have: botocore itself would leave it out."""
    events = scene.mturk.meta.events

    def change(params: dict[str, Any], **_: Any) -> None:
        params["body"] = b'{"Currency": "EUR"}'
        events.unregister("before-call.mturk", change)

    events.register("before-call.mturk", change)
    return {}


def _fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=PATIENCE) as reply:
        content: bytes = reply.read()
        return content


@pytest.fixture
def mturk(connect: Callable[..., Any]) -> Any:
    """A boto3 client that sends anything it is given."""
    return connect(validation=False)


@pytest.fixture
def scene(mturk: Any, new_hit: Callable[..., dict[str, Any]], person: Callable[..., Any]) -> Scene:
    return build_scene(mturk, new_hit, person)


def test_no_operation_of_the_api_is_forgotten() -> None:
    assert sorted(CASES) == sorted(service_model().operation_names)


@pytest.mark.parametrize("name", sorted(CASES))
def test_an_operation_succeeds_and_refuses(scene: Scene, name: str) -> None:
    case, call = CASES[name], getattr(scene.mturk, xform_name(name))
    with pytest.raises(ClientError) as caught:
        call(**case.bad(scene))
    response: dict[str, Any] = dict(caught.value.response)
    code = response.get("TurkErrorCode") or response["Error"]["Code"]
    assert code.removeprefix("AWS.MechanicalTurk.") == case.code
    assert response["Error"]["Message"]
    assert case.shows(scene, call(**case.good(scene)))
