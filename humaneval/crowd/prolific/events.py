"""Events that Prolific sends to the form server: checked, handled once each, and in their own order."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Engine, func, insert, select

from humaneval.crowd.found_hit import FoundHit, find_hit
from humaneval.crowd.free_rows import give_back
from humaneval.crowd.platform import PROLIFIC
from humaneval.crowd.prolific.submission import REOPENED, moment_of, session_of
from humaneval.errors import InputError
from humaneval.store.engine import connected
from humaneval.store.tables import AssignmentRow, EventRow, HitRow, MetaRow
from humaneval.store.types import table

SECRET = "prolific events"
"""Where the secret that signs events is kept in the database."""
STATUS_CHANGED = "submission.status.change"
FRESH = timedelta(minutes=5)
"""How far the time of a signature may be off. Beyond that, somebody sends an old one again."""

MILLISECONDS = 1e11
"""A larger number counts milliseconds."""

_events, _work, _hits = table(EventRow), table(AssignmentRow), table(HitRow)


@dataclass(frozen=True, slots=True)
class Event:
    """A change of one submission. `happened_at` is Prolific's time."""

    id: str
    kind: str
    about: str
    status: str
    happened_at: datetime


def event_in(headers: Mapping[str, str], raw: bytes, secret: str, moment: datetime) -> Event:
    """The event of a request. Raises InputError unless its signature over the raw body is right and fresh."""
    headers = {name.lower(): value for name, value in headers.items()}
    signed_at = headers.get("x-prolific-request-timestamp", "")
    given = headers.get("x-prolific-request-signature", "")
    right = base64.b64encode(hmac.digest(secret.encode(), signed_at.encode() + raw, "sha256")).decode()
    if not hmac.compare_digest(given.encode(), right.encode()):
        raise InputError("the signature of an event is wrong")
    if abs(moment - _moment(signed_at)) > FRESH:
        raise InputError("the signature of an event is old")
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        raise InputError("an event is not JSON") from None
    if not isinstance(told, dict) or not headers.get("x-event-id"):
        raise InputError("an event has no id, or no content")
    session = session_of(told)
    event_id, kind = headers["x-event-id"], str(told.get("event_type"))
    if not "".join((event_id, kind, session.id, session.status)).isprintable():
        raise InputError("an event has an id that no database can hold")
    happened = min(_happened(headers.get("x-timestamp", "")) or _moment(signed_at), moment)
    return Event(event_id, kind, session.id, session.status, happened)


def hit_of_event(engine: Engine, event: Event) -> FoundHit | None:
    """The study that an event is about; None if it is not one of ours."""
    with connected(engine) as connection:
        key = connection.scalar(
            select(_hits.c.key)
            .join_from(_work, _hits, _hits.c.id == _work.c.hit_id)
            .where(_work.c.endpoint == PROLIFIC, _work.c.external_id == event.about)
            .limit(1)
        )
        return None if key is None else find_hit(connection, key)


def handle_in(connection: Connection, hit: FoundHit, event: Event, moment: datetime) -> bool:
    """Handle an event in a transaction that holds the study. False if it was handled before, or is overtaken.

    That it is handled is stored in the same transaction: after a kill, it comes again.
    """
    if connection.scalar(
        select(_events.c.event_id).where(_events.c.endpoint == PROLIFIC, _events.c.event_id == event.id)
    ):
        return False
    last = connection.scalar(
        select(func.max(_events.c.happened_at)).where(
            _events.c.endpoint == PROLIFIC, _events.c.about == event.about
        )
    )
    overtaken = last is not None and last > event.happened_at
    if event.kind == STATUS_CHANGED and event.status in REOPENED and not overtaken:
        give_back(connection, hit.id, [event.about], moment)
    connection.execute(
        insert(_events).values(
            endpoint=PROLIFIC,
            event_id=event.id,
            about=event.about,
            status=event.status,
            happened_at=event.happened_at,
            received_at=moment,
        )
    )
    return not overtaken


def kept_secret(engine: Engine) -> str:
    """The secret that signs events; empty if none was made."""
    meta = table(MetaRow)
    with connected(engine) as connection:
        return connection.scalar(select(meta.c.value).where(meta.c.key == SECRET)) or ""


def _happened(told: str) -> datetime | None:
    """When it happened, by Prolific: in seconds, in milliseconds, or as ISO 8601. No document says which. The
    time is not signed, so one in the future counts as now: it would overtake all that follows.

    >>> [str(_happened(told)) for told in ("1770000000", "1770000000123", "2026-02-02T02:40:00Z", "soon")]
    ['2026-02-02 02:40:00+00:00', '2026-02-02 02:40:00.123000+00:00', '2026-02-02 02:40:00+00:00', 'None']
    """
    try:
        number = float(told)
        return datetime.fromtimestamp(number / 1000 if number > MILLISECONDS else number, UTC)
    except (ValueError, OverflowError, OSError):
        return moment_of(told)


def _moment(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError("an event has no time") from None
