"""`humaneval market`: run the self-hosted marketplace."""

from __future__ import annotations

import json
from decimal import Decimal
from urllib.parse import urlsplit

import click

from humaneval.cli.context import App, with_app
from humaneval.errors import UsageError
from humaneval.fees import money

REGION = "us-east-1"
DEFAULT_PORT = 8731


class Dollars(click.ParamType[Decimal]):
    """An amount of money in whole cents."""

    name = "dollars"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        """`value` as an amount; the error names what was wrong with it."""
        return money(str(value))


@click.group()
def market() -> None:
    """The self-hosted marketplace: Mechanical Turk's protocol for programs, a worker site for people."""


@market.command()
@click.option(
    "--mode",
    type=click.Choice(["local", "sandbox"]),
    default="local",
    show_default=True,
    help="Whether the account counts every cent, or has a balance that never falls.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on. Any key pair is accepted."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="0 takes any free one. [default: the port of `market_url`]"
)
@click.option(
    "--database",
    type=click.Path(dir_okay=False),
    default="market.db",
    show_default=True,
    help="The marketplace's own file, made when it is not there.",
)
@click.option("--balance", type=Dollars(), help="What a new account opens with. [default: 10000.00]")
@click.option("--public-url", help="Where workers' browsers reach it, if not at the address it listens on.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON document.")
@with_app
def serve(
    app: App,
    mode: str,
    host: str,
    port: int | None,
    database: str,
    balance: Decimal | None,
    public_url: str | None,
    as_json: bool,
) -> None:
    """Serve the marketplace until Ctrl-C.

    Prints the worker site's address and the lines that point any boto3 program at it.
    """
    if host in ("0.0.0.0", "::", "") and public_url is None:
        raise UsageError(
            f"{host or 'An empty --host'} is every address of this machine, and none that a browser can open",
            "Say with --public-url where workers reach the marketplace.",
        )
    if port is None:
        port = urlsplit(app.settings.market_url).port or DEFAULT_PORT
    # Here, so that listing the commands needs no web server.
    from humaneval.market import MarketServer, Mode, open_account, open_market
    from humaneval.market.questions import is_loopback

    engine = open_market(database)
    try:
        open_account(engine, Mode(mode), balance=balance)
        server = MarketServer(engine, mode=Mode(mode), host=host, port=port, public_url=public_url)
        environment = {
            "AWS_ENDPOINT_URL_MTURK": server.url,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
        }
        if as_json:
            click.echo(
                json.dumps({"worker_site": f"{server.url}/", "mode": mode, "environment": environment})
            )
        else:
            click.echo(f"Worker site: {server.url}/")
            click.echo("For a program of your own:")
            for name, value in environment.items():
                click.echo(f"  export {name}={value}")
            click.echo("Press Ctrl-C to stop.", err=True)
        if not is_loopback(host):
            click.echo("Warning: whoever can reach this address can spend the account's money.", err=True)
        server.serve_forever()
    finally:
        engine.dispose()


@market.command()
@click.option(
    "--database",
    type=click.Path(exists=True, dir_okay=False),
    default="market.db",
    show_default=True,
    help="The marketplace's own file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON document.")
def events(database: str, as_json: bool) -> None:
    """Print the events of HITs that a program asked to be told of, oldest first.

    Mechanical Turk sent them by e-mail, SQS or SNS (UpdateNotificationSettings, SendTestEventNotification). None of
    these can be reached from here, so the marketplace keeps each message instead, whatever its destination.
    """
    from humaneval.market import open_market
    from humaneval.market.events import kept_events

    engine = open_market(database)
    try:
        kept = kept_events(engine)
    finally:
        engine.dispose()
    if as_json:
        click.echo(json.dumps({"events": kept}))
        return
    for each in kept:
        for event in each["document"]["Events"]:
            subject = event.get("AssignmentId", event["HITId"])
            click.echo(f"{event['EventTimestamp']}  {event['EventType']}  {subject}  {each['destination']}")
