"""Requests that wait: which come first, how many compute at once, and how many wait for a platform."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import request
from waitress import wasyncore

import humaneval
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError, PrerequisiteError
from humaneval.request_turns import RankedQueue, waiting
from humaneval.running.watch import Ending
from humaneval.server_logs import log_rarely
from humaneval.web import prolific_check
from humaneval.web.hits_in_hand import Asker
from humaneval.web.prolific_check import AT_ONCE, TOO_MANY, Checker
from humaneval.web_server import (
    QuietFlask,
    Servers,
    _Channel,
    _Dispatcher,
    listen,
    until_told,
)
from tests.pace import PATIENCE


class Request:
    """One that says when it began, and ends when it is told."""

    def __init__(self, path: str, act: Callable[[], None] = lambda: None) -> None:
        self.requests = [SimpleNamespace(error=None, command="GET", path=path)]
        self.began, self.may_end, self.ended = threading.Event(), threading.Event(), threading.Event()
        self._act = act

    def service(self) -> None:
        self.began.set()
        self._act()
        self.may_end.wait(PATIENCE)
        self.ended.set()

    def cancel(self) -> None:
        self.may_end.set()


def test_so_many_requests_compute_at_once_and_those_that_wait_do_not_count() -> None:
    ranks = {"/last": 3}
    dispatcher = _Dispatcher(lambda method, path: ranks.get(path, 1), 2)
    dispatcher.set_thread_count(8)
    disk = threading.Event()

    def on_the_disk() -> None:
        with waiting():
            disk.wait(PATIENCE)

    first, second, third, fourth = (Request(f"/{number}") for number in range(4))
    asleep, last = Request("/asleep", on_the_disk), Request("/last")
    for each in (first, second, third, last):
        dispatcher.add_task(each)
    assert first.began.wait(PATIENCE)
    assert second.began.wait(PATIENCE)
    assert last.began.wait(PATIENCE)  # the researcher's own pages take no turn from anybody
    assert not third.began.wait(0.05)
    first.may_end.set()
    assert third.began.wait(PATIENCE)
    dispatcher.add_task(asleep)
    dispatcher.add_task(fourth)
    second.may_end.set()
    assert asleep.began.wait(PATIENCE)
    assert fourth.began.wait(PATIENCE)  # while another waits for the disk
    disk.set()
    for each in (third, fourth, asleep, last):
        each.may_end.set()
        assert each.ended.wait(PATIENCE)
    dispatcher.shutdown()


def test_requests_of_two_ranks_take_turns_but_files_come_first_and_researchers_last() -> None:
    queue = RankedQueue(lambda method, path: int(path[1]), most=100)
    for path in ("/3", "/2a", "/2b", "/2c", "/1a", "/1b", "/0"):
        queue.append(Request(path))
    taken = [queue.popleft().requests[0].path for _ in range(len(queue))]
    assert taken == ["/0", "/1a", "/2a", "/1b", "/2b", "/2c", "/3"]


def test_who_fetches_files_again_and_again_leaves_every_fourth_turn_to_others() -> None:
    queue = RankedQueue(lambda method, path: int(path[1]), most=100)
    for path in ("/1a", "/1b", "/2a", "/2b", "/3"):
        queue.append(Request(path))
    taken = []
    for _ in range(20):
        while not queue._ranks[0]:
            queue.append(Request("/0"))
        taken.append(queue.popleft().requests[0].path)
    assert taken == [
        path for other in ("/1a", "/2a", "/1b", "/2b", "/3") for path in ("/0", "/0", "/0", other)
    ]


def test_no_server_writes_the_message_of_an_unexpected_error_into_its_log() -> None:
    """PostgreSQL names the value that is there already: it may be an id. `failure` tells the rest."""
    root = Path(humaneval.__file__).parent
    modules = [path for room in ("web", "market", "crowd") for path in (root / room).rglob("*.py")]
    assert len(modules) > 100
    assert [str(path) for path in modules if ".exception(" in path.read_text(encoding="utf-8")] == []


class Slow(_Channel):
    """A connection without a socket, since some moment."""

    def __init__(self, since: float, last_activity: float, waits_to_be_read: int) -> None:
        self.since, self.last_activity, self.total_outbufs_len = since, last_activity, waits_to_be_read
        self.requests, self.will_close = [], False


def _hello(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    size = environ["PATH_INFO"].strip("/")
    start("200 OK", [("Content-Length", size)])
    return [b"x" * int(size)]


def test_a_turn_of_the_loop_asks_no_connection_to_which_nothing_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Connections that close give their numbers to others, which must not be closed in their place."""
    asked: list[object] = []
    before = _Channel.readable

    def readable(channel: _Channel) -> bool:
        asked.append(channel)
        return bool(before(channel))

    monkeypatch.setattr(_Channel, "readable", readable)
    servers, listening = Servers(), listen("127.0.0.1", 0, "the test")
    address = listening.getsockname()
    servers.add(_hello, listening, threads=8, most_bytes=1000)
    serving = threading.Thread(target=servers.run, daemon=True)
    serving.start()

    def fetched(size: int) -> int:
        with socket.create_connection(address, PATIENCE) as connection:
            connection.sendall(f"GET /{size} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
            whole = b"".join(iter(lambda: connection.recv(65536), b""))
        return len(whole.partition(b"\r\n\r\n")[2])

    with ExitStack() as idle:
        for _ in range(100):
            idle.enter_context(socket.create_connection(address, PATIENCE))
        assert fetched(1) == 1
        asked.clear()
        began = time.monotonic()
        with ThreadPoolExecutor(20) as people:
            assert list(people.map(fetched, [1, 20_000, 2_000_000] * 40)) == [1, 20_000, 2_000_000] * 40
        looks = 1 + (time.monotonic() - began) / 0.5  # now and then all of them are asked
        idle_still = {each for each in servers._map.values() if isinstance(each, _Channel)}
        assert sum(each in idle_still for each in asked) <= 100 * looks
    servers.stop()
    serving.join(PATIENCE)
    assert not serving.is_alive()


def test_what_a_stranger_sends_leaves_no_address_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    servers, listening = Servers(), listen("127.0.0.1", 0, "the test")
    servers.add(_hello, listening, threads=4, most_bytes=1000)
    serving = threading.Thread(target=servers.run, daemon=True)
    serving.start()
    address = listening.getsockname()

    def answer(asked: str) -> bytes:
        with socket.create_connection(address, PATIENCE) as connection:
            connection.sendall(asked.encode("latin-1") + b"\r\n\r\n")
            return connection.recv(12)[9:]

    with socket.create_connection(address, PATIENCE) as urgent:
        urgent.send(b"!", socket.MSG_OOB)
        for asked in (
            "GET http://[::1 HTTP/1.1",
            "GET http://a@[x]/ HTTP/1.1",
            "GET http://]/ HTTP/1.1",
            "GET http://\xff/ HTTP/1.1",
            "GET / HTTP/1.1\r\nContent-Length: " + "9" * 5000,
            "GET / HTTP/1.1\r\nContent-Length: -1",
            "GET / HTTP/1.1\r\n: x",
        ):
            assert answer(asked) == b"400", asked
    assert caplog.messages == []
    for _ in range(2):
        assert answer("GET /a-persons-id HTTP/1.1") == b"500"  # in _hello: it is no number
    servers.stop()
    serving.join(PATIENCE)
    (line,) = caplog.messages
    assert "ValueError" in line
    assert not {"a-persons-id", "127.0.0.1"} & set(re.findall(r"[\w.-]+", caplog.text))


@pytest.mark.parametrize(
    ("form", "status"),
    [(b"%ff" * 10_000, 200), (b"%ff" * 10_001, 413), (b"%41" * 10_001, 200), (b"&" * 5000, 413)],
)
def test_a_form_that_costs_much_to_read_is_refused_before_that(form: bytes, status: int) -> None:
    app = QuietFlask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = 100_000
    app.add_url_rule("/", view_func=lambda: str(len(request.form)), methods=["POST"])
    kind = "application/x-www-form-urlencoded"
    assert app.test_client().post("/", data=form, content_type=kind).status_code == status


def test_a_slow_connection_gives_way() -> None:
    moment = time.monotonic()
    for waits_to_be_read in (0, 1):
        assert Slow(moment - 60, moment - 60, waits_to_be_read).keeps_waiting(moment)
        assert not Slow(moment - 1, moment - 1, waits_to_be_read).keeps_waiting(moment)


@pytest.mark.parametrize("moved", [-7200, 0, 7200])
def test_an_idle_connection_is_closed_in_its_time_whatever_becomes_of_the_clock(
    monkeypatch: pytest.MonkeyPatch, moved: float
) -> None:
    wall, servers = time.time(), Servers()
    with listen("127.0.0.1", 0, "this test") as listening:
        servers.add(lambda environ, start: [], listening, threads=1, most_bytes=1000)
        (server,) = servers._servers
        with socket.create_connection(listening.getsockname()):
            while not server.active_channels:
                wasyncore.loop(timeout=PATIENCE, map=servers._map, count=1)
            (channel,) = server.active_channels.values()
            monkeypatch.setattr(time, "time", lambda: wall + moved)
            for idle, closed in ((1, False), (1000, True)):
                channel.last_activity -= idle
                server.next_channel_cleanup = 0
                server.readable()
                assert channel.will_close is closed
            servers.close()


def test_few_threads_wait_for_prolific_at_once_and_others_soon_hear_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prolific_check, "TURN_SECONDS", 0.01)
    asked, may_answer = threading.Semaphore(0), threading.Event()

    def open_at(endpoint: str, study: str) -> StudyAtPlatform:
        asked.release()
        may_answer.wait(PATIENCE)
        raise PlatformError("Prolific is slow")

    checker = Checker(open_at)

    def ask() -> None:
        with suppress(PlatformError):
            checker.session("prolific", "study", "abc", "192.0.2.7")

    threads = [threading.Thread(target=ask) for _ in range(AT_ONCE)]
    for each in threads:
        each.start()
    for _ in threads:
        assert asked.acquire(timeout=PATIENCE)
    with pytest.raises(PlatformError, match="other visitors are waiting for Prolific's answer") as refused:
        checker.session("prolific", "study", "abc", "192.0.2.7")
    assert refused.value.code == TOO_MANY
    assert checker.listed("prolific", "study", "abc", "192.0.2.7") is None
    may_answer.set()
    for each in threads:
        each.join(PATIENCE)
    with pytest.raises(PlatformError, match="Prolific is slow"):
        checker.session("prolific", "study", "abc", "192.0.2.7")


