"""Events of HITs: what a requester asked to be told of, kept in the market's file.

Mechanical Turk sent events by e-mail, to an SQS queue or to an SNS topic. None of these can be reached from
here, so an event becomes a row with the very document that would have been sent: `humaneval market events`
prints them.
"""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.market.event_notes import TEST, document, keep
from humaneval.market.hit_types import find_hit_type
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.refusals import RefusedError, invalid
from humaneval.market.protocol.values import Params, Reply
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Event

VERSIONS = ("2006-05-05", "2014-08-15")
"""The model's text names the first; the service took the second as well, and most programs send it."""

_DESTINATIONS = {
    "Email": (r"[^\s@]+@[^\s@]+", "an e-mail address"),
    "SQS": (r"https?://[^\s/]+/\S+", "a queue's URL"),
    "SNS": (r"arn:[\w-]+:sns:[\w-]*:\d*:\S+", "a topic's ARN"),
}


def update_notification_settings(work: Transaction, params: Params) -> Reply:
    """UpdateNotificationSettings: with a specification and no Active the HIT type's events are kept from
    now on."""
    hit_type = find_hit_type(work, params["HITTypeId"])
    given = params.get("Notification")
    if given is None and "Active" not in params:
        raise invalid("Either Notification or Active must be given.")
    if given is not None:
        _check(given)
        if TEST in given["EventTypes"]:
            raise invalid(f"The event type {TEST} is for SendTestEventNotification only.")
        hit_type.notification = dict(given)
    if hit_type.notification is None:
        raise invalid("This HIT type has no Notification that could be made active or inactive.")
    hit_type.notifying = params.get("Active", True)
    return {}


def send_test_event(work: Transaction, params: Params) -> Reply:
    """SendTestEventNotification: keeps one event of that type with ids that name nothing."""
    _check(params["Notification"])
    keep(
        work,
        params["Notification"],
        params["TestEventType"],
        document(
            work,
            {
                "EventType": params["TestEventType"],
                "HITTypeId": new_entity_id(),
                "HITId": new_entity_id(),
                "AssignmentId": new_entity_id(),
            },
        ),
    )
    return {}


def kept_events(engine: Engine) -> list[dict[str, Any]]:
    """All events of a market's file, oldest first, each with where it would have been sent."""
    with Session(engine) as session:
        return [
            {"transport": event.transport, "destination": event.destination, "document": event.document}
            for event in session.scalars(select(Event).order_by(Event.number))
        ]


def _check(notification: Params) -> None:
    transport, destination = notification["Transport"], notification["Destination"]
    pattern, what = _DESTINATIONS[transport]
    if not re.fullmatch(pattern, destination):
        raise RefusedError(
            "InvalidTransportEndpoint", f"With the Transport {transport} the Destination must be {what}."
        )
    if notification["Version"] not in VERSIONS:
        raise invalid(f"Version must be {' or '.join(VERSIONS)}.")
    if not notification["EventTypes"]:
        raise invalid("EventTypes must name at least one.")
