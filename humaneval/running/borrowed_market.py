"""Looks after a marketplace that another program runs: says within seconds that it is gone."""

from __future__ import annotations

import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from humaneval.errors import HumanEvalError, PlatformError
from humaneval.market.protocol.addresses import is_loopback
from humaneval.text import command

SECONDS = 1.0
"""A marketplace on this machine takes a connection at once, however busy it is."""


class BorrowedMarket:
    """The marketplace at `url`, which ends with the program that started it: another `up`, say.

    Only one on this machine is asked; elsewhere, the next collection says what is wrong.
    """

    def __init__(self, url: str, study: str, tell: Callable[[HumanEvalError], None]) -> None:
        parts = urlsplit(url)
        self._url, self._study, self._tell = url, study, tell
        self._place = (parts.hostname or "", parts.port or 80)
        self._is_here = is_loopback(self._place[0])
        self._was_gone = False

    def look(self) -> bool:
        """Whether it is gone. That is told once each time."""
        gone = self._is_here and not self._listens()
        if gone and not self._was_gone:
            self._tell(
                PlatformError(
                    f"the marketplace at {self._url} is gone: the program that ran it has ended",
                    f"To start it again, press Ctrl-C here, then: {command('up', self._study)}",
                )
            )
        self._was_gone = gone
        return gone

    def trouble(self, error: HumanEvalError) -> None:
        """Tell of `error`, unless it is that the marketplace is gone."""
        if not self.look():
            self._tell(error)

    def _listens(self) -> bool:
        try:
            socket.create_connection(self._place, SECONDS).close()
        except OSError:
            return False
        return True
