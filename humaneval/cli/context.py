"""What every verb needs: settings, the opened database, a platform, and one way to print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from humaneval.cli.numbers import Dollars
from humaneval.errors import SettingsError, UsageError
from humaneval.fees import NO_FEES
from humaneval.settings import KEPT, Loaded, Settings, load_settings
from humaneval.text import command, printable, shell_words

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from humaneval.crowd.platform import Endpoint
    from humaneval.crowd.study_at import StudyAtPlatform
    from humaneval.study.stored import Study
    from humaneval.text import Answerers

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a verb is to run, as the command line says."""

    live: bool = False
    """Real money may be spent."""
    spend: Decimal | None = None
    """The sum that may be spent, in the currency of the account."""
    dry_run: bool = False
    as_json: bool = False
    quiet: bool = False
    """Nothing is printed: another verb prints the outcome."""

    def silenced(self, quiet: bool) -> RunOptions:
        """The same options, quiet or not."""
        return replace(self, quiet=quiet)


class App:
    """One run of one verb.

    A study and its database are imported only when they are asked for: every verb uses this module, and some
    need neither.
    """

    def __init__(self, flags: dict[str, object]) -> None:
        self._flags = flags
        self.live = False
        """Whether --live was given: some platforms ask again before money leaves."""

    @cached_property
    def loaded(self) -> Loaded:
        from humaneval.store.addresses import kept_addresses

        database = load_settings(self._flags).settings.database
        return load_settings(self._flags, kept=kept_addresses(database))

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @cached_property
    def engine(self) -> Engine:
        """The database, of the current revision. Raises StoreError if it is missing or empty: a wrong name
        must make no file."""
        return self._opened(make=False)

    @cached_property
    def made_engine(self) -> Engine:
        """The same for a verb that brings the first data: a missing database is made."""
        return self._opened(make=True)

    def _opened(self, *, make: bool) -> Engine:
        from humaneval.store.engine import open_engine
        from humaneval.store.migrate import open_current

        engine = open_engine(self.settings.database, make=make)
        if engine.dialect.name == "sqlite":
            warn_if_open(str(engine.url.database))
        open_current(engine, make=make)
        return engine

    def using(self, settings: Settings) -> App:
        """The same database, with other addresses."""
        other = App(self._flags)
        other.loaded, other.engine = Loaded(settings, self.loaded.origins), self.engine
        return other

    def study(self, name: str) -> Study:
        """The study called `name`."""
        from humaneval.study.stored import open_study

        return open_study(self.engine, name)

    def study_at(self, endpoint: str, name: str) -> StudyAtPlatform:
        """The study called `name` at the platform behind `--to ENDPOINT`."""
        return self.at(endpoint, self.study(name))

    def where(self, name: str | None) -> str:
        """The endpoint where the study called `name` is up, or where it would be put up first.

        Raises UsageError if it is up at several.
        """
        from humaneval.crowd.published_hits import endpoints_of

        found = endpoints_of(self.study(name)) if name is not None else ()
        if len(found) > 1:
            raise UsageError(
                f"study {name!r} is up at {' and at '.join(found)}: say which of them is meant",
                f"Add {' or '.join(f'--to {endpoint}' for endpoint in found)}.",
            )
        return found[0] if found else "local"

    def started_by(self, study: str) -> str:
        """The command that serves a study again, if `up` has served this database; else nothing."""
        return command("up", study) if self.loaded.origin("market_url") == KEPT else ""

    def at(self, endpoint: str, study: Study) -> StudyAtPlatform:
        """An opened study at the platform behind `--to ENDPOINT`."""
        from humaneval.crowd import endpoints
        from humaneval.crowd.link import Link
        from humaneval.crowd.mturk.platform import MTurk
        from humaneval.crowd.mturk_csv import MTurkCsv
        from humaneval.crowd.prolific.platform import Prolific
        from humaneval.crowd.study_at import StudyAtPlatform

        settings = self.settings
        where = replace(endpoints.endpoint(endpoint, settings), currency=study.settings.hit.currency)
        if endpoint == "local":
            where = replace(where, starts=self.started_by(study.name))
        if endpoint == "link":
            pay, secret = study.settings.link.pay, settings.panel_secret
            return StudyAtPlatform(study, Link(where, study.engine, pay=pay, panel_secret=secret))
        if endpoint == "csv":
            return StudyAtPlatform(study, MTurkCsv(where, study.engine, pay=study.settings.link.pay))
        if endpoint == "prolific":
            token, project = settings.prolific_token, settings.prolific_project
            if not token:
                raise SettingsError(
                    "prolific_token is not set",
                    "Set PROLIFIC_TOKEN to a token of the researcher's account (Settings, API tokens).",
                )
            live = self.live
            return StudyAtPlatform(
                study, Prolific(where, study.engine, token=token, project=project, live=live)
            )
        return StudyAtPlatform(study, MTurk(where, profile=settings.aws_profile, keys=settings.market_keys))


def _app(context: click.Context) -> App:
    """The one App of this run."""
    app: App = context.meta.setdefault("humaneval.app", App(dict(context.obj or {})))
    return app


def with_app(function: F) -> F:
    """Give a verb an App as its first argument."""

    @click.pass_context
    @wraps(function)
    def call(context: click.Context, *args: Any, **kwargs: Any) -> Any:
        return function(_app(context), *args, **kwargs)

    return call  # type: ignore[return-value]  # F is the verb as click sees it, without App


