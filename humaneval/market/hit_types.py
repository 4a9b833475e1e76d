"""HIT types: the properties that HITs of one kind share."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any

from sqlalchemy import select

from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.protocol.values import YEAR, Params, Reply, amount, seconds, text
from humaneval.market.qualifications.requirements import canonical, check_requirements
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import HitType, Requires

DEFAULT_AUTO_APPROVAL = MOST_AUTO_APPROVAL = 30 * 24 * 3600
SHORTEST = 30
"""The shortest assignment, and the shortest life of a HIT, in seconds."""


def create_hit_type(work: Transaction, params: Params) -> Reply:
    """CreateHITType: the same parameters give the same id."""
    return {"HITTypeId": hit_type_of(work, params).id}


def hit_type_of(work: Transaction, params: Params) -> HitType:
    """The HIT type with these properties; it is made if there is none. Raises RefusedError."""
    requirements = params.get("QualificationRequirements", ())
    check_requirements(work, requirements)
    values: dict[str, Any] = {
        "title": text(params, "Title", 128, empty=False),
        "description": text(params, "Description", 2000, empty=False),
        "keywords": text(params, "Keywords", 1000),
        "reward_cents": amount(params, "Reward"),
        "assignment_seconds": seconds(params, "AssignmentDurationInSeconds", SHORTEST, YEAR),
        "auto_approval_seconds": seconds(
            {"AutoApprovalDelayInSeconds": DEFAULT_AUTO_APPROVAL, **params},
            "AutoApprovalDelayInSeconds",
            0,
            MOST_AUTO_APPROVAL,
        ),
        "qualifications": list(requirements),
    }
    # The order of requirements makes no difference, nor which of two names they use.
    compared = sorted((canonical(each) for each in requirements), key=partial(json.dumps, sort_keys=True))
    facts = json.dumps({**values, "qualifications": compared}, sort_keys=True)
    fingerprint = hashlib.sha256(facts.encode()).hexdigest()
    found = work.session.scalar(select(HitType).where(HitType.fingerprint == fingerprint))
    return found or _new(work, fingerprint, values)


def find_hit_type(work: Transaction, hit_type_id: str) -> HitType:
    """The HIT type with this id. Raises RefusedError."""
    found = work.session.scalar(select(HitType).where(HitType.id == hit_type_id, HitType.deleted.is_(False)))
    if found is None:
        raise RefusedError("HITTypeDoesNotExist", f"HITType {hit_type_id} does not exist.")
    return found


def _new(work: Transaction, fingerprint: str, values: dict[str, Any]) -> HitType:
    hit_type = HitType(
        id=new_entity_id(), group_id=new_entity_id(), fingerprint=fingerprint, made_at=work.now, **values
    )
    work.session.add(hit_type)
    work.session.flush()
    asked = {requirement["QualificationTypeId"] for requirement in values["qualifications"]}
    work.session.add_all(
        Requires(hit_type_number=hit_type.number, qualification_id=each) for each in sorted(asked)
    )
    work.session.flush()
    return hit_type
