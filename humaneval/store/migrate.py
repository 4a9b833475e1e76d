"""Upgrades a database to the tables of this version, checks it, and makes backups.

Alembic is imported where it is used: it is slow to import, and a current database does not need it.
"""

from __future__ import annotations

import glob
import os
import re
import secrets
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine, MetaData, inspect, text
from sqlalchemy.exc import DBAPIError

from humaneval.errors import StoreError, UsageError
from humaneval.resources import bundled
from humaneval.store.engine import shown, store_errors
from humaneval.store.files import BESIDE, PRIVATE, backup_name, is_writable, read_only_address
from humaneval.store.tables import METADATA
from humaneval.store.types import now
from humaneval.text import command

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0007"
"""The newest revision, so that opening a database does not import Alembic. A test compares the two."""

LONGEST_COPY = 24 * 60 * 60
"""Seconds after which the copy that is not whole is one that was killed."""
_PART = re.compile(r"\.[0-9a-f]{8}\.part(-journal)?$")


def open_current(
    engine: Engine,
    *,
    versions: str = "versions",
    head: str = HEAD,
    metadata: MetaData = METADATA,
    make: bool = True,
) -> None:
    """Create the tables of an empty database. Raises StoreError for a database of another revision, and with
    `make=False` for an empty one."""
    found = known_revision(engine, versions=versions, head=head, metadata=metadata)
    if found is None and not make:
        raise StoreError(
            f"{_name(engine)} holds no data of this toolkit",
            f"Name yours with --database, or begin with `{command('stories', 'import', 'FILE')}`.",
        )
    if found is None:
        try:
            upgrade(engine, versions=versions, metadata=metadata)
        except (DBAPIError, StoreError):
            if revision(engine) != head:  # otherwise another program has made the tables in the meantime
                raise
    elif found != head:
        upgrade_it = (
            command("market", "upgrade", "--database", engine.url.database)
            if _is_markets(head)
            else command("db", "upgrade")
        )
        raise StoreError(
            f"{_name(engine)} has the older revision {found}; this version needs {head}",
            f"Run `{upgrade_it}`: it makes a backup, then upgrades the database.",
        )


def known_revision(
    engine: Engine, *, versions: str = "versions", head: str = HEAD, metadata: MetaData = METADATA
) -> str | None:
    """The database's revision; None if it is empty. StoreError if it is not ours, or is too new."""
    with store_errors(engine):
        found = revision(engine)
        if found is None and inspect(engine).get_table_names():
            raise StoreError(
                f"{_name(engine)} has tables that are not this toolkit's",
                "Choose another database with --database.",
            )
    if found not in (None, head) and not _known(engine, found, versions, metadata):
        if _is_markets(found) != _is_markets(head):
            of = ("studies", "a marketplace")
            raise StoreError(
                f"{_name(engine)} is a database of {of[_is_markets(found)]}; this command needs one of"
                f" {of[_is_markets(head)]}",
                "Choose another database with --database.",
            )
        raise StoreError(
            f"{_name(engine)} has revision {found}, which this version does not know",
            "A newer version of humaneval made it: install that version.",
        )
    return found


def _is_markets(named: str | None) -> bool:
    """Whether a revision belongs to a marketplace's database."""
    return named is not None and named.startswith("m")


def _name(engine: Engine) -> str:
    return shown(engine.url)


def revision(engine: Engine) -> str | None:
    """The revision that is stored in the database; None if there is none."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(
    engine: Engine, *, versions: str = "versions", metadata: MetaData = METADATA, to: str = "head"
) -> None:
    """Run the migrations up to revision `to`: all of them or, after an error, none."""
    from alembic import command

    with store_errors(engine):
        command.upgrade(_config(engine, versions, metadata), to)


def downgrade(engine: Engine, to: str, *, versions: str = "versions", metadata: MetaData = METADATA) -> None:
    """Undo the migrations back to revision `to` (`base` means no tables)."""
    from alembic import command

    command.downgrade(_config(engine, versions, metadata), to)


def check(engine: Engine, *, head: str = HEAD, metadata: MetaData = METADATA) -> list[str]:
    """What is wrong with the database, such as tables that differ from the models or broken references."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    found = revision(engine)
    if found != head:
        return [f"the revision is {found or 'missing'}, not {head}"]
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
        problems = [f"a table differs from its model: {difference}" for difference in differences]
        if engine.dialect.name == "sqlite":
            problems += [
                str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check") if row[0] != "ok"
            ]
            problems += [
                f"broken reference in {row[0]}, line {row[1]}"
                for row in connection.exec_driver_sql("PRAGMA foreign_key_check")
            ]
    return problems


