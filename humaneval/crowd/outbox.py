"""Writes to a platform that survive a kill: stored before the call, confirmed after it, never made twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, and_, bindparam, case, or_, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.pseudonyms import without_ids
from humaneval.errors import HumanEvalError, PlatformError, UsageError
from humaneval.store.engine import batches, gone, in_turns, reading, writing
from humaneval.store.tables import OutboxRow, StudyRow
from humaneval.store.types import now
from humaneval.text import without_refused

T = TypeVar("T")

AS_SQL = {"synchronize_session": False}
"""For statements about rows that are not loaded in the session, which then need not look for them."""

TOGETHER = 10
"""How many calls are made between two commits. Two commits for each would take a quarter of a call's time."""

UNDER_WAY = timedelta(minutes=2)
"""A call takes no longer: to connect, and to read."""

RESTS = tuple(timedelta(minutes=minutes) for minutes in (1, 10, 60, 6 * 60))
"""How long programs that nobody watches leave a failed write alone: after its first try, its second, and so
on."""


class Intent(NamedTuple):
    """A write to make: its operation, its subject and its token."""

    id: int
    operation: str
    subject: str
    token: str
    attempted: bool
    study_id: int

    @property
    def number(self) -> str:
        """Nine digits of the token, for a name that people read and that no other write has."""
        return str(int.from_bytes(hashlib.sha256(self.token.encode()).digest()[:8]) % 10**9).zfill(9)


def intent_of(row: OutboxRow) -> Intent:
    """The write that a row of the outbox stands for."""
    return Intent(row.id, row.operation, row.subject, row.token, row.attempts > 0, row.study_id)


def hold_study(session: Session, study_id: int) -> None:
    """Hold the study until the transaction ends: programs that plan, claim, answer or collect take turns.

    It comes before every other lock, and before every change of a HIT or a claim: triggers count the places
    of many HITs, in the order of their claims. SQLite has one writer at a time anyway. Raises StoreError if
    the study was deleted meanwhile.
    """
    if session.scalar(_HELD, {"study_id": study_id}) is None:
        raise gone()


def hold_study_at(connection: Connection, study_id: int) -> None:
    """The same without a session. An SQLite transaction that writes holds everything already."""
    if connection.dialect.name != "sqlite":
        connection.execute(_HELD, {"study_id": study_id})


_studies = StudyRow.__table__.c
_HELD = select(_studies.id).where(_studies.id == bindparam("study_id")).with_for_update(key_share=True)


def token_for(endpoint: str, operation: str, subject: str, key: str) -> str:
    """The token of one write: the same for every try, another for every other write. 64 characters.

    `key` is random and stored with the subject: two databases with the same ids never share a token.
    """
    return hashlib.sha256("\n".join((endpoint, operation, subject, key)).encode()).hexdigest()


def _intended(session: Session, endpoint: str, operation: str, subject: str) -> OutboxRow | None:
    """The row of one write, if it was intended."""
    return session.scalar(_WRITE, {"at": endpoint, "what": operation, "about": subject})


def intend(
    session: Session,
    *,
    study_id: int,
    endpoint: str,
    operation: str,
    subject: str,
    key: str,
    request: Mapping[str, Any],
) -> OutboxRow:
    """Store the intent in `session`, once: an existing intent stays as it is."""
    there = _intended(session, endpoint, operation, subject)
    if there is not None:
        return there
    row = OutboxRow(
        study_id=study_id,
        endpoint=endpoint,
        operation=operation,
        subject=subject,
        token=token_for(endpoint, operation, subject, key),
        request=dict(request),
    )
    session.add(row)
    session.flush()
    return row


def settle(session: Session, endpoint: str, operation: str, subject: str) -> None:
    """Confirm a write, if it was intended, because the platform shows that it was done."""
    row = _intended(session, endpoint, operation, subject)
    if row is not None and row.state != "confirmed":
        row.state, row.error, row.confirmed_at = "confirmed", "", now()


def withdraw(session: Session, endpoint: str, operation: str, subject: str, why: str) -> bool:
    """Withdraw a write that was never confirmed, because the platform shows that it was not done, or because
    it no longer matters. Returns whether there was one."""
    row = _intended(session, endpoint, operation, subject)
    if row is None or row.state != "pending":
        return False
    row.state, row.error = "refused", why
    return True


def pending(session: Session, *, study_id: int, endpoint: str, operation: str) -> list[Intent]:
    """The writes that are not confirmed yet, in the order in which they were intended. Refused writes are
    tried again."""
    rows = session.scalars(
        select(OutboxRow)
        .where(
            OutboxRow.study_id == study_id,
            OutboxRow.endpoint == endpoint,
            OutboxRow.operation == operation,
            OutboxRow.state != "confirmed",
        )
        .order_by(OutboxRow.id)
    )
    return [intent_of(row) for row in rows]


def has_rested() -> ColumnElement[bool]:
    """The writes that a program may try again by itself: never tried, or not for a while.

    The more often one failed, the longer it rests. A person's command tries it in any case.
    """
    moment = now()
    short = [
        and_(OutboxRow.attempts == tries, OutboxRow.attempted_at <= moment - rest)
        for tries, rest in enumerate(RESTS, 1)
    ]
    return or_(OutboxRow.attempted_at.is_(None), *short, OutboxRow.attempted_at <= moment - RESTS[-1])


def not_under_way() -> ColumnElement[bool]:
    """Of the writes that are not confirmed, those that no program is trying now: such a one is not lost."""
    begun = OutboxRow.attempted_at
    return or_(OutboxRow.error != "", begun.is_(None), begun <= now() - UNDER_WAY)


