"""What every verb needs: settings, the opened database, a platform, and one way to print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from humaneval.errors import UsageError
from humaneval.settings import Loaded, Settings, load_settings

if TYPE_CHECKING:
    from rich.console import Console
    from sqlalchemy import Engine

    from humaneval.crowd.platform import Platform

F = TypeVar("F", bound=Callable[..., Any])


class App:
    """One run of one verb."""

    def __init__(self, flags: dict[str, object]) -> None:
        self._flags = flags

    @cached_property
    def loaded(self) -> Loaded:
        return load_settings(self._flags)

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @cached_property
    def engine(self) -> Engine:
        """The database, of the current revision; an empty one gets its tables."""
        from humaneval.store.engine import open_engine
        from humaneval.store.migrate import open_current

        engine = open_engine(self.settings.database)
        open_current(engine)
        return engine

    def platform(self, name: str, study: str) -> Platform:
        """The platform behind `--to NAME`, as `study` uses it."""
        from humaneval.crowd.endpoints import endpoint
        from humaneval.crowd.link import Link
        from humaneval.crowd.mturk.platform import MTurk
        from humaneval.study.stored import settings_of_study

        where = endpoint(name, self.settings)
        if name == "link":
            return Link(where, self.engine, pay=settings_of_study(self.engine, study).link.pay)
        return MTurk(where, profile=self.settings.aws_profile, keys=self.settings.market_keys)


def with_app(function: F) -> F:
    """Give a verb an App as its first argument."""

    @click.pass_context
    @wraps(function)
    def call(context: click.Context, *args: Any, **kwargs: Any) -> Any:
        return function(App(dict(context.obj or {})), *args, **kwargs)

    return call  # type: ignore[return-value]  # F is the verb as click sees it, without App


SEED = click.IntRange(-(2**31), 2**31 - 1)
"""What every database keeps as a whole number."""

SIMULATED = "Simulated annotators: these numbers say nothing about people."


def is_simulated(app: App, study: str) -> bool:
    """Whether programs answer this study."""
    from humaneval.store.engine import reading
    from humaneval.study.stored import get_study

    with reading(app.engine) as session:
        return get_study(session, study).simulated


def spending(function: F) -> F:
    """Give a verb --live and --spend, without which no real money goes out."""
    live = click.option("--live", is_flag=True, help="Yes, spend real money.")
    spend = click.option("--spend", metavar="SUM", help="The exact sum in dollars that this may spend.")
    return live(spend(function))


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")


def acting(function: F) -> F:
    """Give a verb that does something at a platform --dry-run, --json, and an App as its first argument."""
    dry_run = click.option(
        "--dry-run", is_flag=True, help="Only say what would be done; nothing is sent or written."
    )
    return dry_run(json_option(with_app(function)))


to_option = click.option(
    "--to",
    "endpoint",
    type=click.Choice(["local", "sandbox", "production", "link"]),
    default="local",
    show_default=True,
    help="Which marketplace.",
)


def emit(document: Any) -> None:
    """Print the one JSON document of `--json`."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))


def say(message: str = "", *, err: bool = False) -> None:
    """Print a line for people."""
    click.echo(message, err=err)


def console() -> Console:
    """A terminal for tables: colours where there is one, plain text in a pipe. Brackets in text are only
    brackets."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, soft_wrap=False, markup=False, emoji=False)


def confirm_spending(
    spends_money: bool, where: str, total: Decimal, *, live: bool, spend: str | None
) -> None:
    """Real money goes out only with --live and the exact sum, by flag or typed at the prompt.

    A sum that is given has to be right also where no real money goes out.
    """
    if not spends_money:
        if spend is not None:
            _refuse_other_sum(spend, total)
        return
    if not live:
        raise UsageError(
            f"{where} spends real money: ${total}", f"Say so with --live and the sum: --live --spend {total}"
        )
    if spend is None:
        if not sys.stdin.isatty():
            raise UsageError(
                f"this spends ${total}, and there is no terminal to ask at",
                f"Give the sum: --live --spend {total}",
            )
        spend = click.prompt(
            f"This spends ${total} of real money at {where}. Type the sum to go on",
            default="",
            show_default=False,
            err=True,  # stdout may be a JSON document
        )
    _refuse_other_sum(spend, total)


def _refuse_other_sum(spend: str, total: Decimal) -> None:
    from humaneval.fees import money

    if money(spend.strip().lstrip("$") or "0") != total:
        raise UsageError(f"the sum does not match: this costs ${total}, not {spend!r}", "Nothing was sent.")
