"""Ids in Mechanical Turk's format, from the system's random source: an assignment's id is its only key."""

from __future__ import annotations

import hashlib
import secrets
import string
import uuid

_ALPHABET = string.ascii_uppercase + string.digits


def new_entity_id() -> str:
    """The id of a HIT, a HIT type or an assignment: 30 characters, about 150 bits."""
    return "3" + _random(29)


def derived_entity_id(seed: str) -> str:
    """An id that looks like a new one, and is the same whenever it is asked for."""
    return "3" + _written(int.from_bytes(hashlib.sha256(seed.encode()).digest()), 29)


def new_worker_id() -> str:
    """A worker's id: A and 13 characters."""
    return "A" + _random(13)


def new_request_id() -> str:
    """The id of one call, as AWS's services give one to every call."""
    return str(uuid.uuid4())


def _random(length: int) -> str:
    return _written(secrets.randbelow(len(_ALPHABET) ** length), length)


def _written(number: int, length: int) -> str:
    """The last digits of a number."""
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(digits)
