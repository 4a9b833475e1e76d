"""The marketplace as one Flask application: the requester protocol at POST /, and the worker site."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, MutableMapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import Flask, current_app
from flask.templating import Environment
from jinja2 import Template
from sqlalchemy import Engine
from werkzeug.exceptions import HTTPException, MethodNotAllowed
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.wrappers import Response

from humaneval.market.faults.admin import TOKEN, admin_blueprint
from humaneval.market.faults.effects import WithTrouble
from humaneval.market.faults.kinds import TroubleSource
from humaneval.market.faults.plan import Faults
from humaneval.market.faults.unseen_form import unseen_blueprint
from humaneval.market.health import health_blueprint
from humaneval.market.hosts import answer_only
from humaneval.market.keys import Keys
from humaneval.market.operations import Market
from humaneval.market.pages import frames as frame_pages
from humaneval.market.pages import requesters, worker_site
from humaneval.market.pages.crowds import Crowds
from humaneval.market.pages.frames import APART
from humaneval.market.pages.site import NO_FRAMES, FrameHost, WorkerSite, current_site
from humaneval.market.protocol.addresses import check_frames, check_site, origin_of
from humaneval.market.protocol.answer_xml import MOST_BYTES as LARGEST_ANSWER
from humaneval.market.security import Seals
from humaneval.market.tables.database import BUSY, Clock, Mode, open_account
from humaneval.market.wire import wire_blueprint
from humaneval.market.wording import TOO_LARGE, duration_text, moment_text, money_text
from humaneval.server_logs import log_rarely
from humaneval.store.types import now
from humaneval.web_server import MOST_FIELDS, QuietFlask

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

MOST_BYTES = 4 * 1024 * 1024
_BESIDE = "market.frames"

_OTHER_WORDS = "This site cannot do what the browser asked for."
_WORDS = {
    400: "This site could not read the browser's request. Go back and try again.",
    404: "There is no page at this address. Check that you copied all of it.",
    405: "This address cannot be opened by itself. Start from the list of tasks.",
    413: TOO_LARGE,
    500: (
        "Something went wrong in the marketplace. What you sent before is still stored. Go back and try"
        " again."
    ),
}
"""What people read, by HTTP status, if no page has a more exact text."""


def create_market_app(
    engine: Engine,
    *,
    mode: Mode,
    public_url: str,
    clock: Clock = now,
    keys: Keys | None = None,
    trouble: TroubleSource | None = None,
    invited: bool = False,
    balance: Decimal | None = None,
    frames: FrameHost = NO_FRAMES,
    host: str = "",
    most_at_address: int | None = None,
    trusted_proxies: int = 0,
) -> Flask:
    """The application over an opened market.

    Args: public_url: Where workers' browsers reach it. It goes into `turkSubmitTo` and invitations. keys: If
    given, every call of the API must be signed with one of them. trouble: It is asked what goes wrong with
    each step. A `Faults` also moves the clock, and its plan can be replaced while the application runs.
    invited: Workers come by invitation, not by name alone. balance: What a new account opens with. Nothing is
    made before everything else was found right. frames: Where HTML that is part of a HIT has an origin of its
    own. If it is an address, this application answers there, too. If it is a port, `frames_of` it must be
    served there. host: The name that it listens on. It answers there and at `public_url`, and to no name that
    another site turned to this machine. most_at_address: How many tasks people at one network address may
    have in hand; None: any number. trusted_proxies: How many proxies tell where a request comes from.
    """
    check_site(public_url)
    if frames.url:
        check_frames(frames.url, public_url)
        frames = FrameHost(origin_of(frames.url))
    if isinstance(trouble, Faults):
        clock = trouble.moved(clock)
    seals = Seals(open_account(engine, mode, balance=balance, public_url=public_url, clock=clock))
    market = Market(engine, mode, clock)
    crowds = Crowds(most_at_address, clock, invited=invited)
    site = WorkerSite(market, seals, public_url, crowds=crowds, invited=invited, frames=frames)
    app = _application(site, {TOKEN: "", requesters.SIGNED: keys is not None, APART: False})
    app.register_blueprint(wire_blueprint(market, keys, clock))
    app.register_blueprint(health_blueprint(market, seals.name))
    for pages in (worker_site, requesters):
        app.register_blueprint(pages.blueprint)
    log_rarely(app.logger.name, "humaneval.market.wire", "humaneval.patterns")
    beside = _application(site, {APART: True})
    app.extensions[_BESIDE] = beside
    for each in (app, beside):
        answer_only(each, (public_url, frames.url, host), signed=keys is not None)
    if trouble is not None:
        _bring_about(app, market, trouble, seals, public_url)
        beside.wsgi_app = WithTrouble(beside.wsgi_app, trouble)  # type: ignore[method-assign]  # as Flask says to do it
    if frames.url:
        app.wsgi_app = _ByHost(urlsplit(frames.url).netloc, beside, app.wsgi_app)  # type: ignore[method-assign]  # as above
    if trusted_proxies:
        # Of what a proxy says, only this: the public address is the one that was given.
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=trusted_proxies, x_proto=0, x_host=0)  # type: ignore[method-assign]  # as above
    app.register_error_handler(HTTPException, _refused)
    for kind in BUSY:
        app.register_error_handler(kind, _busy)
    return app


def frames_of(app: Flask) -> Flask:
    """The application that gives requesters' HTML an origin of its own, beside the worker site's `app`.

    Nobody is signed in to it, and it has nothing but that HTML and the address that takes its answers.
    """
    beside: Flask = app.extensions[_BESIDE]
    return beside


_compiling = threading.RLock()


class _Templates(Environment):
    """Of a crowd that comes to a new server, one thread compiles a template for all."""

    def get_template(
        self,
        name: str | Template,
        parent: str | None = None,
        globals: MutableMapping[str, Any] | None = None,
    ) -> Template:
        with _compiling:
            return super().get_template(name, parent, globals)


class _Pages(QuietFlask):
    jinja_environment = _Templates


def _application(site: WorkerSite, config: Mapping[str, object]) -> Flask:
    app = _Pages(__name__)
    app.config.update(
        config,
        MAX_CONTENT_LENGTH=MOST_BYTES,
        MAX_FORM_MEMORY_SIZE=LARGEST_ANSWER,
        MAX_FORM_PARTS=MOST_FIELDS,
    )
    app.jinja_env.filters.update(money=money_text, duration=duration_text, moment=moment_text)
    site.serve(app)
    app.register_blueprint(frame_pages.blueprint)
    return app


class _ByHost:
    """One application for requests to `host`, another for all others."""

    def __init__(self, host: str, there: WSGIApplication, elsewhere: WSGIApplication) -> None:
        self._host, self._there, self._elsewhere = host, there, elsewhere

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        app = self._there if environ.get("HTTP_HOST", "").lower() == self._host.lower() else self._elsewhere
        return app(environ, start_response)


def _bring_about(app: Flask, market: Market, trouble: TroubleSource, seals: Seals, public_url: str) -> None:
    app.register_blueprint(unseen_blueprint(market, public_url))
    app.wsgi_app = WithTrouble(app.wsgi_app, trouble)  # type: ignore[method-assign]  # as Flask says to do it
    if isinstance(trouble, Faults):
        app.config[TOKEN] = seals.admin_token
        app.register_blueprint(admin_blueprint(trouble, seals.admin_token))


def _refused(error: HTTPException) -> Response:
    status = error.code or 500
    response = current_site().problem(_WORDS.get(status, _OTHER_WORDS), status)
    if isinstance(error, MethodNotAllowed) and error.valid_methods:
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods))
    return response


def _busy(error: Exception) -> Response:
    current_app.logger.warning("The database is busy: %s", getattr(error, "orig", error))
    response = current_site().problem(
        "The marketplace is busy. Nothing was lost. Go back and try again in a moment.", 503
    )
    response.headers["Retry-After"] = "2"
    return response