def perform(
    engine: Engine,
    intent: Intent,
    call: Callable[[], T],
    record: Callable[[Session, T], Mapping[str, Any]],
    *,
    alone: bool = False,
) -> T:
    """Make the call of `intent`. When the platform has confirmed it, `record` its result and confirm the
    intent.

    `record` runs in the same transaction and returns what to keep of the platform's answer. If it is certain
    that no try has changed anything at the platform, the intent is refused, with a reason. Otherwise, also
    after a kill, it stays pending. With `alone`, raises PlatformError, without a call, if another try has or
    may have got through.
    """
    return next(
        perform_each(
            engine,
            [intent],
            lambda _: call(),
            lambda session, _, result: record(session, result),
            alone=alone,
        )
    )


def perform_each(
    engine: Engine,
    intents: Sequence[Intent],
    call: Callable[[Intent], T],
    record: Callable[[Session, Intent, T], Mapping[str, Any]],
    *,
    alone: bool = False,
    together: int = 0,
) -> Iterator[T]:
    """As `perform`, one intent of a study after the other, `TOGETHER` or `together` of them between two
    commits.

    After a kill, attempts may be counted that were never made, and calls unconfirmed that were made. Running
    the command again looks both up at the platform.
    """
    together = together or TOGETHER
    for batch in (in_turns if len(intents) > together else batches)(intents, together):
        with writing(engine) as session:
            before = _attempt(session, batch)
            if alone and any(each.unsure or each.state == "confirmed" for each in before.values()):
                raise PlatformError("another program is making the same call", "Try again in a moment.")
        made: list[T] = []
        failure: HumanEvalError | None = None
        for intent in batch:
            try:
                made.append(call(intent))
            except PlatformError as error:
                with reading(engine) as session:
                    error.message = without_ids(session, without_refused(error.message))
                error.args = (error.message,)
                failure = error
                break
            except UsageError as error:  # we refuse it ourselves: nothing was sent
                failure = error
                break
        with writing(engine) as session:
            hold_study(session, batch[0].study_id)
            for intent, result in zip(batch, made, strict=False):
                answer = dict(record(session, intent, result))
                session.execute(
                    _CONFIRMED, {"of": intent.token, "at": now(), "said": answer}, execution_options=AS_SQL
                )
            if failure is not None:
                failed = batch[len(made)].token
                to = "refused" if _sure(failure, before[failed]) else "pending"
                said = {"of": failed, "why": failure.message, "to": to}
                session.execute(_FAILED, said, execution_options=AS_SQL)
                for untried in batch[len(made) + 1 :]:
                    stood = before[untried.token]
                    again = {"of": untried.token, "to": stood.state, "why": stood.error}
                    session.execute(_UNTRIED, again, execution_options=AS_SQL)
        yield from made
        if failure is not None:
            raise failure


def dropped() -> PlatformError:
    """The error for a write that is no longer intended: a worker is forgotten, or a plan is dropped."""
    return PlatformError(
        "another program has deleted what this is about",
        "Nothing was sent for it. If it is still to be done, run this command again.",
        nothing_done=True,
    )


class _Before(NamedTuple):
    """The state of an intent before a try. `unsure`: an earlier try may have got through."""

    state: str
    unsure: bool
    error: str = ""


def _sure(failure: HumanEvalError, before: _Before) -> bool:
    """Whether no try of a call that failed has changed anything at the platform."""
    if isinstance(failure, PlatformError):
        return failure.never_done or (failure.nothing_done and not before.unsure)
    return not before.unsure  # we refused this try ourselves


def _attempt(session: Session, intents: Sequence[Intent]) -> dict[str, _Before]:
    """Count a try of each of `intents`, committed before the calls. Returns the state of each before, by its
    token. Raises PlatformError if one is no longer there.

    While an intent is tried it is not refused and has no reason: after a kill, its state is unknown. An
    intent that another program has confirmed meanwhile stays confirmed, here and if the call fails.
    """
    these = OutboxRow.token.in_([intent.token for intent in intents])
    rows = select(OutboxRow.token, OutboxRow.state, OutboxRow.attempts, OutboxRow.error).where(these)
    before = {
        row.token: _Before(row.state, row.state == "pending" and row.attempts > 0, row.error)
        for row in session.execute(rows.order_by(OutboxRow.id).with_for_update())
    }
    if len(before) < len(intents):
        raise dropped()
    counted = (
        update(OutboxRow)
        .where(these)
        .values(
            attempts=OutboxRow.attempts + 1,
            attempted_at=now(),
            state=case((OutboxRow.state == "refused", "pending"), else_=OutboxRow.state),
            error="",
        )
    )
    session.execute(counted, execution_options=AS_SQL)
    return before


# Statements with parameters, made once: making a statement takes longer than running it, and loading the row
# takes even longer.
_WRITE = select(OutboxRow).where(
    OutboxRow.endpoint == bindparam("at"),
    OutboxRow.operation == bindparam("what"),
    OutboxRow.subject == bindparam("about"),
)
# By the token: SQLite gives the id of a row that is gone to the next one.
_OF_INTENT = update(OutboxRow).where(OutboxRow.token == bindparam("of"))
_CONFIRMED = _OF_INTENT.values(
    state="confirmed", error="", confirmed_at=bindparam("at"), answer=bindparam("said")
)
# Not if another program has confirmed or withdrawn it meanwhile.
_FAILED = _OF_INTENT.where(OutboxRow.state == "pending").values(state=bindparam("to"), error=bindparam("why"))
_UNTRIED = _OF_INTENT.values(
    attempts=OutboxRow.attempts - 1,
    state=case((OutboxRow.state == "confirmed", OutboxRow.state), else_=bindparam("to")),
    error=case((OutboxRow.state == "confirmed", OutboxRow.error), else_=bindparam("why")),
)
