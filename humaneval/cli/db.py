"""`db`: upgrade, back up, check or clean the database."""

from __future__ import annotations

from pathlib import Path

import click
from sqlalchemy import Engine

from humaneval.cli.context import App, emit, json_option, say, with_app
from humaneval.cli.output_files import NamedPath
from humaneval.errors import StoreError
from humaneval.store import migrate
from humaneval.store.engine import open_engine
from humaneval.store.erase import clean_files
from humaneval.text import command, without_password


@click.group()
def db() -> None:
    """Upgrade, back up, check or clean the database."""


@db.command()
@json_option
@with_app
def upgrade(app: App, as_json: bool) -> None:
    """Upgrade the database to this version's tables. A SQLite file is copied first."""

    # A server's new database may be filled. But a wrong name of a file must make none.
    engine = open_engine(app.settings.database, make=False)
    before = migrate.known_revision(engine)
    copy = None
    if before != migrate.HEAD:
        if before is not None and engine.dialect.name == "sqlite":
            copy = migrate.backup(engine)
            say(
                f"Copied to {copy}.", err=True
            )  # at once: if the upgrade fails, this is the file to go back to
        migrate.upgrade(engine)
    if as_json:
        emit({"from": before, "to": migrate.HEAD, "copy": copy})
    elif before == migrate.HEAD:
        say(f"Already at revision {before}.")
    else:
        say(f"Upgraded from {before or 'nothing'} to {migrate.HEAD}.")


@db.command()
@click.option(
    "--out",
    type=NamedPath(dir_okay=False),
    help="File to write. [default: the database's name with date and time]",
)
@json_option
@with_app
def backup(app: App, out: Path | None, as_json: bool) -> None:
    """Copy a SQLite database to a file while it is in use."""

    engine = _existing(app)
    copy = migrate.backup(engine, out)
    if as_json:
        emit({"copy": copy})
    else:
        say(f"Copied to {copy}.")


@db.command()
@json_option
@with_app
def check(app: App, as_json: bool) -> None:
    """Check the database for missing upgrades, damage and broken references."""

    problems = migrate.check(_existing(app))
    if as_json:
        emit({"database": without_password(app.settings.database), "problems": problems})
    if problems:
        raise StoreError(
            f"{len(problems)} problem{'s' * (len(problems) > 1)}: {'; '.join(problems[:5])}",
            f"`{command('db', 'upgrade')}` upgrades an older revision. If the database is damaged, restore a"
            " copy.",
        )
    if not as_json:
        say("The database is sound.")


@db.command()
@json_option
@with_app
def clean(app: App, as_json: bool) -> None:
    """Rewrite a SQLite database, without traces of deleted rows. Nobody can write to it meanwhile.

    `worker forget` and `worker purge` do this themselves, unless the file is large and other programs use it.
    """
    left = clean_files(_existing(app), whoever_waits=True)
    if as_json:
        emit({"not_cleaned": left})
        return
    for line in left or ("The database no longer holds deleted rows.",):
        say(line)


def _existing(app: App) -> Engine:
    """The database, of any revision. Raises StoreError if there is none: to look for one must not make it."""

    engine = open_engine(app.settings.database, make=False)
    is_file = engine.dialect.name == "sqlite"
    if (is_file and not Path(str(engine.url.database)).exists()) or migrate.known_revision(engine) is None:
        raise StoreError(
            f"{without_password(app.settings.database)} holds no data of this toolkit",
            "Name the database with --database.",
        )
    return engine
