"""The worker's page of the requester's messages."""

from __future__ import annotations

from flask import Blueprint, redirect, request

from humaneval.market.messages import MESSAGES_ON_A_PAGE, mark_read, messages_of
from humaneval.market.pages.site import Answer, Visit, before_in, signed_in

blueprint = Blueprint("messages", __name__)


@blueprint.get("/messages")
@signed_in
def show(visit: Visit) -> Answer:
    """A page of the messages, newest first."""
    messages = messages_of(visit.work, visit.worker, before=before_in(request))
    older = messages[-1].number if len(messages) == MESSAGES_ON_A_PAGE else None
    return visit.page("messages.html", messages=messages, older=older)


@blueprint.post("/messages/read")
@signed_in
def read(visit: Visit) -> Answer:
    """Mark all of them as read."""
    mark_read(visit.work, visit.worker)
    return redirect("/messages", 303)