def backup(engine: Engine, target: Path | None = None) -> Path:
    """Copy an SQLite database to `target` while it is in use. Returns the path of the copy, which only its
    owner may read.

    Raises UsageError for other databases, and for a target that exists or has no folder. Raises StoreError if
    the copy fails; then nothing of it is left.
    """
    if engine.dialect.name != "sqlite":
        raise UsageError(
            "`db backup` copies only SQLite files", "For PostgreSQL: pg_dump --no-owner --file copy.sql URL"
        )
    source = Path(str(engine.url.database))
    given = target
    target = given or _free_name(source)
    if not target.parent.is_dir():
        raise UsageError(
            f"the folder {target.parent} for the copy does not exist", "Create it, or choose another."
        )
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")  # two programs may copy at once
    _remove_unfinished(target.parent, source.stem)
    try:
        if given is not None:  # a name of our own that is taken is given up below
            _refuse_taken(target)
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
        address = source.absolute().as_uri() if is_writable(source) else read_only_address(source)
        with closing(sqlite3.connect(address, uri=True)) as live, closing(sqlite3.connect(part)) as copy:
            live.backup(copy)
        while not _placed(part, target):
            if given is not None:
                raise FileExistsError
            target = _free_name(source)
    except FileExistsError:
        part.unlink(missing_ok=True)
        raise UsageError(f"{target} already exists", "Choose another file name.") from None
    except (sqlite3.Error, OSError) as error:
        for unfinished in (part, part.with_name(f"{part.name}-journal")):
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"{source} cannot be copied to {target}: {reason}", "No copy was made.") from error
    return target


def _refuse_taken(target: Path) -> None:
    """Raise FileExistsError for a file that exists, and UsageError for what another database of that name has
    left: SQLite would read it into the copy."""
    if target.exists():
        raise FileExistsError
    for end in BESIDE:
        left = target.with_name(target.name + end)
        if left.exists():
            raise UsageError(
                f"{left} is left of another database, and would change the copy",
                "Delete it if that database is gone, or choose another file name.",
            )


def _remove_unfinished(folder: Path, stem: str) -> None:
    """Remove what copies left that were killed. None takes a day."""
    for each in folder.glob(f"{glob.escape(stem)}*.part*"):
        with suppress(OSError):
            if _PART.search(each.name) and time.time() - each.stat().st_mtime > LONGEST_COPY:
                each.unlink()


def _placed(part: Path, target: Path) -> bool:
    """Give a finished copy its name; False if that is taken. Unlike a rename, a link replaces nothing."""
    try:
        os.link(part, target)
    except FileExistsError:
        return False
    except OSError:  # the file system has no links
        part.rename(target)
    part.unlink(missing_ok=True)
    return True


def _free_name(source: Path) -> Path:
    """The name of a copy that is not there yet."""
    moment, number = f"{now():%Y%m%dT%H%M%S}", 1
    while (target := backup_name(source, moment if number == 1 else f"{moment}-{number}")).exists():
        number += 1
    return target


def _known(engine: Engine, found: str | None, versions: str, metadata: MetaData) -> bool:
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    try:
        return (
            ScriptDirectory.from_config(_config(engine, versions, metadata)).get_revision(found or "")
            is not None
        )
    except CommandError:
        return False


def _config(engine: Engine, versions: str, metadata: MetaData) -> Config:
    from alembic.config import Config

    folder = bundled("migrations")
    config = Config()
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", str(folder / versions))
    config.attributes["engine"] = engine
    config.attributes["metadata"] = metadata
    return config
