"""The marketplace and the form server in threads of this program, and what answers at an address."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine

from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import StoreError
from humaneval.infills.free_text import alone, found_offers
from humaneval.market import MarketServer, Mode, open_market
from humaneval.market.health import NAME
from humaneval.market.keys import read_pairs
from humaneval.market.panel.invitations import invitation
from humaneval.market.security import Seals
from humaneval.market.serving import is_local
from humaneval.market.tables.database import known_account
from humaneval.settings import Settings
from humaneval.web.app import create_app, running
from humaneval.web.ask import Asker
from humaneval.web.exclude import Excluder
from humaneval.web.infilling import Desk
from humaneval.web.prolific_check import Checker
from humaneval.web.requester import requester_address

OpenAt = Callable[[str, str], StudyAtPlatform]
"""Opens a study at an endpoint, both by name, with the requester's keys."""

HERE = "127.0.0.1"
PATIENCE_SECONDS = 3.0
EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}
"""An address that means all of this machine, and one of them that can be called."""


class Listening(StrEnum):
    """What answers at a port."""

    NOTHING = "nothing"
    OURS = "the form server of this database"
    FORMS = "another form server"
    MARKET = "a marketplace"
    OTHER_MARKET = "the marketplace of another folder"
    OTHER = "another program"


def find(host: str, port: int, token: str) -> Listening:
    """What answers there. `token` opens the requester's pages of this database."""
    host = EVERYWHERE.get(host, host)
    try:
        with socket.create_connection((host, port), timeout=PATIENCE_SECONDS):
            pass
    except OSError:
        return Listening.NOTHING
    calls = "MTurkRequesterServiceV20170117.GetAccountBalance"
    headers = {"X-Amz-Target": calls, "Content-Type": "application/x-amz-json-1.1"}
    connection = HTTPConnection(host, port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", requester_address("", token))
        answer = connection.getresponse()
        answer.read()
        if answer.getheader("Server") == "humaneval":
            return Listening.OURS if answer.status == 200 else Listening.FORMS
        connection.request("POST", "/", b"{}", headers)
        answer = connection.getresponse()
        kind = answer.getheader("Content-Type", "")
        return Listening.MARKET if kind.startswith("application/x-amz-json") else Listening.OTHER
    except (OSError, HTTPException):
        return Listening.OTHER
    finally:
        connection.close()


def is_market_of(file: Path, port: int) -> bool:
    """Whether the marketplace that answers at a port of this machine is the one of this file."""
    if not file.is_file():
        return False
    connection = HTTPConnection(HERE, port, timeout=PATIENCE_SECONDS)
    try:
        engine = open_market(file)
        try:
            name = Seals(known_account(engine).signing_key).name
        finally:
            engine.dispose()
        connection.request("GET", "/health")
        return connection.getresponse().getheader(NAME) == name
    except (OSError, HTTPException, StoreError):
        return False
    finally:
        connection.close()


class Market(NamedTuple):
    """A marketplace that is up."""

    url: str
    """Where browsers reach it."""
    invitation: str
    """The link with which anybody can register; empty if any name will do."""


@contextmanager
def market_up(file: Path, *, port: int = 0, public_url: str = "", keys: str = "") -> Iterator[Market]:
    """The marketplace of a file, which is made if there is none. `port` 0 takes any free one.

    `public_url` is where browsers reach it, if a proxy stands before it. Then workers need an invitation, and
    calls must be signed with one of `keys`.
    """
    engine = open_market(file)
    try:
        local = is_local(HERE, public_url or None)
        with MarketServer(
            engine,
            mode=_mode(engine),
            host=HERE,
            port=port,
            public_url=public_url or None,
            keys=read_pairs(keys) if keys else None,
            invited=not local,
        ) as server:
            yield Market(server.url, "" if local else invitation(engine, server.url))
    finally:
        engine.dispose()


def _mode(engine: Engine) -> Mode:
    """The mode that the file was made in."""
    try:
        return Mode(known_account(engine).mode)
    except StoreError:
        return Mode.LOCAL


@contextmanager
def forms_up(
    settings: Settings, engine: Engine, open_at: OpenAt, *, port: int = 0, token: str = ""
) -> Iterator[int]:
    """The form server, with the requester's pages if there is a `token`, the infilling page for the
    checkpoints of the working folder among them. Yields its port.

    At the end it answers what has come, and then tells the platform about everybody who answered.
    """
    excluder = Excluder(open_at)
    app = create_app(
        settings,
        engine,
        excluder.answered,
        Asker(open_at).in_hand,
        requester_token=token,
        requester_desk=Desk([*found_offers(Path()), alone()]) if token else None,
        checker=Checker(open_at),
    )
    try:
        with running(app, settings.host, port) as found:
            yield found
    finally:
        excluder.stop()
