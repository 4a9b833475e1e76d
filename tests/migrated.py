"""New SQLite databases get their tables at once: making them by all migrations takes fifty times as long.

A plugin. Tests of migrations mark themselves `usefixtures("each_migrated")`, and programs that are not forked
migrate their databases.

PYTEST_DONT_REWRITE: some programs load this module first, and pytest after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import Engine, MetaData
from sqlalchemy.exc import DBAPIError

from humaneval.errors import StoreError
from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.database import VERSIONS
from humaneval.store import migrate
from humaneval.store.engine import open_engine
from humaneval.store.tables import METADATA

KINDS = {"versions": METADATA, VERSIONS: MarketTable.metadata}
"""The models of a study's database and of a marketplace's, by the folder of its migrations."""
_migrate = migrate.upgrade
_scripts: dict[str, str] = {}


def script(versions: str) -> str:
    """The SQL that makes what the migrations make of an empty file."""
    if versions not in _scripts:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "new.db"
            engine = open_engine(f"sqlite:///{path}", pool=False)
            _migrate(engine, versions=versions, metadata=KINDS[versions])
            engine.dispose()
            with closing(sqlite3.connect(path)) as made:
                begin, *statements = made.iterdump()
        assert begin == "BEGIN TRANSACTION;"
        # The lock comes before the first table: another program may make the same file.
        _scripts[versions] = "\n".join(["BEGIN IMMEDIATE;", *statements])
    return _scripts[versions]


def upgrade(
    engine: Engine, *, versions: str = "versions", metadata: MetaData = METADATA, to: str = "head"
) -> None:
    """As `migrate.upgrade`, and at once for an SQLite file without tables."""
    known = to == "head" and KINDS.get(versions) is metadata
    if not (known and engine.dialect.name == "sqlite" and _made(engine, versions)):
        _migrate(engine, versions=versions, metadata=metadata, to=to)


def _made(engine: Engine, versions: str) -> bool:
    """Whether the file had no tables, and has all of them now. What goes wrong is left to the migrations."""
    try:
        with engine.connect() as connection:
            file = connection.connection.driver_connection
            assert isinstance(file, sqlite3.Connection)
            with closing(file.execute("SELECT 1 FROM sqlite_master")) as there:
                if there.fetchone():
                    return False
            file.executescript(script(versions))
    except (sqlite3.Error, DBAPIError, StoreError, OSError):  # another program was here first, for example
        return False
    return True


@pytest.fixture(scope="session", autouse=True)
def _migrated_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "upgrade", upgrade)
        yield


@pytest.fixture
def each_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every database is made by its migrations."""
    monkeypatch.setattr(migrate, "upgrade", _migrate)
