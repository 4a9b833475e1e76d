"""`up`: everything that a study needs, in one command."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.live import Live
from rich.text import Text
from sqlalchemy import select

from humaneval.cli.context import App, console, say, warn_if_open, with_app
from humaneval.cli.market.options import DEFAULT_FILE
from humaneval.crowd.advice import left_out
from humaneval.crowd.publish import PublishResult
from humaneval.crowd.published_hits import endpoints_of
from humaneval.crowd.status import EndpointStatus
from humaneval.errors import HumanEvalError, UsageError
from humaneval.market.serving import is_local
from humaneval.running.addresses import Wish, choose
from humaneval.running.browser import open_pages
from humaneval.running.up import Addresses, bring_up
from humaneval.store.engine import reading
from humaneval.store.tables import StudyRow
from humaneval.store.types import now
from humaneval.study.stored import Study
from humaneval.text import command, counted, listed
from humaneval.web.requester import token_of

PORT = click.IntRange(1, 65535)


@click.command()
@click.argument("study", required=False)
@click.option("--port", type=PORT, help="Port of the forms and of your pages. [default: as before, or 8730]")
@click.option("--market-port", type=PORT, help="Port of the marketplace. [default: as before, or 8731]")
@click.option(
    "--public-url",
    help="Address at which a reverse proxy shows both to annotators. [default: as before, or this machine]",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON document on each line, one for each event."
)
@with_app
def up(
    app: App,
    study: str | None,
    port: int | None,
    market_port: int | None,
    public_url: str | None,
    as_json: bool,
) -> None:
    """Put STUDY up on this machine and collect the answers, until Ctrl-C.

    Starts the marketplace and the form server, publishes STUDY there, and prints two addresses: for
    annotators, and for you. Other studies that are up there are collected, too. Run it again to go on: the
    addresses stay the same. If `up` runs already, STUDY joins it. This folder's marketplace is used if it
    runs already, and so is one that a setting names.
    """
    if study is None:
        raise _unnamed(app)
    opened = app.study(study)
    elsewhere = endpoints_of(opened)
    if elsewhere and "local" not in elsewhere:
        raise UsageError(
            f"study {study!r} is up at {elsewhere[0]}, and this command puts studies up on this machine only",
            f"The forms alone are served by `{command('serve')}`.",
        )
    token = token_of(app.engine)
    wish = Wish(port, market_port, public_url)
    places = choose(app.loaded, wish, app.engine, study, token, Path(DEFAULT_FILE))
    here = app.using(places.settings)
    for name in places.astray:
        say(
            f"Note: the HITs of study {name!r} lead annotators to forms at another address than"
            f" {places.settings.public_url}. To take them down, while this runs:"
            f" {command('expire', name, '--to', 'local')}",
            err=True,
        )
    if places.market_file is not None:
        warn_if_open(str(places.market_file))
    at = here.study_at("local", study)
    if as_json:
        bring_up(at, places, here.study_at, token, _Lines())
    else:
        with _Told(opened) as told:
            bring_up(at, places, here.study_at, token, told)


def _unnamed(app: App) -> UsageError:
    """The error for a command that names no study."""
    with reading(app.engine) as session:
        names = session.scalars(select(StudyRow.name).order_by(StudyRow.id.desc())).all()
    if not names:
        make = command("study", "create", "NAME", "--from", "FILE")
        return UsageError("there is no study yet", f"Make one: `{make}`.")
    others = f" The others are {listed(names[1:])}." if names[1:] else ""
    return UsageError("no study is named", f"For the newest: `{command('up', names[0])}`.{others}")


class _Told:
    """Tells people. On a terminal the last line is how far the study is; elsewhere each change is a line."""

    def __init__(self, study: Study) -> None:
        self._study, self._is_paid = study.name, study.settings.hit.reward > 0
        self._console = console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)

    def __enter__(self) -> _Told:
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _say(self, *lines: str) -> None:
        for line in lines:
            self._console.print(line, soft_wrap=True)

    def up(self, addresses: Addresses, published: PublishResult) -> None:
        new = f"{counted(published.assignments, 'form')} put up" if published.made else "its forms are up"
        self._say(f"Study {self._study}: {new}.")
        if addresses.joined:
            self._say("The forms are served already by another program, and the study joins it.")
        elif not addresses.started_market:
            self._say(f"The marketplace that runs already is used: {addresses.market}")
        self._say("", f"For annotators: {addresses.annotators}", f"For you alone:  {addresses.requester}", "")
        if is_local("127.0.0.1", addresses.market):
            self._say("They work in browsers of this machine. For people elsewhere, see --public-url.")
        self._say(
            "Answers are collected as they come. Ctrl-C ends only this; the forms stay with that program."
            if addresses.joined
            else "Answers are collected as they come. Press Ctrl-C to stop; the same command goes on later.",
            "",
        )
        if self._console.is_terminal:
            open_pages(addresses.requester, addresses.annotators)
            self._live.start()

    def beside(self, study: str) -> None:
        self._say(f"Study {study} is up here, too, and its answers are collected.")

    def progress(self, line: EndpointStatus) -> None:
        said = f"{now():%H:%M:%S} UTC  {progress_in_words(line)}"
        if self._live.is_started and line.submitted < line.planned:
            self._live.update(Text(said), refresh=True)
        else:
            self._say(said)

    def trouble(self, error: HumanEvalError) -> None:
        self._say(f"Note: {error.message}", *([f"  {error.hint}"] if error.hint else []))

    def complete(self) -> None:
        self._live.stop()
        self._say("All forms are in. Next, after Ctrl-C or in another terminal:")
        self._say(*(f"  {line}" for line in _next(self._study)))
        if self._is_paid:
            self._say(
                "To pay people: approve while this runs, pay them by hand, and enter it:",
                f"  {command('review', self._study, '--approve')}",
                f"  {command('review', self._study, '--paid')}",
            )

    def ending(self) -> None:
        self._live.stop()
        self._say("Stopping. First, the answers that have come are collected.")

    def ended(self, line: EndpointStatus | None) -> None:
        again = command("up", self._study)
        if line is None:
            self._say(f"Stopped before anything was put up. To go on: {again}")
        elif line.submitted < line.planned:
            self._say(
                f"Stopped. {progress_in_words(line._replace(opened=0, about_done_at=None))} To go on: {again}"
            )
        else:
            self._say("Stopped. All forms are in. Next:", *(f"  {each}" for each in _next(self._study)))


class _Lines:
    """Tells programs: each event is one JSON document on one line."""

    def up(self, addresses: Addresses, published: PublishResult) -> None:
        _emit("up", **addresses._asdict(), made=published.made, already_up=published.already_up)

    def beside(self, study: str) -> None:
        _emit("beside", study=study)

    def progress(self, line: EndpointStatus) -> None:
        _emit("progress", **_figures(line))

    def trouble(self, error: HumanEvalError) -> None:
        _emit("trouble", message=error.message, hint=error.hint)

    def complete(self) -> None:
        _emit("complete")

    def ending(self) -> None:
        _emit("ending")

    def ended(self, line: EndpointStatus | None) -> None:
        _emit("ended", **(_figures(line) if line else {}))


def progress_in_words(line: EndpointStatus) -> str:
    """How far the study is, in one sentence."""
    said = f"{line.submitted} of {counted(line.planned, 'form')} {'is' if line.submitted == 1 else 'are'} in"
    if line.usable < line.submitted:
        late = f"{line.not_collected:,} not collected yet" if line.not_collected else ""
        said += f", {line.usable} usable ({', '.join(filter(None, (left_out(line), late)))})"
    said += f", {line.opened} open now" if line.opened else ""
    said += f"; about done at {line.about_done_at:%Y-%m-%d %H:%M} UTC" if line.about_done_at else ""
    return f"{said}."


def _figures(line: EndpointStatus) -> dict[str, object]:
    names = ("planned", "opened", "submitted", "usable", "left_out", "about_done_at")
    return {name: getattr(line, name) for name in names}


def _next(study: str) -> tuple[str, str]:
    return command("score", study), command("report", study, "--out", "report.html")


def _emit(event: str, **values: object) -> None:
    click.echo(json.dumps({"event": event, **values}, ensure_ascii=False, default=str))
