"""Real databases, a real marketplace, real form servers: each test gets its own, on free ports.

A plugin, so that integration and browser tests share it; the folder `tests/integration` keeps its own on top.
"""

from __future__ import annotations

import hmac
import os
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import boto3
import pytest
from botocore.config import Config
from sqlalchemy import Connection, Engine, Table, create_engine, func, make_url, select, text
from sqlalchemy.pool import NullPool

from humaneval.crowd.endpoints import local
from humaneval.crowd.mturk.platform import MTurk
from humaneval.domain import GeneratorRequest, Story
from humaneval.infills.blanks import blanks_of
from humaneval.infills.generate import run
from humaneval.kinds import build
from humaneval.market import MarketServer, Mode, open_market
from humaneval.settings import Settings, database_url
from humaneval.store.engine import open_engine
from humaneval.store.meta import PLANNING_KEY
from humaneval.store.stories import add_stories
from humaneval.store.types import Base
from humaneval.stories import bundled_stories
from humaneval.study.create import create_study
from humaneval.study.file import StudyFile, read_study_file
from humaneval.web.app import create_app, running
from tests.conftest import ROOT
from tests.migrated import upgrade
from tests.postgres import SOMEBODYS

Rows = dict[Table, list[dict[str, Any]]]
EXAMPLES = ROOT / "humaneval" / "bundled" / "example_infills.csv"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of the current revision."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    engine = open_engine(f"sqlite:///{path}", pool=False)
    upgrade(engine)
    engine.dispose()
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> Iterator[str]:
    """The name of an empty, migrated database on the PostgreSQL server."""
    name = f"humaneval_template_{uuid.uuid4().hex[:12]}"
    with _administrator(postgres_server) as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine = open_engine(_on_server(postgres_server, name), pool=False)
    upgrade(engine)
    engine.dispose()
    yield name
    with _administrator(postgres_server) as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


@contextmanager
def _administrator(server: str) -> Iterator[Connection]:
    engine = create_engine(database_url(server), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def _on_server(server: str, name: str) -> str:
    return make_url(database_url(server)).set(database=name).render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty database of the current revision: the test runs once on SQLite, once on
    PostgreSQL."""
    if request.param == "sqlite":
        yield from _sqlite(request.getfixturevalue("sqlite_template"), tmp_path)
        return
    server = request.getfixturevalue("postgres_server")
    template = request.getfixturevalue("postgres_template")
    name = f"humaneval_test_{uuid.uuid4().hex[:12]}"
    with _administrator(server) as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
        if os.environ.get(SOMEBODYS):  # the tests' own waits for no disk anyhow
            connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    yield _on_server(server, name)
    with _administrator(server) as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test marked `once_on_postgresql` runs there for the first of its cases alone."""
    met: set[str] = set()

    def again(item: pytest.Item) -> bool:
        if item.get_closest_marker("once_on_postgresql") is None or "postgresql" not in item.name:
            return False
        name = item.nodeid.partition("[")[0]
        if name in met:
            return True
        met.add(name)
        return False

    items[:] = [item for item in items if not again(item)]


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> Iterator[str]:
    """The same on SQLite alone, for tests that are not about the database."""
    yield from _sqlite(sqlite_template, tmp_path)


def _sqlite(template: Path, folder: Path) -> Iterator[str]:
    path = folder / "humaneval.db"
    shutil.copy(template, path)
    yield f"sqlite:///{path}"


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    """An engine on `database`."""
    engine = open_engine(database)
    yield engine
    engine.dispose()


@pytest.fixture
def sqlite_engine(sqlite_database: str) -> Iterator[Engine]:
    """An engine on `sqlite_database`."""
    engine = open_engine(sqlite_database)
    yield engine
    engine.dispose()


@pytest.fixture
def backup(sqlite_engine: Engine, tmp_path: Path) -> Callable[[], Callable[[], None]]:
    """Makes a copy of the database of `sqlite_engine` as it is now; gives what puts it back."""
    live = str(sqlite_engine.url.database)

    def copied(source: str | Path, target: str | Path) -> None:
        with closing(sqlite3.connect(source)) as there, closing(sqlite3.connect(target)) as here:
            there.backup(here)

    def make() -> Callable[[], None]:
        copy = tmp_path / f"{uuid.uuid4().hex}.db"
        copied(live, copy)
        return lambda: copied(copy, live)

    return make


@pytest.fixture(scope="session")
def stories() -> tuple[Story, ...]:
    """The 24 bundled stories that the example infills are for."""
    return tuple(story for story in bundled_stories() if story.split == "test")


@pytest.fixture(scope="session")
def generated(
    sqlite_template: Path, stories: tuple[Story, ...], tmp_path_factory: pytest.TempPathFactory
) -> Rows:
    """What every study is made of, generated once: the rows of every table, the stories and their infills."""
    path = tmp_path_factory.mktemp("generated") / "generated.db"
    shutil.copy(sqlite_template, path)
    engine = open_engine(f"sqlite:///{path}", pool=False)
    _generate(engine, stories)
    with engine.connect() as connection:
        found = {
            table: [dict(row) for row in connection.execute(select(table)).mappings()]
            for table in Base.metadata.sorted_tables
        }
    engine.dispose()
    return {table: rows for table, rows in found.items() if rows}


def _generate(engine: Engine, stories: tuple[Story, ...]) -> None:
    add_stories(engine, stories)
    blanks = blanks_of(stories, (1, 2, 3, 4, 5))
    for request in (
        GeneratorRequest("control"),
        GeneratorRequest("human"),
        GeneratorRequest("replay", checkpoint=str(EXAMPLES)),
    ):
        for generator in build(request):
            run(engine, generator, blanks)


def _insert(connection: Connection, generated: Rows) -> None:
    for table, rows in generated.items():
        connection.execute(table.insert(), rows)
        if connection.dialect.name == "postgresql" and "id" in table.c:
            newest = select(func.max(table.c.id)).scalar_subquery()
            connection.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "id"), newest)))


