"""Mechanical Turk's requester protocol over HTTP: JSON 1.1 in, JSON 1.1 out, checked against botocore's model.

There is one requester account. Any key pair is accepted and no signature is verified: whoever can reach the port
can spend the account's money, so the server binds to this machine only unless it is told otherwise. Web pages
cannot: browsers name the page's origin with a POST, programs do not, and a request that has one is refused.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

from botocore.model import OperationModel
from flask import Blueprint, Response, request
from sqlalchemy.exc import OperationalError

from humaneval.market.market import Market
from humaneval.market.refusals import RefusedError
from humaneval.market.shapes import faults, operation_model, read_times, write_times

TARGET = "MTurkRequesterServiceV20170117."
CONTENT_TYPE = "application/x-amz-json-1.1"

_log = logging.getLogger(__name__)


class Trouble(Enum):
    """What can go wrong between a client and a service, for programs that want to be tried against it."""

    THROTTLED = "refused before anything was done: too many calls"
    UNAVAILABLE = "refused before anything was done: HTTP 503"
    REPLY_LOST = "done, and then HTTP 500 instead of the reply"


TroubleMaker = Callable[[str], Trouble | None]
"""Asked before every operation, by its name."""


class _WireError(Exception):
    """An error answer: its HTTP status, its AWS type and what else goes into the body."""

    def __init__(self, status: int, kind: str, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = {"__type": kind, "message": message, "Message": message}
        if code:
            self.body["TurkErrorCode"] = code


def wire_blueprint(market: Market, trouble: TroubleMaker | None = None) -> Blueprint:
    """The one route of the protocol: POST / with an X-Amz-Target header."""
    blueprint = Blueprint("wire", __name__)

    @blueprint.post("/")
    def call() -> Response:
        if "Origin" in request.headers:
            return _answer(
                403, {"__type": "AccessDeniedException", "message": "No web page may call this API."}
            )
        try:
            return _answer(200, _perform(market, trouble))
        except _WireError as error:
            return _answer(error.status, error.body)

    return blueprint


def _perform(market: Market, trouble: TroubleMaker | None) -> Any:
    operation = _operation()
    params = _params(operation)
    happens = trouble(operation.name) if trouble else None
    if happens is Trouble.THROTTLED:
        raise _WireError(400, "ThrottlingException", "Rate exceeded")
    if happens is Trouble.UNAVAILABLE:
        raise _WireError(503, "ServiceFault", "Try your call again.", "AWS.MechanicalTurk.ServiceUnavailable")
    try:
        reply = market.perform(operation.name, params)
    except RefusedError as refusal:
        raise _WireError(400, "RequestError", refusal.message, refusal.code) from None
    except OperationalError as error:
        _log.warning("%s: the database is busy: %s", operation.name, error.orig)
        raise _WireError(
            503, "ServiceFault", "Try your call again.", "AWS.MechanicalTurk.ServiceUnavailable"
        ) from None
    except Exception:
        _log.exception("%s failed", operation.name)
        _fail()
    wrong = faults(reply, operation.output_shape) if operation.output_shape is not None else []
    if wrong:
        _log.error("%s gave a reply that breaks the model: %s", operation.name, "; ".join(wrong))
        _fail()
    if happens is Trouble.REPLY_LOST:
        _fail()
    return write_times(reply)


def _operation() -> OperationModel:
    target = request.headers.get("X-Amz-Target", "")
    operation = operation_model(target.removeprefix(TARGET)) if target.startswith(TARGET) else None
    if operation is None:
        raise _WireError(
            400, "UnknownOperationException", f"There is no operation {target!r} in the requester API."
        )
    return operation


def _params(operation: OperationModel) -> Any:
    try:
        body = json.loads(request.get_data() or b"{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _WireError(400, "SerializationException", "The body is not JSON.") from None
    shape = operation.input_shape
    if not isinstance(body, dict):
        raise _WireError(400, "SerializationException", "The body is not a JSON object.")
    if shape is None:
        return {}
    # A null is a parameter left out, as AWS's own clients and services hold it.
    given = read_times({name: value for name, value in body.items() if value is not None}, shape)
    wrong = faults(given, shape)
    if wrong:
        count = f"{len(wrong)} validation error{'s' if len(wrong) > 1 else ''} detected"
        raise _WireError(400, "ValidationException", f"{count}: {'; '.join(wrong)}")
    return given


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _fail() -> NoReturn:
    raise _WireError(
        500, "ServiceFault", "The marketplace failed; see its log.", "AWS.MechanicalTurk.ServiceFault"
    )


def _answer(status: int, body: Any) -> Response:
    return Response(json.dumps(body), status=status, content_type=CONTENT_TYPE)
