"""The form server as a process: how it starts and ends, what it refuses, and the database under it."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from flask import Flask
from sqlalchemy import Engine, delete, func, select
from sqlalchemy.exc import OperationalError

import humaneval.web_server as serving_limits
from humaneval.crowd.mturk.platform import MTurk
from humaneval.crowd.publish_plan import plan_hits
from humaneval.crowd.study_at import open_study_at
from humaneval.errors import StoreError
from humaneval.scoring.questions import question
from humaneval.settings import Settings
from humaneval.simulated.browser import Browser, FoundForm, Page
from humaneval.store.engine import reading, store_errors, writing
from humaneval.store.identity import DATABASE_ID, Identity
from humaneval.store.migrate import backup
from humaneval.store.tables import AnswerRow, HitRow, MetaRow
from humaneval.web.app import MAX_FORM_BYTES, MOST_HEADER_BYTES, create_app, running
from humaneval.web_server import Servers
from tests.fixtures import signed
from tests.forking.program import Program
from tests.pace import PATIENCE


class Running(NamedTuple):
    process: Program
    port: int
    log: Path


@contextmanager
def serving(folder: Path, *command: str, files: int = 0, **environment: str) -> Iterator[Running]:
    """A verb that serves, in a process of its own; `files` is how many it may open."""

    log = folder / "stderr"
    with (
        log.open("w") as errors,
        Program(
            *(*command, "--port", "0"),
            folder=folder,
            environment=environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            limits={"RLIMIT_NOFILE": files} if files else None,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
            assert found, log.read_text()
            yield Running(process, int(found[1]), log)
        finally:
            process.kill()


def get(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().status
    finally:
        connection.close()


def accepts(port: int) -> bool:
    """Whether a server takes connections."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", [("serve",), ("market", "serve")], ids=["forms", "market"])
