"""The requester and the people of the panel: blocks, and messages to them."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import func, select

from humaneval.market.protocol.paging import page
from humaneval.market.protocol.refusals import RefusedError, invalid
from humaneval.market.protocol.values import Params, Reply, text
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Assignment, Message, State, Worker, WorkerBlock

MOST_BLOCKS = 100_000
MOST_AT_ONCE = 100
LONGEST_SUBJECT, LONGEST_MESSAGE = 200, 4096
LONGEST_REASON = 1024


def create_worker_block(work: Transaction, params: Params) -> Reply:
    """CreateWorkerBlock: from now on the worker sees and takes no HITs. A second block replaces the
    reason."""
    worker = find_panellist(work, params["WorkerId"])
    reason = text(params, "Reason", LONGEST_REASON, empty=False)
    block = work.session.scalar(select(WorkerBlock).where(WorkerBlock.worker_number == worker.number))
    if block is not None:
        block.reason = reason
        return {}
    if (work.session.scalar(select(func.count()).select_from(WorkerBlock)) or 0) >= MOST_BLOCKS:
        raise invalid(f"At most {MOST_BLOCKS} workers can be blocked.")
    work.session.add(WorkerBlock(worker=worker, reason=reason, made_at=work.now))
    return {}


def delete_worker_block(work: Transaction, params: Params) -> Reply:
    """DeleteWorkerBlock: succeeds, too, for a worker who is not blocked."""
    worker = find_panellist(work, params["WorkerId"])
    text(params, "Reason", LONGEST_REASON)
    block = work.session.scalar(select(WorkerBlock).where(WorkerBlock.worker_number == worker.number))
    if block is not None:
        work.session.delete(block)
    return {}


def list_worker_blocks(work: Transaction, params: Params) -> Reply:
    """ListWorkerBlocks, in the order they were made."""
    rows, envelope = page(work.session, select(WorkerBlock), WorkerBlock.number, params)
    return {
        "WorkerBlocks": [{"WorkerId": block.worker.id, "Reason": block.reason} for block in rows],
        **envelope,
    }


def is_blocked(work: Transaction, worker: Worker) -> bool:
    """Whether this worker may see and take no HITs."""
    return (
        work.session.scalar(select(WorkerBlock.number).where(WorkerBlock.worker_number == worker.number))
        is not None
    )


def notify_workers(work: Transaction, params: Params) -> Reply:
    """NotifyWorkers: a message on the worker site, only to those whose work was approved or rejected before.

    Whoever cannot be told stands in NotifyWorkersFailureStatuses; the others are told all the same.
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
            failures.append(
                _failure(worker_id, "You have neither approved nor rejected any work of this worker before.")
            )
        else:
            tell(work, worker, subject, message)
    return {"NotifyWorkersFailureStatuses": failures}


def tell(work: Transaction, worker: Worker, subject: str, message: str) -> None:
    """Leave a message for a worker."""
    work.session.add(Message(worker_number=worker.number, subject=subject, text=message, sent_at=work.now))


def messages_of(work: Transaction, worker: Worker) -> list[Message]:
    """A worker's messages, newest first."""
    query = select(Message).where(Message.worker_number == worker.number)
    return list(work.session.scalars(query.order_by(Message.number.desc())))


def unread(work: Transaction, worker: Worker) -> int:
    """How many messages a worker has not marked as read."""
    query = select(func.count()).select_from(Message)
    return (
        work.session.scalar(query.where(Message.worker_number == worker.number, Message.read.is_(False))) or 0
    )


def find_panellist(work: Transaction, worker_id: str) -> Worker:
    """The worker with this id. Raises RefusedError, in the real service's words."""
    worker = work.session.scalar(select(Worker).where(Worker.id == worker_id))
    if worker is None:
        raise RefusedError(
            "WorkerDoesNotExist", f"WorkerId is invalid. No worker here has the id {worker_id}."
        )
    return worker


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
