"""Migrations keep data, databases of others are left alone, copies are whole, checks find what is broken."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import CheckConstraint, Engine, func, inspect, select, text

from humaneval.errors import PrerequisiteError, StoreError, UsageError
from humaneval.market.tables.base import MarketTable
from humaneval.market.tables.database import HEAD as MARKET_HEAD
from humaneval.market.tables.database import VERSIONS as VERSIONS_OF_MARKETS
from humaneval.store import migrate
from humaneval.store.engine import open_engine, writing
from humaneval.store.tables import MetaRow
from humaneval.store.types import Base, now
from tests import migrated
from tests.commands import Command
from tests.conftest import ROOT
from tests.forking.program import Program
from tests.pace import PATIENCE

pytestmark = pytest.mark.usefixtures("each_migrated")

Factory = Callable[..., object]
VERSIONS = ROOT / "migrations" / "versions"

NEXT = f"{int(migrate.HEAD) + 1:04d}"
SECOND = f"""
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "{NEXT}", "{migrate.HEAD}", None, None


def upgrade() -> None:
    with op.batch_alter_table("stories") as stories:
        stories.alter_column("title", new_column_name="heading")
        stories.add_column(sa.Column("license", sa.Text(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("stories") as stories:
        stories.drop_column("license")
        stories.alter_column("heading", new_column_name="title")
"""


@pytest.fixture
def next_version(tmp_path: Path) -> Callable[[str], str]:
    """A folder of migrations with one more than there are: what the next release will have."""

    def write(source: str) -> str:
        folder = tmp_path / "versions"
        shutil.copytree(VERSIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / f"{NEXT}_next.py").write_text(source, encoding="utf-8")
        return str(folder)

    return write


def counts(engine: Engine) -> dict[str, int]:
    """How many lines each table has."""
    with engine.connect() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


@contextmanager
def at(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


def test_C66_the_newest_migration_is_the_one_that_the_code_asks_for() -> None:
    assert ScriptDirectory(str(ROOT / "migrations")).get_heads() == [migrate.HEAD]


def test_C66_the_migrations_make_the_tables_of_the_models(engine: Engine) -> None:
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    found = inspect(engine)
    for table in Base.metadata.sorted_tables:  # which compare_metadata does not look at
        models = {str(c.name) for c in table.constraints if isinstance(c, CheckConstraint)}
        assert {check["name"] for check in found.get_check_constraints(table.name)} == models, table.name


def test_C66_every_constraint_has_a_name(engine: Engine) -> None:
    found = inspect(engine)
    for table in found.get_table_names():
        if table == "alembic_version":
            continue
        # SQLite lets no key that counts up for ever have a name.
        options = Base.metadata.tables[table].dialect_options["sqlite"]
        counts_up = engine.dialect.name == "sqlite" and options["autoincrement"]
        assert found.get_pk_constraint(table)["name"] or counts_up, table
        named = [
            *found.get_foreign_keys(table),
            *found.get_unique_constraints(table),
            *found.get_check_constraints(table),
        ]
        assert all(constraint["name"] for constraint in named), table
    for constraint in (c for table in Base.metadata.sorted_tables for c in table.constraints):
        assert constraint.name, constraint


def test_C66_migrations_run_down_and_up_again_with_data_in_the_tables(
    engine: Engine, study_factory: Factory
) -> None:
    study_factory(engine)
    assert counts(engine)["infills"] == 4 * 5 * 24
    migrate.downgrade(engine, "base")
    assert set(inspect(engine).get_table_names()) == {"alembic_version"}
    migrate.upgrade(engine)
    assert migrate.check(engine) == []
    assert set(counts(engine).values()) == {0}


def test_C66_a_batch_migration_of_a_parent_table_keeps_its_children(
    engine: Engine, study_factory: Factory, next_version: Callable[[str], str]
) -> None:
    study_factory(engine)
    before, versions = counts(engine), next_version(SECOND)
    with engine.connect() as connection:
        titles = connection.execute(text("SELECT key, title FROM stories ORDER BY id")).all()
    migrate.upgrade(engine, versions=versions)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT key, heading FROM stories ORDER BY id")).all() == titles
        assert connection.scalar(text("SELECT count(*) FROM infills")) == before["infills"]
    migrate.downgrade(engine, migrate.HEAD, versions=versions)
    assert counts(engine) == before
    assert migrate.check(engine) == []


def test_foreign_keys_are_enforced_again_after_a_migration(
    sqlite_engine: Engine, next_version: Callable[[str], str]
) -> None:
    migrate.upgrade(sqlite_engine, versions=next_version(SECOND))
    with pytest.raises(StoreError, match="has deleted"), writing(sqlite_engine) as session:
        session.execute(text("INSERT INTO worker_identities VALUES (99, 'local', 'A1')"))


@pytest.mark.parametrize("failing", ["raise RuntimeError('a fault')", "op.execute('SELECT * FROM nowhere')"])
def test_a_migration_that_fails_half_way_changes_nothing(
    engine: Engine, study_factory: Factory, next_version: Callable[[str], str], failing: str
) -> None:
    study_factory(engine)
    before = counts(engine)
    versions = next_version(SECOND.replace("def downgrade", f"    {failing}\n\n\ndef downgrade"))
    with pytest.raises(Exception, match=r"a fault|nowhere"):
        migrate.upgrade(engine, versions=versions)
    assert migrate.revision(engine) == migrate.HEAD
    assert counts(engine) == before
    assert migrate.check(engine) == []


def test_an_upgrade_that_finds_broken_references_stops_and_changes_nothing(
    sqlite_engine: Engine, study_factory: Factory, next_version: Callable[[str], str]
) -> None:
    study_factory(sqlite_engine)
    break_a_reference(sqlite_engine)
    with pytest.raises(StoreError, match="broken references, the first in table infills"):
        migrate.upgrade(sqlite_engine, versions=next_version(SECOND))
    assert migrate.revision(sqlite_engine) == migrate.HEAD


def break_a_reference(engine: Engine) -> None:
    with closing(sqlite3.connect(str(engine.url.database))) as connection:  # foreign keys are off by default
        connection.execute("UPDATE infills SET story_id = 9999 WHERE id = 1")
        connection.commit()


def test_an_empty_database_gets_its_tables(tmp_path: Path) -> None:
    with at(f"sqlite:///{tmp_path}/new.db") as engine:
        migrate.open_current(engine)
        assert migrate.check(engine) == []


def test_the_tables_that_most_tests_get_at_once_are_those_of_the_migrations(tmp_path: Path) -> None:
    with at(f"sqlite:///{tmp_path}/new.db") as engine:
        migrated.upgrade(engine)
        assert migrate.check(engine) == []
        with writing(engine) as session:
            session.add(MetaRow(key="kept", value="yes"))
        migrated.upgrade(engine)
        with engine.connect() as connection:
            assert connection.scalar(select(MetaRow.value).where(MetaRow.key == "kept")) == "yes"
    with at(f"sqlite:///{tmp_path}/market.db") as engine:
        migrated.upgrade(engine, versions=VERSIONS_OF_MARKETS, metadata=MarketTable.metadata)
        assert migrate.check(engine, head=MARKET_HEAD, metadata=MarketTable.metadata) == []


def test_programs_that_open_a_new_database_at_the_same_time_all_can(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    source = f"""
from humaneval.store.engine import open_engine
from humaneval.store.migrate import open_current
import sys
import alembic.command, alembic.script, alembic.autogenerate
engine = open_engine("sqlite:///{path}")
print("ready", flush=True)
sys.stdin.readline()
open_current(engine)
"""
    command = [sys.executable, "-c", source]
    pipe = subprocess.PIPE
    programs = [
        subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(3)
    ]
    for program in programs:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
    for program in programs:  # all are loaded and wait: now they run together
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
    ends = [(program.communicate()[1], program.returncode) for program in programs]
    assert ends == [("", 0)] * 3


def test_a_database_of_an_older_revision_is_refused_with_the_way_to_upgrade(engine: Engine) -> None:
    with pytest.raises(
        StoreError, match=f"older revision {migrate.HEAD}; this version needs {NEXT}"
    ) as caught:
        migrate.open_current(engine, head=NEXT)
    assert "humaneval db upgrade" in caught.value.hint


def test_a_database_of_a_newer_version_is_refused_and_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for use in (migrate.open_current, migrate.known_revision):
        with pytest.raises(StoreError, match="revision 9999, which this version does not know") as caught:
            use(engine)
        assert "newer" in caught.value.hint
    assert migrate.check(engine) == [f"the revision is 9999, not {migrate.HEAD}"]


def test_somebody_elses_database_is_refused_and_left_alone(engine: Engine) -> None:
    migrate.downgrade(engine, "base")
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
        connection.execute(text("CREATE TABLE recipes (name TEXT)"))
    for use in (migrate.open_current, migrate.known_revision):
        with pytest.raises(StoreError, match="has tables that are not this toolkit's"):
            use(engine)
    assert inspect(engine).get_table_names() == ["recipes"]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "letter.db").write_text("Dear Ann, this is no database. " * 50, encoding="utf-8")
    with (
        at(f"sqlite:///{tmp_path}/letter.db") as engine,
        pytest.raises(StoreError, match=r"letter\.db cannot be used: file is not a database"),
    ):
        migrate.open_current(engine)


@pytest.mark.parametrize("address", ["ann:hush@127.0.0.1:9/db", "ann@127.0.0.1:9/db?password=hush"])
def test_a_server_that_does_not_answer_is_named_without_the_password(address: str) -> None:
    with (
        at(f"postgresql+psycopg://{address}") as engine,
        pytest.raises(StoreError, match="cannot be used: connection failed") as caught,
    ):
        migrate.open_current(engine)
    assert "hush" not in caught.value.message + caught.value.hint


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"the folder .*nowhere for the database does not exist"):
        open_engine(f"sqlite:///{tmp_path}/nowhere/x.db")


@pytest.mark.parametrize("name", [".", "/"])
def test_a_folder_is_no_database(name: str, command: Command) -> None:
    said = command("--database", f"sqlite:///{name}", "status", "study")
    assert (said.code, len(said.err.splitlines())) == (1, 2)
    assert "is a folder" in said.err


def test_a_name_that_is_not_in_utf_8_is_one_line() -> None:
    with pytest.raises(StoreError, match="not in UTF-8"):
        open_engine("sqlite:///\udcff.db")


@pytest.mark.parametrize(
    "address", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"]
)
def test_a_database_in_memory_is_refused(address: str) -> None:
    with pytest.raises(StoreError, match="would be in memory, and gone after each command"):
        open_engine(address)


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(PrerequisiteError, match="needs the package psycopg") as caught:
        open_engine("postgresql+psycopg://host/db")
    assert "humaneval-toolkit[postgres]" in caught.value.hint


def test_a_backup_taken_while_others_write_is_whole(sqlite_engine: Engine, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            with writing(sqlite_engine) as session:  # always in pairs: a torn copy would have an odd one
                session.add_all(MetaRow(key=f"{number} {half}", value="x" * 500) for half in "ab")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copies = [migrate.backup(sqlite_engine, tmp_path / f"copy-{i}.db") for i in range(5)]
    finally:
        stop.set()
        writer.join()
    for copy in copies:
        with at(f"sqlite:///{copy}") as engine:
            assert migrate.check(engine) == []
            assert counts(engine)["meta"] % 2 == 0
    assert counts(sqlite_engine)["meta"] > 0
    assert not list(tmp_path.glob("*.part*"))


def test_backups_of_one_moment_are_files_of_their_own(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = now()
    monkeypatch.setattr(migrate, "now", lambda: moment)
    with ThreadPoolExecutor(3) as pool:
        copies = {future.result() for future in [pool.submit(migrate.backup, sqlite_engine) for _ in "abc"]}
    assert len(copies) == 3
    for copy in copies:
        with at(f"sqlite:///{copy}") as engine:
            assert migrate.check(engine) == []


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_of_two_programs_that_upgrade_one_waits_and_finds_nothing_to_do(
    engine: Engine, database: str
) -> None:
    migrate.downgrade(engine, "0003")
    with engine.begin() as held:
        held.execute(text("LOCK TABLE studies"))
        both = [Program("db", "upgrade", environment={"HUMANEVAL_DATABASE": database}) for _ in "ab"]
        waiting = text(
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
            " WHERE NOT granted AND datname = current_database()"
        )
        until = time.monotonic() + PATIENCE
        with engine.connect() as looking:
            while looking.scalar(waiting) != 2:
                assert time.monotonic() < until
                time.sleep(0.02)
    assert [one.wait() for one in both] == [0, 0]
    assert migrate.check(engine) == []


def test_what_a_killed_backup_left_is_gone_after_a_day(sqlite_engine: Engine, tmp_path: Path) -> None:
    name, long_ago = Path(str(sqlite_engine.url.database)).stem, time.time() - migrate.LONGEST_COPY - 1
    left = [f"{name}-1.backup.db.0123abcd.part", f"{name}-1.backup.db.0123abcd.part-journal"]
    others = [f"{name}.part-time.csv", "other.db.0123abcd.part", f"{name}.db.89abcdef.part"]
    for each in (*left, *others):
        (tmp_path / each).touch()
        if each != others[-1]:  # one that may be at work now
            os.utime(tmp_path / each, (long_ago, long_ago))
    migrate.backup(sqlite_engine, tmp_path / "copy.db")
    assert [each for each in left if (tmp_path / each).exists()] == []
    assert [each for each in others if not (tmp_path / each).exists()] == []


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_a_backup_goes_to_no_place_where_another_database_has_left_its_log(
    sqlite_engine: Engine, tmp_path: Path, end: str
) -> None:
    left = tmp_path / f"copy.db{end}"
    left.write_bytes(b"log")
    with pytest.raises(UsageError, match="is left of another database") as refused:
        migrate.backup(sqlite_engine, tmp_path / "copy.db")
    assert str(left) in refused.value.message
    assert left.read_bytes() == b"log"
    assert not (tmp_path / "copy.db").exists()


def test_a_backup_never_writes_over_a_file(sqlite_engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "kept.db").write_text("kept", encoding="utf-8")
    with pytest.raises(UsageError, match=r"kept\.db already exists"):
        migrate.backup(sqlite_engine, tmp_path / "kept.db")
    named = migrate.backup(sqlite_engine)
    assert named.name.startswith("humaneval-2")
    assert named.name.endswith(".backup.db")


def test_a_backup_that_cannot_be_made_says_why_and_leaves_nothing(
    sqlite_engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for folder in ("nowhere", "file"):
        with pytest.raises(UsageError, match=rf"the folder .*{folder} for the copy does not exist"):
            migrate.backup(sqlite_engine, tmp_path / folder / "copy.db")
    with pytest.raises(StoreError, match=r"File name too long|unable to open"):
        migrate.backup(sqlite_engine, tmp_path / ("x" * 251))  # there is no room for the `.part` behind it
    (tmp_path / "letter.db").write_text("Dear Ann, this is no database. " * 50, encoding="utf-8")
    with (
        at(f"sqlite:///{tmp_path}/letter.db") as engine,
        pytest.raises(StoreError, match=r"letter\.db cannot be copied to .*copy\.db: file is not a database"),
    ):
        migrate.backup(engine, tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy*"))


def test_a_check_finds_a_broken_reference(sqlite_engine: Engine, study_factory: Factory) -> None:
    study_factory(sqlite_engine)
    assert migrate.check(sqlite_engine) == []
    break_a_reference(sqlite_engine)
    assert migrate.check(sqlite_engine) == ["broken reference in infills, line 1"]


def test_a_check_finds_a_column_that_is_missing(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE runs DROP COLUMN batch"))
    problems = migrate.check(engine)
    assert len(problems) == 1
    assert "batch" in problems[0]
