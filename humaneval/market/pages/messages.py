"""The worker's page of the requester's messages."""

from __future__ import annotations

from flask import Blueprint, redirect

from humaneval.market.messages import mark_read, messages_of
from humaneval.market.pages.site import Answer, Visit, signed_in

blueprint = Blueprint("messages", __name__)


@blueprint.get("/messages")
@signed_in
def show(visit: Visit) -> Answer:
    """All messages, newest first."""
    return visit.page("messages.html", messages=messages_of(visit.work, visit.worker))


@blueprint.post("/messages/read")
@signed_in
def read(visit: Visit) -> Answer:
    """Mark all of them as read."""
    mark_read(visit.work, visit.worker)
    return redirect("/messages", 303)
