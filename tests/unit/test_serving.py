"""Requests that wait: which come first, and how many threads compute at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import humaneval
from humaneval.web_server import _Dispatcher, _Ranked, waiting
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
    queue = _Ranked(lambda method, path: int(path[1]), most=100)
    for path in ("/3", "/2a", "/2b", "/2c", "/1a", "/1b", "/0"):
        queue.append(Request(path))
    taken = [queue.popleft().requests[0].path for _ in range(len(queue))]
    assert taken == ["/0", "/1a", "/2a", "/1b", "/2b", "/2c", "/3"]


def test_no_server_writes_the_message_of_an_unexpected_error_into_its_log() -> None:
    """PostgreSQL names the value that is there already: it may be an id. `failure` tells the rest."""
    root = Path(humaneval.__file__).parent
    modules = [path for room in ("web", "market", "crowd") for path in (root / room).rglob("*.py")]
    assert len(modules) > 100
    assert [str(path) for path in modules if ".exception(" in path.read_text(encoding="utf-8")] == []
