"""`doctor`: what works here and what does not, with what mends it."""

from __future__ import annotations

import sys
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import click

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.errors import HumanEvalError


class Finding(NamedTuple):
    """One thing looked at. `needed` is False for what only some verbs use."""

    what: str
    ok: bool
    needed: bool
    detail: str


@click.command()
@json_option
@with_app
def doctor(app: App, as_json: bool) -> None:
    """Check Python, the settings, the database, Chromium, the form server and the marketplace."""
    findings = [_python(), _database(app), _chromium(), *_servers(app)]
    if as_json:
        emit([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            say(
                f"{'ok     ' if finding.ok else 'MISSING' if finding.needed else '–      '} {finding.what}: {finding.detail}"
            )
    if any(finding.needed and not finding.ok for finding in findings):
        raise SystemExit(1)


def _python() -> Finding:
    return Finding("Python", sys.version_info >= (3, 11), True, sys.version.partition(" ")[0])


def _database(app: App) -> Finding:
    from humaneval.store.engine import open_engine

    try:
        engine = open_engine(app.settings.database)
        if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists():
            return Finding(
                "Database", True, True, f"{engine.url.database} will be made when it is first needed"
            )
        engine = app.engine
    except HumanEvalError as error:
        return Finding("Database", False, True, f"{error.message}. {error.hint}")
    return Finding("Database", True, True, engine.url.render_as_string(hide_password=True))


def _chromium() -> Finding:
    from humaneval.cli.chromium import HOW_TO_GET, find_chromium

    found = find_chromium()
    return Finding(
        "Chromium", found is not None, False, found or f"only `study preview --png` needs it: {HOW_TO_GET}"
    )


def _servers(app: App) -> list[Finding]:
    settings = app.settings
    return [
        _answers("Form server", f"{settings.public_url}/health", "humaneval serve"),
        _answers("Marketplace", f"{settings.market_url}/signin", "humaneval market serve"),
    ]


def _answers(what: str, url: str, command: str) -> Finding:
    try:
        with urlopen(url, timeout=3) as response:
            return Finding(what, response.status == 200, False, url)
    except (HTTPException, OSError) as error:
        return Finding(
            what,
            False,
            False,
            f"{url} does not answer ({getattr(error, 'reason', error)}); start it with: {command}",
        )
