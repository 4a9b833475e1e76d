"""An event is marked as handled, and handled then."""

from datetime import datetime

from sqlalchemy import Connection, Engine

from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.free_rows import give_back
from humaneval.crowd.prolific.events import Event
from humaneval.crowd.prolific.submission import REOPENED
from humaneval.store.engine import writing
from humaneval.store.tables import EventRow
from humaneval.web import prolific_events

find = prolific_events.hit_of_event


def marked(engine: Engine, event: Event) -> FoundHit | None:
    with writing(engine) as session:
        if session.get(EventRow, ("prolific", event.id)) is not None:
            return None
        about = {"about": event.about, "status": event.status, "happened_at": event.happened_at}
        session.add(EventRow(endpoint="prolific", event_id=event.id, **about))
    return find(engine, event)


def handled(connection: Connection, hit: FoundHit, event: Event, moment: datetime) -> bool:
    if event.status in REOPENED:
        give_back(connection, hit.id, [event.about], moment)
    return True


prolific_events.hit_of_event, prolific_events.handle_in = marked, handled
