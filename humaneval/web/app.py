"""Makes the Flask application of the annotators' pages and serves it."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from itsdangerous import URLSafeSerializer
from sqlalchemy import Engine
from waitress import create_server, wasyncore
from werkzeug.middleware.proxy_fix import ProxyFix

from humaneval.crowd.pseudonyms import stored_secret
from humaneval.errors import PrerequisiteError
from humaneval.settings import Settings
from humaneval.store.engine import writing
from humaneval.web import hit_forms, link_forms, security
from humaneval.web.forms import Context

MAX_FORM_BYTES = 256 * 1024
THREADS = 8
CONNECTIONS = 500


def create_app(
    settings: Settings,
    engine: Engine,
    answered: Callable[[str, str], None] = lambda endpoint, study: None,
    in_hand: Callable[[str, str, str], int] = lambda endpoint, study, hit: 0,
) -> Flask:
    """The application, for a database of the current revision.

    `answered` is called with endpoint and study as soon as a worker's answers are stored. It must be quick.
    `in_hand` asks the platform how many workers have a HIT in hand, by endpoint, study and its id there.
    """
    app = Flask(__name__, static_folder=None, template_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_FORM_BYTES
    if settings.secret_key:
        key: str | bytes = settings.secret_key
    else:
        with writing(engine) as session:
            key = stored_secret(session, "form key")
    app.extensions["humaneval"] = Context(
        settings, engine, URLSafeSerializer(key, salt="form"), answered, in_hand
    )
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]  # as Flask's manual does it
    app.register_blueprint(hit_forms.blueprint)
    app.register_blueprint(link_forms.blueprint)
    security.install(app)
    return app


def run(app: Flask, host: str, port: int, listening: Callable[[], None]) -> None:
    """Serve until interrupted. `listening` is called once browsers can connect."""
    server = _server(app, host, port)
    listening()
    server.run()


@contextmanager
def running(app: Flask, host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Serve in the background while the block runs. Yields the port: a free one if `port` is 0."""
    sockets: dict[int, Any] = {}
    server = _server(app, host, port, sockets)
    stopping = threading.Event()

    def serve() -> None:
        # Not server.run(): it ends only when the last browser closes its connection, which takes minutes.
        while not stopping.is_set():
            wasyncore.loop(timeout=1, map=sockets, count=1)

    thread = threading.Thread(target=serve, name=f"forms-{secrets.token_hex(2)}", daemon=True)
    thread.start()
    try:
        yield server.effective_port
    finally:
        stopping.set()
        server.pull_trigger()
        thread.join(timeout=10)
        server.task_dispatcher.shutdown()
        wasyncore.close_all(sockets)


def _server(app: Flask, host: str, port: int, sockets: dict[int, Any] | None = None) -> Any:
    """A server that is already listening. waitress has no types."""
    try:
        return create_server(
            app,
            host=host,
            port=port,
            map=sockets,
            threads=THREADS,
            connection_limit=CONNECTIONS,
            ident="humaneval",
            clear_untrusted_proxy_headers=False,
        )
    except OSError as error:
        raise PrerequisiteError(
            f"cannot listen on {host}:{port}: {error.strerror}", "Choose another port with --port."
        ) from None
