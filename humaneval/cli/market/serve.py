"""`humaneval market serve` and `key`: serve the marketplace, and make keys to sign its calls with."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import click

from humaneval.cli.context import App, emit, json_option, say, warn_if_open, with_app
from humaneval.cli.market.options import database_option, fault_options
from humaneval.cli.numbers import Dollars
from humaneval.cli.output_files import NamedPath
from humaneval.errors import UsageError
from humaneval.market import Faults, Keys, MarketServer, Mode
from humaneval.market.faults.admin import TOKEN_HEADER
from humaneval.market.faults.plan import read_plan
from humaneval.market.keys import read_file, read_pairs, write_new_pair
from humaneval.market.protocol.addresses import check_site
from humaneval.market.serving import client_environment, is_local
from humaneval.market.tables.database import market_engine

DEFAULT_PORT = 8731


@click.command()
@click.option(
    "--mode",
    type=click.Choice(["local", "sandbox"]),
    default="local",
    show_default=True,
    help="Account that counts every cent, or one with a balance that never falls.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Access keys are needed if other machines can reach it.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 takes any free one. [default: the port of `market_url`]",
)
@database_option
@click.option("--balance", type=Dollars(), help="Opening balance of a new account. [default: 10000.00]")
@click.option(
    "--public-url", help="Address at which workers' browsers reach it, if not the one it listens on."
)
@click.option(
    "--frames-url",
    help="Address at which browsers find the pages of HTMLQuestions, behind a proxy: a host of their own that"
    " leads here, too. [default: a second port, without a proxy]",
)
@click.option(
    "--keys",
    "keys_file",
    type=NamedPath(dir_okay=False),
    help="File of the access keys that calls must be signed with. [default: HUMANEVAL_MARKET_KEYS, else any]",
)
@click.option(
    "--registration",
    type=click.Choice(["open", "invited"]),
    help="Whether workers may sign in with any name, or need an invitation. [default: open on this machine,"
    " else invited]",
)
@fault_options
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
    frames_url: str | None,
    keys_file: Path | None,
    registration: str | None,
    faults: str | None,
    fault_seed: int,
    as_json: bool,
) -> None:
    """Serve the marketplace until Ctrl-C.

    Makes its database if there is none. Prints the address of the worker site, and the lines that point any
    boto3 program at the marketplace.
    """
    if host in ("0.0.0.0", "::", "") and public_url is None:
        raise UsageError(
            f"{host or 'an empty --host'} means every address of this machine, and no browser can open that",
            "Give the address at which workers reach the marketplace with --public-url.",
        )
    if public_url is not None:
        check_site(public_url)
    keys = _keys(app, keys_file)
    trouble = None if faults is None else Faults(read_plan(faults), fault_seed)
    warn_if_open(database)
    engine = market_engine(database)
    try:
        server = MarketServer(
            engine,
            mode=Mode(mode),
            host=host,
            port=urlsplit(app.settings.market_url).port or DEFAULT_PORT if port is None else port,
            public_url=public_url,
            frames_url=frames_url,
            keys=keys,
            trouble=trouble,
            invited=not is_local(host, public_url) if registration is None else registration == "invited",
            balance=balance,
            most_at_address=app.settings.open_forms_per_address,
            trusted_proxies=app.settings.trusted_proxies,
        )
        _announce(server, mode, keys, keys_file, as_json=as_json)
        server.serve_forever()
    finally:
        engine.dispose()


@click.command()
@click.option("--out", type=NamedPath(dir_okay=False), required=True, help="File to write.")
@json_option
def key(out: Path, as_json: bool) -> None:
    """Make an access key, in a file.

    AWS's clients can read the file too. Only its owner may read it.
    """
    key_id = write_new_pair(out)
    if as_json:
        emit({"file": str(out), "key": key_id})
        return
    say(f"Access key {key_id} written to {out}.")
    say(f"Serve with --keys {out}. Programs find the key with AWS_SHARED_CREDENTIALS_FILE={out.resolve()}")


def _keys(app: App, file: Path | None) -> Keys | None:
    if file is not None:
        warn_if_open(str(file))
        return read_file(file)
    return read_pairs(app.settings.market_keys) if app.settings.market_keys else None


def _announce(
    server: MarketServer, mode: str, keys: Keys | None, keys_file: Path | None, *, as_json: bool
) -> None:
    """Print what a program of one's own needs. Secrets are not printed, only where they are."""
    environment = client_environment(server.url, signed=keys is not None, keys_file=keys_file)
    document = {"worker_site": f"{server.url}/", "mode": mode, "environment": environment}
    document["frames"] = server.frames_url
    if server.faults_token:
        document["faults"] = {"url": server.faults_url, "header": TOKEN_HEADER, "token": server.faults_token}
    if as_json:
        click.echo(json.dumps(document))  # on one line: programs read it while the server runs
        return
    say(f"Worker site: {server.url}/")
    if server.frames_url:
        say(f"Pages of HTMLQuestions: {server.frames_url}/")
    else:
        say("Pages of HTMLQuestions have no storage. Give them a host of their own with --frames-url.")
    say("For a program of your own:")
    for name, value in environment.items():
        say(f"  export {name}={value}")
    if keys is not None and keys_file is None:
        say("  and one of the key pairs in HUMANEVAL_MARKET_KEYS")
    if server.faults_token:
        say("Faults can be injected: do not let people work here. To see or change the faults:")
        say(f"  curl -H '{TOKEN_HEADER}: {server.faults_token}' {server.faults_url}")
    say("Press Ctrl-C to stop.", err=True)
