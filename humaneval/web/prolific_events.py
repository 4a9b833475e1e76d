"""Takes events from Prolific: the row of a place that is returned or out of time is free at once."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, request

from humaneval.crowd.prolific.events import event_in, handle_in, hit_of_event, kept_secret
from humaneval.errors import InputError
from humaneval.store.types import now
from humaneval.web.forms import context

blueprint = Blueprint("prolific_events", __name__)
PATH = "/prolific/events"


@blueprint.post(PATH)
def receive() -> Response:
    """Handle an event once. An answer other than success makes Prolific send it again."""
    at, moment = context(), now()
    secret = kept_secret(at.engine)
    if not secret:
        return Response("nobody listens here\n", 404, content_type="text/plain")
    try:
        event = event_in(dict(request.headers), request.get_data(), secret, moment)
    except InputError as error:
        current_app.logger.warning("Prolific: %s", error.message)
        return Response(f"{error.message}\n", 400, content_type="text/plain")
    hit = hit_of_event(at.engine, event)
    if hit is not None:
        at.writer.write(hit.study_id, lambda connection: handle_in(connection, hit, event, moment))
    return Response(status=204)