def test_a_turn_at_prolific_goes_to_the_address_that_has_fewest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prolific_check, "TURN_SECONDS", PATIENCE)
    turns = prolific_check._Turns()

    def until_waiting(number: int) -> None:
        until = time.monotonic() + PATIENCE
        while len(turns._waiting) < number:
            assert time.monotonic() < until
            time.sleep(0.001)

    with ThreadPoolExecutor(AT_ONCE + 1) as pool:
        assert all(turns.take("many") for _ in range(AT_ONCE))
        waiting = [pool.submit(turns.take, "many") for _ in range(AT_ONCE)]
        until_waiting(AT_ONCE)
        assert not turns.take("many")  # at once: a thread for each would leave none for others
        other = pool.submit(turns.take, "other")
        until_waiting(AT_ONCE + 1)
        turns.give_back("many")
        assert other.result(PATIENCE)
        assert not any(each.done() for each in waiting)
        for address in ["other"] + ["many"] * (AT_ONCE - 1):
            turns.give_back(address)
        assert sum(each.result(PATIENCE) for each in waiting) == AT_ONCE


def test_an_address_of_many_unknown_ids_has_one_turn_at_prolific(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prolific_check, "TURN_SECONDS", 0.01)
    turns = prolific_check._Turns()
    for _ in range(prolific_check.UNKNOWN_IDS):
        turns.heard("many", known=False)
    assert [turns.take(each) for each in ("many", "many", "other")] == [True, False, True]
    turns.heard("many", known=True)
    assert turns.take("many")
    for known in [False] * 99 * prolific_check.UNKNOWN_IDS + [True] * (prolific_check.UNKNOWN_IDS + 1):
        turns.heard("flood", known=known)
    assert [turns.take("flood") for _ in range(2)] == [True, True]