def test_a_signal_ends_a_server_once_it_has_answered_what_is_in_hand(
    tmp_path: Path, sqlite_database: str, command: tuple[str, ...], ended_by: signal.Signals
) -> None:
    forms = command == ("serve",)
    with serving(tmp_path, *command, HUMANEVAL_DATABASE=sqlite_database) as server:
        # A request of which half has come is not in hand; one that has come whole is answered.
        half = socket.create_connection(("127.0.0.1", server.port))
        half.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab")
        whole = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        file = sqlite_database.removeprefix("sqlite:///") if forms else tmp_path / "market.db"
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            whole.sendall(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
            time.sleep(0.3)  # so that it waits for the database, as this test does in any case
            server.process.send_signal(ended_by)
            while accepts(server.port):
                time.sleep(0.01)
            other.execute("ROLLBACK")
        assert whole.recv(12) == b"HTTP/1.1 200"
        assert server.process.wait() == 0
        for each in (half, whole):
            each.close()
        assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_addresses_that_serve_prints_answer_wherever_it_listens(
    tmp_path: Path, sqlite_database: str, host: str
) -> None:
    command = ("serve", "--token", "--host", host)
    with serving(tmp_path, *command, HUMANEVAL_DATABASE=sqlite_database) as server:
        assert server.process.stdout is not None
        found = re.search(r"http://([\d.]+):(\d+)(/requester/\w+/)", server.process.stdout.readline())
        assert found
        with closing(http.client.HTTPConnection(found[1], int(found[2]), timeout=PATIENCE)) as connection:
            connection.request("GET", found[3])
            assert connection.getresponse().status == 200
        assert "lead to http://127.0.0.1:8730, not here: set public_url to" in server.log.read_text()


@pytest.mark.parametrize("verb", [("serve",), ("market", "serve")], ids=" ".join)
def test_with_few_files_a_server_takes_fewer_connections_and_stays_idle(
    tmp_path: Path, sqlite_database: str, verb: tuple[str, ...]
) -> None:
    with (
        serving(tmp_path, *verb, files=64, HUMANEVAL_DATABASE=sqlite_database) as server,
        ExitStack() as stack,
    ):
        for _ in range(80):
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE))
        before = _seconds(server.process.pid)
        time.sleep(1)
        assert _seconds(server.process.pid) - before < 0.5
        stack.close()
        assert get(server.port, "/health") == 200
        assert "Too many open files" not in server.log.read_text()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server that takes 40 connections."""
    monkeypatch.setattr(serving_limits, "MOST_CONNECTIONS", 40)
    servers, app = Servers(), Flask("small")
    app.add_url_rule("/", view_func=lambda: "here")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        servers.add(app, listening, threads=2, most_bytes=10_000)
        thread = Thread(target=servers.run, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        servers.stop()
        thread.join()


def test_connections_without_a_request_keep_nobody_out(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving_limits, "SECONDS_TO_ASK", 0.5)
    with ExitStack() as stack:
        for number in range(110):
            each = stack.enter_context(socket.create_connection(("127.0.0.1", small), timeout=PATIENCE))
            each.sendall([b"", b"GET / HT", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"][number % 3])
        assert get(small, "/") == 200


def test_in_a_crowd_nobody_keeps_a_place_for_the_next_request(
    small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_limits, "SECONDS_TO_ASK", 10 * PATIENCE)  # nobody is idle
    with ExitStack() as stack:
        crowd = [
            stack.enter_context(socket.create_connection(("127.0.0.1", small), timeout=PATIENCE))
            for _ in range(120)
        ]
        for each in crowd:
            each.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert {each.recv(12) for each in crowd} == {b"HTTP/1.1 200"}


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def open_form(sqlite_engine: Engine, study_factory: Callable, platform: MTurk) -> Iterator[OpenForm]:
    """A form that a person has open, at a server over a database in a file."""
    study_factory(sqlite_engine, design={"annotators": 4})
    plan_hits(open_study_at(sqlite_engine, "study", platform))
    with running(create_app(Settings(), sqlite_engine)) as port:
        with reading(sqlite_engine) as session:
            hit = session.scalars(select(HitRow)).one()
        url = f"http://127.0.0.1:{port}"
        page = Browser().get(f"{url}/form/{hit.key}?{signed(hit.secret, '3A', 'W1')}")
        form = page.form(field="form")
        assert form is not None
        yield OpenForm(port, Path(str(sqlite_engine.url.database)), sqlite_engine, page, form)


class OpenForm(NamedTuple):
    port: int
    file: Path
    engine: Engine
    page: Page
    form: FoundForm

    def send(self, **entered: str) -> Page:
        answers = {**self.form.boxes, **dict.fromkeys(self.form.choices, "1"), **entered}
        return Browser().submit(self.page, self.form, answers)

    def answers(self) -> int:
        with reading(self.engine) as session:
            return session.scalar(select(func.count()).select_from(AnswerRow)) or 0


def _deleted(form: OpenForm) -> None:
    form.file.unlink()


def _replaced(form: OpenForm) -> None:
    copy = form.file.with_suffix(".copy")
    shutil.copy(form.file, copy)
    copy.rename(form.file)


def _moved_away(form: OpenForm) -> None:
    for name in (form.file, Path(f"{form.file}-wal"), Path(f"{form.file}-shm")):
        name.rename(name.with_name(f"old-{name.name}"))


def _log_deleted(form: OpenForm) -> None:
    Path(f"{form.file}-wal").unlink()


def _log_emptied(form: OpenForm) -> None:
    os.truncate(f"{form.file}-wal", 0)


def _copied_over(form: OpenForm) -> None:
    """As `cp backup.db humaneval.db`: the same file with other bytes, and the same id in it."""
    copy = form.file.with_suffix(".copy")
    backup(form.engine, copy)
    form.file.write_bytes(copy.read_bytes())


def _another_one(form: OpenForm) -> None:
    """As a restored dump of another study would be, under the same name."""
    with writing(form.engine) as session:
        session.execute(delete(MetaRow).where(MetaRow.key == DATABASE_ID))
        session.add(MetaRow(key=DATABASE_ID, value="another"))


def _older_copied_over(form: OpenForm) -> None:
    """As a backup from before one more row, with everything copied from the log before."""
    copy = form.file.with_suffix(".copy")
    backup(form.engine, copy)
    with writing(form.engine) as session:
        session.add(MetaRow(key="one more", value="row"))
    with closing(sqlite3.connect(form.file)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert get(form.port, "/health") == 200
    form.file.write_bytes(copy.read_bytes())


@pytest.mark.parametrize(
    "happens",
    [
        _older_copied_over,
        _deleted,
        _replaced,
        _moved_away,
        _another_one,
        _log_deleted,
        _log_emptied,
        _copied_over,
    ],
)
def test_nothing_is_acknowledged_once_the_database_is_another_one(
    open_form: OpenForm, happens: Callable[[OpenForm], None]
) -> None:
    assert get(open_form.port, "/health") == 200
    happens(open_form)
    said = open_form.send()
    assert said.status == 503
    assert said.form(action="/mturk/externalSubmit") is None
    assert said.forms[0].values["choice-1"] == "1"  # the answers come back, to be sent once more
    assert get(open_form.port, "/health") == 503


def test_what_is_stored_is_acknowledged_in_the_same_database(open_form: OpenForm) -> None:
    assert open_form.send().form(action="/mturk/externalSubmit") is not None
    assert open_form.answers() == 1


def test_a_touch_of_the_file_is_no_replacement(open_form: OpenForm) -> None:
    for how in ("PASSIVE", "TRUNCATE"):
        os.utime(open_form.file)
        assert get(open_form.port, "/health") == 200
        with closing(sqlite3.connect(open_form.file)) as other:
            other.execute(f"PRAGMA wal_checkpoint({how})").fetchall()
        assert get(open_form.port, "/health") == 200
    os.utime(open_form.file, (0, 0))
    assert open_form.send().form(action="/mturk/externalSubmit") is not None
    _copied_over(open_form)
    assert get(open_form.port, "/health") == 503


def test_what_other_programs_do_to_the_database_is_no_reason_to_refuse(open_form: OpenForm) -> None:
    with sqlite3.connect(open_form.file) as other:
        other.execute("CREATE TABLE notes (text)")
        other.executemany("INSERT INTO notes VALUES (?)", [("x" * 5000,)] * 2000)  # more than a log holds
        other.commit()
        assert get(open_form.port, "/health") == 200
        for how in ("PASSIVE", "RESTART", "TRUNCATE"):
            other.execute(f"PRAGMA wal_checkpoint({how})").fetchall()
            assert get(open_form.port, "/health") == 200
            other.execute("DELETE FROM notes WHERE rowid % 3 = 0")
            other.commit()
        other.execute("VACUUM")
    assert get(open_form.port, "/health") == 200
    assert open_form.send().form(action="/mturk/externalSubmit") is not None


def test_the_log_may_go_with_the_last_connection(sqlite_engine: Engine) -> None:
    identity, log = Identity(sqlite_engine), Path(f"{sqlite_engine.url.database}-wal")
    assert log.exists()
    sqlite_engine.dispose()
    assert not log.exists()
    identity.check()


def test_the_error_says_that_the_database_was_replaced(sqlite_engine: Engine) -> None:
    identity = Identity(sqlite_engine)
    identity.check()
    assert Identity(sqlite_engine).check() is None  # another server of the same database
    Path(str(sqlite_engine.url.database)).unlink()
    with pytest.raises(StoreError, match="was deleted or replaced while the server ran"):
        identity.check_file()


def status_in_chunks(port: int, path: str) -> int:
    """What a server says to a body that names no length and has no end."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as browser:
        browser.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        with suppress(OSError):  # closed by the server
            for _ in range(1_000):
                browser.sendall(chunk)
        return int(browser.recv(12).split()[1])


