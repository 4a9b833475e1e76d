"""Makes the Flask application of the annotators' pages and serves it."""

from __future__ import annotations

import gc
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from flask import Flask
from itsdangerous import URLSafeSerializer
from sqlalchemy import Connection, Engine
from werkzeug.middleware.proxy_fix import ProxyFix

from humaneval.crowd.outbox import hold_study_at
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.open_forms import OpenForms
from humaneval.server_logs import log_rarely
from humaneval.settings import Settings
from humaneval.store.engine import writing
from humaneval.store.heartbeat import Pulse
from humaneval.store.identity import Identity
from humaneval.store.meta import stored_secret
from humaneval.store.together import Reader, Writer
from humaneval.study.stored import program_key, without_question
from humaneval.web import hit_forms, link_forms, prolific_events, prolific_forms, security
from humaneval.web.forms import Context
from humaneval.web.hosts import answer_only
from humaneval.web.infilling import Desk
from humaneval.web.prolific_check import Checker
from humaneval.web.requester import access_token
from humaneval.web.tokens import Tokens, last_unmarked
from humaneval.web_server import SECONDS_TO_FINISH, QuietFlask, Servers, listen, until_told

MAX_FORM_BYTES = 256 * 1024
THREADS, COMPUTING = 64, 4
"""How many requests are answered at once, and how many of them by computing. The others wait: for the disk, a
platform, or a model on the requester's pages. While the writer commits for some, it gathers the next."""
MOST_BYTES = 2 * MAX_FORM_BYTES
"""Up to this, a page says that a form is too long. More is refused before it has come."""
MOST_HEADER_BYTES = 64 * 1024
"""Of an address with its headers. At the marketplace, answers may come in the address."""


LOGS = (
    "humaneval.crowd.signatures",
    "humaneval.patterns",
    "humaneval.store.together",
    "humaneval.web.hits_in_hand",
    "humaneval.web.exclude",
    "humaneval.web.prolific_check",
)
"""Whose lines visitors can bring about, beside those of the application."""


def create_app(
    settings: Settings,
    engine: Engine,
    answered: Callable[[str, str], None] = lambda endpoint, study: None,
    in_hand: Callable[[str, str, str], int] = lambda endpoint, study, hit: 0,
    *,
    host: str = "",
    requester_token: str = "",
    requester_at: Callable[[str, str], StudyAtPlatform] | None = None,
    requester_desk: Desk | None = None,
    checker: Checker | None = None,
) -> Flask:
    """The application, for a database of the current revision.

    `host` is the address that it listens on, if that is not the settings' own. `answered` is called with
    endpoint and study as soon as a worker's answers are stored. It must be quick. `in_hand` asks the platform
    how many workers have a HIT in hand, by endpoint, study and its id there. The requester's pages are only
    there with a `requester_token`. They ask the platform if `requester_at` opens a study there, and have the
    infilling page if there is a `requester_desk`.
    `checker` asks Prolific about its people.
    """
    app = QuietFlask(__name__, static_folder=None, template_folder=None)
    log_rarely(app.logger.name, *LOGS)
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_FORM_BYTES
    with writing(engine) as session:
        key = settings.secret_key or stored_secret(session, "form key")
        unmarked, programs = last_unmarked(session), program_key(session)
        unshown = without_question(session)
    for study, error in unshown.items():
        app.logger.warning("Study %s cannot be shown: %s. %s", study, error.message, error.hint)
    identity = Identity(engine)
    writer = Writer(engine, partial(_begun, identity), partial(_ended, identity))
    signer = URLSafeSerializer(key, salt="form")
    open_forms = OpenForms[int](settings.open_forms_per_address)
    app.extensions["humaneval"] = Context(
        settings,
        engine,
        signer,
        Tokens(signer, unmarked),
        programs,
        identity,
        Pulse(engine),
        writer,
        Reader(engine),
        open_forms,
        answered,
        in_hand,
        checker,
    )
    if settings.trusted_proxies:
        count = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=count, x_proto=count, x_host=count)  # type: ignore[method-assign]  # as Flask's manual does it
    app.register_blueprint(hit_forms.blueprint)
    app.register_blueprint(link_forms.blueprint)
    app.register_blueprint(prolific_events.blueprint)
    app.register_blueprint(prolific_forms.blueprint)
    answer_only(app, (settings.public_url, host or settings.host))
    access_token.install(app, requester_token, requester_at, requester_desk)
    security.install(app)
    return app


def _begun(identity: Identity, connection: Connection, study_id: int) -> None:
    """Before anything is written: the right database, and nobody else who writes about the study."""
    identity.check_file()
    identity.check_id(connection)
    hold_study_at(connection, study_id)


def _ended(identity: Identity) -> None:
    """Before anything that was written is acknowledged."""
    identity.check_file()


def run(app: Flask, host: str, port: int, listening: Callable[[int], None]) -> None:
    """Serve until Ctrl-C or SIGTERM. `listening` is called with the port once browsers can connect."""
    gc.freeze()  # what is loaded stays: nobody need look through it again
    gc.set_threshold(10_000)  # requests leave few cycles, and a crowd's make a dozen searches a second
    with _serving(app, host, port) as serving, until_told(serving.servers):
        listening(serving.port)
        serving.servers.run()


@contextmanager
def running(app: Flask, host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Serve in the background while the block runs. Yields the port: a free one if `port` is 0."""
    with _serving(app, host, port) as serving:
        thread = threading.Thread(
            target=serving.servers.run, name=f"forms-{secrets.token_hex(2)}", daemon=True
        )
        thread.start()
        try:
            yield serving.port
        finally:
            serving.servers.stop()
            thread.join(timeout=2 * SECONDS_TO_FINISH)


def _rank(method: str, path: str) -> int:
    """Files need no database. People who send answers must not wait behind a whole crowd that opens forms,
    and nobody behind a researcher who looks on."""
    if path.startswith("/assets/"):
        return 0
    if path.startswith("/requester/"):
        return 3
    return 1 if method == "POST" or path.endswith("/sent") else 2


class _Serving(NamedTuple):
    servers: Servers
    port: int


@contextmanager
def _serving(app: Flask, host: str, port: int) -> Iterator[_Serving]:
    """A server that is already listening."""
    with listen(host, port, "the form server") as listening:
        servers = Servers()
        servers.add(
            app,
            listening,
            threads=THREADS,
            computing=COMPUTING,
            most_bytes=MOST_BYTES,
            max_request_header_size=MOST_HEADER_BYTES,
            rank=_rank,
            ident="humaneval",
            clear_untrusted_proxy_headers=False,
        )
        yield _Serving(servers, listening.getsockname()[1])
