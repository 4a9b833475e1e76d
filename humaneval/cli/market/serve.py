"""`humaneval market`: run the self-hosted marketplace."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from humaneval.cli.run import SEED, App, emit, json_option, say, with_app
from humaneval.errors import InputError, StoreError, UsageError
from humaneval.fees import money

if TYPE_CHECKING:
    from humaneval.market import Keys, MarketServer

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


database_option = click.option(
    "--database",
    type=click.Path(dir_okay=False),
    default="market.db",
    show_default=True,
    help="The marketplace's own file.",
)


@market.command()
@click.option(
    "--mode",
    type=click.Choice(["local", "sandbox"]),
    default="local",
    show_default=True,
    help="Whether the account counts every cent, or has a balance that never falls.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Others than this machine's own need access keys.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), help="0 takes any free one. [default: the port of `market_url`]"
)
@database_option
@click.option("--balance", type=Dollars(), help="What a new account opens with. [default: 10000.00]")
@click.option("--public-url", help="Where workers' browsers reach it, if not at the address it listens on.")
@click.option(
    "--keys",
    "keys_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of the access keys that calls must be signed with. [default: HUMANEVAL_MARKET_KEYS, else any]",
)
@click.option(
    "--registration",
    type=click.Choice(["open", "invited"]),
    help=(
        "Whether workers come in by any name, or by invitation alone. [default: open on this machine, else"
        " invited]"
    ),
)
@click.option(
    "--faults",
    metavar="FILE|FAULTS",
    help="What goes wrong, to try programs on: a plan, or a file of one. `none`: to be said while it runs.",
)
@click.option("--fault-seed", type=SEED, default=0, show_default=True, help="The seed of every draw.")
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
    keys_file: Path | None,
    registration: str | None,
    faults: str | None,
    fault_seed: int,
    as_json: bool,
) -> None:
    """Serve the marketplace until Ctrl-C.

    Its database is made when it is not there. Prints the worker site's address and the lines that point any
    boto3 program at it.
    """
    if host in ("0.0.0.0", "::", "") and public_url is None:
        raise UsageError(
            f"{host or 'An empty --host'} is every address of this machine, and none that a browser can open",
            "Say with --public-url where workers reach the marketplace.",
        )
    if port is None:
        port = urlsplit(app.settings.market_url).port or DEFAULT_PORT
    # Here, so that listing the commands needs no web server.
    from humaneval.market import Faults, MarketServer, Mode, open_market
    from humaneval.market.faults.plan import read_plan

    keys = _keys(app, keys_file)
    trouble = None if faults is None else Faults(read_plan(faults), fault_seed)
    engine = open_market(database)
    try:
        server = MarketServer(
            engine,
            mode=Mode(mode),
            host=host,
            port=port,
            public_url=public_url,
            keys=keys,
            trouble=trouble,
            invited=registration == "invited" or (registration is None and not _is_here(host, public_url)),
            balance=balance,
        )
        _announce(server, mode, keys, keys_file, as_json=as_json)
        server.serve_forever()
    finally:
        engine.dispose()


@market.command()
@click.argument("names", nargs=-1)
@click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A list of people, a name a line.",
)
@click.option(
    "--public-url",
    help="Where workers reach the marketplace. [default: `market_site`, else where it was last served]",
)
@click.option(
    "--revoke",
    is_flag=True,
    help="Instead make the links of these people no longer good, and sign out who came by them.",
)
@database_option
@json_option
@with_app
def invite(
    app: App,
    names: tuple[str, ...],
    file: Path | None,
    public_url: str | None,
    revoke: bool,
    database: str,
    as_json: bool,
) -> None:
    """Print a link for each of NAMES, by which this person comes in; without names one link by which anybody
    registers.

    Whoever has a personal link is that person: send each to one person only. The same name gets the same link
    again, until it is revoked; then it gets another. What a person did and earned stays theirs.
    """
    from humaneval.market import open_market
    from humaneval.market.panel.invitations import invitation, personal_links, revoke_links
    from humaneval.market.tables.database import known_account

    _refuse_missing(database)
    people = _people(names, file)
    if revoke and not people:
        raise UsageError("nobody is named whose link could be revoked", "Name them, or give a --file.")
    engine = open_market(database)
    try:
        if revoke:
            _say_revoked(revoke_links(engine, people), as_json=as_json)
            return
        settings = app.settings
        where = public_url or settings.market_site or known_account(engine).public_url or settings.market_url
        links = personal_links(engine, people, where) if people else {"": invitation(engine, where)}
    finally:
        engine.dispose()
    if as_json:
        emit({"links": links} if people else {"invitation": links[""]})
        return
    for name, link in links.items():
        say(f"{name}\t{link}" if name else link)


def _people(names: tuple[str, ...], file: Path | None) -> list[str]:
    """The people who are named. UsageError for a name of nothing: with nobody named, everybody would be invited.

    A list may have empty lines between its names.
    """
    try:
        listed = file.read_text(encoding="utf-8-sig").splitlines() if file is not None else []
    except UnicodeDecodeError:
        raise InputError(f"{file} is not UTF-8", "Save the list as UTF-8.") from None
    people = [*names, *filter(None, listed)]
    if not all(name.strip() for name in people):
        raise UsageError("a name is empty, or has nothing but spaces", "No link was printed or revoked.")
    if file is not None and not any(listed):
        raise UsageError(f"{file} names nobody", "Write a name a line.")
    return people


def _say_revoked(names: list[str], *, as_json: bool) -> None:
    if as_json:
        emit({"revoked": names})
        return
    for name in names:
        say(f"{name}: the link is no longer good.")


@market.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@json_option
def key(file: Path, as_json: bool) -> None:
    """Make an access key in FILE.

    AWS's clients read the file, too; nobody but its owner may.
    """
    from humaneval.market.keys import write_new_pair

    key_id = write_new_pair(file)
    if as_json:
        emit({"file": str(file), "key": key_id})
        return
    say(f"Access key {key_id} written to {file}.")
    say(f"Serve with --keys {file}; programs find it by AWS_SHARED_CREDENTIALS_FILE={file.resolve()}")


@market.command()
@click.argument("amount", metavar="SUM", type=Dollars())
@database_option
@json_option
def fund(amount: Decimal, database: str, as_json: bool) -> None:
    """Add SUM dollars to the marketplace's account, whether it is being served or not.

    No money moves: the marketplace only keeps account of it.
    """
    from humaneval.market import open_market
    from humaneval.market.panel.funds import fund

    _refuse_missing(database)
    engine = open_market(database)
    try:
        available = fund(engine, amount)
    finally:
        engine.dispose()
    if as_json:
        emit({"added": amount, "available": available})
    else:
        say(f"Added ${amount}; ${available} are available now.")


DAY = click.DateTime(["%Y-%m-%d"])


@market.command()
@click.option("--since", type=DAY, metavar="DAY", help="Count from this day on, YYYY-MM-DD in UTC.")
@click.option("--before", type=DAY, metavar="DAY", help="Count the days before this one.")
@database_option
@json_option
def earnings(since: datetime | None, before: datetime | None, database: str, as_json: bool) -> None:
    """Print what each worker earned: name, worker id, work approved, rewards, bonuses, both; and what waits
    for review.

    The marketplace moves no money: by this list the people who run it pay. Work counts on the day of its
    approval, a bonus on the day of its payment. What waits for review is all that waits now.
    """
    from humaneval.market import open_market
    from humaneval.market.panel.earnings import earnings as earned_by_each

    _refuse_missing(database)
    if since and before and since >= before:
        raise UsageError(
            "there is no day from --since to --before", "--before names the day after the last one."
        )
    engine = open_market(database)
    try:
        rows = earned_by_each(
            engine,
            since=since and since.replace(tzinfo=UTC),
            before=before and before.replace(tzinfo=UTC),
        )
    finally:
        engine.dispose()
    names = ("name", "worker", "approved", "rewards", "bonuses", "earned", "waiting")
    if as_json:
        emit({"workers": [{name: getattr(row, name) for name in names} for row in rows]})
        return
    say("\t".join(names))
    for row in rows:
        say("\t".join(str(getattr(row, name)) for name in names))


@market.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@database_option
@json_option
def backup(file: Path | None, database: str, as_json: bool) -> None:
    """Copy the marketplace's database to FILE while it is in use."""
    from humaneval.store import migrate
    from humaneval.store.engine import open_engine

    _refuse_missing(database)
    engine = open_engine(f"sqlite:///{database}")
    copy = migrate.backup(engine, file)
    engine.dispose()
    if as_json:
        emit({"copy": copy})
    else:
        say(f"Copied to {copy}.")


