"""Mechanical Turk's requester protocol over HTTP: AWS's JSON 1.1, checked against botocore's model.

There is one requester account. If there are access keys, a request must be signed with one of them. If not,
any key pair is accepted, and the server answers this machine only. Web pages can never call: browsers send
the page's origin with a POST, programs do not, and a request with an origin is refused.
"""

from __future__ import annotations

import json
import logging
from typing import Any, NoReturn

from botocore.model import OperationModel
from flask import Blueprint, Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from humaneval.market.faults.effects import happening
from humaneval.market.faults.kinds import Trouble
from humaneval.market.keys import Keys, NotSignedError
from humaneval.market.operations import Market
from humaneval.market.protocol.http import CONTENT_TYPE, REQUEST_ID, TARGET, error_body
from humaneval.market.protocol.identifiers import new_request_id
from humaneval.market.protocol.refusals import RefusedError
from humaneval.market.protocol.shapes import (
    MOST_VALUES,
    faults,
    is_endless,
    operation_model,
    read_times,
    write_times,
)
from humaneval.market.tables.database import BUSY, Clock
from humaneval.server_logs import failure

_log = logging.getLogger(__name__)


class _WireError(Exception):
    """An error answer: its HTTP status and its body."""

    def __init__(self, status: int, kind: str, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = error_body(kind, message, code)


def wire_blueprint(market: Market, keys: Keys | None, clock: Clock) -> Blueprint:
    """The only route of the protocol: POST / with an X-Amz-Target header."""
    blueprint = Blueprint("wire", __name__)

    @blueprint.post("/")
    def call() -> Response:
        request_id = new_request_id()
        try:
            if "Origin" in request.headers:
                raise _WireError(403, "AccessDeniedException", "Web pages cannot call this API.")
            if keys is not None:
                keys.check(request, clock())
            answer = _answer(200, _perform(market, request_id))
        except NotSignedError as error:
            answer = _answer(error.status, error_body(error.kind, error.message))
        except RequestEntityTooLarge:
            body = error_body("RequestEntityTooLargeException", "A call can have at most 4 MB.")
            answer = _answer(413, body)
        except _WireError as error:
            answer = _answer(error.status, error.body)
        answer.headers[REQUEST_ID] = request_id
        # Clients with a wrong clock take the time from here.
        answer.date = clock()
        return answer

    return blueprint


def _perform(market: Market, request_id: str) -> Any:
    operation = _operation()
    params = _params(operation)
    try:
        reply = market.perform(
            operation.name,
            params,
            request_id,
            without_rows=happening(request.environ) is Trouble.EMPTY_PAGE,
        )
    except RefusedError as refusal:
        raise _WireError(400, "RequestError", refusal.message, refusal.code) from None
    except BUSY as error:
        _log.warning("%s: the database is busy: %s", operation.name, getattr(error, "orig", error))
        raise _WireError(
            503, "ServiceFault", "Try your call again.", "AWS.MechanicalTurk.ServiceUnavailable"
        ) from None
    except Exception as error:
        _log.error("%s failed: %s", operation.name, failure(error))
        _fail()
    wrong = faults(reply, operation.output_shape) if operation.output_shape is not None else []
    if wrong:
        _log.error("%s gave a reply that breaks the model: %s", operation.name, "; ".join(wrong))
        _fail()
    return write_times(reply)


def _operation() -> OperationModel:
    target = request.headers.get("X-Amz-Target", "")
    operation = operation_model(target.removeprefix(TARGET)) if target.startswith(TARGET) else None
    if operation is None:
        raise _WireError(400, "UnknownOperationException", f"The requester API has no operation {target!r}.")
    return operation


def _params(operation: OperationModel) -> Any:
    try:
        body = json.loads(request.get_data() or b"{}", parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _WireError(400, "SerializationException", "The body is not JSON.") from None
    shape = operation.input_shape
    if not isinstance(body, dict):
        raise _WireError(400, "SerializationException", "The body is not a JSON object.")
    if is_endless(body):
        raise _WireError(400, "ValidationException", f"The call has more than {MOST_VALUES:,} values.")
    if shape is None:
        return {}
    given = read_times(body, shape)
    wrong = faults(given, shape)
    if wrong:
        count = f"{len(wrong)} validation error{'s' if len(wrong) > 1 else ''} detected"
        raise _WireError(400, "ValidationException", f"{count}: {'; '.join(wrong)}")
    return given


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _fail() -> NoReturn:
    raise _WireError(
        500, "ServiceFault", "The marketplace failed. See its log.", "AWS.MechanicalTurk.ServiceFault"
    )


def _answer(status: int, body: Any) -> Response:
    return Response(json.dumps(body), status=status, content_type=CONTENT_TYPE)
