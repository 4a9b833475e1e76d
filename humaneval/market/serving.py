"""The marketplace as a running server: in a thread for tests and the demo, in the foreground for the
command line."""

from __future__ import annotations

import socket
from decimal import Decimal
from pathlib import Path
from threading import Thread
from types import TracebackType
from urllib.parse import urlsplit

from flask import Flask
from sqlalchemy import Engine

from humaneval.errors import PrerequisiteError, SettingsError
from humaneval.market.app import MOST_BYTES, create_market_app, frames_of
from humaneval.market.faults import admin
from humaneval.market.faults.kinds import TroubleSource
from humaneval.market.keys import REGION, Keys
from humaneval.market.pages.site import FrameHost
from humaneval.market.protocol.addresses import is_loopback
from humaneval.market.tables.database import Clock, Mode
from humaneval.settings import Settings
from humaneval.store.types import now
from humaneval.text import command
from humaneval.web_server import Servers, listen, until_told

THREADS, COMPUTING = 16, 2
"""How many requests are answered at once, and how many of them by computing. The others wait: for their turn
to write, or for what a requester's pattern says of an answer."""
MOST_BODY_BYTES = 2 * MOST_BYTES
"""Up to this, a page says that an answer is too large. More is refused before it has come."""
MOST_AT_ADDRESS: int = Settings.model_fields["open_forms_per_address"].default
THE_MARKETPLACE = "the marketplace"


class MarketServer:
    """One marketplace at one address. From the start its port is known, and connections to it wait.

    Use it as a context manager for a server in a thread, or call `serve_forever`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        mode: Mode,
        host: str = "127.0.0.1",
        port: int = 0,
        public_url: str | None = None,
        clock: Clock = now,
        keys: Keys | None = None,
        trouble: TroubleSource | None = None,
        invited: bool = False,
        balance: Decimal | None = None,
        frames_url: str | None = None,
        most_at_address: int = MOST_AT_ADDRESS,
        trusted_proxies: int = 0,
    ) -> None:
        """`frames_url`: the address of requesters' HTML, if a proxy stands before this server. Without it,
        and without a proxy, a second port is that address. `most_at_address`: how many tasks people at one
        network address may have in hand, if other machines can reach this server at all."""
        self._sockets = [listen(host, port, THE_MARKETPLACE)]
        try:
            self.port: int = self._sockets[0].getsockname()[1]
            shown = f"[{host}]" if ":" in host else host
            self.url = (public_url or f"http://{shown}:{self.port}").rstrip("/")
            if keys is None:
                _refuse_others(host, self.url)
            # What only this machine can reach, others reach through a proxy on it.
            local, proxies = is_local(host, self.url), max(trusted_proxies, int(is_loopback(host)))
            frames = self._frames(host, port, frames_url)
            self.frames_url = frames.origin("http", urlsplit(self.url).netloc)
            """Where HTML that is part of a HIT has its origin; empty if it has none."""
            app = create_market_app(
                engine,
                mode=mode,
                public_url=self.url,
                clock=clock,
                keys=keys,
                trouble=trouble,
                invited=invited,
                balance=balance,
                frames=frames,
                host=host,
                most_at_address=None if local else most_at_address,
                trusted_proxies=0 if local else proxies,
            )
        except BaseException:
            for each in self._sockets:
                each.close()
            raise
        self.faults_url = f"http://{shown if is_loopback(host) else '127.0.0.1'}:{self.port}{admin.PATH}"
        self.faults_token: str = app.config[admin.TOKEN]
        """For programs that change the faults while the server runs; empty if there is no plan of faults."""
        self._servers = Servers()
        self._add(app, clear_untrusted_proxy_headers=local or not proxies)
        self._thread: Thread | None = None

    def _add(self, app: Flask, **options: bool) -> None:
        for application, listening in zip((app, frames_of(app)), self._sockets, strict=False):
            self._servers.add(
                application,
                listening,
                threads=THREADS,
                computing=COMPUTING,
                most_bytes=MOST_BODY_BYTES,
                rank=_rank,
                ident=None,
                **options,
                # Behind a proxy, --public-url gives the public address; no header can change it.
                url_scheme=urlsplit(self.url).scheme,
            )

    def _frames(self, host: str, port: int, url: str | None) -> FrameHost:
        """Where requesters' HTML comes from: at `url`, else at a second socket if browsers reach its port."""
        if url or not _is_direct(self.url, self.port):
            return FrameHost((url or "").rstrip("/"))
        self._sockets.append(_listen_beside(host, port and self.port + 1))
        return FrameHost(port=self._sockets[1].getsockname()[1])

    def __enter__(self) -> MarketServer:
        self._thread = Thread(target=self._servers.run, name="market", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def serve_forever(self) -> None:
        """Serve until Ctrl-C or SIGTERM."""
        try:
            with until_told(self._servers):
                self._servers.run()
        finally:
            self._release()

    def close(self) -> None:
        """Finish the requests in hand and stop. The engine stays open: it belongs to the caller."""
        self._servers.stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._release()

    def _release(self) -> None:
        self._servers.close()
        for each in self._sockets:
            each.close()


def _rank(method: str, path: str) -> int:
    """Files need no database. And who sends answers must not wait behind a crowd that looks for work."""
    if path.startswith("/static/"):
        return 0
    return 1 if method == "POST" and path != "/" else 2


def is_local(host: str, public_url: str | None) -> bool:
    """Whether only this machine can reach a marketplace that listens on `host`, known as `public_url`."""
    return is_loopback(host) and (public_url is None or is_loopback(urlsplit(public_url).hostname or ""))


def client_environment(url: str, *, signed: bool, keys_file: Path | None) -> dict[str, str]:
    """The variables that point any of AWS's clients at the marketplace. They hold no secret."""
    environment = {"AWS_ENDPOINT_URL_MTURK": url, "AWS_DEFAULT_REGION": REGION}
    if not signed:
        environment |= {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
    elif keys_file is not None:
        environment["AWS_SHARED_CREDENTIALS_FILE"] = str(keys_file.resolve())
    return {**environment, "AWS_REGION": REGION}  # the JavaScript client's name for the region


def _refuse_others(host: str, url: str) -> None:
    """Raises SettingsError if other machines can reach it: without keys, they could spend its money."""
    for name in (host, urlsplit(url).hostname or ""):
        if not is_loopback(name):
            raise SettingsError(
                f"other machines can reach {name}, and without access keys they could spend the account's"
                " money",
                f"Make a key pair with `{command('market', 'key', '--out', 'FILE')}` and serve with"
                " --keys FILE.",
            )


def _is_direct(url: str, port: int) -> bool:
    """Whether browsers reach this server itself at `url`, and so its other ports, too."""
    parts = urlsplit(url)
    return parts.scheme == "http" and (parts.port or 80) == port


def _listen_beside(host: str, port: int) -> socket.socket:
    """A second socket: at `port` if it is free, else at any port."""
    try:
        return listen(host, port if port < 65536 else 0, THE_MARKETPLACE)
    except PrerequisiteError:
        return listen(host, 0, THE_MARKETPLACE)
