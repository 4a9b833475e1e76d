"""The requester's blocks: a blocked worker sees and takes no HITs."""

from __future__ import annotations

from sqlalchemy import func, select

from humaneval.market.protocol.paging import page
from humaneval.market.protocol.refusals import invalid
from humaneval.market.protocol.values import LONGEST_REASON, Params, Reply, text
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.workers import WorkerBlock
from humaneval.market.workers import find_worker

MOST_BLOCKS = 100_000


def create_worker_block(work: Transaction, params: Params) -> Reply:
    """CreateWorkerBlock: from now on the worker sees no HITs. A second block replaces the reason."""
    worker = find_worker(work, params["WorkerId"])
    reason = text(params, "Reason", LONGEST_REASON, empty=False)
    block = work.session.scalar(select(WorkerBlock).where(WorkerBlock.worker_number == worker.number))
    if block is not None:
        block.reason = reason
        return {}
    if (work.session.scalar(select(func.count()).select_from(WorkerBlock)) or 0) >= MOST_BLOCKS:
        raise invalid(f"At most {MOST_BLOCKS} workers can be blocked.")
    work.session.add(WorkerBlock(worker_number=worker.number, reason=reason, made_at=work.now))
    return {}


def delete_worker_block(work: Transaction, params: Params) -> Reply:
    """DeleteWorkerBlock. It also succeeds for a worker who is not blocked."""
    worker = find_worker(work, params["WorkerId"])
    text(params, "Reason", LONGEST_REASON)
    block = work.session.scalar(select(WorkerBlock).where(WorkerBlock.worker_number == worker.number))
    if block is not None:
        work.session.delete(block)
    return {}


def list_worker_blocks(work: Transaction, params: Params) -> Reply:
    """ListWorkerBlocks, oldest first."""
    rows, envelope = page(work.session, select(WorkerBlock), WorkerBlock.number, params)
    return {
        "WorkerBlocks": [{"WorkerId": block.worker.id, "Reason": block.reason} for block in rows],
        **envelope,
    }
