"""How the switches of one worker stand: blocked, excluded, readmitted. A crowd makes it no slower."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select

from humaneval.crowd.reversible import BLOCK, EXCLUDE, MOST_TURNS, names_of_turns
from humaneval.store.tables import OutboxRow
from humaneval.store.types import padded, table

_outbox = table(OutboxRow).c
_TURNS = (
    select(_outbox.operation, _outbox.subject, _outbox.state, _outbox.request)
    .where(
        _outbox.endpoint == bindparam("at"),
        _outbox.operation.in_((*BLOCK, *EXCLUDE)),
        _outbox.subject.in_(bindparam("subjects", expanding=True)),
    )
    .order_by(_outbox.id)
)


class Turned(NamedTuple):
    """One change of a switch."""

    operation: str
    subject: str
    state: str
    request: Mapping[str, Any]


def turned(connection: Connection, endpoint: str, about: Sequence[str]) -> tuple[Turned, ...] | None:
    """Every change of the switches about these subjects, oldest first; None if there may be more."""
    subjects = [name for each in about for name in names_of_turns(each)]
    found = connection.execute(_TURNS, {"at": endpoint, "subjects": padded(subjects)})
    rows = tuple(Turned(*row) for row in found)
    return None if any(row.subject.endswith(f" #{MOST_TURNS}") for row in rows) else rows
