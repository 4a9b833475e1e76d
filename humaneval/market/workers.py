"""Workers: registered on their first visit, and found by id, by name or by their link."""

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, exists, func, insert, select, update

from humaneval.market.protocol.countries import country_names
from humaneval.market.protocol.identifiers import new_worker_id
from humaneval.market.protocol.refusals import NotPossibleError, RefusedError
from humaneval.market.security import Pass
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.workers import Message, Worker, WorkerBlock
from humaneval.store.types import table

LONGEST_NAME = 100


class Person(NamedTuple):
    """A worker, with what every page must know: one statement reads it."""

    number: int
    id: str
    name: str
    country: str
    links_revoked: int = 0
    signed_out: int = 0
    blocked: bool = False
    """Whether the worker is blocked from seeing and accepting HITs."""
    unread: int = 0
    """How many messages they have not marked as read."""

    @property
    def registered(self) -> bool:
        """Whether they chose the name themselves, and the requester gave them no link since."""
        return self.links_revoked < 0


def sign_up(
    work: Transaction,
    name: str,
    country: str,
    *,
    registers: bool = False,
    new: bool = False,
    room: bool = True,
) -> Person:
    """The worker of this name, registered if they are new. A country that is given replaces an earlier one.

    `registers`: the worker does, and is not invited by the requester. `new`: refuse a name that is taken,
    because its owner has a link of their own. `room`: whether there is any for one more.
    Raises NotPossibleError.
    """
    name = checked_name(name)
    if country and country not in country_names():
        raise NotPossibleError("Choose a country from the list.", 400)
    worker = find_named(work, name)
    if worker is None and not room:
        raise NotPossibleError(
            "Very many people have come from your network address within an hour. Try again later.", 429
        )
    if worker is None:
        row = {"id": new_worker_id(), "name": name, "country": country}
        made = {**row, "handle": _handle(name), "links_revoked": -registers, "made_at": work.now}
        number = work.connection.execute(_NEW, made).inserted_primary_key
        assert number is not None
        return Person(number[0], row["id"], name, country, -registers)
    if new:
        raise NotPossibleError("That name is taken. If it is yours, use your own link.", 409)
    if country and country != worker.country:
        work.connection.execute(_MOVED, {"worker": worker.number, "to": country})
        worker = worker._replace(country=country)
    return worker


def checked_name(name: str) -> str:
    """The name as it is stored. Raises NotPossibleError."""
    # It may have some spaces too many, but not a million: this runs while nobody else can write.
    name = _plain(name) if len(name) <= 10 * LONGEST_NAME else ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise NotPossibleError(f"Write a name of 1 to {LONGEST_NAME} characters.", 400)
    return name


def find_worker(work: Transaction, worker_id: str) -> Person:
    """The worker with this id. Raises RefusedError, in the real service's words."""
    worker = _found(work, _WITH_ID, worker_id)
    if worker is None:
        raise RefusedError(
            "WorkerDoesNotExist", f"WorkerId is invalid. No worker here has the id {worker_id}."
        )
    return worker


def find_named(work: Transaction, name: str) -> Person | None:
    """The worker of this name, in upper or lower case, if there is one."""
    return _found(work, _WITH_HANDLE, _handle(name))


def find_bearer(work: Transaction, bearer: Pass | None) -> Person | None:
    """The worker that a link or a cookie names, unless it was revoked."""
    worker = None if bearer is None else _found(work, _WITH_ID, bearer.worker_id)
    return worker if worker is not None and bearer in (pass_for(worker), signed_in_pass(worker)) else None


def pass_for(worker: Person) -> Pass:
    """What this worker's link says now."""
    return Pass(worker.id, worker.links_revoked)


def signed_in_pass(worker: Person) -> Pass:
    """What the cookie of this worker says now."""
    return Pass(worker.id, worker.links_revoked, worker.signed_out)


def revoke_links(work: Transaction, worker: Person) -> None:
    """Make the worker's links invalid, and the cookies of everyone who used one."""
    work.connection.execute(_REVOKED, {"worker": worker.number})


def sign_out(work: Transaction, worker: Person) -> None:
    """Make every cookie of the worker invalid."""
    work.connection.execute(_SIGNED_OUT, {"worker": worker.number})


def _found(work: Transaction, query: Select[Any], by: str) -> Person | None:
    row = work.connection.execute(query, {"by": by}).first()
    return None if row is None else Person(*row)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _handle(name: str) -> str:
    return unicodedata.normalize("NFC", _plain(name).casefold())


# Nearly every request needs these, so they are built once.
_WORKERS, _BLOCKS, _MESSAGES = (table(each) for each in (Worker, WorkerBlock, Message))
_PERSON = select(
    *(_WORKERS.c[name] for name in Person._fields[:-2]),
    exists().where(_BLOCKS.c.worker_number == _WORKERS.c.number).label("blocked"),
    select(func.count())
    .where(_MESSAGES.c.worker_number == _WORKERS.c.number, _MESSAGES.c.read.is_(False))
    .scalar_subquery()
    .label("unread"),
)
_WITH_ID = _PERSON.where(_WORKERS.c.id == bindparam("by"))
_WITH_HANDLE = _PERSON.where(_WORKERS.c.handle == bindparam("by"))
_NEW = insert(_WORKERS)
_ONE = update(_WORKERS).where(_WORKERS.c.number == bindparam("worker"))
_MOVED = _ONE.values(country=bindparam("to"))
_REVOKED = _ONE.values(links_revoked=_WORKERS.c.links_revoked + 1)
_SIGNED_OUT = _ONE.values(signed_out=_WORKERS.c.signed_out + 1)
