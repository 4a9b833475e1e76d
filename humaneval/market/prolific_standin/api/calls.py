"""What every call of the API needs: a token that is right, one transaction, JSON in and JSON out."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from flask import Blueprint, Response, current_app, jsonify, request
from werkzeug.exceptions import HTTPException

from humaneval.market.prolific_standin.database import Books, Work
from humaneval.market.prolific_standin.deadlines import due_and_then
from humaneval.market.prolific_standin.refusals import Refusal, error_body, newer_error_body

BASE = "/api/v1"
EXTENSION = "prolific"
P = ParamSpec("P")
Answer = Any
"""What a view gives: something that becomes JSON, a pair of that and a status, or a Response."""


def books() -> Books:
    """The file of the application that answers this request."""
    found: Books = current_app.extensions[EXTENSION]
    return found


def api(name: str, *, newer: bool = False) -> Blueprint:
    """A part of the API. `newer`: its errors have the newer shape. Which endpoints have it is unverified."""
    blueprint = Blueprint(name, __name__, url_prefix=BASE)

    @blueprint.before_request
    def refuse_strangers() -> Response | None:
        given = request.headers.get("Authorization", "")
        if hmac.compare_digest(given.encode(), f"Token {books().token}".encode()):
            return None
        return answer(error_body(401, "Invalid token."), 401)

    @blueprint.errorhandler(Refusal)
    def refused(refusal: Refusal) -> Response:
        if newer:
            return answer(newer_error_body(refusal.status, refusal.detail), refusal.status)
        return answer(error_body(refusal.status, refusal.detail, refusal.more), refusal.status)

    return blueprint


def call(view: Callable[Concatenate[Work, P], Answer]) -> Callable[P, Response]:
    """A view in one transaction, which is committed before the answer goes out."""

    @wraps(view)
    def in_transaction(*args: P.args, **kwargs: P.kwargs) -> Response:
        with due_and_then(books()) as work:
            given = view(work, *args, **kwargs)
        if isinstance(given, Response):
            return given
        if isinstance(given, tuple):
            return answer(*given)
        return answer(given)

    return in_transaction


def answer(document: Any, status: int = 200) -> Response:
    """A document as JSON; an empty one has no body."""
    if status == 204:
        return Response(status=204)
    response = jsonify(document)
    response.status_code = status
    return response


def body() -> dict[str, Any]:
    """The object that was sent. Raises Refusal."""
    given = sent()
    if not isinstance(given, dict):
        raise Refusal("JSON parse error - an object is expected.")
    return given


def sent() -> Any:
    """The JSON that was sent; None without any, or if no file can hold it."""
    try:
        given = request.get_json(force=True, silent=True)
        json.dumps(given, ensure_ascii=False).encode()  # half a pair of surrogates is no text
    except (RecursionError, UnicodeEncodeError):
        return None
    return given


def asked() -> dict[str, str]:
    """The parameters of the address."""
    return request.args.to_dict()


def here() -> str:
    """The address of this call, without its parameters."""
    return request.base_url


def own_workspace(work: Work, workspace_id: object) -> None:
    """Raises Refusal unless this is the account's workspace."""
    if workspace_id != work.workspace.id:
        raise Refusal("Workspace not found.", 404)


def http_error(error: HTTPException) -> Response:
    """An address or a method that the API does not have."""
    status = error.code or 500
    detail = "Not found." if status == 404 else (error.description or error.name)
    return answer(error_body(status, detail), status)
