"""A forked program, with what tests need of `subprocess.Popen`."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import pytest

from tests.pace import PATIENCE

ROOT = Path(__file__).resolve().parent.parent.parent
SHARE = b"share\n"
"""What a process of the tests sends that wants the server to stay, and what it is told."""
READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_")
"""How names begin of variables that are read once, when an interpreter starts."""
OF_NO_ACCOUNT = ("PYTHONPATH", "PYTHONUNBUFFERED")
"""Of these, what a forked program does nevertheless or needs no more."""


class _Server:
    """A share in the process that programs are forked from: one for all processes of the tests.

    The first that needs it starts it. It ends with the last one, however that one ends.
    """

    def __init__(self) -> None:
        # The address of a socket has to be short. The folder stays, and the server removes its socket.
        folder = Path("/tmp") / f"humaneval-forking-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        self.address = str(folder / (os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())))
        self._process: subprocess.Popen[bytes] | None = None
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._share = self._shared() or self._started()

    def _started(self) -> socket.socket:
        Path(self.address).unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forking.server", self.address],
            # Pipes: a file would have places to seek, which a program's pipe has not.
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            start_new_session=True,  # Ctrl-C reaches the tests, and they end
        )
        assert self._process.stdout is not None
        ready = self._process.stdout.readline() == b"ready\n"
        share = self._shared() if ready else None
        if share is None:
            pytest.fail(self.complaint())
        return share

    def _shared(self) -> socket.socket | None:
        """A connection that keeps the server there; None if there is no server."""
        share = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            share.connect(self.address)
            share.sendall(SHARE)
            if share.recv(len(SHARE)) == SHARE:
                return share
        share.close()
        return None

    def complaint(self) -> str:
        """Why nothing can be forked any more."""
        if self._process is None:
            return "the process that programs are forked from has ended"
        return self._process.communicate()[1].decode(errors="replace")

    def close(self) -> None:
        """Give the share back. The process that started the server waits for it: the others end soon, too."""
        self._share.close()
        if self._process is not None:
            self._process.communicate()


_servers: dict[int, _Server] = {}
"""By process: one that was forked from a process of the tests has a share of its own."""


def _server() -> _Server:
    if os.getpid() not in _servers:
        _servers[os.getpid()] = _Server()
    return _servers[os.getpid()]


def let_go() -> None:
    """End the server, unless other processes of the tests need it."""
    server = _servers.pop(os.getpid(), None)
    if server is not None:
        server.close()


def address() -> str:
    """Where programs can be asked for."""
    return _server().address


def on_path(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables with which a shell runs `humaneval` forked; `folder` is made for what it finds there."""
    folder.mkdir()
    command = folder / "humaneval"
    client = Path(__file__).with_name("client.py")
    command.write_text(
        f'#!/bin/sh\nexec {shlex.join([sys.executable, "-IS", str(client)])} "$@"\n', encoding="utf-8"
    )
    command.chmod(0o755)
    path = f"{folder}{os.pathsep}{environment['PATH']}"
    return {**environment, "PATH": path, "HUMANEVAL_TEST_FORKING": address()}


def can_be_forked(environment: Mapping[str, str]) -> bool:
    """Whether a forked program is the same as one that is started with these variables more."""
    return not any(name.startswith(READ_AT_START) and name not in OF_NO_ACCOUNT for name in environment)


class Program:
    """`humaneval …`, under way."""

    def __init__(
        self,
        *arguments: str | Path,
        stdout: int | IO[Any] | None = subprocess.DEVNULL,
        stderr: int | IO[Any] | None = subprocess.DEVNULL,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        limits: Mapping[str, int] | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        """`limits` are those of `resource`, by name. `modules` are loaded once, for all that follow."""
        asked = {
            "arguments": [str(argument) for argument in arguments],
            "environment": {**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            "folder": str(folder or Path.cwd()),
            "limits": dict(limits or {}),
            "modules": modules,
        }
        self.arguments = asked["arguments"]
        self.returncode: int | None = None
        self.stdout: IO[str] | None = None
        with ExitStack() as closing:
            nothing = closing.enter_context(open(os.devnull, "r+b"))
            ends = [nothing.fileno()]
            for number, given in enumerate((stdout, stderr), 1):
                if given == subprocess.PIPE:
                    read, write = os.pipe()
                    closing.callback(os.close, write)
                    self.stdout = os.fdopen(read, encoding="utf-8")
                    ends.append(write)
                elif given == subprocess.STDOUT:
                    ends.append(ends[1])
                elif given == subprocess.DEVNULL:
                    ends.append(nothing.fileno())
                elif isinstance(given, int):
                    ends.append(given)
                else:
                    ends.append(number if given is None else given.fileno())
            self._connection = socket.socket(socket.AF_UNIX)
            self._connection.connect(address())
            socket.send_fds(self._connection, [json.dumps(asked).encode() + b"\n"], ends)
        self._said = b""
        self._connection.settimeout(PATIENCE)
        self.pid = int(self._line())

    def _line(self) -> bytes:
        while b"\n" not in self._said:
            more = self._connection.recv(100)
            if not more:
                pytest.fail(_server().complaint())
            self._said += more
        line, _, self._said = self._said.partition(b"\n")
        return line

    def poll(self) -> int | None:
        """Its status if it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        """Its status when it has ended; a signal that ended it is a negative number."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = int(self._line())
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.arguments, timeout) from None
            self._connection.close()
        return self.returncode

    def communicate(self) -> str:
        """What it still says, to its end."""
        assert self.stdout is not None
        said = self.stdout.read()
        self.wait()
        return said

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        if self.stdout is not None:
            self.stdout.close()
        self.wait()