def test_what_is_too_long_is_refused_before_it_has_come(open_form: OpenForm) -> None:
    with socket.create_connection(("127.0.0.1", open_form.port), timeout=PATIENCE) as browser:
        browser.sendall(b"POST /form/x HTTP/1.1\r\nHost: x\r\nContent-Length: 900000000\r\n\r\n")
        assert b" 413 " in browser.recv(1000).partition(b"\r\n")[0]
    with socket.create_connection(("127.0.0.1", open_form.port), timeout=PATIENCE) as browser:
        browser.sendall(b"GET /form/x?" + b"a" * MOST_HEADER_BYTES)
        assert b" 431 " in browser.recv(1000).partition(b"\r\n")[0]
    assert status_in_chunks(open_form.port, "/form/x") == 413
    assert open_form.send(comment="x" * MAX_FORM_BYTES).status == 413


def test_a_nul_in_an_address_is_no_id_and_no_fault_of_ours(
    engine: Engine, study_factory: Callable, platform: object
) -> None:
    study_factory(engine, design={"annotators": 4})
    plan_hits(open_study_at(engine, "study", platform))
    client = create_app(Settings(), engine).test_client()
    with reading(engine) as session:
        hit = session.scalars(select(HitRow)).one()
    addresses = [
        "/form/a%00b",
        f"/form/{hit.key}%00",
        f"/form/{hit.key}/sent?token=%00",
        f"/form/{hit.key}?assignmentId=3A%00&workerId=W&hitId=",
        f"/form/{hit.key}?{signed(hit.secret, '3A', 'W', chr(0))}",
        f"/form/{hit.key}?assignmentId=3A&workerId=W&hitId=%00&turkSignature=%00",
        "/take/a%00b",
        "/take/a%00b/c%00d",
        "/assets/form%00.css",
        "/assets/nothing/style.css",
        "/assets/..%2fwords/style.css",
    ]
    assert [address for address in addresses if client.get(address).status_code >= 500] == []
    for path in ("/form/a%00b", "/take/a%00b", f"/form/{hit.key}/here"):
        assert client.post(path, data={"token": "\0", "ticket": "\0"}).status_code < 500


