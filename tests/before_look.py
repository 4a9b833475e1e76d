"""Lets something happen just before a command looks into its database for the nth time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import Pool


@contextmanager
def before_look(number: int, act: Callable[[], object], *, in_servers: bool = False) -> Iterator[list[int]]:
    """Does `act` just before a connection is used for the `number`th time: by this thread alone, or also
    `in_servers` of this process. Gives how often one was."""
    looks, acting, this = [0], [False], threading.get_ident()

    def look(*_: object) -> None:
        if not acting[0] and (in_servers or threading.get_ident() == this):
            looks[0] += 1
            if looks[0] == number:
                acting[0] = True
                act()
                acting[0] = False

    event.listen(Pool, "checkout", look)
    try:
        with connections_closed():
            yield looks
    finally:
        event.remove(Pool, "checkout", look)


@contextmanager
def connections_closed() -> Iterator[None]:
    """Closes what commands of this thread have opened: they leave it to the end of the program."""
    opened: list[Any] = []
    this = threading.get_ident()

    def opens(connection: Any, _: object) -> None:
        if threading.get_ident() == this:
            opened.append(connection)

    event.listen(Pool, "connect", opens)
    try:
        yield
    finally:
        event.remove(Pool, "connect", opens)
        for connection in opened:
            connection.close()
