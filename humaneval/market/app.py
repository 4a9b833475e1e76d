"""The marketplace as one Flask application: the requester protocol at POST /, the worker site everywhere
else."""

from __future__ import annotations

from decimal import Decimal

from flask import Flask
from sqlalchemy import Engine
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.wrappers import Response

from humaneval.market.faults.admin import TOKEN, admin_blueprint
from humaneval.market.faults.effects import TroubleMaker, WithTrouble
from humaneval.market.faults.schedule import Faults
from humaneval.market.keys import Keys
from humaneval.market.operations import Market
from humaneval.market.pages.frames import frames_blueprint
from humaneval.market.pages.requester_help import help_blueprint
from humaneval.market.pages.row_faults import unseen_blueprint
from humaneval.market.pages.worker_site import WorkerSite, pages_blueprint
from humaneval.market.security import Seals, check_site
from humaneval.market.tables.database import BUSY, Clock, Mode, open_account
from humaneval.market.wire import wire_blueprint
from humaneval.market.wording import TOO_LARGE, duration_text, moment_text, money_text
from humaneval.store.types import now

MOST_BYTES = 4 * 1024 * 1024
MOST_FIELDS = 5000

_OTHER_WORDS = "The browser asked for something that this site does not do."
_WORDS = {
    400: "The browser's request could not be read. Go back and try again.",
    404: "There is no page at this address. Perhaps a part of it was lost when it was copied.",
    405: "This address cannot be opened by itself. Begin with the list of HITs.",
    413: TOO_LARGE,
    500: (
        "The marketplace made a mistake, and it is not yours. What was stored before is still there: go back"
        " and try again."
    ),
}
"""What people read, by HTTP status, where no page of the site has words of its own."""


def create_market_app(
    engine: Engine,
    *,
    mode: Mode,
    public_url: str,
    clock: Clock = now,
    keys: Keys | None = None,
    trouble: TroubleMaker | None = None,
    invited: bool = False,
    balance: Decimal | None = None,
) -> Flask:
    """The application over an opened market.

    `public_url` is where workers' browsers reach it: it goes into `turkSubmitTo` and invitations. With `keys`
    every call of the API must be signed. `trouble` is asked what goes wrong with each step; where it is a
    plan of faults, it also moves the clock and can be replaced while the application runs. `invited`: workers
    come by invitation, not by name alone. `balance` is what a new account opens with; nothing is made before
    all else was found right.
    """
    check_site(public_url)
    if isinstance(trouble, Faults):
        clock = trouble.moved(clock)
    seals = Seals(open_account(engine, mode, balance=balance, public_url=public_url, clock=clock))
    market = Market(engine, mode, clock)
    site = WorkerSite(market, seals, public_url, invited=invited)
    app = Flask(__name__)
    app.config.update(
        {TOKEN: ""},
        MAX_CONTENT_LENGTH=MOST_BYTES,
        MAX_FORM_MEMORY_SIZE=MOST_BYTES,
        MAX_FORM_PARTS=MOST_FIELDS,
    )
    app.jinja_env.filters.update(money=money_text, duration=duration_text, moment=moment_text)
    app.register_blueprint(wire_blueprint(market, keys, clock))
    app.register_blueprint(frames_blueprint(market, public_url))
    app.register_blueprint(pages_blueprint(site))
    app.register_blueprint(help_blueprint(site, signed=keys is not None))
    if trouble is not None:
        app.register_blueprint(unseen_blueprint(market, public_url))
        app.wsgi_app = WithTrouble(app.wsgi_app, trouble)  # type: ignore[method-assign]  # as Flask says to do it
    if isinstance(trouble, Faults):
        app.config[TOKEN] = seals.admin_token
        app.register_blueprint(admin_blueprint(trouble, seals.admin_token))

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Response:
        response = site.problem(_WORDS.get(error.code or 500, _OTHER_WORDS), error.code or 500)
        if isinstance(error, MethodNotAllowed) and error.valid_methods:
            response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
        return response

    def busy(error: Exception) -> Response:
        app.logger.warning("The database is busy: %s", getattr(error, "orig", error))
        response = site.problem(
            "The marketplace is busy. Nothing was lost: go back and try again in a moment.", 503
        )
        response.headers["Retry-After"] = "2"
        return response

    for kind in BUSY:
        app.register_error_handler(kind, busy)
    return app
