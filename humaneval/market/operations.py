"""The marketplace: every operation, each in one transaction. Deadlines that have passed are applied first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.exc import TimeoutError as NoConnectionError

from humaneval.market import (
    blocks,
    hit_types,
    hits,
    messages,
    notification_settings,
    review_policies,
    reviews,
    uploads,
)
from humaneval.market.deadlines import let_time_pass, something_is_due, turning_points
from humaneval.market.protocol.paging import Bookmarks
from humaneval.market.qualifications import holders, qualification_types
from humaneval.market.tables.account import Account
from humaneval.market.tables.database import Clock, Mode, Transaction, check_files, transaction
from humaneval.request_turns import waiting
from humaneval.store.engine import BUSY_SECONDS
from humaneval.store.types import now
from humaneval.store.watched_files import WatchedFiles

CATCH_UP_SECONDS = 1.0
"""How long one call applies deadlines that have passed."""


class Operation(NamedTuple):
    """The function of an operation, and whether it needs the write lock.

    `read` refuses what its call has no right to contain: what takes long is read before the lock is taken.
    """

    run: Callable[[Transaction, Mapping[str, Any]], dict[str, Any]]
    writes: bool
    read: Callable[[Mapping[str, Any], Mode], object] = lambda params, mode: None


OPERATIONS = {
    "AcceptQualificationRequest": Operation(holders.accept_qualification_request, True),
    "ApproveAssignment": Operation(reviews.approve_assignment, True),
    "AssociateQualificationWithWorker": Operation(holders.associate_qualification, True),
    "CreateAdditionalAssignmentsForHIT": Operation(hits.create_additional_assignments, True),
    "CreateHIT": Operation(hits.create_hit, True, hits.read_asked),
    "CreateHITType": Operation(hit_types.create_hit_type, True),
    "CreateHITWithHITType": Operation(hits.create_hit_with_hit_type, True, hits.read_asked),
    "CreateQualificationType": Operation(
        qualification_types.create_qualification_type, True, qualification_types.read_asked
    ),
    "CreateWorkerBlock": Operation(blocks.create_worker_block, True),
    "DeleteHIT": Operation(hits.delete_hit, True),
    "DeleteQualificationType": Operation(qualification_types.delete_qualification_type, True),
    "DeleteWorkerBlock": Operation(blocks.delete_worker_block, True),
    "DisassociateQualificationFromWorker": Operation(holders.disassociate_qualification, True),
    "GetAccountBalance": Operation(reviews.get_account_balance, False),
    "GetAssignment": Operation(reviews.get_assignment, False),
    "GetFileUploadURL": Operation(uploads.get_file_upload_url, True),
    "GetHIT": Operation(hits.get_hit, False),
    "GetQualificationScore": Operation(holders.get_qualification_score, False),
    "GetQualificationType": Operation(qualification_types.get_qualification_type, False),
    "ListAssignmentsForHIT": Operation(reviews.list_assignments, False),
    "ListBonusPayments": Operation(reviews.list_bonus_payments, False),
    "ListHITs": Operation(hits.list_hits, False),
    "ListHITsForQualificationType": Operation(hits.list_hits_for_qualification_type, False),
    "ListQualificationRequests": Operation(holders.list_qualification_requests, False),
    "ListQualificationTypes": Operation(qualification_types.list_qualification_types, False),
    "ListReviewPolicyResultsForHIT": Operation(review_policies.list_review_policy_results, False),
    "ListReviewableHITs": Operation(hits.list_reviewable_hits, False),
    "ListWorkerBlocks": Operation(blocks.list_worker_blocks, False),
    "ListWorkersWithQualificationType": Operation(holders.list_workers_with_qualification, False),
    "NotifyWorkers": Operation(messages.notify_workers, True),
    "RejectAssignment": Operation(reviews.reject_assignment, True),
    "RejectQualificationRequest": Operation(holders.reject_qualification_request, True),
    "SendBonus": Operation(reviews.send_bonus, True),
    "SendTestEventNotification": Operation(notification_settings.send_test_event, True),
    "UpdateExpirationForHIT": Operation(hits.update_expiration, True),
    "UpdateHITReviewStatus": Operation(hits.update_review_status, True),
    "UpdateHITTypeOfHIT": Operation(hits.update_hit_type_of_hit, True),
    "UpdateNotificationSettings": Operation(notification_settings.update_notification_settings, True),
    "UpdateQualificationType": Operation(
        qualification_types.update_qualification_type, True, qualification_types.read_asked
    ),
}


class Market:
    """One marketplace in one database. `clock` gives the time, so that tests can set it."""

    def __init__(self, engine: Engine, mode: Mode, clock: Clock = now) -> None:
        self._engine = engine
        self._files = WatchedFiles(engine)
        self.mode = mode
        self._clock = clock
        # SQLite lets its writers poll for its lock, and favours none. Here they take turns.
        self._turn = Lock()
        self._applying = Lock()
        """Of the thread that applies deadlines: all of them at once would only wait for one another."""
        self._behind = False
        """Whether a call went on although deadlines were left."""
        self.site = ""
        """The worker site's address, once there is one."""

    def perform(
        self, name: str, params: Mapping[str, Any], request_id: str = "", *, without_rows: bool = False
    ) -> dict[str, Any]:
        """Carry out one requester operation. Raises RefusedError; then nothing was changed.

        `request_id` is the id of this call that the caller is told. `without_rows`: if it is a list, its page
        comes empty, with a token for its rows.
        """
        operation = OPERATIONS[name]
        operation.read(params, self.mode)
        with self.writing() if operation.writes else self.reading() as work:
            work = replace(work, request_id=request_id)
            if not name.startswith("List"):
                return operation.run(work, params)
            key = work.session.scalars(select(Account.signing_key)).one_or_none() or ""
            bookmarks = Bookmarks(key, name, params, work.now)
            reply = operation.run(work, bookmarks.place())
            if without_rows and "NumResults" in reply:
                return bookmarks.emptied(reply)
            return bookmarks.marked(reply)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that may write. There is one at a time."""
        with self._up_to_date(writes=True) as work:
            work = replace(work, site=self.site)
            yield work
            if work.opened is not None:
                review_policies.apply_due_policies(work)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that only reads."""
        with self._up_to_date(writes=False) as work:
            yield work

    @contextmanager
    def _up_to_date(self, *, writes: bool) -> Iterator[Transaction]:
        """A transaction after all deadlines were applied, in transactions of their own.

        So their effects are kept even if the operation is refused. If there are very many, after a long pause
        for example, this call applies some of them for a second, and later calls apply the rest. Then only
        one call at a time does so, and the others go on at once.
        """
        until = monotonic() + CATCH_UP_SECONDS
        while True:
            with self._transaction(writes=writes) as work:
                due = something_is_due(work)
                if not due or monotonic() > until or (self._behind and self._applying.locked()):
                    self._behind = due
                    yield work
                    return
            self._apply_some(0.0 if self._behind else max(0.0, until - monotonic()))

    def _apply_some(self, patience: float) -> None:
        """Apply deadlines that have passed, unless another thread still does so after `patience` seconds."""
        with waiting():
            mine = self._applying.acquire(timeout=patience)
        if not mine:
            return
        try:
            with self._transaction(writes=True) as work:
                for moment in turning_points(work):
                    if not let_time_pass(work, moment):
                        break
                    review_policies.apply_due_policies(work)
        finally:
            self._applying.release()

    @contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Transaction]:
        if not writes:
            with transaction(self._engine, self.mode, self._clock, writes=False) as work:
                yield work
            return
        with waiting():
            mine = self._turn.acquire(timeout=BUSY_SECONDS)
        if not mine:
            raise NoConnectionError(f"the write lock was not free for {BUSY_SECONDS} s")
        try:
            with transaction(self._engine, self.mode, self._clock, writes=True) as work:
                check_files(self._files)
                yield work
            check_files(self._files)
        finally:
            self._turn.release()
