"""Setting and clearing faults while the marketplace runs, for programs on this machine with the token.

The token is printed when the marketplace starts. It must come in a header of its own, which no page of
another site can send. A call with an Origin, or from another machine, is always refused.
"""

from __future__ import annotations

import hmac
from typing import Any

from flask import Blueprint, Response, jsonify, request

from humaneval.errors import UsageError
from humaneval.market.faults.plan import Faults, faults_from, read_line
from humaneval.market.protocol.addresses import is_loopback

PATH = "/faults"
TOKEN = "FAULTS_TOKEN"
"""The name of the token in the application's configuration."""
TOKEN_HEADER = "X-Market-Token"


def admin_blueprint(faults: Faults, token: str) -> Blueprint:
    """GET shows the plan and how often each fault has happened. PUT replaces the plan, DELETE clears it."""
    blueprint = Blueprint("admin", __name__)

    @blueprint.before_request
    def refuse_others() -> Response | None:
        here = is_loopback(request.remote_addr or "") and "Origin" not in request.headers
        given = request.headers.get(TOKEN_HEADER, "").encode()
        if here and hmac.compare_digest(given, token.encode()):
            return None
        return _refused(403, f"only this machine may call this, with the token in {TOKEN_HEADER}")

    @blueprint.get(PATH)
    def show() -> Response:
        return jsonify({"seed": faults.plan.seed, "faults": faults.happened()})

    @blueprint.put(PATH)
    def replace() -> Response:
        try:
            given: Any = request.get_json(force=True, silent=True)
            if not isinstance(given, dict) or not {"faults"} <= set(given) <= {"faults", "seed"}:
                raise UsageError('the body must be {"faults": …}, with a "seed" if you like')
            listed, seed = given["faults"], given.get("seed", 0)
            if not isinstance(seed, int):
                raise UsageError("seed must be a whole number")
            read = read_line if isinstance(listed, str) else faults_from
            faults.replace(read(listed, faults.of), seed)
        except UsageError as error:
            return _refused(400, error.message)
        except RecursionError:
            return _refused(400, "the body is nested too deeply")
        return show()

    @blueprint.delete(PATH)
    def clear() -> Response:
        faults.replace((), 0)
        return show()

    return blueprint


def _refused(status: int, message: str) -> Response:
    response = jsonify({"error": message})
    response.status_code = status
    return response
