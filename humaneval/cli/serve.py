"""`serve`: the annotators' forms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

import click
from sqlalchemy import select

from humaneval.cli.context import App, say, with_app
from humaneval.crowd.publish import leads_elsewhere
from humaneval.crowd.published_hits import published_at
from humaneval.errors import HumanEvalError
from humaneval.settings import DEFAULT, KEPT, reached_at
from humaneval.store.engine import reading
from humaneval.store.heartbeat import beat
from humaneval.store.tables import StudyRow
from humaneval.web.app import create_app, run
from humaneval.web.exclude import Excluder
from humaneval.web.hits_in_hand import Asker
from humaneval.web.prolific_check import Checker
from humaneval.web.requester import requester_address, token_of


@click.command()
@click.option("--host", help="Address to listen on. [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on. [default: 8730]")
@click.option(
    "--token",
    "with_pages",
    is_flag=True,
    help="Also serve the requester's pages, and print their secret address.",
)
@with_app
def serve(app: App, host: str | None, port: int | None, with_pages: bool) -> None:
    """Serve the annotators' forms until Ctrl-C. Browsers must be able to reach them under `public_url`."""
    host, port = host or app.settings.host, app.settings.port if port is None else port
    beat(app.engine)  # nobody should work on a form whose answers cannot be kept
    excluder = Excluder(app.study_at)
    token = token_of(app.engine) if with_pages else ""
    application = create_app(
        app.settings,
        app.engine,
        excluder.answered,
        Asker(app.study_at).in_hand,
        host=host,
        requester_token=token,
        requester_at=app.study_at,
        checker=Checker(app.study_at),
    )

    def announce(port: int) -> None:
        here, public = reached_at(host, port), app.settings.public_url
        answers = _answers(app, public, here)
        say(f"Forms: {here}, for browsers at {public}" if answers else f"Forms: {here}")
        if token:
            say(f"Requester's pages: {requester_address(public if answers else here, token)}")
            say("Give this address only to people who may see everything about your studies.", err=True)
        if not answers:
            say(f"HITs and links lead to {public}, not here: set public_url to {here}.", err=True)
        for moved in _elsewhere(app):
            say(f"Note: {moved}.", err=True)
        say("Press Ctrl-C to stop.", err=True)

    run(application, host, port, announce)


def _elsewhere(app: App) -> Iterator[str]:
    """How HITs and links of studies lead people elsewhere."""
    with reading(app.engine) as session:
        names = session.scalars(select(StudyRow.name).order_by(StudyRow.id)).all()
    for name in names:
        with suppress(HumanEvalError):  # keys or questions that serving others does not need
            study = app.study(name)
            for endpoint in published_at(study):
                if moved := leads_elsewhere(app.at(endpoint, study), app.settings.public_url):
                    yield moved


def _answers(app: App, public: str, here: str) -> bool:
    """Whether a server that is reached `here` answers at `public`. Who sets that address knows it."""
    origin = app.loaded.origin("public_url")
    if origin == KEPT and not app.settings.trusted_proxies:
        return urlsplit(public).port == urlsplit(here).port
    return origin != DEFAULT or public == here
