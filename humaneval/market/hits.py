"""The requester's HITs: make, read, extend, expire, mark as under review, delete."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select

from humaneval.fees import MANY_ASSIGNMENTS, reward_fee
from humaneval.market.account import dollars
from humaneval.market.events import note
from humaneval.market.hit_status import Counts, counts, refresh
from humaneval.market.hit_types import SHORTEST, find_hit_type, hit_type_of
from humaneval.market.policies.parameters import Policies, read_policies
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.paging import page
from humaneval.market.protocol.refusals import RefusedError, invalid, no_such_hit, wrong_hit_state
from humaneval.market.protocol.values import YEAR, Params, Reply, seconds, text
from humaneval.market.qualifications.requirements import SYSTEM, find_type, read_back
from humaneval.market.questions.question import read_question
from humaneval.market.request_tokens import refuse_repeat, remember
from humaneval.market.tables.database import Mode, Transaction
from humaneval.market.tables.hits import Hit, HitType, Requires

MOST_ASSIGNMENTS = 1_000_000


def create_hit(work: Transaction, params: Params) -> Reply:
    """CreateHIT."""
    refuse_repeat(work, "CreateHIT", params)
    hit = _create(work, params, hit_type_of(work, params))
    remember(work, "CreateHIT", params, hit.id)
    return {"HIT": described(work, [hit])[0]}


def create_hit_with_hit_type(work: Transaction, params: Params) -> Reply:
    """CreateHITWithHITType."""
    refuse_repeat(work, "CreateHITWithHITType", params)
    hit = _create(work, params, find_hit_type(work, params["HITTypeId"]))
    remember(work, "CreateHITWithHITType", params, hit.id)
    return {"HIT": described(work, [hit])[0]}


def get_hit(work: Transaction, params: Params) -> Reply:
    """GetHIT. It also shows deleted HITs."""
    return {"HIT": described(work, [find_hit(work, params["HITId"])])[0]}


def list_hits(work: Transaction, params: Params) -> Reply:
    """ListHITs: all HITs that were not deleted, newest first: programs take the first for the last made."""
    kept = select(Hit).where(Hit.disposed.is_(False))
    rows, envelope = page(work.session, kept, Hit.number, params, newest_first=True)
    return {"HITs": described(work, rows), **envelope}


def list_reviewable_hits(work: Transaction, params: Params) -> Reply:
    """ListReviewableHITs: the HITs whose status is Reviewable, or Reviewing if the call says so."""
    query = select(Hit).where(Hit.status == params.get("Status", "Reviewable"))
    if "HITTypeId" in params:
        query = query.where(
            Hit.hit_type_number.in_(select(HitType.number).where(HitType.id == params["HITTypeId"]))
        )
    rows, envelope = page(work.session, query, Hit.number, params)
    return {"HITs": described(work, rows), **envelope}


def list_hits_for_qualification_type(work: Transaction, params: Params) -> Reply:
    """ListHITsForQualificationType: the HITs that require it and were not deleted, oldest first."""
    wanted = params["QualificationTypeId"]
    if wanted not in SYSTEM:
        find_type(work, wanted)
    types = select(Requires.hit_type_number).where(Requires.qualification_id == wanted)
    query = select(Hit).where(Hit.disposed.is_(False), Hit.hit_type_number.in_(types))
    rows, envelope = page(work.session, query, Hit.number, params)
    return {"HITs": described(work, rows), **envelope}


def update_hit_type_of_hit(work: Transaction, params: Params) -> Reply:
    """UpdateHITTypeOfHIT. It also changes the reward of work that is not paid yet, and the hold for it."""
    hit = _kept_hit(work, params["HITId"])
    hit.hit_type = find_hit_type(work, params["HITTypeId"])
    hit.fee_cents = _fee(hit.hit_type, hit.max_assignments)
    refresh(work, hit)
    return {}


def update_expiration(work: Transaction, params: Params) -> Reply:
    """UpdateExpirationForHIT. A past time expires the HIT at once; accepted work may still be finished."""
    hit = _kept_hit(work, params["HITId"])
    expires_at: datetime = params["ExpireAt"]
    if expires_at > work.now + timedelta(seconds=YEAR):
        raise invalid("ExpireAt must be within 365 days from now.")
    expires_now = expires_at <= work.now and not hit.expired
    if expires_at > hit.expires_at or expires_now:
        note(work, "HITExpired" if expires_now else "HITExtended", hit)
    hit.expires_at = expires_at
    hit.expired = expires_at <= work.now
    refresh(work, hit)
    return {}


def create_additional_assignments(work: Transaction, params: Params) -> Reply:
    """CreateAdditionalAssignmentsForHIT."""
    refuse_repeat(work, "CreateAdditionalAssignmentsForHIT", params)
    add_places(work, _kept_hit(work, params["HITId"]), params["NumberOfAdditionalAssignments"])
    remember(work, "CreateAdditionalAssignmentsForHIT", params, work.request_id)
    return {}


def add_places(work: Transaction, hit: Hit, more: int) -> None:
    """Let `more` workers take a HIT. Raises RefusedError."""
    total = hit.max_assignments + more
    if more < 1 or total > MOST_ASSIGNMENTS:
        raise invalid(
            f"NumberOfAdditionalAssignments must be at least 1, for at most {MOST_ASSIGNMENTS} in total."
        )
    if hit.max_assignments < MANY_ASSIGNMENTS <= total:
        raise RefusedError(
            "InvalidMaximumAssignmentsIncrease",
            f"HITs created with fewer than {MANY_ASSIGNMENTS} assignments cannot be extended to have"
            f" {MANY_ASSIGNMENTS} or more assignments.",
        )
    hit.max_assignments = total
    refresh(work, hit)
    note(work, "HITExtended", hit)


def update_review_status(work: Transaction, params: Params) -> Reply:
    """UpdateHITReviewStatus: from Reviewable to Reviewing, or back with Revert."""
    hit = find_hit(work, params["HITId"])
    revert = params.get("Revert", False)
    needed = "Reviewing" if revert else "Reviewable"
    if hit.status != needed:
        raise wrong_hit_state(needed, hit.status)
    hit.reviewing = not revert
    refresh(work, hit)
    return {}


def delete_hit(work: Transaction, params: Params) -> Reply:
    """DeleteHIT: only when the HIT is reviewable and every answer has been approved or rejected."""
    hit = find_hit(work, params["HITId"])
    if hit.status not in ("Reviewable", "Reviewing"):
        raise wrong_hit_state("Reviewing, Reviewable", hit.status)
    waiting = counts(work, [hit])[hit.number].submitted
    if waiting:
        raise RefusedError(
            "InvalidHITState",
            f"Hit {hit.id} has {waiting} submitted assignment(s) that are neither approved nor rejected.",
        )
    hit.disposed = True
    refresh(work, hit)
    note(work, "HITDisposed", hit)
    return {}


def find_hit(work: Transaction, hit_id: str) -> Hit:
    """The HIT with this id, deleted or not. Raises RefusedError."""
    hit = work.session.scalar(select(Hit).where(Hit.id == hit_id))
    if hit is None:
        raise no_such_hit(hit_id)
    return hit


def described(work: Transaction, hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """The HITs as the protocol's HIT structures."""
    by_number = counts(work, hits)
    return [_description(hit, by_number[hit.number]) for hit in hits]