def test_questions_that_are_not_here_are_not_looked_for_by_each_visitor(
    sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, looks = create_app(Settings(), sqlite_engine).test_client(), list[str]()
    assert client.get("/assets/detect/style.css").status_code == 200
    monkeypatch.setattr(question, "entry_points", lambda group, name="": looks.append(name) or [])
    assert {client.get(f"/assets/{number}/style.css").status_code for number in range(9)} == {404}
    assert looks == []


def test_a_crowd_makes_no_line_for_each_that_waits(tmp_path: Path, sqlite_database: str) -> None:
    with serving(tmp_path, "serve", HUMANEVAL_DATABASE=sqlite_database) as server:
        waiting = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(60)]
        for each in waiting:
            each.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert {each.recv(12) for each in waiting} == {b"HTTP/1.0 200"}
        for each in waiting:
            each.close()
        assert "queue" not in server.log.read_text()


@pytest.mark.parametrize(
    ("reason", "said", "hint"),
    [
        ("database or disk is full", "cannot be written", "Free some space"),
        ("disk I/O error", "cannot be written", "Free some space"),
    ],
)
def test_a_full_or_read_only_disk_is_not_told_as_a_wrong_name(
    sqlite_engine: Engine, reason: str, said: str, hint: str
) -> None:
    with pytest.raises(StoreError, match=said) as caught, store_errors(sqlite_engine):
        raise OperationalError("INSERT", {}, sqlite3.OperationalError(reason))
    assert hint in caught.value.hint
    assert "--database" not in caught.value.hint


def test_a_database_that_can_only_be_read_says_so(sqlite_engine: Engine) -> None:
    def write() -> None:
        with writing(sqlite_engine) as session:
            session.connection().exec_driver_sql("PRAGMA query_only = ON")
            session.add(MetaRow(key="a", value="b"))

    with pytest.raises(StoreError, match="cannot be written") as caught:
        write()
    assert "Work on a copy" in caught.value.hint
    sqlite_engine.dispose()