@market.command()
@database_option
@click.option("--json", "as_json", is_flag=True, help="Print them as one JSON document.")
def events(database: str, as_json: bool) -> None:
    """Print the events of HITs that a program asked to be told of, oldest first.

    Mechanical Turk sent them by e-mail, SQS or SNS (UpdateNotificationSettings, SendTestEventNotification).
    None of these can be reached from here, so the marketplace keeps each message instead, whatever its
    destination.
    """
    from humaneval.market import open_market
    from humaneval.market.events import kept_events

    _refuse_missing(database)
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


def _keys(app: App, file: Path | None) -> Keys | None:
    from humaneval.market.keys import read_file, read_pairs

    if file is not None:
        return read_file(file)
    return read_pairs(app.settings.market_keys) if app.settings.market_keys else None


def _announce(
    server: MarketServer, mode: str, keys: Keys | None, keys_file: Path | None, *, as_json: bool
) -> None:
    """Print what a program of one's own needs. Secrets are not printed, only where they are."""
    from humaneval.market.faults.admin import TOKEN_HEADER

    environment = {"AWS_ENDPOINT_URL_MTURK": server.url, "AWS_DEFAULT_REGION": REGION}
    if keys is None:
        environment |= {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    elif keys_file is not None:
        environment["AWS_SHARED_CREDENTIALS_FILE"] = str(keys_file.resolve())
    environment["AWS_REGION"] = REGION  # the JavaScript client's name for it
    document = {"worker_site": f"{server.url}/", "mode": mode, "environment": environment}
    if server.faults_token:
        document["faults"] = {"url": server.faults_url, "header": TOKEN_HEADER, "token": server.faults_token}
    if as_json:
        click.echo(json.dumps(document))
        return
    click.echo(f"Worker site: {server.url}/")
    click.echo("For a program of your own:")
    for name, value in environment.items():
        click.echo(f"  export {name}={value}")
    if keys is not None and keys_file is None:
        click.echo("  and one of the key pairs in HUMANEVAL_MARKET_KEYS")
    if server.faults_token:
        click.echo("Faults on demand: do not put people to work here. To see or change them:")
        click.echo(f"  curl -H '{TOKEN_HEADER}: {server.faults_token}' {server.faults_url}")
    click.echo("Press Ctrl-C to stop.", err=True)


def _is_here(host: str, public_url: str | None) -> bool:
    from humaneval.market.protocol.addresses import is_loopback

    return is_loopback(host) and (public_url is None or is_loopback(urlsplit(public_url).hostname or ""))


def _refuse_missing(database: str) -> None:
    if not Path(database).is_file():
        raise StoreError(f"{database} is not there", "Name the marketplace's file with --database.")
