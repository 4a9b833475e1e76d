"""`db`: upgrade, copy or check the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from humaneval.cli.run import App, emit, json_option, say, with_app
from humaneval.errors import StoreError
from humaneval.settings import without_password

if TYPE_CHECKING:
    from sqlalchemy import Engine


@click.group()
def db() -> None:
    """Upgrade, copy or check the database."""


@db.command()
@json_option
@with_app
def upgrade(app: App, as_json: bool) -> None:
    """Bring the database to this version's tables; a SQLite file is copied to safety first."""
    from humaneval.store import migrate
    from humaneval.store.engine import open_engine

    engine = open_engine(app.settings.database)
    before = migrate.known_revision(engine)
    copy = None
    if before != migrate.HEAD:
        if before is not None and engine.dialect.name == "sqlite":
            copy = migrate.backup(engine)
            say(f"Copied to {copy}.", err=True)  # at once: whatever happens next, this is where to go back to
        migrate.upgrade(engine)
    if as_json:
        emit({"from": before, "to": migrate.HEAD, "copy": copy})
    elif before == migrate.HEAD:
        say(f"Already at revision {before}.")
    else:
        say(f"Upgraded from {before or 'nothing'} to {migrate.HEAD}.")


@db.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@json_option
@with_app
def backup(app: App, file: Path | None, as_json: bool) -> None:
    """Copy a SQLite database to FILE while it is in use."""
    from humaneval.store import migrate

    engine = _existing(app)
    copy = migrate.backup(engine, file)
    if as_json:
        emit({"copy": copy})
    else:
        say(f"Copied to {copy}.")


@db.command()
@json_option
@with_app
def check(app: App, as_json: bool) -> None:
    """Compare the tables with this version's, and look for damage and broken references."""
    from humaneval.store import migrate

    problems = migrate.check(_existing(app))
    if as_json:
        emit({"database": without_password(app.settings.database), "problems": problems})
    if problems:
        raise StoreError(
            f"{len(problems)} problem{'s' * (len(problems) > 1)}: {'; '.join(problems[:5])}",
            "`humaneval db upgrade` mends an older revision; for damage restore a copy.",
        )
    if not as_json:
        say("The database is sound.")


def _existing(app: App) -> Engine:
    """The database of whatever revision. StoreError where there is none: looking for one must not make it."""
    from humaneval.store import migrate
    from humaneval.store.engine import open_engine

    engine = open_engine(app.settings.database)
    is_file = engine.dialect.name == "sqlite"
    if (is_file and not Path(str(engine.url.database)).exists()) or migrate.known_revision(engine) is None:
        raise StoreError(
            f"{without_password(app.settings.database)} holds no data of this toolkit",
            "Name the database with --database.",
        )
    return engine
