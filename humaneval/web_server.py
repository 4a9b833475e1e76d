"""Runs our web servers: within limits, and to an orderly end by a signal. waitress has no types."""

from __future__ import annotations

import _thread
import errno
import logging
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote_to_bytes

import waitress.channel
import waitress.server
from flask import Flask, request
from waitress import create_server, wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ThreadedTaskDispatcher
from werkzeug.exceptions import RequestEntityTooLarge

from humaneval.errors import PrerequisiteError
from humaneval.request_turns import MOST_POOLED, Counted, Rank, RankedQueue
from humaneval.server_logs import failure, log_rarely, without_people

if sys.platform != "win32":
    import resource

MOST_CONNECTIONS = 500
MOST_FILES = 4096
FILES_BESIDE = 24
"""Open files that are not connections: libraries, logs, and the database's, besides those of each thread."""
FILES_EACH = 3
"""Those of a thread's connection to an SQLite database."""
FEWEST_CONNECTIONS, FEWEST_THREADS = 16, 4
"""However few files may be open. What listens counts as connections, too: two for each socket."""
SECONDS_TO_FINISH = 10.0
CROWDED, ROOMY = 0.75, 0.5
"""From the first share of the connections on, each ends with its answer, and idle ones until the second."""
SECONDS_TO_ASK = 3.0
"""How old a connection without a complete request must be, to be closed for others."""
SECONDS_TO_READ = 10.0
"""The same for one that does not read its answer."""
LOOK_SECONDS = 0.5
MOST_UNSENT = 256 * 1024
"""Threads leave smaller answers to the loop to send: at each call, another one would compute first."""
BACKLOG = 256
"""How many connections may wait for a socket to take them."""


MOST_FIELDS = 5000
MOST_ESCAPES = 200_000
"""Of bytes in an encoded form. Each takes a microsecond and a hundred bytes to read, so a million would hold
up everybody else."""
MOST_NO_TEXT = 10_000
"""Of them if they are no UTF-8: then each takes six times as long."""


