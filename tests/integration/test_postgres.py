"""What is PostgreSQL's own: what it refuses is told in one line. And the tests' own server ends with them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, make_url, select, text
from sqlalchemy.pool import NullPool

from humaneval.errors import StoreError
from humaneval.request_turns import MOST_POOLED
from humaneval.store import engine as store_engine
from humaneval.store.engine import open_engine, reading, writing
from humaneval.store.migrate import open_current
from humaneval.store.tables import MetaRow
from tests.commands import Command
from tests.conftest import ROOT
from tests.fixtures import _administrator, _on_server
from tests.pace import PATIENCE

START = """
import sys
from pathlib import Path
from tests.postgres import serving
for url in serving(Path(sys.argv[1])):
    print(url, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_the_server_ends_with_the_process_that_started_it(
    end: signal.Signals, postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if os.environ.get("HUMANEVAL_TEST_POSTGRES"):
        pytest.skip("needs PostgreSQL of npm: unset HUMANEVAL_TEST_POSTGRES")
    folder = Path(postgres_server.partition("host=")[2]).parent / f"another-{end.name}"
    folder.mkdir(mode=0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"postgresql://postgres@/")
    server = int((folder / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])
    process.send_signal(end)
    process.communicate(timeout=PATIENCE)
    until = time.monotonic() + PATIENCE
    while Path(f"/proc/{server}").exists() and "Z" not in _state(server):
        assert time.monotonic() < until, "the server outlives the tests"
        time.sleep(0.02)


ON_POSTGRESQL = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@ON_POSTGRESQL
@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("SET ROLE pg_read_all_data", "does not let you do this: permission denied for table meta"),
        ("SET TRANSACTION READ ONLY", "cannot be written: cannot execute INSERT"),
        ("ALTER TABLE meta RENAME TO another", 'cannot be used: relation "meta" does not exist'),
        ("ALTER TABLE meta RENAME value TO another", 'cannot be used: column "value" of relation "meta"'),
        ("SET search_path = ''; CREATE TABLE x ()", "cannot be used: no schema has been selected"),
    ],
)
def test_what_the_server_refuses_is_no_fault_of_the_program(engine: Engine, before: str, told: str) -> None:
    def write() -> None:
        with writing(engine) as session:
            session.execute(text(before))
            session.add(MetaRow(key="k", value="v"))

    with pytest.raises(StoreError) as caught:
        write()
    assert told in caught.value.message
    assert caught.value.hint


@ON_POSTGRESQL
def test_what_is_set_for_a_database_does_not_change_what_is_read_or_how(engine: Engine) -> None:
    name = engine.url.database
    with writing(engine) as session:
        for setting in ("DateStyle = German", "client_encoding = LATIN1"):
            session.execute(text(f"ALTER DATABASE {name} SET {setting}"))
        session.execute(text(f"ALTER DATABASE {name} SET default_transaction_isolation = serializable"))
    engine.dispose()
    with reading(engine) as session:
        assert session.scalar(text("SELECT timestamptz '2026-11-30' || '…'")) == "2026-11-30 00:00:00+00…"
    with writing(engine) as session:
        assert session.scalar(text("SHOW transaction_isolation")) == "read committed"


