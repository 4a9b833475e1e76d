"""The address of the requester's pages, with the token that is their key."""

from __future__ import annotations

from sqlalchemy import Engine

from humaneval.store.engine import writing
from humaneval.store.meta import stored_secret

FOLDER = "requester"
SECRET = "requester's token"
TOKEN_BYTES = 20
"""Nobody guesses 160 bits, and the address still fits on a line."""


def token_of(engine: Engine) -> str:
    """The token of this database, made at its first use. It stays the same, so that addresses can be kept."""
    with writing(engine) as session:
        return stored_secret(session, SECRET)[:TOKEN_BYTES].hex()


def requester_address(public_url: str, token: str) -> str:
    """Where a browser finds the pages of a server that is reached at `public_url`.

    >>> requester_address("https://lab.example/forms/", "0123")
    'https://lab.example/forms/requester/0123/'
    """
    return f"{public_url.rstrip('/')}/{FOLDER}/{token}/"
