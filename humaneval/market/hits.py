"""The requester's HITs: make, read, extend, expire, set aside."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import select

from humaneval.errors import UsageError
from humaneval.fees import MANY_ASSIGNMENTS, money, reward_fee
from humaneval.market.bookkeeping import Counts, counts, dollars, refresh
from humaneval.market.database import Transaction
from humaneval.market.identifiers import new_entity_id
from humaneval.market.paging import page
from humaneval.market.qualifications import check_requirements
from humaneval.market.questions import read_question
from humaneval.market.refusals import RefusedError, invalid, no_such_hit, wrong_hit_state
from humaneval.market.tables import Hit, HitType
from humaneval.market.tokens import refuse_repeat, remember

Params = Mapping[str, Any]
Reply = dict[str, Any]

MOST_DOLLARS = Decimal("100000.00")
MOST_ASSIGNMENTS = 1_000_000
LONGEST = 365 * 24 * 3600
DEFAULT_AUTO_APPROVAL = MOST_AUTO_APPROVAL = 30 * 24 * 3600
SHORTEST = 30

_TEXT_LIMITS = {"Title": 128, "Description": 2000, "Keywords": 1000, "RequesterAnnotation": 255}
_NOT_OFFERED = {
    "HITLayoutId": "HIT layouts: send a Question",
    "HITLayoutParameters": "HIT layouts: send a Question",
    "AssignmentReviewPolicy": "review policies: review assignments yourself",
    "HITReviewPolicy": "review policies: review assignments yourself",
}


def create_hit_type(work: Transaction, params: Params) -> Reply:
    """CreateHITType: the same parameters give the same id."""
    return {"HITTypeId": _hit_type(work, params).id}


def create_hit(work: Transaction, params: Params) -> Reply:
    """CreateHIT."""
    refuse_repeat(work, "CreateHIT", params)
    hit = _create(work, params, _hit_type(work, params))
    remember(work, "CreateHIT", params, hit.id)
    return {"HIT": described(work, [hit])[0]}


def create_hit_with_hit_type(work: Transaction, params: Params) -> Reply:
    """CreateHITWithHITType."""
    refuse_repeat(work, "CreateHITWithHITType", params)
    hit_type = work.session.scalar(select(HitType).where(HitType.id == params["HITTypeId"]))
    if hit_type is None:
        raise RefusedError("HITTypeDoesNotExist", f"HITType {params['HITTypeId']} does not exist.")
    hit = _create(work, params, hit_type)
    remember(work, "CreateHITWithHITType", params, hit.id)
    return {"HIT": described(work, [hit])[0]}


def get_hit(work: Transaction, params: Params) -> Reply:
    """GetHIT; it also shows HITs that were deleted."""
    return {"HIT": described(work, [find_hit(work, params["HITId"])])[0]}


def list_hits(work: Transaction, params: Params) -> Reply:
    """ListHITs: all that were not deleted, oldest first."""
    rows, envelope = page(work.session, select(Hit).where(Hit.disposed.is_(False)), Hit.number, params)
    return {"HITs": described(work, rows), **envelope}


def list_reviewable_hits(work: Transaction, params: Params) -> Reply:
    """ListReviewableHITs: those whose status is Reviewable, or Reviewing where that is asked for."""
    query = select(Hit).where(Hit.status == params.get("Status", "Reviewable"))
    if "HITTypeId" in params:
        query = query.where(
            Hit.hit_type_number.in_(select(HitType.number).where(HitType.id == params["HITTypeId"]))
        )
    rows, envelope = page(work.session, query, Hit.number, params)
    return {"HITs": described(work, rows), **envelope}


def update_expiration(work: Transaction, params: Params) -> Reply:
    """UpdateExpirationForHIT: a time that is past expires the HIT at once; work in hand may still be finished."""
    hit = _kept_hit(work, params["HITId"])
    expires_at: datetime = params["ExpireAt"]
    if expires_at > work.now + timedelta(seconds=LONGEST):
        raise invalid("ExpireAt must be within 365 days from now.")
    hit.expires_at = expires_at
    hit.expired = expires_at <= work.now
    refresh(work, hit)
    return {}


def create_additional_assignments(work: Transaction, params: Params) -> Reply:
    """CreateAdditionalAssignmentsForHIT."""
    refuse_repeat(work, "CreateAdditionalAssignmentsForHIT", params)
    hit = _kept_hit(work, params["HITId"])
    more: int = params["NumberOfAdditionalAssignments"]
    total = hit.max_assignments + more
    if more < 1 or total > MOST_ASSIGNMENTS:
        raise invalid(
            f"NumberOfAdditionalAssignments must be at least 1, for at most {MOST_ASSIGNMENTS} in all."
        )
    if hit.max_assignments < MANY_ASSIGNMENTS <= total:
        raise RefusedError(
            "InvalidMaximumAssignmentsIncrease",
            f"HITs created with fewer than {MANY_ASSIGNMENTS} assignments cannot be extended to have"
            f" {MANY_ASSIGNMENTS} or more assignments.",
        )
    hit.max_assignments = total
    refresh(work, hit)
    remember(work, "CreateAdditionalAssignmentsForHIT", params, new_entity_id())
    return {}


def update_review_status(work: Transaction, params: Params) -> Reply:
    """UpdateHITReviewStatus: Reviewable to Reviewing, or back with Revert."""
    hit = find_hit(work, params["HITId"])
    revert = params.get("Revert", False)
    needed = "Reviewing" if revert else "Reviewable"
    if hit.status != needed:
        raise wrong_hit_state(needed, hit.status)
    hit.reviewing = not revert
    refresh(work, hit)
    return {}


def delete_hit(work: Transaction, params: Params) -> Reply:
    """DeleteHIT: only once it is reviewable and every answer has been approved or rejected."""
    hit = find_hit(work, params["HITId"])
    if hit.status not in ("Reviewable", "Reviewing"):
        raise wrong_hit_state("Reviewing, Reviewable", hit.status)
    waiting = counts(work.session, [hit])[hit.number].submitted
    if waiting:
        raise RefusedError(
            "InvalidHITState",
            f"Hit {hit.id} has {waiting} submitted assignment(s) that are neither approved nor rejected.",
        )
    hit.disposed = True
    refresh(work, hit)
    return {}


def find_hit(work: Transaction, hit_id: str) -> Hit:
    """The HIT with this id, deleted or not. Raises RefusedError."""
    hit = work.session.scalar(select(Hit).where(Hit.id == hit_id))
    if hit is None:
        raise no_such_hit(hit_id)
    return hit


def described(work: Transaction, hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """The HITs as the protocol's HIT structures."""
    by_number = counts(work.session, hits)
    return [_description(hit, by_number[hit.number]) for hit in hits]


