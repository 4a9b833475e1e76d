"""Reads that wait at the same time share a statement, and pages of a crowd are rendered once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from markupsafe import Markup
from sqlalchemy import Connection

from humaneval.crowd.page_cache import filled
from humaneval.errors import StoreError
from humaneval.store.engine import open_engine
from humaneval.store.together import Reader
from tests.pace import PATIENCE


class Shelf:
    """Gives each number itself. The first read waits until others do; 7 cannot be read."""

    def __init__(self, folder: Path) -> None:
        self.reader = Reader(open_engine(f"sqlite:///{folder}/shelf.db"))
        self.reads: list[list[int]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.closed = False

    def read(self, connection: Connection, numbers: Sequence[int]) -> list[int]:
        self.reads.append(sorted(numbers))
        self.begun.set()
        self.go_on.wait(PATIENCE)
        if self.closed and len(numbers) > 1:
            raise StoreError("closed", "")
        if 7 in numbers:
            raise ValueError("seven")
        return list(numbers)

    def one(self, number: int) -> int | str:
        try:
            return self.reader.read_with(self.read, number)
        except (ValueError, StoreError) as error:
            return str(error)

    def crowd(self) -> list[int | str]:
        """What 10 get that come while one is read for."""
        with ThreadPoolExecutor(11) as pool:
            first = pool.submit(self.one, 100)
            assert self.begun.wait(PATIENCE)
            others = [pool.submit(self.one, number) for number in range(10)]
            until = time.monotonic() + PATIENCE
            while len(self.reader._waiting) < 10 and time.monotonic() < until:
                time.sleep(0.001)
            self.go_on.set()
            assert first.result() == 100
            return [each.result() for each in others]


def test_those_who_wait_share_a_read_and_what_fails_is_read_alone(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    assert shelf.crowd() == [*range(7), "seven", 8, 9]
    assert shelf.reads[:2] == [[100], [*range(10)]]
    assert shelf.reads[2:] == [[number] for number in range(10)] or len(shelf.reads) == 12


def test_a_database_that_cannot_be_read_is_asked_once_for_all(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.closed = True
    assert shelf.crowd() == ["closed"] * 10
    assert shelf.reads == [[100], [*range(10)]]


def test_of_a_crowd_that_comes_to_a_new_page_one_renders_for_all() -> None:
    rendered: list[int] = []
    at_once = threading.Barrier(4)

    def render(holes: Sequence[str]) -> str:
        rendered.append(1)
        time.sleep(0.01)
        return f"<{holes[0]}|{holes[1]}|{holes[0]}>"

    def page(number: int) -> str:
        at_once.wait(PATIENCE)
        return filled("crowd", rendered, [f"{number}", "a&b"], render)

    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(page, range(4)))
    assert pages == [f"<{number}|a&amp;b|{number}>" for number in range(4)]
    assert len(rendered) == 1


@pytest.mark.parametrize(
    ("values", "page"),
    [
        (["<i>", "&"], "&lt;i&gt; &amp;"),
        ([Markup("<i>"), "&"], "<i> &amp;"),
        (["a\0b", "<"], "a\0b &lt;"),
        (["", ""], " "),
    ],
)
def test_each_value_of_a_page_is_escaped_for_itself(values: list[str], page: str) -> None:
    assert filled("escaped", page, values, " ".join) == page