def test_prolific_is_asked_nothing_before_the_time_that_it_names() -> None:
    moment, asked = 100.0, 0

    def open_at(endpoint: str, study: str) -> StudyAtPlatform:
        nonlocal asked
        asked += 1
        error = PlatformError("Prolific is asked too often", code="429")
        error.retry_after = 7.5
        raise error

    checker = Checker(open_at, clock=lambda: moment)
    waits = []
    for moment in (100.0, 101.0, 107.4, 107.5):  # noqa: B007 -- the clock reads it
        with pytest.raises(PlatformError) as refused:
            checker.session("prolific", "study", "abc", "192.0.2.7")
        assert refused.value.code == TOO_MANY
        waits.append(round(refused.value.retry_after or 0, 1))
    assert (waits, asked) == ([7.5, 6.5, 0.1, 7.5], 2)
    assert not checker.is_silent


def test_of_a_crowd_beyond_a_hits_places_few_ask_the_platform() -> None:
    asked, may_answer = threading.Semaphore(0), threading.Event()

    def open_at(endpoint: str, study: str) -> StudyAtPlatform:
        asked.release()
        may_answer.wait(PATIENCE)
        raise PlatformError("the platform is slow")

    asker = Asker(open_at)
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(asker.in_hand, "production", "study", "HIT") for _ in range(20)]
        at_once = [each.result() for each in islice(as_completed(answers, PATIENCE), 16)]
        may_answer.set()
    assert at_once == [0] * 16
    assert [asked.acquire(blocking=False) for _ in range(5)] == [True] * 4 + [False]


