"""The stand-in as one Flask application: the REST API under /api/v1, and the participant's pages."""

from __future__ import annotations

from pathlib import Path

from flask import Flask, Response, jsonify, request
from itsdangerous import Signer
from werkzeug.exceptions import HTTPException

from humaneval.market.faults.admin import TOKEN, admin_blueprint
from humaneval.market.faults.plan import Faults
from humaneval.market.hosts import answer_only
from humaneval.market.prolific_standin import site
from humaneval.market.prolific_standin.api import account, groups, hooks, studies, submissions
from humaneval.market.prolific_standin.api.calls import BASE, EXTENSION, http_error
from humaneval.market.prolific_standin.database import Books
from humaneval.market.prolific_standin.faults import bring_about
from humaneval.web_server import QuietFlask

MOST_BYTES = 4 * 1024 * 1024


def create_prolific_app(books: Books, faults: Faults | None = None) -> Flask:
    """The application over an opened file. With `faults`, they happen, and can be changed while it runs."""
    static = str(Path(__file__).parents[1] / "static")
    app = QuietFlask(__name__, static_folder=static, static_url_path="/static")
    app.config.update(MAX_CONTENT_LENGTH=MOST_BYTES, MAX_FORM_MEMORY_SIZE=MOST_BYTES)
    app.json.sort_keys = False  # type: ignore[attr-defined]  # of the provider that Flask takes by itself
    app.url_map.strict_slashes = False  # the live service takes both forms
    app.extensions[EXTENSION] = books
    app.jinja_env.filters["amount"] = site.amount
    answer_only(app, (), signed=False)
    if faults is not None:
        bring_about(app, faults)
        token = Signer(books.signing_key, salt="prolific-admin").get_signature(b"faults").decode()
        app.config[TOKEN] = token
        app.register_blueprint(admin_blueprint(faults, token))
    for part in (account, groups, hooks, studies, submissions):
        app.register_blueprint(part.blueprint)
    app.register_blueprint(account.newer)
    app.register_blueprint(site.blueprint)
    app.register_error_handler(HTTPException, _not_served)
    return app


def _not_served(error: HTTPException) -> Response:
    if request.path.startswith(BASE):
        return http_error(error)
    if request.path.startswith("/faults"):
        response = jsonify({"error": error.description})
        response.status_code = error.code or 500
        return response
    return site.page("problem.html", error.code or 500, message=error.description or error.name)
