"""The marketplace itself: every operation, each in one transaction, with what time alone has done brought in first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Engine

from humaneval.market import hits, reviews
from humaneval.market.bookkeeping import let_time_pass, something_is_due
from humaneval.market.database import Clock, Mode, Transaction, transaction
from humaneval.market.refusals import RefusedError
from humaneval.store.types import now


class Operation(NamedTuple):
    """What carries an operation out, and whether it needs the write lock."""

    run: Callable[[Transaction, Mapping[str, Any]], dict[str, Any]]
    writes: bool


OPERATIONS = {
    "ApproveAssignment": Operation(reviews.approve_assignment, True),
    "CreateAdditionalAssignmentsForHIT": Operation(hits.create_additional_assignments, True),
    "CreateHIT": Operation(hits.create_hit, True),
    "CreateHITType": Operation(hits.create_hit_type, True),
    "CreateHITWithHITType": Operation(hits.create_hit_with_hit_type, True),
    "DeleteHIT": Operation(hits.delete_hit, True),
    "GetAccountBalance": Operation(reviews.get_account_balance, False),
    "GetAssignment": Operation(reviews.get_assignment, False),
    "GetHIT": Operation(hits.get_hit, False),
    "ListAssignmentsForHIT": Operation(reviews.list_assignments, False),
    "ListBonusPayments": Operation(reviews.list_bonus_payments, False),
    "ListHITs": Operation(hits.list_hits, False),
    "ListReviewableHITs": Operation(hits.list_reviewable_hits, False),
    "RejectAssignment": Operation(reviews.reject_assignment, True),
    "SendBonus": Operation(reviews.send_bonus, True),
    "UpdateExpirationForHIT": Operation(hits.update_expiration, True),
    "UpdateHITReviewStatus": Operation(hits.update_review_status, True),
}


class Market:
    """One marketplace in one database. `clock` says what time it is, so that a test can."""

    def __init__(self, engine: Engine, mode: Mode, clock: Clock = now) -> None:
        self._engine = engine
        self.mode = mode
        self._clock = clock

    def perform(self, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one requester operation. Raises RefusedError; then nothing was changed."""
        operation = OPERATIONS.get(name)
        if operation is None:
            raise RefusedError("OperationNotOffered", f"This marketplace does not have {name} yet.")
        with self.writing() if operation.writes else self.reading() as work:
            return operation.run(work, params)

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that may change things, alone."""
        # What time has done is kept even where the operation itself is then refused.
        self._catch_up()
        with transaction(self._engine, self.mode, self._clock, writes=True) as work:
            let_time_pass(work)
            yield work

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that only looks."""
        self._catch_up()
        with transaction(self._engine, self.mode, self._clock, writes=False) as work:
            yield work

    def _catch_up(self) -> None:
        with transaction(self._engine, self.mode, self._clock, writes=False) as work:
            if not something_is_due(work):
                return
        with transaction(self._engine, self.mode, self._clock, writes=True) as work:
            let_time_pass(work)
