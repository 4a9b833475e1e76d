"""Workers: registered on their first visit, and found by id, by name or by their link."""

from __future__ import annotations

import unicodedata

from sqlalchemy import bindparam, select

from humaneval.market.protocol.countries import country_names
from humaneval.market.protocol.identifiers import new_worker_id
from humaneval.market.protocol.refusals import NotPossibleError, RefusedError
from humaneval.market.security import Pass
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.workers import Worker

LONGEST_NAME = 100
# Every request needs these, so they are built once.
_WITH_ID = select(Worker).where(Worker.id == bindparam("id"))
_WITH_HANDLE = select(Worker).where(Worker.handle == bindparam("handle"))


def sign_up(work: Transaction, name: str, country: str, *, new: bool = False) -> Worker:
    """The worker of this name, registered if they are new. A country that is given replaces an earlier one.

    `new`: refuse a name that is taken, because its owner has a link of their own. Raises NotPossibleError.
    """
    # A name may have some spaces too many, but not a million: this runs while nobody else can write.
    name = _plain(name) if len(name) <= 10 * LONGEST_NAME else ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise NotPossibleError(f"Write a name of 1 to {LONGEST_NAME} characters.", 400)
    if country and country not in country_names():
        raise NotPossibleError("Choose a country from the list.", 400)
    worker = find_named(work, name)
    if worker is None:
        worker = Worker(
            id=new_worker_id(), handle=_handle(name), name=name, country=country, made_at=work.now
        )
        work.session.add(worker)
    elif new:
        raise NotPossibleError("That name is taken. If it is yours, use your own link.", 409)
    elif country:
        worker.country = country
    work.session.flush()
    return worker


def find_worker(work: Transaction, worker_id: str) -> Worker:
    """The worker with this id. Raises RefusedError, in the real service's words."""
    worker = work.session.scalar(_WITH_ID, {"id": worker_id})
    if worker is None:
        raise RefusedError(
            "WorkerDoesNotExist", f"WorkerId is invalid. No worker here has the id {worker_id}."
        )
    return worker


def find_named(work: Transaction, name: str) -> Worker | None:
    """The worker of this name, in upper or lower case, if there is one."""
    return work.session.scalar(_WITH_HANDLE, {"handle": _handle(name)})


def find_bearer(work: Transaction, bearer: Pass | None) -> Worker | None:
    """The worker that a link or a cookie names, unless it was revoked."""
    if bearer is None:
        return None
    worker = work.session.scalar(_WITH_ID, {"id": bearer.worker_id})
    return worker if worker is not None and bearer in (pass_for(worker), signed_in_pass(worker)) else None


def pass_for(worker: Worker) -> Pass:
    """What this worker's link says now."""
    return Pass(worker.id, worker.links_revoked)


def signed_in_pass(worker: Worker) -> Pass:
    """What the cookie of this worker says now."""
    return Pass(worker.id, worker.links_revoked, worker.signed_out)


def _plain(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).split())


def _handle(name: str) -> str:
    return unicodedata.normalize("NFC", _plain(name).casefold())
