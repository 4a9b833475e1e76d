"""What can go wrong with one call, and bringing it about: around the whole application, as a network would.

Every step that can go wrong has a name: an operation of the API by its own, and on the worker site `accept`,
`return`, `submit` and `work` (the page with the question in it).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from waitress.channel import ClientDisconnected
from werkzeug.wrappers import Response

from humaneval.market.protocol.identifiers import new_request_id
from humaneval.market.protocol.shapes import service_model

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

TARGET = "MTurkRequesterServiceV20170117."
CONTENT_TYPE = "application/x-amz-json-1.1"
REQUEST_ID = "x-amzn-RequestId"
"""The header with the id that every call has."""


class Trouble(Enum):
    """What can become of one call."""

    THROTTLED = "refused before anything was done: too many calls"
    UNAVAILABLE = "refused before anything was done: HTTP 503"
    ODD_STATUS = "refused before anything was done: HTTP 505, which clients do not send again by themselves"
    REPLY_LOST = "done, and then HTTP 500 instead of the reply"
    DROPPED = "done, and then the connection is closed without a reply"
    EMPTY_PAGE = "a list gives a page without rows, and a NextToken for what it left out"
    REUSED_ID = "work that is accepted gets the id of work on the same HIT that someone else returned"
    UNSEEN = "the worker's form goes to the marketplace alone: the requester's server never gets it"


SENT_AGAIN = (Trouble.THROTTLED, Trouble.UNAVAILABLE, Trouble.REPLY_LOST, Trouble.DROPPED)
"""The troubles after which AWS's clients send a call again by themselves."""

TroubleMaker = Callable[[str], Trouble | None]
"""Asked before every step, by its name."""

SITE_STEPS = {
    "accept": re.compile(r"POST /hits/[^/]+/accept"),
    "return": re.compile(r"POST /assignments/[^/]+/return"),
    "submit": re.compile(r"POST /mturk/externalSubmit"),
    "work": re.compile(r"GET /assignments/[^/]+"),
}
_HAPPENING = "market.trouble"


def step_of(environ: WSGIEnvironment) -> str | None:
    """The name of the step that a request takes; None for requests that no fault is ever for."""
    line = f"{environ['REQUEST_METHOD']} {environ.get('PATH_INFO', '')}"
    target = environ.get("HTTP_X_AMZ_TARGET", "")
    if line == "POST /" and target.startswith(TARGET):
        operation = target.removeprefix(TARGET)
        return operation if operation in service_model().operation_names else None
    return next((step for step, pattern in SITE_STEPS.items() if pattern.fullmatch(line)), None)


def happening(environ: WSGIEnvironment) -> Trouble | None:
    """The trouble of this request that its own handler has to bring about."""
    trouble: Trouble | None = environ.get(_HAPPENING)
    return trouble


def error_body(kind: str, message: str, code: str = "") -> dict[str, str]:
    """The body of an error answer: its AWS type, its message, and MTurk's own code where there is one."""
    body = {"__type": kind, "message": message, "Message": message}
    return {**body, "TurkErrorCode": code} if code else body


class _Failure(NamedTuple):
    """An error answer of the network or the service, not of the marketplace."""

    status: int
    kind: str
    message: str
    code: str = ""

    def answer(self, step: str) -> WSGIApplication:
        """As programs read it, and as people do on the worker site."""
        if step in SITE_STEPS:
            return Response(self.message, self.status, content_type="text/plain")
        body = json.dumps(error_body(self.kind, self.message, self.code))
        return Response(body, self.status, headers={REQUEST_ID: new_request_id()}, content_type=CONTENT_TYPE)


_AGAIN = "Try your call again."
_FAULT = "AWS.MechanicalTurk.ServiceFault"
_REFUSALS = {
    Trouble.THROTTLED: _Failure(400, "ThrottlingException", "Rate exceeded"),
    Trouble.UNAVAILABLE: _Failure(503, "ServiceFault", _AGAIN, "AWS.MechanicalTurk.ServiceUnavailable"),
    Trouble.ODD_STATUS: _Failure(505, "ServiceFault", _AGAIN, _FAULT),
}
_LOST = _Failure(500, "ServiceFault", _AGAIN, _FAULT)


class WithTrouble:
    """A WSGI application whose calls go wrong when the trouble maker says so."""

    def __init__(self, app: WSGIApplication, trouble: TroubleMaker) -> None:
        self._app = app
        self._trouble = trouble

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Refuse, lose the reply, or leave it to the application, which finds the trouble by `happening`."""
        step = step_of(environ) or ""
        trouble = self._trouble(step) if step else None
        if trouble in _REFUSALS:
            return _REFUSALS[trouble].answer(step)(environ, start_response)
        if trouble in (Trouble.REPLY_LOST, Trouble.DROPPED):
            Response.from_app(self._app, environ, buffered=True).close()
            if trouble is Trouble.DROPPED:
                raise ClientDisconnected
            return _LOST.answer(step)(environ, start_response)
        environ[_HAPPENING] = trouble
        return self._app(environ, start_response)
