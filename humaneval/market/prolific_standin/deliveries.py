"""Deliveries of events: signed, tried again, and by faults twice or out of order."""

from __future__ import annotations

import base64
import hmac
import json
import random
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from http.client import HTTPException
from typing import Any, NamedTuple

from sqlalchemy import select

from humaneval.market.faults.plan import Faults
from humaneval.market.prolific_standin.database import Books
from humaneval.market.prolific_standin.deadlines import let_time_pass
from humaneval.market.prolific_standin.hooks import current_secret
from humaneval.market.prolific_standin.tables import Event, Subscription
from humaneval.timed_replies import NoRedirect, opener

FIRST_PAUSE = timedelta(seconds=20)
"""Before the second try; each further pause is twice as long, with jitter: the twelfth is within a day."""
GIVEN_UP = timedelta(days=5)
"""A subscription at which nothing arrived for so long is disabled."""
AT_ONCE = 20
SECONDS = 10.0
"""How long a receiver may take."""


class Parcel(NamedTuple):
    """One event on its way."""

    event_id: str
    url: str
    body: bytes
    headers: Mapping[str, str]
    kind: str
    """Of the fault that happens to it; empty if there is none."""


Send = Callable[[Parcel], bool]
"""Sends a parcel. Whether it was taken."""


def deliver_due(books: Books, send: Send, faults: Faults | None = None) -> int:
    """Let time pass, send the events that are due, and note what came of it. Returns how many were sent."""
    parcels = _packed(books, faults)
    # Not in a transaction: the receiver may call the API before it answers.
    taken = [(parcel, _sent(parcel, send)) for parcel in parcels if parcel.kind != "disordered"]
    if parcels:
        with books.writing() as work:
            for parcel in parcels:
                event = _event(work.session, parcel.event_id)
                if event is not None and parcel.kind == "disordered":
                    event.next_at = work.now + 5 * work.terms.delay
            for parcel, arrived in taken:
                event = _event(work.session, parcel.event_id)
                if event is not None:
                    _note(event, arrived, work.now, work.terms.tries)
    return len(taken)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """What proves that a delivery is Prolific's: of the timestamp and the body's own bytes."""
    return base64.b64encode(hmac.digest(secret.encode(), timestamp.encode() + body, "sha256")).decode()


def post(parcel: Parcel) -> bool:
    """Send a parcel over HTTP. A redirect is not followed: it is no success."""
    asked = urllib.request.Request(parcel.url, parcel.body, dict(parcel.headers), method="POST")
    try:
        with _OPENER.open(asked, timeout=SECONDS) as response:
            return bool(200 <= response.status < 300)
    except (urllib.error.URLError, HTTPException, OSError):
        return False


def _packed(books: Books, faults: Faults | None) -> list[Parcel]:
    with books.writing() as work:
        let_time_pass(work)
        secret = current_secret(work)
        query = (
            select(Event)
            .join(Subscription)
            .where(Event.status == "PENDING", Event.next_at <= work.now, Subscription.enabled)
            .order_by(Event.next_at, Event.number)
            .limit(AT_ONCE)
        )
        return [
            _pack(event, secret.value if secret else "", work.now, faults)
            for event in work.session.scalars(query)
        ]


def _pack(event: Event, secret: str, now: datetime, faults: Faults | None) -> Parcel:
    body, timestamp = json.dumps(event.payload).encode(), str(int(now.timestamp()))
    fault = faults.next_at("deliver") if faults is not None else None
    headers = {
        "Content-Type": "application/json",
        "X-Event-ID": event.id,
        # In which form the live service gives this is unverified.
        "X-Timestamp": str(int(event.made_at.timestamp())),
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Prolific-Request-Signature": signature(secret, timestamp, body),
    }
    return Parcel(event.id, event.subscription.target_url, body, headers, fault.kind if fault else "")


def _sent(parcel: Parcel, send: Send) -> bool:
    arrived = send(parcel)
    return send(parcel) and arrived if parcel.kind == "duplicate" else arrived


def _note(event: Event, arrived: bool, now: datetime, most: int) -> None:
    subscription = event.subscription
    event.tries += 1
    if arrived:
        event.status, event.next_at, subscription.failing_since = "SUCCEEDED", None, None
        return
    subscription.failing_since = subscription.failing_since or now
    if now - subscription.failing_since >= GIVEN_UP:
        subscription.enabled = False
    if event.tries >= most:
        event.status, event.next_at = "FAILED", None
        return
    jitter = 1 + random.Random(f"{event.id} {event.tries}").random()
    event.next_at = now + FIRST_PAUSE * 2 ** (event.tries - 1) * jitter


def _event(session: Any, event_id: str) -> Event | None:
    found: Event | None = session.scalars(select(Event).where(Event.id == event_id)).first()
    return found


_OPENER = opener(urllib.request.ProxyHandler({}), NoRedirect())
