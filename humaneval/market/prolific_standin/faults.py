"""The faults of the stand-in: their names, the steps at which they can happen, and what they do to answers.

A step is a call of the API, by the name of its view, or one of the participant's: reserve, start, complete
and give_back. `deliver` is the delivery of an event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, g, request
from waitress.channel import ClientDisconnected
from werkzeug.wrappers import Response as PlainResponse

from humaneval.market.faults.kinds import CLOCK, SLOW
from humaneval.market.faults.plan import Fault, Faults
from humaneval.market.prolific_standin.refusals import error_body

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

RETRY_AFTER = "2"
KINDS: Mapping[str, str] = {
    "throttled": "refused before anything is done: HTTP 429, with Retry-After",
    "throttled-bare": "the same without Retry-After",
    "unavailable": "refused before anything is done: HTTP 503",
    "reply-lost": "carried out, then HTTP 500 instead of the reply",
    "dropped": "carried out, then the connection is closed without a reply",
    "processing": "submissions are shown as PROCESSING for once",
    "unknown-status": "submissions are shown with a status that no document names",
    "late": "somebody submits after the time, and it counts",
    "duplicate": "an event is sent twice",
    "disordered": "an event is sent after later ones",
    SLOW: "waits before the call is carried out",
    CLOCK: "moves the clock",
}
READING = ("list_submissions", "list_submissions_of_study", "get_submission")
ONLY_AT: Mapping[str, tuple[str, ...]] = {
    "processing": READING,
    "unknown-status": READING,
    "late": ("complete",),
    "duplicate": ("deliver",),
    "disordered": ("deliver",),
}
"""Where some faults happen, if the plan does not say it."""
BESIDE_API = ("reserve", "start", "complete", "give_back", "deliver")
API = [
    "create_study",
    "list_studies",
    "list_studies_of_project",
    "get_study",
    "change_study",
    "delete_study",
    "clone_study",
    "transition_study",
    "cost_of_study",
    "calculate_cost",
    "make_test_study",
    "list_submissions",
    "list_submissions_of_study",
    "count_submissions",
    "get_submission",
    "transition_submission",
    "request_return",
    "bulk_approve",
    "set_up_bonuses",
    "pay_bonuses",
    "get_me",
    "list_workspaces",
    "get_workspace",
    "get_balance",
    "list_projects",
    "create_project",
    "get_project",
    "recommend_rewards",
    "create_test_participant",
    "send_message",
    "send_messages",
    "message_group",
    "list_messages",
    "list_unread_messages",
    "list_filters",
    "count_eligible",
    "list_groups",
    "create_group",
    "get_group",
    "change_group",
    "delete_group",
    "list_members",
    "add_members",
    "remove_members",
    "list_event_types",
    "list_secrets",
    "create_secret",
    "list_subscriptions",
    "create_subscription",
    "get_subscription",
    "confirm_subscription",
    "change_subscription",
    "delete_subscription",
    "list_events",
]
"""Every call of the API."""
_DROPPED = "prolific.dropped"


class ProlificFault(Fault):
    """One line of a plan for the stand-in."""

    @classmethod
    def kinds(cls) -> Iterable[str]:
        return KINDS

    @classmethod
    def problem_with(cls, step: str) -> str:
        if step in API or step in BESIDE_API:
            return ""
        return f"there is no step {step!r}; beside {', '.join(BESIDE_API)} there are {', '.join(API)}"

    def is_for(self, step: str) -> bool:
        if self.only:
            return step in self.only
        return step in ONLY_AT.get(self.kind, API)


def bring_about(app: Flask, faults: Faults) -> None:
    """Let calls of `app` fail when the plan says so."""

    @app.before_request
    def refuse() -> Response | None:
        step = (request.endpoint or "").rpartition(".")[2]
        fault = faults.next_at(step) if step in API or step in BESIDE_API else None
        g.trouble = fault.kind if fault is not None else ""
        if g.trouble in ("throttled", "throttled-bare"):
            response = _error(429, "Request was throttled.")
            if g.trouble == "throttled":
                response.headers["Retry-After"] = RETRY_AFTER
            return response
        return _error(503, "Try again later.") if g.trouble == "unavailable" else None

    @app.after_request
    def lose(response: Response) -> Response:
        if happening() == "reply-lost":
            return _error(500, "Internal server error.")
        if happening() == "dropped":
            request.environ[_DROPPED].append(request.endpoint)
        return response

    app.wsgi_app = _Dropping(app.wsgi_app)  # type: ignore[method-assign]  # as Flask says to do it


def happening() -> str:
    """The kind of the fault of this request; empty if there is none."""
    return str(getattr(g, "trouble", ""))


def disguise(document: dict[str, Any]) -> dict[str, Any]:
    """A list of submissions, or one, with the status that a fault makes of theirs."""
    shown = {"processing": "PROCESSING", "unknown-status": "ON HOLD"}.get(happening())
    if shown is None:
        return document
    if "results" in document:
        return {**document, "results": [{**each, "status": shown} for each in document["results"]]}
    return {**document, "status": shown}


class _Dropping:
    """A WSGI application that closes the connection without a reply, if the request was marked so."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        dropped: list[str] = []  # the application gets a copy of the environment, with the same list in it
        environ[_DROPPED] = dropped
        response = PlainResponse.from_app(self._app, environ, buffered=True)
        if dropped:
            response.close()
            raise ClientDisconnected
        return response(environ, start_response)


def _error(status: int, detail: str) -> Response:
    return Response(json.dumps(error_body(status, detail)), status, content_type="application/json")
