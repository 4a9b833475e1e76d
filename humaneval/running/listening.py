"""What answers at an address of this machine. It loads no server."""

from __future__ import annotations

import socket
from enum import StrEnum
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from humaneval.errors import StoreError
from humaneval.market.health import NAME
from humaneval.market.security import Seals
from humaneval.market.tables.database import known_account, open_market
from humaneval.settings import EVERYWHERE
from humaneval.web.requester import requester_address

HERE = "127.0.0.1"
PATIENCE_SECONDS = 3.0


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