SEED = click.IntRange(-(2**31), 2**31 - 1)
"""What every database keeps as a whole number."""

SIMULATED = "Simulated annotators: these numbers say nothing about people."


def simulated_line(who: Answerers) -> str:
    """The warning about simulated annotators, with counts if there are people, too."""
    return f"{who}. Numbers of both together say nothing about people." if who.people else SIMULATED


def spending(function: F) -> F:
    """Give a verb --live and --spend, without which no real money goes out."""
    live = click.option("--live", is_flag=True, help="Spend real money.")
    spend = click.option(
        "--spend", type=Dollars(), metavar="SUM", help="Exact sum in dollars that this may spend."
    )
    return live(spend(function))


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")


def acting(function: F) -> F:
    """Give a verb that does something at a platform --dry-run and --json.

    Its first arguments are an App and RunOptions, which also hold --live and --spend (see `spending`).
    """
    dry_run = click.option(
        "--dry-run", is_flag=True, help="Only say what would be done; nothing is sent or stored."
    )

    @wraps(function)
    def call(app: App, /, **values: Any) -> Any:
        told = {name: values.pop(name) for name in ("live", "spend", "dry_run", "as_json") if name in values}
        app.live = told.get("live", False)
        return function(app, RunOptions(**told), **values)

    return dry_run(json_option(with_app(call)))  # type: ignore[return-value]  # as in with_app


ENDPOINTS = click.Choice(["local", "sandbox", "production", "link", "prolific", "csv"])


def to_option(function: F) -> F:
    """Give a verb about a published study --to. Without it, the verb goes where STUDY is up."""
    option = click.option(
        "--to",
        "endpoint",
        type=ENDPOINTS,
        show_default="where STUDY is up",
        help="Platform: a marketplace, Prolific, links or files.",
    )

    @wraps(function)
    def call(*args: Any, **values: Any) -> Any:
        if values["endpoint"] is None:
            values["endpoint"] = _app(click.get_current_context()).where(values["study"])
        return function(*args, **values)

    return option(call)  # type: ignore[return-value]  # as in with_app


def emit(document: Any) -> None:
    """Print the one JSON document of `--json`."""
    click.echo(printable(json.dumps(document, ensure_ascii=False, indent=2, default=str)))


def say(message: str = "", *, err: bool = False) -> None:
    """Print a line for people. Strangers' names and words in it command no terminal."""
    click.echo(printable(message), err=err)


def warn_if_open(database: str) -> None:
    """Say on stderr if other people of this machine may read the files of an SQLite database. To be asked
    before it is opened: its log is there only while it is open."""
    from humaneval.store.files import open_to_others

    if files := open_to_others(Path(database)):
        say(
            f"Note: other people of this machine may open {', '.join(map(str, files))}, which hold keys or"
            f" workers' ids. `{shell_words('chmod', '600', *map(str, files))}` ends that.",
            err=True,
        )


def console(*, err: bool = False) -> Console:
    """A terminal for tables: colours where there is one, plain text in a pipe. Brackets in text are only
    brackets."""
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        """A console to which text is nothing but text."""

        def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
            for each in super().render(*args, **options):
                yield each if each.control else Segment(printable(each.text), each.style)

    return Plain(
        file=sys.stderr if err else sys.stdout, highlight=False, soft_wrap=False, markup=False, emoji=False
    )


def priced(endpoint: str, sign: str, amount: Decimal, total: Decimal) -> str:
    """What people get and what it costs, in words: where nobody takes fees, one pays by oneself.

    >>> priced("local", "$", Decimal("1.00"), Decimal("1.20"))
    '$1.00, which you pay yourself'
    """
    return f"{sign}{amount}, which you pay yourself" if endpoint in NO_FEES else f"{sign}{total} with fees"


def confirm_spending(endpoint: Endpoint, total: Decimal, options: RunOptions, *, due: bool = True) -> None:
    """Real money is spent only with --live and the exact sum, by flag or typed at the prompt.

    A sum that is given must be right even if no real money is spent, or nothing is `due`.
    """
    where, spend = endpoint.name, options.spend
    if not (endpoint.spends_money and due):
        if spend is not None:
            _refuse_other_sum(spend, total, endpoint.sign)
        return
    if not options.live:
        raise UsageError(
            f"{where} spends real money: {endpoint.sign}{total}",
            f"Confirm it with --live and the sum: --live --spend {total}",
        )
    if spend is None:
        if not sys.stdin.isatty():
            raise UsageError(
                f"this spends {endpoint.sign}{total}, and there is no terminal to ask on",
                f"Give the sum: --live --spend {total}",
            )
        spend = click.prompt(
            f"This spends {endpoint.sign}{total} of real money at {where}. Type the sum to continue",
            default="0",
            show_default=False,
            err=True,  # stdout may hold a JSON document
            type=Dollars(),
        )
    _refuse_other_sum(spend, total, endpoint.sign)


def _refuse_other_sum(spend: Decimal, total: Decimal, sign: str) -> None:
    if spend != total:
        raise UsageError(
            f"the sum does not match: this costs {sign}{total}, not {sign}{spend}", "Nothing was sent."
        )