def amount(text: str, name: str) -> int:
    """An amount of dollars from the wire in cents. Raises RefusedError."""
    try:
        value = money(text)
    except UsageError as error:
        raise invalid(f"{name}: {error.message}.") from None
    if value > MOST_DOLLARS:
        raise invalid(f"{name} must be at most {MOST_DOLLARS}.")
    return int(value * 100)


def _kept_hit(work: Transaction, hit_id: str) -> Hit:
    hit = find_hit(work, hit_id)
    if hit.disposed:
        raise wrong_hit_state("Assignable, Unassignable, Reviewable, Reviewing", hit.status)
    return hit


def _hit_type(work: Transaction, params: Params) -> HitType:
    _check_texts(params)
    check_requirements(params.get("QualificationRequirements", ()))
    values: dict[str, Any] = {
        "title": params["Title"],
        "description": params["Description"],
        "keywords": params.get("Keywords", ""),
        "reward_cents": amount(params["Reward"], "Reward"),
        "assignment_seconds": _seconds(params, "AssignmentDurationInSeconds", SHORTEST, LONGEST),
        "auto_approval_seconds": _seconds(
            {"AutoApprovalDelayInSeconds": DEFAULT_AUTO_APPROVAL, **params},
            "AutoApprovalDelayInSeconds",
            0,
            MOST_AUTO_APPROVAL,
        ),
        "qualifications": list(params.get("QualificationRequirements", ())),
    }
    fingerprint = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    hit_type = work.session.scalar(select(HitType).where(HitType.fingerprint == fingerprint))
    if hit_type is None:
        hit_type = HitType(
            id=new_entity_id(), group_id=new_entity_id(), fingerprint=fingerprint, made_at=work.now, **values
        )
        work.session.add(hit_type)
        work.session.flush()
    return hit_type


def _create(work: Transaction, params: Params, hit_type: HitType) -> Hit:
    for name, instead in _NOT_OFFERED.items():
        if params.get(name):
            raise invalid(f"This marketplace has no {instead}.")
    if "Question" not in params:
        raise invalid("A Question must be given.")
    _check_texts(params)
    read_question(params["Question"], work.mode)
    lifetime = _seconds(params, "LifetimeInSeconds", SHORTEST, LONGEST)
    places: int = params.get("MaxAssignments", 1)
    if not 1 <= places <= MOST_ASSIGNMENTS:
        raise invalid(f"MaxAssignments must be from 1 to {MOST_ASSIGNMENTS}.")
    hit = Hit(
        id=new_entity_id(),
        hit_type=hit_type,
        question=params["Question"],
        annotation=params.get("RequesterAnnotation", ""),
        max_assignments=places,
        fee_cents=int(reward_fee(dollars(hit_type.reward_cents), places) * 100),
        status="Assignable",
        reviewing=False,
        disposed=False,
        expired=False,
        expires_at=work.now + timedelta(seconds=lifetime),
        made_at=work.now,
    )
    work.session.add(hit)
    refresh(work, hit)
    return hit


def _check_texts(params: Params) -> None:
    for name, longest in _TEXT_LIMITS.items():
        text = params.get(name, "")
        if len(text) > longest:
            raise invalid(f"{name} has {len(text)} characters; it must not be longer than {longest}.")
    for name in ("Title", "Description"):
        if name in params and not params[name].strip():
            raise invalid(f"{name} must not be empty.")


def _seconds(params: Params, name: str, least: int, most: int) -> int:
    value: int = params[name]
    if not least <= value <= most:
        raise invalid(f"{name} must be from {least} to {most}.")
    return value


def _description(hit: Hit, count: Counts) -> dict[str, Any]:
    kind = hit.hit_type
    open_places = 0 if hit.expired or hit.disposed else count.free
    description: dict[str, Any] = {
        "HITId": hit.id,
        "HITTypeId": kind.id,
        "HITGroupId": kind.group_id,
        "CreationTime": hit.made_at,
        "Title": kind.title,
        "Description": kind.description,
        "Question": hit.question,
        "Keywords": kind.keywords,
        "HITStatus": hit.status,
        "MaxAssignments": hit.max_assignments,
        "Reward": str(dollars(kind.reward_cents)),
        "AutoApprovalDelayInSeconds": kind.auto_approval_seconds,
        "Expiration": hit.expires_at,
        "AssignmentDurationInSeconds": kind.assignment_seconds,
        "QualificationRequirements": kind.qualifications,
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": count.accepted,
        "NumberOfAssignmentsAvailable": open_places,
        "NumberOfAssignmentsCompleted": count.reviewed,
    }
    if hit.annotation:
        description["RequesterAnnotation"] = hit.annotation
    return description