def test_a_signal_ends_the_work_even_if_it_comes_while_the_main_thread_has_a_lock() -> None:
    ending = Ending()
    with until_told(ending):
        with vars(ending._event)["_cond"]:  # as when it begins to wait
            os.kill(os.getpid(), signal.SIGINT)
        assert ending.asked(PATIENCE)


def test_a_terminal_that_closes_ends_the_work_in_order_unless_it_should_outlive_it() -> None:
    ending, at_once = Ending(), threading.Event()
    before = signal.signal(signal.SIGHUP, lambda *_: at_once.set())
    try:
        with until_told(ending):
            for _ in range(2):  # the shell and the system each send one
                os.kill(os.getpid(), signal.SIGHUP)
            assert ending.asked(PATIENCE)
        os.kill(os.getpid(), signal.SIGHUP)  # while the program closes its files
        assert not at_once.is_set()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # `nohup`
        with until_told(Ending()):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_what_cannot_be_the_name_of_a_machine_is_told_in_a_line() -> None:
    for name in ("x..y", "a" * 300):
        with pytest.raises(PrerequisiteError, match="is not an address of this machine"):
            listen(name, 0, "this test")


def test_a_log_has_one_line_of_a_kind_in_a_minute_and_every_error(caplog: pytest.LogCaptureFixture) -> None:
    moment = 0.0
    log_rarely("tests.flooded", clock=lambda: moment)
    log = logging.getLogger("tests.flooded")
    for number in range(1000):
        log.warning("refused %s", number)
    log.warning("another kind")
    log.error("failed: %s", "in one place")
    log.error("failed: %s", "in another")
    moment = 61
    log.warning("refused %s", "100 %")
    log.warning("refused %s", 2)
    assert caplog.messages == [
        "refused 0",
        "another kind",
        "failed: in one place",
        "failed: in another",
        "refused 100 % (999 more like it before)",
    ]
