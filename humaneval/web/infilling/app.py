"""Makes the Flask application of the infilling page, or puts the page into another application."""

from __future__ import annotations

from flask import Flask

from humaneval.web import security
from humaneval.web.hosts import answer_only
from humaneval.web.infilling import pages
from humaneval.web.infilling.desk import Desk
from humaneval.web_server import QuietFlask


def create_app(desk: Desk, *, host: str = "") -> Flask:
    """The page alone, at the root of its address. `host` is the address that it listens on."""
    app = QuietFlask(__name__, static_folder=None, template_folder=None)
    register(app, desk)
    answer_only(app, (host,))
    security.install(app)
    return app


def register(app: Flask, desk: Desk, prefix: str = "") -> None:
    """Put the page into `app` at `prefix`, for example `/infill`. The application sets the headers and checks
    the host, as `create_app` does."""
    app.extensions[pages.DESK] = desk
    app.register_blueprint(pages.blueprint, url_prefix=prefix or None)