class QuietFlask(Flask):
    """Flask, but its log names no address, no path and no message of an error: these may hold ids of people,
    and keys. Forms that cost too much are refused."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.before_request(_refuse_costly_forms)

    def log_exception(self, exc_info: Any) -> None:
        self.logger.error("%s %s failed: %s", request.method, request.url_rule, failure(exc_info[1]))


def _refuse_costly_forms() -> None:
    """Refuse a form of too many fields or escapes before it is read: millions fit into four megabytes."""
    short = (request.content_length or 0) <= (request.max_content_length or 0)  # what is longer is told later
    encoded = short and request.mimetype == "application/x-www-form-urlencoded"
    if is_too_costly(request.query_string) or (encoded and is_too_costly(request.get_data())):
        raise RequestEntityTooLarge


def is_too_costly(form: bytes) -> bool:
    """Whether an encoded form or query has more fields or escaped bytes than are read."""
    escapes = form.count(b"%")
    if form.count(b"&") >= MOST_FIELDS or escapes > MOST_ESCAPES:
        return True
    if escapes > MOST_NO_TEXT:
        try:
            unquote_to_bytes(form).decode()
        except UnicodeDecodeError:
            return True
    return False


class Servers:
    """One or several applications, each at a listening socket; all of them end together."""

    def __init__(self) -> None:
        log_rarely("waitress")
        self._map: dict[int, Any] = {}
        self._servers: list[Any] = []
        self._stopping = threading.Event()
        self._open = threading.RLock()
        self._most, self._looked, self._asked = MOST_CONNECTIONS, 0.0, 0.0
        self._changed, self._woken = set[int | None](), False
        self._poll: Any = getattr(select, "poll", object)()

    def add(
        self,
        app: Any,
        listening: socket.socket,
        *,
        threads: int,
        most_bytes: int,
        rank: Rank = lambda method, path: 0,
        computing: int = 0,
        **options: Any,
    ) -> None:
        """Serve `app` at a socket. Bodies of `most_bytes` or more are refused, and none is put on the disk.

        Requests of a lower `rank` do not wait behind all others. Of the threads, only `computing` compute at
        the same time (0: all of them): Python runs one at a time, and in turns each would take longer. Those
        that are `waiting` do not count, nor do requests of the last rank.
        """
        files = _allowed_files() - FILES_BESIDE
        threads = min(threads, max(FEWEST_THREADS, (files - FEWEST_CONNECTIONS) // FILES_EACH))
        # More would make accept() fail again and again, as fast as it can.
        left = files - FILES_EACH * min(threads, MOST_POOLED)
        self._most = max(FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, left))
        dispatcher = _Dispatcher(rank, computing or threads)
        dispatcher.set_thread_count(threads)
        server = create_server(
            app,
            map=self._map,
            sockets=[listening],
            threads=threads,
            connection_limit=self._most,
            max_request_body_size=most_bytes,
            inbuf_overflow=most_bytes + 1,
            _dispatcher=dispatcher,
            **options,
        )
        server.channel_class = _Channel
        server.adj.send_bytes = MOST_UNSENT
        server.handle_accept = partial(_accept_all, server, self._most)
        server.changed, server.pull_trigger = self._changed, partial(self._wake, server.trigger)
        self._servers.append(server)

    def run(self) -> None:
        """Serve until `stop`, then finish what is in hand."""
        while not self._stopping.is_set():
            self._once(LOOK_SECONDS)
            if len(self._map) >= CROWDED * self._most:
                self._make_room()
        self._finish()

    def stop(self) -> None:
        """Make `run` end, from any thread or signal."""
        with self._open:  # a trigger that is closed has a number that something else may have by now
            self._stopping.set()
            for server in self._servers[:1]:
                server.trigger.pull_trigger()

    def _once(self, seconds: float) -> None:
        """One turn of the loop. At each, waitress asks every connection what it waits for. That is long in a
        crowd: here those are asked to which something happened, and twice a second all of them."""
        self._woken = False
        if not hasattr(select, "poll"):  # on Windows
            wasyncore.loop(timeout=seconds, map=self._map, count=1)
            return
        numbers, moment = {server._fileno for server in self._servers}, time.monotonic()
        while self._changed:
            numbers.add(self._changed.pop())
        if moment - self._asked >= LOOK_SECONDS:
            numbers, self._asked = set(self._map), moment
        for number in numbers - {None}:
            channel = self._map.get(number)
            # Not POLLPRI: a byte of urgent data stays unread, and would come up at every turn.
            waits = select.POLLIN if channel and channel.readable() else 0
            waits |= select.POLLOUT if channel and channel.writable() else 0
            with suppress(KeyError):  # nothing while its answer is made
                self._poll.register(number, waits) if waits else self._poll.unregister(number)
        happened = self._poll.poll(1000 * seconds)
        # A connection that is accepted meanwhile may have the number of one that was closed before.
        for (number, found), channel in [(each, self._map.get(each[0])) for each in happened]:
            self._changed.add(number)
            if channel:
                wasyncore.readwrite(channel, found)

    def _wake(self, trigger: Any) -> None:
        """Wake the loop, by the thread that has changed a connection."""
        self._changed.add(getattr(_this_thread, "serves", None))
        if not self._woken:  # one call wakes it for all
            self._woken = True
            trigger.pull_trigger()

    def _make_room(self) -> None:
        """Close those that have sent no complete request for the longest time: others wait for a place."""
        moment = time.monotonic()
        if moment - self._looked < LOOK_SECONDS:
            return
        self._looked = moment
        channels = [each for server in self._servers for each in server.active_channels.values()]
        idle = sorted((each for each in channels if each.keeps_waiting(moment)), key=_patience)
        for each in idle[: max(0, len(self._map) - int(ROOMY * self._most))]:
            each.will_close = True
            self._changed.add(each._fileno)

    def _finish(self) -> None:
        """Take no more connections, answer the requests that have come, and close."""
        for server in self._servers:
            server.accepting = False
            server.socket.close()
            server.del_channel(self._map)
        until = time.monotonic() + SECONDS_TO_FINISH
        while any(_busy(server) for server in self._servers) and time.monotonic() < until:
            self._once(0.1)
        self.close()

    def close(self) -> None:
        """End threads and connections. Closing twice, or what never ran, does no harm."""
        for server in self._servers:
            server.task_dispatcher.shutdown()
        with self._open:
            wasyncore.close_all(self._map)
            self._servers.clear()


def _accept_all(server: Any, most: int) -> None:
    """Take all connections that have come. waitress takes one in each turn of the loop."""
    before = -1
    while before < len(server._map) < most:
        before = len(server._map)
        type(server).handle_accept(server)


class _Steady:
    """What waitress takes for the time: nobody sets it back or forward, as the clock of a machine. Otherwise
    idle connections would be kept for as long, or all of them be closed."""

    time = staticmethod(time.monotonic)


waitress.channel.time = waitress.server.time = _Steady
logging.getLogger("waitress").addFilter(without_people)


_this_thread = threading.local()


class _Parser(HTTPRequestParser):  # type: ignore[misc]  # as below
    """What reads a request. Addresses and lengths that Python refuses are malformed, too."""

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:
            raise ParsingError("Malformed request") from None


class _Channel(HTTPChannel):  # type: ignore[misc]  # as below
    """A connection, and since when it has sent no complete request."""

    parser_class = _Parser

    def __init__(self, *args: Any, **options: Any) -> None:
        self.since = time.monotonic()
        super().__init__(*args, **options)
        self.server.changed.add(self._fileno)

    def service(self) -> None:
        _this_thread.serves = self._fileno
        if len(self.server._map) >= CROWDED * self.server.adj.connection_limit:  # others wait for a place
            self.requests[-1].headers["CONNECTION"] = "close"
        super().service()

    def received(self, data: bytes) -> Any:
        before = self.request
        result = super().received(data)
        if self.request is not before or self.request is None:
            self.since = time.monotonic()
        return result

    def keeps_waiting(self, moment: float) -> bool:
        """Whether it holds its place without a request of which the answer is being made."""
        if self.requests or self.will_close:
            return False
        if self.total_outbufs_len:
            return bool(moment - self.last_activity > SECONDS_TO_READ)
        return moment - self.since > SECONDS_TO_ASK


def _patience(channel: Any) -> tuple[bool, float]:
    """Connections that have sent a complete request are closed last: a large answer may be on its way."""
    told = channel.request is not None and channel.request.headers_finished
    return (told, channel.since)


class _Dispatcher(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress has no types
    """The threads and what waits for them. None that waits makes a line in the log."""

    def __init__(self, rank: Rank, computing: int) -> None:
        super().__init__()
        self.queue = RankedQueue(rank, computing)

    def add_task(self, task: Any) -> None:
        with self.lock:
            self.queue.append(Counted(self, task))
            self.queue_cv.notify()

    def pause(self) -> None:
        with self.lock:
            self.queue.computing -= 1
            self.queue_cv.notify()

    def go_on(self) -> None:
        # Without a pause: what is nearly done comes before what has not begun.
        with self.lock:
            self.queue.computing += 1


def _allowed_files() -> int:
    """How many files this process may have open, raised as far as it may raise it itself."""
    if sys.platform == "win32":
        return MOST_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


class Stoppable(Protocol):
    """What can be asked to end, at any time."""

    def stop(self) -> None:
        """Ask it."""


@contextmanager
def until_told(servers: Stoppable) -> Iterator[None]:
    """Ctrl-C, SIGTERM and a terminal that closes end `servers` while the block runs.

    A second Ctrl-C or SIGTERM ends the program at once. A terminal often tells twice that it closes.
    """
    if threading.current_thread() is not threading.main_thread():  # only there signals can be caught
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    closes = getattr(signal, "SIGHUP", None)
    if closes and signal.getsignal(closes) != signal.SIG_IGN:  # as `nohup` starts programs
        before[closes] = signal.getsignal(closes)

    def stop(number: int, _frame: object) -> None:
        for each, handler in list(before.items()):
            signal.signal(each, signal.SIG_IGN if each == closes else handler)
        if closes and number == closes:  # and stays so while the program closes its files
            before.pop(closes, None)
        # Not in here: the main thread may have been interrupted with a lock that `stop` needs.
        _thread.start_new_thread(servers.stop, ())

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in list(before.items()):
            signal.signal(number, handler)


def _busy(server: Any) -> bool:
    return any(each.requests or each.total_outbufs_len for each in list(server.active_channels.values()))


def listen(host: str, port: int, who: str) -> socket.socket:
    """A listening socket for `who`. Raises PrerequisiteError if the address or the port is not free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise PrerequisiteError(f"{host} is not an address of this machine", "Choose another host.") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise PrerequisiteError(
            f"{who} cannot listen on {host}:{port}: {error.strerror}",
            f"Choose another {'host' if error.errno == errno.EADDRNOTAVAIL else 'port'}.",
        ) from None
    return listening
