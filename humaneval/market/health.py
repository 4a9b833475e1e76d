"""Whether the marketplace can store answers now: for monitoring, at `/health`."""

from __future__ import annotations

from threading import Lock
from time import monotonic

from flask import Blueprint, Response, current_app
from sqlalchemy import update

from humaneval.market.operations import Market
from humaneval.market.tables.account import Account
from humaneval.market.tables.database import BUSY

NAME = "X-Marketplace"
"""The header with the name by which marketplaces are told apart."""
FRESH_SECONDS = 1.0
"""How long an answer counts. Anybody may ask, and each answer takes a write to the disk."""


def health_blueprint(market: Market, name: str) -> Blueprint:
    """200 and "ok" while answers can be stored, else 503 and the reason. A header says which marketplace
    this is, by its `name`."""
    blueprint = Blueprint("health", __name__)
    asking = Lock()
    last: list[tuple[float, str]] = []

    def trouble() -> str:
        with asking:
            if not last or monotonic() - last[0][0] > FRESH_SECONDS:
                said = _trouble(market)
                last[:] = [(monotonic(), said)]
            return last[0][1]

    @blueprint.get("/health")
    def health() -> Response:
        said = trouble()
        if said:
            current_app.logger.error("health: %s", said)
        answer = Response(f"{said or 'ok'}\n", 503 if said else 200, mimetype="text/plain")
        answer.headers["Cache-Control"] = "no-store"
        answer.headers[NAME] = name
        return answer

    return blueprint


def _trouble(market: Market) -> str:
    """Why answers cannot be stored; "" if they can. It writes what is there already over itself."""
    try:
        with market.writing() as work:
            work.session.execute(
                update(Account).values(mode=Account.mode), execution_options={"synchronize_session": False}
            )
    except BUSY as error:
        return f"the database cannot be written: {getattr(error, 'orig', None) or error}"
    return ""