def _kept_hit(work: Transaction, hit_id: str) -> Hit:
    hit = find_hit(work, hit_id)
    if hit.disposed:
        raise wrong_hit_state("Assignable, Unassignable, Reviewable, Reviewing", hit.status)
    return hit


def read_asked(params: Params, mode: Mode) -> Policies:
    """Read the question and the review policies of a new HIT. Raises RefusedError."""
    if params.get("HITLayoutId") or params.get("HITLayoutParameters"):
        raise RefusedError(
            "HITLayoutDoesNotExist",
            "This marketplace has no HIT layouts, which were made on Mechanical Turk's requester site. Send"
            " a Question instead.",
        )
    if "Question" not in params:
        raise invalid("A Question must be given.")
    read_question(params["Question"], mode)
    return read_policies(params)


def _create(work: Transaction, params: Params, hit_type: HitType) -> Hit:
    policies = read_asked(params, work.mode)
    lifetime = seconds(params, "LifetimeInSeconds", SHORTEST, YEAR)
    places: int = params.get("MaxAssignments", 1)
    if not 1 <= places <= MOST_ASSIGNMENTS:
        raise invalid(f"MaxAssignments must be from 1 to {MOST_ASSIGNMENTS}.")
    hit = Hit(
        id=new_entity_id(),
        hit_type=hit_type,
        question=params["Question"],
        annotation=text(params, "RequesterAnnotation", 255),
        max_assignments=places,
        fee_cents=_fee(hit_type, places),
        status="Assignable",
        reviewing=False,
        disposed=False,
        expired=False,
        expires_at=work.now + timedelta(seconds=lifetime),
        assignment_policy=policies.assignment,
        hit_policy=policies.hit,
        made_at=work.now,
    )
    work.session.add(hit)
    refresh(work, hit)
    note(work, "HITCreated", hit)
    return hit


def _fee(hit_type: HitType, places: int) -> int:
    """The platform's fee on one reward, in cents."""
    return int(reward_fee(dollars(hit_type.reward_cents), places) * 100)


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
        "QualificationRequirements": [read_back(each) for each in kind.qualifications],
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": count.accepted,
        "NumberOfAssignmentsAvailable": open_places,
        "NumberOfAssignmentsCompleted": count.reviewed,
    }
    if hit.annotation:
        description["RequesterAnnotation"] = hit.annotation
    return description
