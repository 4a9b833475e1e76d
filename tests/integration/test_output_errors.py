"""What cannot be written is one line and exit code 1, wherever it goes; and /health says what it knows."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from sqlalchemy import Engine, text

from humaneval.cli.output_files import write_whole
from humaneval.errors import InputError, StoreError
from humaneval.store import heartbeat
from humaneval.store.engine import reading
from humaneval.store.responses import rows_in
from humaneval.study.stored import open_study
from tests.answered import answer
from tests.commands import Command
from tests.conftest import ROOT
from tests.forking.program import Program
from tests.pace import PATIENCE

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")


def run(
    *arguments: str, stdout: int, stderr: int | None = None, limit: int | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the program with its output going to `stdout`; files that it writes have at most `limit` bytes."""
    with TemporaryFile("w+") as said:
        status = Program(
            *arguments,
            stdout=stdout,
            stderr=said if stderr is None else stderr,
            environment=env,
            limits=None if limit is None else {"RLIMIT_FSIZE": limit},
        ).wait()
        said.seek(0)
        return subprocess.CompletedProcess(arguments, status, None, said.read())


@pytest.fixture
def scored(sqlite_engine: Engine, study: str) -> str:
    """A study with answers in the database that commands use."""
    answer(sqlite_engine, spammers=0)
    return study


VERBS = [
    ("score", "--help"),
    ("config", "show"),
    ("stories", "list"),
    ("study", "show", "study", "--json"),
    ("status", "study"),
    ("review", "study"),
    ("score", "study"),
    ("db", "check"),
]
RARELY_PRINTED = VERBS[2], VERBS[5], VERBS[7]


@needs_full
@pytest.mark.parametrize(
    "verb",
    [pytest.param(verb, marks=[pytest.mark.long] * (verb in RARELY_PRINTED)) for verb in VERBS],
    ids=" ".join,
)
def test_X56_a_full_disk_behind_the_output_is_one_line_and_exit_code_1(
    scored: str, verb: tuple[str, ...]
) -> None:
    with FULL.open("w") as full:
        done = run(*verb, stdout=full.fileno(), PYTHONUNBUFFERED="1" if len(verb) > 2 else "")
    assert done.stderr == "Error: the output cannot be written: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize("verb", VERBS[2:4], ids=" ".join)
