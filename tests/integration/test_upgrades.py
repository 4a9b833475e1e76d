"""Databases that earlier code filled come up to this version with all their data; backups hold every row."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, MetaData, select, text

from humaneval.market import open_market
from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.database import HEAD as MARKET_HEAD
from humaneval.market.tables.database import VERSIONS
from humaneval.store import migrate
from humaneval.store.engine import open_engine, writing
from humaneval.store.tables import METADATA, MetaRow
from tests.answered import answer
from tests.commands import Command
from tests.conftest import ROOT, lacking
from tests.fixtures import _administrator, _on_server
from tests.pace import PATIENCE
from tests.postgres import own_server

pytestmark = pytest.mark.usefixtures("each_migrated")

OLD = Path(__file__).parent / "old_databases"
FILES = sorted(file.name.partition(".")[0] for file in OLD.glob("*.sql.gz"))
Content = dict[str, list[dict[str, Any]]]
NOT_COMPARED = ("alembic_version", "sqlite_sequence")


def restored(revision: str, path: Path) -> None:
    """The database of that revision, as its own code left it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(gzip.decompress((OLD / f"{revision}.sql.gz").read_bytes()).decode())


def content(path: Path) -> Content:
    """Every row of every table, in the order of its values."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted((dict(row) for row in connection.execute(f"SELECT * FROM {name}")), key=repr)
            for name in names
            if name not in NOT_COMPARED
        }


def as_before(now: Content, before: Content) -> Content:
    """What `now` holds of the tables and columns that there were before."""
    for row in now.get("stories", []):  # which had five sentences in columns of their own
        sentences = row["sentences"]
        sentences = json.loads(sentences) if isinstance(sentences, str) else sentences
        row |= {f"sentence{number}": text for number, text in enumerate(sentences, 1)}
    return {
        name: sorted(({column: row[column] for column in rows[0]} for row in now[name]), key=repr)
        for name, rows in before.items()
        if rows
    }


def test_there_is_a_database_of_every_revision_before_the_newest() -> None:
    for versions, metadata in (("versions", METADATA), (VERSIONS, MarketTable.metadata)):
        config = migrate._config(open_engine("sqlite:///x.db"), versions, metadata)
        script = ScriptDirectory.from_config(config)
        heads = set(script.get_heads())
        missing = {one.revision for one in script.walk_revisions()} - heads - set(FILES)
        assert not missing, f"tests/integration/old_databases has no database of {missing}"


@pytest.mark.parametrize("revision", FILES)
def test_a_database_of_an_earlier_revision_comes_up_with_all_its_data(
    command: Command, tmp_path: Path, revision: str
) -> None:
    market = revision.startswith("m")
    file = tmp_path / ("market.db" if market else "humaneval.db")
    restored(revision, file)
    before = content(file)
    assert sum(map(len, before.values())) > 150
    said = command("market", "upgrade", "--json") if market else command("db", "upgrade", "--json")
    assert said.code == 0, said.err
    assert said.json["from"] == revision
    assert as_before(content(file), before) == {name: rows for name, rows in before.items() if rows}
    if said.json["copy"] is not None:
        assert content(Path(said.json["copy"])) == before
    if market:
        engine = open_market(file)
        assert migrate.check(engine, head=MARKET_HEAD, metadata=MarketTable.metadata) == []
        engine.dispose()
        assert command("market", "earnings").code == 0
    else:
        assert command("db", "check").code == 0
        scored = command("score", "demo", "--json")
        assert scored.json["annotators"]["collected"] > 20
        assert command("worker", "list", "demo").code == 0


@pytest.mark.parametrize("revision", FILES)
def test_the_same_data_come_up_on_either_database(engine: Engine, tmp_path: Path, revision: str) -> None:
    restored(revision, tmp_path / "old.db")
    old = open_engine(f"sqlite:///{tmp_path}/old.db")
    market = revision.startswith("m")
    versions, metadata = (VERSIONS, MarketTable.metadata) if market else ("versions", METADATA)
    migrate.downgrade(engine, "base")
    migrate.upgrade(engine, versions=versions, metadata=metadata, to=revision)
    tables = MetaData()
    tables.reflect(engine)
    source = MetaData()
    source.reflect(old)
    with old.connect() as read, engine.begin() as write:
        for table in tables.sorted_tables:
            if table.name in NOT_COMPARED:
                continue
            rows = [dict(row) for row in read.execute(select(source.tables[table.name])).mappings()]
            if rows:
                write.execute(table.insert(), rows)
    before = _rows(engine, tables)
    migrate.upgrade(engine, versions=versions, metadata=metadata)
    upgraded = MetaData()
    upgraded.reflect(engine)
    assert as_before(_rows(engine, upgraded), before) == {name: rows for name, rows in before.items() if rows}
    assert migrate.check(engine, head=MARKET_HEAD if market else migrate.HEAD, metadata=metadata) == []
    old.dispose()


class Writer:
    """A program that goes on writing, and remembers what was acknowledged."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._stop = engine, threading.Event()
        self.written: list[str] = []
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        while not self._stop.is_set():
            key = f"written {len(self.written):05}"
            with writing(self._engine) as session:
                session.add(MetaRow(key=key, value="x" * 200))
            self.written.append(key)

    def __enter__(self) -> Writer:
        self._thread.start()
        while not self.written:
            self._stop.wait(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def same_but_for_the_writer(copy: Content, before: Content, acknowledged: list[str]) -> None:
    """The copy has every row of before, and of the writer's all up to some moment."""
    mine = sorted(row["key"] for row in copy["meta"] if row["key"].startswith("written"))
    assert mine[: len(acknowledged)] == acknowledged
    copy["meta"] = [row for row in copy["meta"] if not row["key"].startswith("written")]
    before["meta"] = [row for row in before["meta"] if not row["key"].startswith("written")]
    assert copy == before


def test_a_backup_is_the_database_row_by_row_while_it_is_written_to(
    command: Command, sqlite_engine: Engine, study: str, tmp_path: Path
) -> None:
    answer(sqlite_engine, study)
    live = tmp_path / "humaneval.db"
    before = content(live)
    with Writer(sqlite_engine) as writer:
        acknowledged = list(writer.written)
        assert command("db", "backup", "--out", "copy.db").code == 0
    shutil.copy("copy.db", "restored.db")  # as one goes back to a copy
    same_but_for_the_writer(content(Path("restored.db")), before, acknowledged)
    said = command("--database", "restored.db", "score", study, "--json")
    assert said.json == command("score", study, "--json").json


def test_a_marketplaces_backup_is_the_file_row_by_row(command: Command, tmp_path: Path) -> None:
    restored("m0001", tmp_path / "market.db")
    command("market", "upgrade")
    assert command("market", "backup", "--out", "copy.db").code == 0
    assert content(Path("copy.db")) == content(tmp_path / "market.db")


DUMP, RESTORE = "pg_dump --no-owner --file copy.sql", "psql --quiet --file copy.sql"
"""As README.md says."""


@pytest.fixture
def dumped_server(postgres_server: str) -> Iterator[str]:
    """A server that pg_dump can read: that of the tests, or one of pg_dump's own version."""
    with _administrator(postgres_server) as server:
        ours = int(server.scalar(text("SHOW server_version_num"))) // 10000
    version = _version_of_pg_dump()
    if version >= ours:
        yield postgres_server
        return
    programs = Path(f"/usr/lib/postgresql/{version}/bin")
    if not (programs / "postgres").exists():
        lacking("pg_dump", f"install PostgreSQL's client programs of version {ours}")
    with TemporaryDirectory(prefix="humaneval-postgres-") as folder:
        Path(folder).chmod(0o755)
        with own_server(Path(folder), programs) as own:
            yield own.url


def _version_of_pg_dump() -> int:
    """0 without a pg_dump and a psql."""
    if not (shutil.which("pg_dump") and shutil.which("psql")):
        return 0
    said = subprocess.run(["pg_dump", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)[.\d]* ", said + " ")
    return int(found[1]) if found else 0


def test_the_documented_line_of_pg_dump_restores_every_row(
    dumped_server: str, study_factory: Callable[..., object], tmp_path: Path
) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'{DUMP} "$DATABASE_URL"' in page
    assert f'{RESTORE} "$NEW_DATABASE_URL"' in page
    names = [f"humaneval_dump_{uuid.uuid4().hex[:8]}" for _ in range(2)]
    urls = [str(_on_server(dumped_server, name)) for name in names]
    with _administrator(dumped_server) as server:
        for name in names:
            server.execute(text(f"CREATE DATABASE {name} TEMPLATE template0"))
    live, copy = (open_engine(url, pool=False) for url in urls)
    try:
        migrate.upgrade(live)
        study_factory(live, "study")
        answer(live, "study")
        before = _rows(live)
        with Writer(live) as writer:
            acknowledged = list(writer.written)
            _run(DUMP, urls[0], tmp_path)
        _run(RESTORE, urls[1], tmp_path)
        same_but_for_the_writer(_rows(copy), before, acknowledged)
        assert migrate.check(copy) == []
    finally:
        with _administrator(dumped_server) as server:
            for name in names:
                server.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def _run(line: str, url: str, folder: Path) -> None:
    plain = url.replace("postgresql+psycopg://", "postgresql://")
    subprocess.run([*shlex.split(line), plain], cwd=folder, check=True, capture_output=True, timeout=PATIENCE)


def _rows(engine: Engine, tables: MetaData = METADATA) -> Content:
    with engine.connect() as connection:
        return {
            table.name: sorted((dict(row) for row in connection.execute(select(table)).mappings()), key=repr)
            for table in tables.sorted_tables
            if table.name not in NOT_COMPARED
        }
