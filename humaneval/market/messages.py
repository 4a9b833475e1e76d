"""Messages from the requester to workers, read on the worker site."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select, update

from humaneval.market.protocol.refusals import invalid
from humaneval.market.protocol.values import Params, Reply, text
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.workers import Message, Worker
from humaneval.market.workers import Person

MOST_AT_ONCE = 100
MESSAGES_ON_A_PAGE = 100

LONGEST_SUBJECT, LONGEST_MESSAGE = 200, 4096


def notify_workers(work: Transaction, params: Params) -> Reply:
    """NotifyWorkers: send a message to workers whose work was approved or rejected before.

    NotifyWorkersFailureStatuses lists the workers who cannot be told; the others still get the message.
    """
    subject = text(params, "Subject", LONGEST_SUBJECT, empty=False)
    message = text(params, "MessageText", LONGEST_MESSAGE, empty=False)
    if not 1 <= len(params["WorkerIds"]) <= MOST_AT_ONCE:
        raise invalid(f"WorkerIds must name from 1 to {MOST_AT_ONCE} workers.")
    ids = list(dict.fromkeys(params["WorkerIds"]))
    found = work.session.scalars(select(Worker).where(Worker.id.in_(ids))).all()
    workers = {worker.id: worker for worker in found}
    reviewed = _reviewed(work, workers.values())
    failures = []
    for worker_id in ids:
        worker = workers.get(worker_id)
        if worker is None:
            failures.append(_failure(worker_id, "There is no worker with this id."))
        elif worker.number not in reviewed:
            failures.append(_failure(worker_id, "You have not approved or rejected any work of this worker."))
        else:
            tell(work, worker, subject, message)
    return {"NotifyWorkersFailureStatuses": failures}


def tell(work: Transaction, worker: Person | Worker, subject: str, message: str) -> None:
    """Leave a message for a worker."""
    work.session.add(Message(worker_number=worker.number, subject=subject, text=message, sent_at=work.now))


def messages_of(work: Transaction, worker: Person, *, before: int | None = None) -> list[Message]:
    """A page of a worker's messages, newest first; `before`: those older than the one of this number."""
    query = select(Message).where(Message.worker_number == worker.number)
    if before is not None:
        query = query.where(Message.number < before)
    return list(work.session.scalars(query.order_by(Message.number.desc()).limit(MESSAGES_ON_A_PAGE)))


def _reviewed(work: Transaction, workers: Iterable[Worker]) -> set[int]:
    query = select(Assignment.worker_number).where(
        Assignment.worker_number.in_([worker.number for worker in workers]),
        Assignment.state.in_((State.APPROVED, State.REJECTED)),
    )
    return set(work.session.scalars(query.distinct()))


def _failure(worker_id: str, message: str) -> dict[str, str]:
    return {
        "NotifyWorkersFailureCode": "HardFailure",
        "NotifyWorkersFailureMessage": message,
        "WorkerId": worker_id,
    }


def mark_read(work: Transaction, worker: Person) -> None:
    """Mark all of a worker's messages as read."""
    mine = (Message.worker_number == worker.number, Message.read.is_(False))
    work.session.execute(update(Message).where(*mine).values(read=True))
