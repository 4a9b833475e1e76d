"""The effects of faults: they wrap the whole application, as a network would."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from waitress.channel import ClientDisconnected
from werkzeug.wrappers import Response

from humaneval.market.protocol.identifiers import new_request_id

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment
from humaneval.market.faults.kinds import SITE_STEPS, Trouble, TroubleSource, step_of
from humaneval.market.protocol.http import CONTENT_TYPE, REQUEST_ID, error_body

_HAPPENING = "market.trouble"


def happening(environ: WSGIEnvironment) -> Trouble | None:
    """The trouble of this request that its own handler has to cause."""
    trouble: Trouble | None = environ.get(_HAPPENING)
    return trouble


class _Failure(NamedTuple):
    """An error answer of the network or the service, not of the marketplace."""

    status: int
    kind: str
    message: str
    code: str = ""

    def answer(self, step: str) -> WSGIApplication:
        """The answer for a program, or for a person on the worker site."""
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
    """A WSGI application whose calls fail when the trouble source says so."""

    def __init__(self, app: WSGIApplication, trouble: TroubleSource) -> None:
        self._app = app
        self._trouble = trouble

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Refuse the call, lose its reply, or pass it on with its trouble for `happening`."""
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
