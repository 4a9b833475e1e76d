"""`doctor`: check what works on this machine, and say how to correct what does not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

import click

from humaneval.cli.context import App, emit, json_option, say, to_option, with_app
from humaneval.crowd.doctor import Finding, look, said_by
from humaneval.crowd.published_hits import go_on_command, hits_of, up
from humaneval.errors import HumanEvalError
from humaneval.market.protocol.addresses import is_loopback
from humaneval.running.listening import Listening, find
from humaneval.running.rehearsal import rehearse
from humaneval.running.screenshots import HOW_TO_GET, find_chromium
from humaneval.settings import Settings
from humaneval.store.engine import open_engine, reading, shown
from humaneval.store.heartbeat import beat
from humaneval.store.migrate import known_revision
from humaneval.study.stored import put_up
from humaneval.text import Steps, command
from humaneval.timed_replies import opener


@click.command()
@click.argument("study", required=False)
@to_option
@json_option
@with_app
def doctor(app: App, study: str | None, endpoint: str, as_json: bool) -> None:
    """Check this machine, or rehearse a study before it is published.

    Checks Python, the settings, the database, Chromium, the form server and the marketplace.

    With STUDY, find out what would fail if it were published. A simulated worker goes through a copy of it,
    from publishing to paying, at a temporary marketplace. Address, frames, clock, keys, balance and
    qualifications are checked at the endpoint of --to. Nothing is published, and nothing is stored.
    """
    findings = [_python(), _database(app), _chromium()]
    findings += _servers(app) if study is None else _study(app, study, endpoint)
    if as_json:
        emit([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            say(
                f"{'ok     ' if finding.ok else 'MISSING' if finding.needed else '–      '} {finding.what}:"
                f" {' '.join(finding.detail.splitlines())}"
            )
    missing = sum(finding.needed and not finding.ok for finding in findings)
    if not as_json:
        if study is not None:
            found = f"{missing} of these would make publishing fail." if missing else "No problem was found."
            say(f"{found} Nothing was published.")
        for step in _steps(app, findings, study, endpoint).lines:
            say(step)
    if missing:
        raise SystemExit(1)


def _steps(app: App, findings: Sequence[Finding], study: str | None, endpoint: str) -> Steps:
    """What corrects what is needed; then what comes after it, and what else could be corrected."""
    bad = [finding for finding in findings if finding.needed and not finding.ok]
    again = command("doctor") if study is None else command("doctor", study, "--to", endpoint)
    first = [step for finding in bad for step in finding.steps] or [again] * bool(bad)
    after = [_next(app, study, endpoint)] if study is not None and not bad else []
    rest = [step for finding in findings if not finding.needed for step in finding.steps]
    return Steps.of([*first, *after, *rest] or [command("study", "create", "--help")])


def _next(app: App, study: str, endpoint: str) -> str:
    opened = app.study(study)
    with reading(app.engine) as session:
        hits = hits_of(session, opened, endpoint)
    if any(hit.closed_at for hit in hits):
        return command("study", "create", "NAME")  # what is closed stays so
    audience = hits[-1].audience if hits else ""
    return put_up(opened) if endpoint == "local" else go_on_command(study, endpoint, audience)


def _python() -> Finding:
    return Finding("Python", sys.version_info >= (3, 11), True, sys.version.partition(" ")[0])


def _database(app: App) -> Finding:
    try:
        engine = open_engine(app.settings.database, make=False)
        if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists():
            return Finding("Database", True, True, f"{engine.url.database} will be made at its first use")
        if known_revision(engine) is None:
            return Finding("Database", True, True, f"{engine.url.database} gets its tables at its first use")
        engine = app.engine
        beat(engine)
    except HumanEvalError as error:
        return Finding("Database", False, True, f"{error.message}. {error.hint}")
    return Finding("Database", True, True, shown(engine.url))


def _chromium() -> Finding:
    found = find_chromium()
    return Finding(
        "Chromium",
        found is not None,
        False,
        found or f"only pictures of forms need it, as those of study preview: {HOW_TO_GET}",
    )


def _servers(app: App) -> list[Finding]:
    settings = app.settings
    return [
        _answers("Form server", f"{settings.public_url}/form/health", command("serve")),
        _answers("Marketplace", f"{settings.market_url}/signin", command("market", "serve")),
    ]


def _study(app: App, study: str, endpoint: str) -> list[Finding]:
    at = app.study_at(endpoint, study)
    found = list(look(at, app.settings.public_url))
    way = put_up(at.study)
    if endpoint == "local" and way == command("up", study) and not up(at.study, endpoint):
        found = [_brought_up(each, app.settings, way) for each in found]
    return [
        *found,
        *rehearse(at.study, as_new_marketplace=endpoint == "local"),
    ]


def _brought_up(finding: Finding, settings: Settings, way: str) -> Finding:
    """A server that is not there yet is no trouble if the command that puts the study up starts it."""
    forms, market = urlsplit(settings.public_url), urlsplit(settings.market_url)
    parts = {"Form server": forms, "Keys": market}.get(finding.what)
    if finding.ok or parts is None or not is_loopback(parts.hostname or ""):
        return finding
    if find(parts.hostname or "", parts.port or 80, "") is not Listening.NOTHING:
        return finding
    what = "Marketplace" if finding.what == "Keys" else finding.what
    return Finding(what, True, True, f"`{way}` starts it")


def _answers(what: str, url: str, start: str) -> Finding:
    try:
        with opener().open(url, timeout=3) as response:
            return Finding(what, response.status == 200, False, url)
    except HTTPError as error:
        return Finding(what, False, False, f"{url} says: {said_by(error)}")
    except (HTTPException, OSError) as error:
        return Finding(
            what,
            False,
            False,
            f"{url} does not answer ({getattr(error, 'reason', error)})",
            (start,),
        )
