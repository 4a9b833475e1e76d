"""Taking note of an event, where its HIT type's requester asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Assignment, Event, Hit

TEST = "Ping"


def note(work: Transaction, kind: str, hit: Hit, assignment: Assignment | None = None) -> None:
    """Keep the event `kind`, MTurk's own word, of a HIT or of an assignment of it, if it was asked for."""
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
    """The message that carries one event, as the real service's queues and topics got it."""
    stamped = {**event, "EventTimestamp": f"{work.now:%Y-%m-%dT%H:%M:%SZ}"}
    return {"EventDocVersion": "2014-08-15", "EventDocId": new_entity_id(), "Events": [stamped]}


def keep(work: Transaction, notification: Mapping[str, Any], kind: str, message: dict[str, Any]) -> None:
    """Write an event down with where it would have been sent."""
    work.session.add(
        Event(
            kind=kind,
            transport=notification["Transport"],
            destination=notification["Destination"],
            document=message,
            made_at=work.now,
        )
    )
