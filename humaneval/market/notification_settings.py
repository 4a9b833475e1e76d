"""The events that a requester subscribes to, and a test event."""

from __future__ import annotations

import re

from humaneval.market.events import TEST, document, keep
from humaneval.market.hit_types import find_hit_type
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.protocol.refusals import RefusedError, invalid
from humaneval.market.protocol.values import Params, Reply, text
from humaneval.market.tables.database import Transaction

VERSIONS = ("2006-05-05", "2014-08-15")
"""The model's text names the first. The service took the second too, and most programs send it."""

LONGEST_DESTINATION = 2000

_DESTINATIONS = {
    "Email": (r"[^\s@]+@[^\s@]+", "an e-mail address"),
    "SQS": (r"https?://[^\s/]+/\S+", "a queue's URL"),
    "SNS": (r"arn:[\w-]+:sns:[\w-]*:\d*:\S+", "a topic's ARN"),
}


def update_notification_settings(work: Transaction, params: Params) -> Reply:
    """UpdateNotificationSettings. A Notification without Active turns the HIT type's events on."""
    hit_type = find_hit_type(work, params["HITTypeId"])
    given = params.get("Notification")
    if given is None and "Active" not in params:
        raise invalid("Give Notification or Active.")
    if given is not None:
        _check(given)
        if TEST in given["EventTypes"]:
            raise invalid(f"The event type {TEST} is for SendTestEventNotification only.")
        hit_type.notification = {**given, "EventTypes": list(dict.fromkeys(given["EventTypes"]))}
    if hit_type.notification is None:
        raise invalid("This HIT type has no Notification to turn on or off.")
    hit_type.notifying = params.get("Active", True)
    return {}


def send_test_event(work: Transaction, params: Params) -> Reply:
    """SendTestEventNotification: keeps one event of that type, with ids of nothing that exists."""
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


def _check(notification: Params) -> None:
    transport, destination = notification["Transport"], notification["Destination"]
    pattern, what = _DESTINATIONS[transport]
    text(notification, "Destination", LONGEST_DESTINATION)
    if not re.fullmatch(pattern, destination):
        raise RefusedError(
            "InvalidTransportEndpoint", f"With the Transport {transport} the Destination must be {what}."
        )
    if notification["Version"] not in VERSIONS:
        raise invalid(f"Version must be {' or '.join(VERSIONS)}.")
    if not notification["EventTypes"]:
        raise invalid("EventTypes must name at least one event type.")
