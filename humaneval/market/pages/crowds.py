"""Keeps the people at one network address from taking every place of the marketplace, under many names.

One address may have only so many tasks in hand, over all names, and register only so many names in an hour.
If somebody at another address finds nothing, tasks of a crowded one give way: see `humaneval.open_forms`.
People whom the requester invited by name do not count. A marketplace that only its own machine can reach
counts nobody: everybody there has the same address, and the machine is the requester's.

Nothing of this is stored. After a restart, work in hand counts again from when its page is asked for.
"""

from __future__ import annotations

from datetime import datetime

from flask import current_app, request

from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.database import Clock
from humaneval.market.workers import Person
from humaneval.open_forms import OpenForms
from humaneval.text import counted

NAMES_SECONDS = 3600.0
"""For how long a name counts that was registered."""
MOST_GIVING_WAY = 10_000
"""How many assignments are looked up at once. A statement of SQLite takes three times as many."""


class Crowds:
    """The tasks in hand and the new names of each address. `most`: of either; None: nobody is counted.

    `invited`: nobody can work under the name of somebody who was invited.
    """

    def __init__(self, most: int | None, clock: Clock, *, invited: bool) -> None:
        def moment() -> float:
            return clock().timestamp()

        self._counts, self._invited = most is not None, invited
        self.in_hand, self._names = (OpenForms[str](most or 0, moment) for _ in range(2))
        """By the ids of assignments, and of workers."""

    def has_room_for_names(self) -> bool:
        """Whether one more name can be registered where this request comes from."""
        full = self._counts and self._names.is_crowded(_address())
        if full:
            _tell("names came within an hour from", self._names.most)
        return not full

    def came(self, worker: Person) -> None:
        """Count a worker who signed in by name."""
        if self._counts:
            self._names.begun(_address(), worker.id, seconds=NAMES_SECONDS, expected=NAMES_SECONDS)

    def took(self, worker: Person, assignment: Assignment, now: datetime) -> None:
        """Count what a worker has accepted. Raises NotPossibleError if their address has too much in hand."""
        crowded = assignment.id not in self.in_hand and self.in_hand.is_crowded(_address())
        if crowded and self._does_count(worker):
            _tell("tasks are in hand at", self.in_hand.most)
            raise NotPossibleError(
                f"People at your network address have {counted(self.in_hand.most, 'task')} in hand. Try again"
                " when they have finished some.",
                429,
            )
        self._count(worker, assignment, now)

    def shown(self, worker: Person, assignment: Assignment, now: datetime) -> None:
        """Count what a worker has in hand, and that its page was asked for."""
        if assignment.state is State.ACCEPTED:
            self._count(worker, assignment, now)
            self.in_hand.shown(assignment.id)

    def that_give_way(self) -> tuple[str, ...]:
        """The work in hand that gives way if nothing is left where this request comes from, by its ids."""
        return self.in_hand.that_give_way(_address())[:MOST_GIVING_WAY]

    def _does_count(self, worker: Person) -> bool:
        return self._counts and (worker.registered or not self._invited)

    def _count(self, worker: Person, assignment: Assignment, now: datetime) -> None:
        if self._does_count(worker):
            left = (assignment.deadline - now).total_seconds()
            # Twice the expected time is all of the time, and people at an address that answers may use it.
            self.in_hand.begun(_address(), assignment.id, seconds=left, expected=left / 2)


def _address() -> str:
    return request.remote_addr or ""


def _tell(what: str, most: int) -> None:
    current_app.logger.warning(
        f"%s {what} one address. If a proxy is in front of this marketplace, let it send X-Forwarded-For, and"
        " set trusted_proxies; otherwise open_forms_per_address may be raised.",
        most,
    )
