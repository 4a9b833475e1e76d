"""Databases belong to their owner alone, are never made by mistake, and can be read where nobody writes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine

from humaneval.cli.main import VERBS
from humaneval.errors import StoreError
from humaneval.market import Mode, open_account, open_market
from humaneval.market.tables.database import HEAD
from humaneval.settings import Settings
from humaneval.store.engine import open_engine, writing
from humaneval.store.migrate import open_current
from humaneval.store.tables import MetaRow
from humaneval.web.app import create_app
from tests.answered import answer
from tests.commands import Command, program
from tests.conftest import ROOT, lacking


def modes(folder: Path, pattern: str) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.glob(pattern)}


@pytest.fixture
def umask_of_most_machines() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask_of_most_machines", "each_migrated")
def test_a_new_database_its_log_and_its_copies_are_their_owners_alone(
    command: Command, tmp_path: Path
) -> None:
    engine = open_engine(f"sqlite:///{tmp_path}/humaneval.db")
    open_current(engine)
    with writing(engine) as session:
        session.add(MetaRow(key="key", value="secret"))
    command("db", "backup")
    found = modes(tmp_path, "humaneval*")
    engine.dispose()
    assert {"humaneval.db", "humaneval.db-wal", "humaneval.db-shm"} < set(found)
    assert len(found) == 4
    assert set(found.values()) == {0o600}


def test_a_database_that_others_may_read_is_named_with_the_command_that_ends_it(
    command: Command, sqlite_database: str, tmp_path: Path
) -> None:
    shutil.copy(tmp_path / "humaneval.db", tmp_path / "humaneval-20260301T120000.backup.db")
    open_market(tmp_path / "market.db").dispose()
    for file in tmp_path.glob("*.db"):
        file.chmod(0o644)
    for said in (program("stories", "list").stderr.decode(), command("market", "events").err):
        assert "other people of this machine may open" in said
        (mend,) = (part for part in said.split("`") if part.startswith("chmod"))
        subprocess.run(mend, shell=True, check=True)
    assert set(modes(tmp_path, "*.db").values()) == {0o600}
    assert command("market", "events").err == command("stories", "list").err == ""


READING = [
    "status x",
    "score x",
    "report x --out r.html",
    "export x --out r.csv",
    "export --infills --out folder",
    "archive x",
    "datasheet x --out d.md",
    "study show",
    "study show x",
    "study audit x",
    "study plan x",
    "stories list",
    "stories show x",
    "worker list x",
    "review x",
    "collect x",
    "serve --port 0",
    "generators forget x",
    "generate --generator control",
    "db check",
    "db backup",
    "market events",
    "market earnings",
    "market backup",
    "market upgrade",
]


@pytest.mark.parametrize("line", READING)
def test_a_verb_that_brings_no_data_makes_no_database(command: Command, line: str, tmp_path: Path) -> None:
    verb, name = line.split(), str(tmp_path / "mistyped.db")
    assert verb[0] in VERBS
    said = command(*([*verb, "--database", name] if verb[0] == "market" else ["--database", name, *verb]))
    assert said.code == 1
    assert "mistyped.db" in said.err
    assert "--database" in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_server_does_not_make_its_database_anew_when_somebody_deletes_it(
    sqlite_database: str, tmp_path: Path
) -> None:
    engine = open_engine(sqlite_database, pool=False, make=False)
    open_current(engine)
    (tmp_path / "humaneval.db").unlink()
    with pytest.raises(StoreError, match="there is no database"), writing(engine) as session:
        session.add(MetaRow(key="a", value="b"))
    assert not (tmp_path / "humaneval.db").exists()


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A folder that others can reach, unlike those of the tests."""
    with tempfile.TemporaryDirectory(prefix="humaneval-shelf-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
        Path(folder).chmod(0o755)


@contextmanager
def as_somebody() -> Iterator[None]:
    """Be a person who cannot write everywhere, as root can."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_database_that_can_only_be_read_is_scored_and_says_why_it_is_not_written(
    command: Command,
    sqlite_engine: Engine,
    study: str,
    sqlite_database: str,
    shelf: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(sqlite_engine, study)
    sqlite_engine.dispose()
    kept = shelf / "kept.db"
    shutil.copy(sqlite_database.removeprefix("sqlite:///"), kept)
    verbs = [("score", study, "--json"), ("study", "audit", study), ("worker", "list", study)]
    before = [command(*verb) for verb in verbs]
    kept.chmod(0o444)
    shelf.chmod(0o555)
    monkeypatch.chdir("/")
    with as_somebody():
        after = [command("--database", kept, *verb) for verb in verbs]
        refused = command("--database", kept, "stories", "import", "--bundled")
    assert [said.out for said in after] == [said.out for said in before]
    assert [said.code for said in after] == [0, 0, 0]
    assert refused.code == 1
    assert "cannot be written: you may not write the file" in refused.err
    assert "says where this address comes from" not in refused.err
    assert [file.name for file in shelf.iterdir()] == ["kept.db"]


ON_A_READ_ONLY_DISK = """
import sys
from humaneval.cli.main import main
for line in sys.argv[1:]:
    print("$", line, flush=True)
    try:
        main(line.split())
    except SystemExit as end:
        print("exit", end.code, flush=True)
"""


def test_on_a_disk_that_can_only_be_read_each_verb_says_so_or_needs_no_write(
    sqlite_engine: Engine, study: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    answer(sqlite_engine, study)
    create_app(Settings(), sqlite_engine)  # a server has run: only people's answers are still to be written
    sqlite_engine.dispose()
    market = open_market(tmp_path / "market.db")
    open_account(market, Mode.LOCAL)
    market.dispose()
    reading = [f"score {study} --json", f"worker list {study}", "market events", "market earnings"]
    copies = tmp_path_factory.mktemp("copies")
    reading += [f"db backup --out {copies / 'db.db'}", f"market backup --out {copies / 'market.db'}"]
    writing = [
        "stories import --bundled",
        "db clean",
        "serve --port 0",
        "market serve --port 0",
        "market invite Ada",
    ]
    making = [f"report {study} --out r.html", f"export {study} --out r.csv", "db backup"]
    view = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    view += ['mount --bind . . && mount -o remount,bind,ro . && cd "$PWD" && exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*view, "true"], capture_output=True).returncode:
        lacking("root", "run the tests where namespaces are allowed")
    said = subprocess.run(
        [*view, sys.executable, "-c", ON_A_READ_ONLY_DISK, *reading, *writing, *making],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    told = dict(part.split("\n", 1) for part in said.stdout.split("$ ")[1:])
    assert {line: told[line].splitlines()[-1] for line in reading} == dict.fromkeys(reading, "exit 0")
    assert {line: told[line] for line in writing + making} == dict.fromkeys(writing + making, "exit 1\n")
    assert said.stderr.count("is on a disk that can only be read") == len(writing), said.stderr
    assert said.stderr.count("Read-only file system") == len(making), said.stderr
    assert "Traceback" not in said.stderr


def test_a_full_database_says_that_its_disk_is_full(sqlite_engine: Engine) -> None:
    def fill() -> None:
        with writing(sqlite_engine) as session:
            session.connection().exec_driver_sql("PRAGMA max_page_count = 1")
            session.add_all(MetaRow(key=str(number), value="x" * 4000) for number in range(200))

    with pytest.raises(StoreError, match="is full") as caught:
        fill()
    assert "Free some space" in caught.value.hint


def test_the_marketplaces_file_is_upgraded_by_its_own_verb(command: Command, tmp_path: Path) -> None:
    market = tmp_path / "market.db"
    engine = open_market(market)
    engine.dispose()
    assert f"Already at revision {HEAD}" in command("market", "upgrade").out
    market.write_text("no database " * 100)
    said = command("market", "events")
    assert said.code == 1
    assert "the marketplace's own file" in said.err