@ON_POSTGRESQL
@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_hold_every_character_is_refused(database: str, encoding: str) -> None:
    name = f"{make_url(database).database}_{encoding.lower()}"
    administrator = create_engine(database, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with administrator.connect() as connection:
        made = f"TEMPLATE template0 ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
        connection.execute(text(f"CREATE DATABASE {name} {made}"))
        try:
            url = make_url(database).set(database=name).render_as_string(hide_password=False)
            with pytest.raises(StoreError, match=f"has the encoding {encoding}") as caught:
                open_current(open_engine(url, pool=False))
            assert "createdb -E UTF8" in caught.value.hint
        finally:
            connection.execute(text(f"DROP DATABASE {name}"))


@ON_POSTGRESQL
def test_work_that_the_server_ends_is_not_taken_for_a_wrong_address(engine: Engine) -> None:
    with pytest.raises(StoreError, match="cannot be used: canceling") as caught, reading(engine) as session:
        session.execute(text("SET statement_timeout = 1; SELECT pg_sleep(9)"))
    assert "Run the command again" in caught.value.hint
    assert "address" not in caught.value.hint


@ON_POSTGRESQL
def test_nobody_waits_without_end_for_a_lock(
    engine: Engine, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_engine, "BUSY_SECONDS", 0.1)
    waiting = open_engine(database, pool=False)
    with writing(engine) as holding:
        holding.execute(text("LOCK TABLE meta"))
        with pytest.raises(StoreError, match=r"was busy for 0.1 s"), reading(waiting) as session:
            session.scalar(select(MetaRow.value))


@ON_POSTGRESQL
def test_a_server_without_a_free_connection_is_not_taken_for_a_wrong_address(engine: Engine) -> None:
    with writing(engine) as session:
        session.execute(text("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0"))
    url = engine.url.set(username="crowded").render_as_string(hide_password=False)
    try:
        crowded = open_engine(url)
        with pytest.raises(StoreError, match="too many connections") as caught, reading(crowded) as session:
            session.connection()
    finally:
        with writing(engine) as session:
            session.execute(text("DROP ROLE crowded"))
    assert caught.value.hint.endswith("Try again, or raise max_connections there.")


@ON_POSTGRESQL
def test_a_connection_that_ends_within_a_command_is_not_taken_for_a_wrong_address(engine: Engine) -> None:
    def read() -> None:
        with reading(engine) as session:
            ended = session.scalar(text("SELECT pg_backend_pid()"))
            with writing(engine) as another:
                another.execute(text("SELECT pg_terminate_backend(:ended)"), {"ended": ended})
            session.scalar(select(MetaRow.value))

    with pytest.raises(StoreError, match="cannot be used") as caught:
        read()
    assert "Run the command again" in caught.value.hint


def test_somebody_for_whom_no_connection_comes_free_is_told_that_the_database_is_busy(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_engine.pool, "_timeout", 0.1)
    with ExitStack() as held:
        for _ in range(MOST_POOLED):
            held.enter_context(sqlite_engine.connect())
        with pytest.raises(StoreError, match="was busy"), reading(sqlite_engine) as session:
            session.scalar(select(MetaRow.value))


def _state(process: int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


@pytest.mark.parametrize(
    "asked", ["", "?connect_timeout=3&options=-cwork_mem%3D9MB&options=-csearch_path%3Dhere"]
)
def test_how_long_a_server_may_be_silent_is_our_choice_unless_the_url_says_it(asked: str) -> None:
    connecting = open_engine(f"postgresql+psycopg://u@db.example/x{asked}", pool=False)
    given: dict[str, Any] = {}

    def caught(_dialect: object, _record: object, _arguments: object, options: dict[str, Any]) -> None:
        given.update(options)
        raise KeyboardInterrupt

    event.listen(connecting, "do_connect", caught)
    with pytest.raises(KeyboardInterrupt):
        connecting.connect()
    assert given["options"].startswith("-c timezone=UTC -c lock_timeout=30s")
    assert given["options"].endswith(" -cwork_mem=9MB -csearch_path=here") == bool(asked)
    assert int(given["connect_timeout"]) == (3 if asked else 10)
    assert given["tcp_user_timeout"] == 60_000


def test_a_host_that_never_answers_is_told_in_one_line(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/x?connect_timeout=2"
        said = command("--database", url, "status", "study")
    assert said.code == 1
    assert "cannot be used: connection timeout expired" in said.err.splitlines()[0]


def test_a_socket_is_named_as_it_was_given_and_the_advice_fits_wherever_that_was(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HUMANEVAL_DATABASE", f"postgresql://ann:secret@/study?host={tmp_path}")
    said = command("status", "study")
    assert said.code == 1
    assert f"the database postgresql+psycopg://ann:***@/study?host={tmp_path} cannot be used" in said.err
    assert "`humaneval config show` says where this address comes from" in said.err
    assert "secret" not in said.err


@pytest.mark.long
def test_programs_of_each_kind_at_one_server_keep_exact_books(postgres_server: str, tmp_path: Path) -> None:
    name = f"together_{os.getpid()}"
    with _administrator(postgres_server) as server:
        server.execute(text(f"CREATE DATABASE {name}"))
    url = str(_on_server(postgres_server, name))
    script = [sys.executable, "-m", "benchmarks.together", "--rows", "36", "--postgres", url]
    said = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert said.returncode == 0, said.stderr
    found = json.loads(said.stdout)
    assert not found["wrong"]
    with _administrator(postgres_server) as server:
        server.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
