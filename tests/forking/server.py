"""The process that programs are forked from. It has one thread, loads the command line, and waits.

A request is a line of JSON on a connection, with three open files: the stdin, stdout and stderr of the
program. The answer is its id, and when it has ended its status, a line each. A connection on which `share` is
sent keeps the process there; when the last of them is closed, it ends.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import random
import resource
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

from humaneval.cli.main import VERBS, main
from humaneval.store import migrate
from tests import migrated

SHARE = b"share\n"


def serve(address: str) -> dict[str, Any] | None:
    """Fork a program for every request, while somebody has a share. Returns only in a program, with what was
    asked."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    own = os.stat(address).st_ino
    listening.listen(100)
    wakened, waker = socket.socketpair()
    for end in (wakened, waker):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    shares: set[socket.socket] = set()
    selector = selectors.DefaultSelector()
    for each in (listening, wakened):
        selector.register(each, selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        ready = [key.fileobj for key, _ in selector.select()]
        closed = shares.intersection(ready)
        for share in closed:
            selector.unregister(share)
            share.close()
        shares -= closed
        if closed and not shares:
            break
        if wakened in ready:
            wakened.recv(4096)
            _tell_the_ends(running)
        if listening in ready:
            connection, _ = listening.accept()
            request, files = _request(connection)
            if request == SHARE:
                connection.sendall(SHARE)
                shares.add(connection)
                selector.register(connection, selectors.EVENT_READ)
                continue
            if not request:  # who asked has ended before it said for what
                connection.close()
                continue
            asked = json.loads(request)
            for module in asked["modules"]:
                import_module(module)
                gc.freeze()
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                selector.close()
                for end in (listening, wakened, waker, connection, *running.values(), *shares):
                    end.close()
                _become(asked, files)
                return asked
            for file in files:
                os.close(file)
            running[child] = connection
            connection.sendall(b"%d\n" % child)
    for child in running:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    with open(os.path.join(os.path.dirname(address), "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever starts another server holds it meanwhile
        with suppress(FileNotFoundError):
            if os.stat(address).st_ino == own:
                os.unlink(address)
    return None


def _request(connection: socket.socket) -> tuple[bytes, list[int]]:
    text, files, _, _ = socket.recv_fds(connection, 65_536, 3)
    while text and not text.endswith(b"\n"):
        more = connection.recv(65_536)
        text = text + more if more else b""
    return text, files


def _tell_the_ends(running: dict[int, socket.socket]) -> None:
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            break
        with running.pop(child) as connection, suppress(OSError):
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(asked: dict[str, Any], files: list[int]) -> None:
    """Take on what a program is given when it is started."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    for name, most in asked["limits"].items():
        limit = getattr(resource, name)
        # A program raises its number of files as far as it may.
        hard = most if limit == resource.RLIMIT_NOFILE else resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (most, hard))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # What an interpreter draws or looks up when it starts.
    random.seed()
    time.tzset()
    tempfile.tempdir = None
    if os.environ.get("PYTHONUNBUFFERED"):
        sys.stdout = TextIOWrapper(os.fdopen(1, "wb", 0, closefd=False), "utf-8", write_through=True)
    sys.argv = ["humaneval", *asked["arguments"]]


def _run(arguments: list[str]) -> NoReturn:
    """Run the command, and end as an interpreter does, but for what it takes apart at last: that takes longer
    than most commands."""
    try:
        main(arguments)
    except SystemExit as ended:
        status = int(ended.code or 0)
    threading._shutdown()  # type: ignore[attr-defined]  # as the interpreter does
    size = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size[1], size[1]))  # for the file of coverage
    atexit._run_exitfuncs()
    resource.setrlimit(resource.RLIMIT_FSIZE, size)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(status)
    os._exit(status)


if __name__ == "__main__":
    for target in VERBS.values():
        import_module(target.module)
    for versions in migrated.KINDS:
        migrated.script(versions)
    migrate.upgrade = migrated.upgrade
    gc.collect()
    gc.freeze()
    asked_for = serve(sys.argv[1])
    if asked_for is not None:
        _run(asked_for["arguments"])