def test_X56_a_pipe_that_nobody_reads_is_no_error(
    scored: str, nobody_reads: int, verb: tuple[str, ...]
) -> None:
    done = run(*verb, stdout=nobody_reads)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def nobody_reads() -> Iterator[int]:
    """A pipe whose reader is gone, as behind `| head -0`."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


ENLARGE = ("study", "enlarge", "study", "--annotators", "4", "--yes")
"""Prints before and after it does its work, to stdout and, if there are responses, to stderr."""


def forms(engine: Engine) -> int:
    with reading(engine) as session:
        return rows_in(session, open_study(engine, "study").id)


@pytest.mark.parametrize("as_well", [False, True], ids=["stdout", "stderr as well"])
def test_what_a_command_does_is_done_although_nobody_reads_what_it_says(
    sqlite_engine: Engine, scored: str, nobody_reads: int, as_well: bool
) -> None:
    before = forms(sqlite_engine)
    done = run(*ENLARGE, stdout=nobody_reads, stderr=nobody_reads if as_well else None)
    assert (done.returncode, forms(sqlite_engine)) == (0, before + 4)
    again = run("study", "show", "nobody", stdout=nobody_reads, stderr=nobody_reads)
    assert again.returncode == 2


@needs_full
def test_what_a_command_does_is_done_although_its_words_do_not_fit(
    sqlite_engine: Engine, scored: str
) -> None:
    before = forms(sqlite_engine)
    with FULL.open("w") as full:
        done = run(*ENLARGE, stdout=full.fileno())
    assert done.stderr.endswith("Error: the output cannot be written: No space left on device\n")
    assert (done.returncode, forms(sqlite_engine)) == (1, before + 4)


@needs_full
def test_X56_a_full_stderr_keeps_the_exit_code(sqlite_database: str) -> None:
    with FULL.open("w") as full:
        done = run("study", "show", "nobody", stdout=subprocess.DEVNULL, stderr=full.fileno())
        assert done.returncode == 2
        done = run("nonsense", stdout=full.fileno(), stderr=full.fileno())
        assert done.returncode == 2


OUT = [
    ("export", "study", "--infills", "--out", "folder"),
    ("report", "study", "--out", "r.html"),
    ("archive", "study", "--out", "a.zip"),
    ("db", "backup", "--out", "b.db"),
]


@pytest.mark.parametrize("verb", OUT, ids=" ".join)
def test_X56_a_file_that_does_not_fit_is_one_line_and_nothing_of_it_is_left(
    scored: str, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    out = work / verb[-1]
    # SQLite's own shared memory has 32 KiB.
    done = run(*verb[:-1], str(out), stdout=subprocess.DEVNULL, limit=32 * 1024)
    assert done.returncode == 1, done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith("Error: ")
    assert "File too large" in first or "disk I/O error" in first, first
    assert all(line.startswith("  ") for line in rest)
    assert list(work.iterdir()) == []


def test_X56_what_a_link_leads_to_stays_if_the_new_file_does_not_fit(scored: str, tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.html", tmp_path / "link.html"
    kept.write_text("before")
    link.symlink_to(kept)
    done = run("report", "study", "--out", str(link), stdout=subprocess.DEVNULL, limit=32 * 1024)
    assert done.returncode == 1, done.stderr
    assert (link.is_symlink(), kept.read_text()) == (True, "before")
    assert not [*tmp_path.glob(".*.part")]


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_X56_a_file_that_is_replaced_keeps_its_permissions(
    scored: str, command: Command, tmp_path: Path, mode: int
) -> None:
    table = tmp_path / "table.csv"
    table.touch()
    table.chmod(mode)
    assert command("export", "study", "--out", table).code == 0
    assert table.stat().st_size
    assert stat.S_IMODE(table.stat().st_mode) == mode


def test_X56_a_folder_that_cannot_be_written_is_one_line(
    scored: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    for verb in OUT:
        said = command(*verb[:-1], tmp_path / "file" / verb[-1])
        assert said.code in (1, 2)
        assert said.err.startswith("Error: ")
        assert "Traceback" not in said.err


@needs_full
def test_X56_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="/dev/full: No space left on device"):
        write_whole(FULL, b"x")
    assert FULL.is_char_device()
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    write_whole(link, b"after")
    assert (link.is_symlink(), target.read_text()) == (True, "after")


@pytest.mark.parametrize(
    "verb",
    [
        ("archive", "study", "--out"),
        ("study", "preview", "study", "--out"),
        ("report", "study", "--format", "json", "--out"),
        ("export", "study", "--out"),
        ("publish", "study", "--to", "link", "--people", "people.csv", "--out"),
    ],
    ids=" ".join,
)
def test_nothing_is_written_over_a_database(
    scored: str, sqlite_engine: Engine, command: Command, verb: tuple[str, ...]
) -> None:
    Path("people.csv").write_text("name\nAda\n")
    live = Path(str(sqlite_engine.url.database))
    log, link = live.with_name(f"{live.name}-wal"), Path("link.db")
    link.symlink_to(live)
    before = live.read_bytes()
    for out in (live, log, link):
        said = command(*verb, str(out))
        assert (said.code, "a database is there" in said.err) == (1, True)
    assert live.read_bytes() == before
    with reading(sqlite_engine) as session:
        assert session.scalar(text("SELECT count(*) FROM hits WHERE endpoint = 'link'")) == 0


KEPT = {
    "humaneval.toml": "# where\n",
    "study.toml": "# a study",
    "design.txt": '# a study\n[design]\ngenerators = ["a"]\n',
    "keys": "[default]\naws_access_key_id = HEX\naws_secret_access_key = x\n",
    "links.csv": "\ufeffname;link\r\nAda;https://x.example/take/abc\r\n",
}


@pytest.mark.parametrize("name", KEPT)
def test_nothing_is_written_over_what_a_person_cannot_make_again(
    scored: str, command: Command, name: str
) -> None:
    out = Path(name)
    Path("people.csv").write_text("name\nAda\n")
    link = ("publish", "study", "--to", "link", "--people", "people.csv", "--out")
    out.write_bytes(KEPT[name].encode())
    for verb in (("archive", "study", "--out"), ("study", "preview", "study", "--out"), link):
        said = command(*verb, name)
        assert (said.code, f"{name} cannot be written: " in said.err, " there\n" in said.err) == (
            1,
            True,
            True,
        )
    assert out.read_bytes() == KEPT[name].encode()


def test_a_studys_own_links_are_written_again(
    scored: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("people.csv").write_text("name\nAda\n")
    link = ("publish", "study", "--to", "link", "--people", "people.csv", "--out", "links.csv")
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", "https://x.example")
    assert command(*link).code == 0
    made = Path("links.csv").read_bytes()
    Path("people.csv").write_text("name\nAda\nBob\n")
    assert command(*link).code == 0
    assert Path("links.csv").read_bytes().startswith(made)
    assert command("study", "preview", "study", "--out", "links.csv").code == 1


# /health


def health(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=PATIENCE) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_X56_health_writes_to_the_database_and_changes_nothing(
    sqlite_engine: Engine, form_server: Callable
) -> None:
    url = form_server(sqlite_engine).url
    with closing(sqlite3.connect(str(sqlite_engine.url.database))) as watching:

        def state() -> list[str]:
            return list(watching.iterdump())

        def version() -> int:
            """It grows with every commit of another connection."""
            return int(watching.execute("PRAGMA data_version").fetchone()[0])

        before = state(), version()
        assert health(url) == (200, "ok\n")
        assert state() == before[0]
        assert version() > before[1]


def test_X56_health_is_ok_on_every_database(engine: Engine, form_server: Callable) -> None:
    assert health(form_server(engine).url) == (200, "ok\n")


def test_X56_health_says_if_the_database_cannot_be_written(
    sqlite_engine: Engine, form_server: Callable, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = form_server(sqlite_engine).url
    with sqlite_engine.begin() as connection:
        connection.execute(text("ALTER TABLE alembic_version RENAME TO gone"))
    assert health(url) == (503, "the database cannot be written\n")
    monkeypatch.setenv("HUMANEVAL_PUBLIC_URL", url)
    assert f"{url}/form/health says: the database cannot be written" in command("doctor").out


def test_X56_health_says_if_the_disk_is_full(
    sqlite_engine: Engine, form_server: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = form_server(sqlite_engine).url
    monkeypatch.setattr(heartbeat, "LEAST_BYTES", 2**62)  # more than any disk has
    assert health(url) == (503, "the database cannot be written\n")


def test_X56_doctor_says_if_the_disk_of_the_database_is_full(
    study: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "LEAST_BYTES", 2**62)
    said = command("doctor")
    assert said.code == 1
    assert "MISSING Database: the disk of " in said.out


def test_X56_a_database_that_cannot_grow_is_noticed(sqlite_database: str) -> None:
    code = (
        "from humaneval.store.engine import open_engine\n"
        "from humaneval.store.heartbeat import beat\n"
        f"engine = open_engine({sqlite_database!r})\n"
        "beat(engine)\n"
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "beat(engine)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("COVERAGE_PROCESS_CONFIG", None)  # what it found would not fit into a file either
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        env=environment,
        check=False,
        text=True,
    )
    assert StoreError.__name__ in done.stderr.splitlines()[-1]


def test_X56_an_archive_is_written_through_a_link_and_does_not_replace_it(
    scored: str, command: Command, tmp_path: Path
) -> None:
    link = tmp_path / "link.zip"
    link.symlink_to(tmp_path / "there.zip")
    assert command("archive", "study", "--out", link).code == 0
    assert link.is_symlink()
    assert command("archive", "--check", tmp_path / "there.zip").code == 0
