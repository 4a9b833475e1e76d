"""How far a study is, counted from its assignments."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import Engine, select

from humaneval.crowd.ledger import spent
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow
from humaneval.store.types import now
from humaneval.studies import get_study


class EndpointStatus(NamedTuple):
    """The state of a study at one endpoint."""

    endpoint: str
    hits: int
    hits_up: int
    planned: int
    """Forms that the HITs carry."""
    opened: int
    """Forms that somebody has open under a lease that runs."""
    answered: int
    """Safe on our server, not yet submitted at the platform as far as we know."""
    submitted: int
    """Submitted, whatever was decided since."""
    approved: int
    usable: int
    """Submitted and not excluded by `review`."""
    unconfirmed: int
    """Writes that were tried and of which nobody knows whether they got through."""
    refused: int
    """Writes that the platform refused, or that never left here: nothing was done."""
    next_auto_approval: datetime | None
    """When the platform approves the first waiting assignment by itself."""
    rewards: Decimal
    """Paid so far, bonuses too."""
    fees: Decimal


def study_status(engine: Engine, name: str) -> list[EndpointStatus]:
    """One line for each endpoint that the study was published to, or was about to be."""
    with reading(engine) as session:
        study = get_study(session, name)
        hits = session.scalars(select(HitRow).where(HitRow.study_id == study.id).order_by(HitRow.id)).all()
        work = session.scalars(select(AssignmentRow).where(AssignmentRow.study_id == study.id)).all()
        outbox = session.execute(
            select(OutboxRow.endpoint, OutboxRow.state).where(
                OutboxRow.study_id == study.id, OutboxRow.attempts > 0
            )
        )
        writes = Counter((endpoint, state) for endpoint, state in outbox)
    moment = now()
    lines = []
    for endpoint in dict.fromkeys(hit.endpoint for hit in hits):
        mine = [hit for hit in hits if hit.endpoint == endpoint]
        paid = spent(engine, name, endpoint)
        here = [line for line in work if line.endpoint == endpoint]
        submitted = [line for line in here if line.state in ("submitted", "approved", "rejected")]
        lines.append(
            EndpointStatus(
                endpoint=endpoint,
                hits=len(mine),
                hits_up=sum(hit.external_id is not None for hit in mine),
                planned=sum(hit.assignments for hit in mine),
                opened=sum(
                    line.state == "opened" and line.lease_until is not None and line.lease_until > moment
                    for line in here
                ),
                answered=sum(line.state == "answered" for line in here),
                submitted=len(submitted),
                approved=sum(line.state == "approved" for line in here),
                usable=sum(not line.excluded and line.state != "rejected" for line in submitted),
                unconfirmed=writes[endpoint, "pending"],
                refused=writes[endpoint, "refused"],
                next_auto_approval=min(
                    (
                        line.auto_approval_at
                        for line in here
                        if line.state == "submitted" and line.auto_approval_at
                    ),
                    default=None,
                ),
                rewards=paid.rewards,
                fees=paid.fees,
            )
        )
    return lines
