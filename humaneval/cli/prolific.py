"""`humaneval prolific`: run a stand-in for Prolific, to try a study without money."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import click

from humaneval.cli.context import say, warn_if_open
from humaneval.cli.market.options import fault_options
from humaneval.cli.numbers import Dollars, Number
from humaneval.cli.output_files import NamedPath
from humaneval.errors import UsageError
from humaneval.market.faults.admin import TOKEN_HEADER
from humaneval.market.faults.plan import read_plan
from humaneval.market.prolific_standin import Faults, ProlificFault, ProlificServer, Terms, open_prolific
from humaneval.store.types import now

DEFAULT_PORT = 8732


class Moment(click.ParamType[datetime]):
    """A moment in ISO 8601; without a zone, in UTC."""

    name = "moment"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """`value` as a moment."""
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            raise UsageError(f"{value!r} is not a moment", "Write it as 2026-11-02T09:00.") from None
        if not 1970 <= moment.year < 2200:
            raise UsageError(f"{value!r} is too far away", "Give a moment between 1970 and 2200.")
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@click.group()
def prolific() -> None:
    """Run a stand-in for Prolific.

    It speaks Prolific's REST API to programs, and has pages for participants. It spends no money.
    """


@prolific.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of this machine to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port to listen on; 0 takes any free one.",
)
@click.option(
    "--database",
    type=NamedPath(dir_okay=False, path_type=str),
    default="prolific.db",
    show_default=True,
    help="File of the stand-in.",
)
@click.option("--balance", type=Dollars(), help="Opening balance of a new account. [default: 10000.00]")
@click.option(
    "--currency", type=click.Choice(["GBP", "USD"]), default="GBP", show_default=True, help="Its currency."
)
@click.option(
    "--clock", type=Moment(), metavar="MOMENT", help="Time at which the clock begins. [default: now]"
)
@click.option(
    "--delay",
    type=Number(0, 86_400),
    default=1.0,
    show_default=True,
    help="Seconds until approvals in bulk and bonuses can be seen.",
)
@fault_options
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON document.")
def serve(
    host: str,
    port: int,
    database: str,
    balance: Decimal | None,
    currency: str,
    clock: datetime | None,
    delay: float,
    faults: str | None,
    fault_seed: int,
    as_json: bool,
) -> None:
    """Serve the stand-in until Ctrl-C, for this machine alone.

    Makes its database if there is none. Prints the lines that point a program at it.
    """
    if balance is not None and balance < 0:
        raise UsageError(f"an account cannot open with {balance}", "Give a balance of 0.00 or more.")
    planned = None
    if faults is not None:
        planned = Faults(read_plan(faults, ProlificFault), fault_seed, of=ProlificFault)
    terms = Terms(currency=currency, delay=timedelta(seconds=delay))
    if balance is not None:
        terms = Terms(currency=currency, delay=timedelta(seconds=delay), opening=int(balance * 100))
    ahead = timedelta() if clock is None else clock - now()
    warn_if_open(database)
    engine = open_prolific(database)
    try:
        server = ProlificServer(
            engine, host=host, port=port, clock=lambda: now() + ahead, faults=planned, terms=terms
        )
        _announce(server, as_json=as_json)
        server.serve_forever()
    finally:
        engine.dispose()


def _announce(server: ProlificServer, *, as_json: bool) -> None:
    environment = {"PROLIFIC_URL": server.url, "PROLIFIC_TOKEN": server.token}
    document: dict[str, object] = {
        "participants": f"{server.url}/",
        "environment": environment,
        "workspace": server.workspace_id,
    }
    if server.faults_token:
        document["faults"] = {"url": server.faults_url, "header": TOKEN_HEADER, "token": server.faults_token}
    if as_json:
        click.echo(json.dumps(document))  # on one line: programs read it while the server runs
        return
    say(f"For participants: {server.url}/")
    say("For a program of your own:")
    for name, value in environment.items():
        say(f"  export {name}={value}")
    if server.faults_token:
        say("Faults can be injected. To see or change the faults:")
        say(f"  curl -H '{TOKEN_HEADER}: {server.faults_token}' {server.faults_url}")
    say("Press Ctrl-C to stop.", err=True)
