"""The holders of qualifications, and requests for them: the requester's side."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert

from humaneval.market.messages import tell
from humaneval.market.protocol.paging import page
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.protocol.values import LONGEST_REASON, Params, Reply, text
from humaneval.market.qualifications.requirements import find_type
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.qualifications import Qualification, QualificationRequest, QualificationType
from humaneval.market.workers import Person, find_worker
from humaneval.store.types import table

DEFAULT_VALUE = 1


def associate_qualification(work: Transaction, params: Params) -> Reply:
    """AssociateQualificationWithWorker. It also changes the value, and grants again after a revocation."""
    kind = find_type(work, params["QualificationTypeId"])
    worker = find_worker(work, params["WorkerId"])
    grant(work, kind, worker.number, params.get("IntegerValue", DEFAULT_VALUE))
    if params.get("SendNotification", True):
        tell(work, worker, "You meet a requirement", f"You now meet the requirement “{kind.name}”.")
    return {}


def disassociate_qualification(work: Transaction, params: Params) -> Reply:
    """DisassociateQualificationFromWorker: the worker reads the reason."""
    kind = find_type(work, params["QualificationTypeId"])
    worker = find_worker(work, params["WorkerId"])
    reason = text(params, "Reason", LONGEST_REASON)
    held = _granted(work, kind, worker)
    held.revoked, held.reason = True, reason
    return {}


def get_qualification_score(work: Transaction, params: Params) -> Reply:
    """GetQualificationScore. A revoked qualification has no score, as on Mechanical Turk."""
    kind = find_type(work, params["QualificationTypeId"])
    worker = find_worker(work, params["WorkerId"])
    return {"Qualification": _description(_granted(work, kind, worker))}


def list_workers_with_qualification(work: Transaction, params: Params) -> Reply:
    """ListWorkersWithQualificationType: the holders, or with Status Revoked the former holders."""
    kind = find_type(work, params["QualificationTypeId"])
    query = select(Qualification).where(
        Qualification.type_number == kind.number,
        Qualification.revoked.is_(params.get("Status", "Granted") == "Revoked"),
    )
    rows, envelope = page(work.session, query, Qualification.number, params)
    return {"Qualifications": [_description(row) for row in rows], **envelope}


def list_qualification_requests(work: Transaction, params: Params) -> Reply:
    """ListQualificationRequests: the requests that wait for a decision, oldest first."""
    query = select(QualificationRequest).where(QualificationRequest.state == "submitted")
    if "QualificationTypeId" in params:
        kind = find_type(work, params["QualificationTypeId"])
        query = query.where(QualificationRequest.type_number == kind.number)
    rows, envelope = page(work.session, query, QualificationRequest.number, params)
    return {"QualificationRequests": [_request_description(row) for row in rows], **envelope}


def accept_qualification_request(work: Transaction, params: Params) -> Reply:
    """AcceptQualificationRequest: grants it, by default with a value of 1."""
    request = _waiting(work, params)
    request.state = "granted"
    grant(work, request.type, request.worker_number, params.get("IntegerValue", DEFAULT_VALUE))
    return {}


def reject_qualification_request(work: Transaction, params: Params) -> Reply:
    """RejectQualificationRequest: the worker reads the reason. A qualification that they hold stays."""
    request = _waiting(work, params)
    request.reason = text(params, "Reason", LONGEST_REASON)
    request.state = "rejected"
    return {}


def grant(work: Transaction, kind: QualificationType, worker_number: int, value: int) -> None:
    """Grant a worker a qualification, or change the value of the one they have."""
    given = {"value": value, "revoked": False, "reason": "", "granted_at": work.now}
    work.connection.execute(_GRANT, {"type_number": kind.number, "worker_number": worker_number, **given})


_GRANT = insert(table(Qualification))
_GRANT = _GRANT.on_conflict_do_update(
    index_elements=("type_number", "worker_number"),
    set_={name: _GRANT.excluded[name] for name in ("value", "revoked", "reason", "granted_at")},
)


def _granted(work: Transaction, kind: QualificationType, worker: Person) -> Qualification:
    held = work.session.scalar(
        select(Qualification).where(
            Qualification.type_number == kind.number, Qualification.worker_number == worker.number
        )
    )
    if held is None:
        raise RefusedError(
            "QualificationDoesNotExist",
            f"You requested a Qualification that does not exist: {worker.id} never had {kind.id}.",
        )
    if held.revoked:
        raise RefusedError(
            "InvalidQualificationState",
            f"This operation can be called with a status of: Granted ({worker.id}'s {kind.id} was revoked)",
        )
    return held


def _waiting(work: Transaction, params: Params) -> QualificationRequest:
    wanted = params["QualificationRequestId"]
    request = work.session.scalar(select(QualificationRequest).where(QualificationRequest.id == wanted))
    if request is None:
        raise RefusedError(
            "QualificationRequestDoesNotExist", f"QualificationRequest {wanted} does not exist."
        )
    if request.state != "submitted":
        raise RefusedError(
            "InvalidQualificationRequestState",
            f"This operation can be called with a status of: Submitted (request {wanted} is {request.state})",
        )
    return request


def _description(held: Qualification) -> dict[str, Any]:
    return {
        "QualificationTypeId": held.type.id,
        "WorkerId": held.worker.id,
        "GrantTime": held.granted_at,
        "IntegerValue": held.value,
        "Status": "Revoked" if held.revoked else "Granted",
    }


def _request_description(request: QualificationRequest) -> dict[str, Any]:
    values = {
        "QualificationRequestId": request.id,
        "QualificationTypeId": request.type.id,
        "WorkerId": request.worker.id,
        "Test": request.test,
        "Answer": request.answer,
        "SubmitTime": request.submitted_at,
    }
    return {name: value for name, value in values.items() if value is not None}
