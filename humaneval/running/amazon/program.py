"""A program run as it is, with the marketplace in Amazon's place."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from urllib.parse import urlsplit

from humaneval.errors import PrerequisiteError, UsageError
from humaneval.market.protocol.addresses import is_site
from humaneval.running.amazon.certificates import make_certificates
from humaneval.running.amazon.environment import program_environment
from humaneval.running.amazon.guard import guard_command
from humaneval.running.amazon.proxy import AmazonProxy
from humaneval.text import command

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGINT")
NOT_GUARDED = (
    "this system allows no namespaces. A program that is neither Python nor Node could go past the proxy to"
    " Amazon."
)


def refuse_unknown(command: Sequence[str]) -> None:
    """Raise UsageError if there is no such program."""
    if shutil.which(command[0]) is None:
        raise UsageError(
            f"there is no program {command[0]!r}", "Write the command after `--`, as in a shell."
        )


def run_program(command: Sequence[str], market: str, tell: Callable[[str], None]) -> int:
    """Run `command` to its end, and give its exit status, or 128 and the number of the signal that ended it.

    Everything of the run lies in one folder for its time. `tell` gets lines for people.

    Raises UsageError or PrerequisiteError if the marketplace cannot stand in for Amazon.
    """
    signed = _is_signed(market)
    with _signals() as running, TemporaryDirectory(prefix="market-run-") as made:
        folder = Path(made)
        certificates = make_certificates(folder, os.environ)
        guard = guard_command(folder, certificates.bundle)
        if not guard:
            tell(NOT_GUARDED)
        with AmazonProxy(market, certificates.server, tell) as proxy:
            environment = program_environment(
                os.environ, market=market, signed=signed, proxy=proxy.url, certificates=certificates
            )
            with subprocess.Popen([*guard, *command], env=environment) as process:
                running.append(process)
                status = process.wait()
    return 128 - status if status < 0 else status


def _is_signed(market: str) -> bool:
    """Whether the marketplace wants calls signed with a key that it knows.

    Raises UsageError for an address that cannot stand for Amazon's, PrerequisiteError if nothing is there.
    """
    parts = urlsplit(market)
    if parts.scheme != "http" or not is_site(market):
        raise UsageError(
            f"calls to Amazon cannot be led to {market!r}",
            "Give the marketplace's own address, such as http://127.0.0.1:8731. A web server in front of it"
            " would refuse Amazon's name.",
        )
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("POST", "/", b"{}")
        return connection.getresponse().status == HTTPStatus.FORBIDDEN  # a call without a signature
    except (OSError, HTTPException) as error:
        raise PrerequisiteError(
            f"no marketplace answers at {market}: {error}",
            f"Start it with `{command('market', 'serve')}`, or leave --market out.",
        ) from None
    finally:
        connection.close()


@contextmanager
def _signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Signals go to the program that the caller puts into the list. Until then they end the run in order."""
    running: list[subprocess.Popen[bytes]] = []

    def arrived(number: int, _frame: FrameType | None) -> None:
        if not running:
            raise SystemExit(128 + number)
        if number != signal.SIGINT or not _terminal_sends_it():
            running[0].send_signal(number)

    numbers = [getattr(signal, name) for name in _FORWARDED if hasattr(signal, name)]
    before = {number: signal.signal(number, arrived) for number in numbers}
    try:
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _terminal_sends_it() -> bool:
    """Whether Ctrl-C reaches the program by itself."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return sys.platform == "win32"
