"""Events of HITs that a requester subscribed to, kept in the marketplace's file.

Mechanical Turk sent events by e-mail, to an SQS queue or to an SNS topic. None of these can be reached from
here. So an event becomes a row with the document that would have been sent, and `humaneval market events`
prints the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.tables.assignments import Assignment
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Event, Hit

TEST = "Ping"


def note(work: Transaction, kind: str, hit: Hit, assignment: Assignment | None = None) -> None:
    """Keep an event of a HIT or its assignment if the requester subscribed to it. `kind` is MTurk's word."""
    hit_type = hit.hit_type
    if not hit_type.notifying or hit_type.notification is None:
        return
    if kind not in hit_type.notification["EventTypes"]:
        return
    event: dict[str, Any] = {
        "EventType": kind,
        "HITTypeId": hit_type.id,
        "HITGroupId": hit_type.group_id,
        "HITId": hit.id,
    }
    if assignment is not None:
        event |= {"AssignmentId": assignment.id, "WorkerId": assignment.worker.id}
    keep(work, hit_type.notification, kind, document(work, event))


def document(work: Transaction, event: Mapping[str, Any]) -> dict[str, Any]:
    """The message with one event, as the real service sent it to queues and topics."""
    stamped = {**event, "EventTimestamp": f"{work.now:%Y-%m-%dT%H:%M:%SZ}"}
    return {"EventDocVersion": "2014-08-15", "EventDocId": new_entity_id(), "Events": [stamped]}


def keep(work: Transaction, notification: Mapping[str, Any], kind: str, message: dict[str, Any]) -> None:
    """Keep an event, with the destination that it would have been sent to."""
    work.session.add(
        Event(
            kind=kind,
            transport=notification["Transport"],
            destination=notification["Destination"],
            document=message,
            made_at=work.now,
        )
    )


def kept_events(engine: Engine) -> list[dict[str, Any]]:
    """All events in a marketplace's file, oldest first, each with its destination."""
    with Session(engine) as session:
        return [
            {"transport": event.transport, "destination": event.destination, "document": event.document}
            for event in session.scalars(select(Event).order_by(Event.number))
        ]