@pytest.fixture(scope="session")
def study_factory(generated: Rows, stories: tuple[Story, ...]) -> Iterator[Callable[..., StudyFile]]:
    """Makes a study of the four bundled generators in a database; settings by section, for example
    `factory(engine, "s", design={"annotators": 8}, hit={"reward": "0.50"})`."""

    made = MadeBefore()

    def make(engine: Engine, name: str = "study", **sections: dict[str, Any]) -> StudyFile:
        key = f"{name} {sections}" if engine.dialect.name == "sqlite" and _is_empty(engine) else ""
        if key in made:
            return made.put(key, engine)
        with engine.begin() as connection:
            empty = not any(connection.scalar(select(func.count()).select_from(table)) for table in generated)
            if empty:
                _insert(connection, generated)
        if not empty:  # what is there stays, and the rest is added
            _generate(engine, stories)
        settings, source = read_study_file(None, overrides=sections)
        create_study(engine, name, settings, source)
        if key:
            made.keep(key, engine, settings)
        return settings

    yield make
    made.close()


class MadeBefore:
    """SQLite databases with the studies that were made in empty ones, by what was asked for: making a study
    takes ten times as long as copying it."""

    MOST = 24

    def __init__(self) -> None:
        self._kept: dict[str, tuple[sqlite3.Connection, StudyFile]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def keep(self, key: str, engine: Engine, settings: StudyFile) -> None:
        memory = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(str(engine.url.database))) as file:
            file.backup(memory)
        self._kept[key] = (memory, settings)
        if len(self._kept) > self.MOST:
            oldest, _ = self._kept.pop(next(iter(self._kept)))
            oldest.close()

    def put(self, key: str, engine: Engine) -> StudyFile:
        memory, settings = self._kept[key] = self._kept.pop(key)  # the newest is the last
        with closing(sqlite3.connect(str(engine.url.database))) as file:
            memory.backup(file)
            # A database of its own has a secret of its own.
            file.execute(f"UPDATE meta SET value = hex(randomblob(32)) WHERE key = '{PLANNING_KEY}'")
            file.commit()
        return settings

    def close(self) -> None:
        for memory, _ in self._kept.values():
            memory.close()


def _is_empty(engine: Engine) -> bool:
    there = " OR ".join(f"EXISTS (SELECT 1 FROM {table.name})" for table in Base.metadata.sorted_tables)
    with engine.connect() as connection:
        return not connection.scalar(text(f"SELECT {there}"))


@pytest.fixture
def market(tmp_path: Path) -> Iterator[MarketServer]:
    """A marketplace on a free port, in local mode, with 10,000.00 to spend."""
    engine = open_market(tmp_path / "market.db")
    with MarketServer(engine, mode=Mode.LOCAL) as server:
        yield server
    engine.dispose()


@pytest.fixture
def platform(market: MarketServer) -> MTurk:
    """The real boto3 client at the marketplace."""
    return MTurk(local(market.url))


@pytest.fixture
def client_of() -> Iterator[Callable[..., Any]]:
    """Makes plain boto3 clients of a marketplace, as a program of one's own does; they are closed with
    the test."""
    with ExitStack() as stack:

        def make(url: str, key: str = "local", secret: str = "local", **config: Any) -> Any:
            client = boto3.client(
                "mturk",
                endpoint_url=url,
                region_name="us-east-1",
                aws_access_key_id=key,
                aws_secret_access_key=secret,
                config=Config(**config),
            )
            return stack.enter_context(closing(client))

        yield make


def nobodys_session() -> boto3.Session:
    """Keys that no service knows, for endpoints that want some."""
    return boto3.Session(aws_access_key_id="a", aws_secret_access_key="b")


def signed(secret: str, assignment: str, worker: str, hit: str = "") -> str:
    """The query of a form's address as the marketplace makes it, written from its documentation."""
    said = f"{assignment}\n{worker}\n{hit}".encode()
    given = {"assignmentId": assignment, "workerId": worker, "hitId": hit}
    return urlencode(given | {"turkSignature": hmac.new(secret.encode(), said, "sha256").hexdigest()})


@dataclass(frozen=True)
class FormServer:
    """A running form server. Its address names localhost: another site than the marketplace's 127.0.0.1."""

    url: str
    settings: Settings


@pytest.fixture
def form_server(market: MarketServer) -> Iterator[Callable[[Engine], FormServer]]:
    """Starts form servers over databases; they stop with the test."""
    with ExitStack() as stack:

        def start(engine: Engine) -> FormServer:
            settings = Settings(market_url=market.url)
            port = stack.enter_context(running(create_app(settings, engine)))
            return FormServer(f"http://localhost:{port}", settings)

        yield start
