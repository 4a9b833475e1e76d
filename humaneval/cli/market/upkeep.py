"""`humaneval market backup`, `upgrade` and `events`: copy the marketplace's file, upgrade it, and read the
events kept in it."""

from __future__ import annotations

from pathlib import Path

import click

from humaneval.cli.context import emit, json_option, say
from humaneval.cli.market.options import database_option, existing_market, refuse_missing
from humaneval.cli.output_files import NamedPath
from humaneval.market.events import kept_events
from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.database import CHECK, HEAD, VERSIONS
from humaneval.store import migrate
from humaneval.store.engine import open_engine


@click.command()
@click.option(
    "--out",
    type=NamedPath(dir_okay=False),
    help="File to write. [default: a dated copy beside the database]",
)
@database_option
@json_option
def backup(out: Path | None, database: str, as_json: bool) -> None:
    """Copy the marketplace's database to another file while it is in use."""
    refuse_missing(database)
    # Not `existing_market`: a file of an older revision can be copied too.
    engine = open_engine(f"sqlite:///{database}", make=False, hint=CHECK)
    copy = migrate.backup(engine, out)
    engine.dispose()
    if as_json:
        emit({"copy": copy})
    else:
        say(f"Copied to {copy}.")


@click.command()
@database_option
@json_option
def upgrade(database: str, as_json: bool) -> None:
    """Upgrade the marketplace's database to this version's tables. The file is copied first."""
    refuse_missing(database)
    engine = open_engine(f"sqlite:///{database}", make=False, hint=CHECK)
    try:
        before = migrate.known_revision(engine, versions=VERSIONS, head=HEAD, metadata=MarketTable.metadata)
        copy = None
        if before is not None and before != HEAD:
            copy = migrate.backup(engine)
            say(
                f"Copied to {copy}.", err=True
            )  # at once: if the upgrade fails, this is the file to go back to
        if before != HEAD:
            migrate.upgrade(engine, versions=VERSIONS, metadata=MarketTable.metadata)
    finally:
        engine.dispose()
    if as_json:
        emit({"from": before, "to": HEAD, "copy": copy})
    elif before == HEAD:
        say(f"Already at revision {before}.")
    else:
        say(f"Upgraded from {before or 'nothing'} to {HEAD}.")


@click.command()
@database_option
@json_option
def events(database: str, as_json: bool) -> None:
    """Print the HIT events that a program subscribed to.

    The oldest event comes first.

    Mechanical Turk sent events by e-mail, SQS or SNS (UpdateNotificationSettings, SendTestEventNotification).
    None of these can be reached from here. The marketplace keeps each message instead, whatever its
    destination.
    """
    with existing_market(database) as engine:
        kept = kept_events(engine)
    if as_json:
        emit({"events": kept})
        return
    for each in kept:
        for event in each["document"]["Events"]:
            subject = event.get("AssignmentId", event["HITId"])
            say(f"{event['EventTimestamp']}  {event['EventType']}  {subject}  {each['destination']}")
