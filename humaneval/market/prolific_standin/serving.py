"""The stand-in as a running server: in a thread for tests, in the foreground for the command line."""

from __future__ import annotations

import contextlib
from threading import Event, Thread
from types import TracebackType

from sqlalchemy import Engine

from humaneval.errors import HumanEvalError, SettingsError
from humaneval.market.faults.admin import PATH, TOKEN
from humaneval.market.faults.plan import Faults
from humaneval.market.prolific_standin.app import MOST_BYTES, create_prolific_app
from humaneval.market.prolific_standin.database import Books
from humaneval.market.prolific_standin.deliveries import deliver_due, post
from humaneval.market.prolific_standin.terms import Terms
from humaneval.market.protocol.addresses import is_loopback
from humaneval.market.tables.database import Clock
from humaneval.store.types import now
from humaneval.web_server import Servers, listen, until_told

THREADS = 8
LOOK_SECONDS = 0.2
"""How often it looks for events to send."""


class ProlificServer:
    """One stand-in at one address of this machine. From the start its port is known, and connections wait.

    Use it as a context manager for a server in a thread, or call `serve_forever`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Clock = now,
        faults: Faults | None = None,
        terms: Terms | None = None,
        token: str | None = None,
        delivers: bool = True,
    ) -> None:
        """`faults` must be made with `of=ProlificFault`. Without `delivers`, events go out only when
        `deliver` is called."""
        if not is_loopback(host):
            raise SettingsError(f"{host} is not this machine, and nobody else may reach the stand-in")
        self.faults = faults
        self._socket = listen(host, port, "the stand-in")
        try:
            self.books = Books(
                engine, terms=terms, clock=faults.moved(clock) if faults is not None else clock, token=token
            )
        except BaseException:
            self._socket.close()
            raise
        app = create_prolific_app(self.books, faults)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.port}"
        self.token = self.books.token
        self.workspace_id = self.books.workspace_id
        self.faults_url = f"{self.url}{PATH}"
        self.faults_token: str = app.config.get(TOKEN, "")
        self._servers = Servers()
        self._servers.add(app, self._socket, threads=THREADS, most_bytes=2 * MOST_BYTES, ident=None)
        self._delivers, self._stopping = delivers, Event()
        self._threads: list[Thread] = []

    def __enter__(self) -> ProlificServer:
        self._threads = [Thread(target=self._servers.run, name="prolific", daemon=True)]
        if self._delivers:
            self._threads.append(Thread(target=self._keep_delivering, name="prolific events", daemon=True))
        for each in self._threads:
            each.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def serve_forever(self) -> None:
        """Serve until Ctrl-C or SIGTERM."""
        events = Thread(target=self._keep_delivering, name="prolific events", daemon=True)
        events.start()
        try:
            with until_told(self._servers):
                self._servers.run()
        finally:
            self._stopping.set()
            events.join()
            self._socket.close()

    def deliver(self) -> int:
        """Let time pass, and send the events that are due now. Returns how many."""
        return deliver_due(self.books, post, self.faults)

    def close(self) -> None:
        """Finish the requests in hand and stop. The engine stays open: it belongs to the caller."""
        self._stopping.set()
        self._servers.stop()
        for each in self._threads:
            each.join()
        self._threads.clear()
        self._servers.close()
        self._socket.close()

    def _keep_delivering(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            with contextlib.suppress(HumanEvalError):  # a busy file, for example: the next look finds them
                self.deliver()
