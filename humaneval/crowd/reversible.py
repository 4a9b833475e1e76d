"""What can be done and undone again, such as a block. Each change is an outbox row; the last one gives the
present state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.outbox import Intent, intend, intent_of
from humaneval.store.tables import OutboxRow
from humaneval.study.stored import Study

MOST_TURNS = 8
"""As many of each kind are looked up by their names, which an index finds. Few workers have more."""
OVERTAKEN = "undone before it was confirmed"
"""Why a change is no longer sent."""


class Switch(NamedTuple):
    """A pair of operations that undo each other."""

    on: str
    off: str


BLOCK = Switch("block", "unblock")
"""For a worker: all work of the account."""
EXCLUDE = Switch("exclude", "readmit")
"""For a worker and a study: this study, and studies that exclude its participants."""


def worker_subject(worker_id: int, study_id: int | None = None) -> str:
    """The subject of a switch, for the outbox: a worker everywhere, or in one study."""
    return f"worker {worker_id}" if study_id is None else f"study {study_id} worker {worker_id}"


def turns(session: Session, endpoint: str, switch: Switch, about: str) -> list[OutboxRow]:
    """Every change of a switch, oldest first."""
    return turns_of(session, endpoint, switch, [about])[about]


def turns_of(
    session: Session, endpoint: str, switch: Switch, subjects: Sequence[str]
) -> dict[str, list[OutboxRow]]:
    """The same about each of `subjects`."""
    of_switch = select(OutboxRow).where(OutboxRow.endpoint == endpoint, OutboxRow.operation.in_(switch))
    names = {name: about for about in subjects for name in names_of_turns(about)}
    found: dict[str, list[OutboxRow]] = {about: [] for about in subjects}
    for row in session.scalars(of_switch.where(OutboxRow.subject.in_(list(names))).order_by(OutboxRow.id)):
        found[names[row.subject]].append(row)
    for about, rows in found.items():
        if any(row.subject.endswith(f" #{MOST_TURNS}") for row in rows):
            begins = OutboxRow.subject.startswith(f"{about} #", autoescape=True)
            rows[:] = session.scalars(of_switch.where(begins).order_by(OutboxRow.id))
    return found


def names_of_turns(about: str) -> list[str]:
    """The subjects of the first `MOST_TURNS` changes in each direction."""
    return [f"{about} #{number}" for number in range(1, MOST_TURNS + 1)]


def last_of(rows: Sequence[OutboxRow]) -> OutboxRow | None:
    """The change that counts: the last one that the platform did not refuse. A change that is only intended
    counts, too."""
    return next((row for row in reversed(rows) if row.state != "refused"), None)


def last_turn(session: Session, endpoint: str, switch: Switch, about: str) -> OutboxRow | None:
    """The same of one switch."""
    return last_of(turns(session, endpoint, switch, about))


def turned_on(switch: Switch, rows: Sequence[OutboxRow]) -> bool:
    """Whether a switch is on after these changes."""
    row = last_of(rows)
    return row is not None and row.operation == switch.on


def is_on(session: Session, endpoint: str, switch: Switch, about: str) -> bool:
    """Whether a switch is on."""
    return turned_on(switch, turns(session, endpoint, switch, about))


def turn(
    session: Session,
    study: Study,
    endpoint: str,
    switch: Switch,
    about: str,
    *,
    on: bool,
    request: Mapping[str, Any],
) -> Intent | None:
    """Intend to turn a switch on or off; None if it already is. A change that was interrupted or refused is
    tried again.

    An opposite change that was not sent yet is no longer sent.
    """
    operation, opposite = (switch.on, switch.off) if on else (switch.off, switch.on)
    rows = turns(session, endpoint, switch, about)
    if rows and rows[-1].operation == operation:
        return None if rows[-1].state == "confirmed" else intent_of(rows[-1])
    stands = last_turn(session, endpoint, switch, about)
    if stands is not None and stands.operation == operation:
        return None
    for row in rows:
        if row.operation == opposite and row.state != "confirmed":
            row.state, row.error = "refused", OVERTAKEN
    if stands is None and not on:
        return None
    number = 1 + sum(row.operation == operation for row in rows)
    row = intend(
        session,
        study_id=study.id,
        endpoint=endpoint,
        operation=operation,
        subject=f"{about} #{number}",
        key=study.design_hash,
        request=request,
    )
    return intent_of(row)
