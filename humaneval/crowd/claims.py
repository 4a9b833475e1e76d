"""Hands rows to workers: the next free row, once, under a lease.

Opening an accepted form is the only write that a GET may do. It is idempotent for each (endpoint,
assignment, worker).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, Select, bindparam, insert, select, update

from humaneval.crowd.admission import Claim, Claims, admitted, find_claims
from humaneval.crowd.found_hit import FoundHit, find_hit
from humaneval.crowd.free_rows import (
    free_row,
    give_back,
    give_up,
    give_way,
    release_expired,
    release_invented,
    release_returned,
    taken,
)
from humaneval.crowd.outbox import hold_study_at
from humaneval.crowd.participants import COMPENSATION, DONE
from humaneval.crowd.platform import PROLIFIC
from humaneval.crowd.pseudonyms import seen_worker
from humaneval.crowd.stored_claim import Work, find_work
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, PaymentRow, WorkerIdentityRow
from humaneval.store.types import table

GRACE = timedelta(minutes=5)
"""Added to the platform's own deadline: clocks differ, and answers may be on their way."""
LOOK_EVERY = timedelta(seconds=1)
"""A crowd need not look at each opening for leases that ran out."""
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_looked: WeakKeyDictionary[Engine, dict[tuple[int, str], datetime]] = WeakKeyDictionary()


class Outcome(StrEnum):
    """What opening a form led to."""

    FORM = "form"
    ANSWERED = "answered"
    """The answers are already stored; only their submission at the platform may be missing."""
    FULL = "full"
    """Every row is taken."""
    LIMIT = "limit"
    """This person has done as many forms as the study allows."""
    IN_HAND = "in hand"
    """This person has a form of the study open in another HIT."""
    KEPT_OUT = "kept out"
    """This person is blocked, on the study's list, took part in a study that this one excludes, or was
    forgotten."""
    COMPENSATED = "compensated"
    """This person was compensated for this form, by a HIT of its own. The form is not done and paid again."""
    CLOSED = "closed"
    """A link that no longer takes new people."""
    UNKNOWN = "unknown"
    """Not a HIT of ours."""
    BEYOND = "beyond"
    """The HIT's places are taken, and the platform was not asked whether this person has one of them."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The outcome, and for FORM, ANSWERED and IN_HAND which assignment it is about.

    `row_id` is the row of a FORM of this HIT; of another HIT of the study it is 0.
    """

    outcome: Outcome
    assignment_id: int = 0
    row_id: int = field(default=0, compare=False)


class Visit(NamedTuple):
    """A worker who opens a form under an assignment id.

    `external_hit` is the platform's id of the HIT, as the address has it. `move`: the worker has returned the
    form that they have open in another HIT. `program`: the worker is a simulated annotator. `confirmed`: the
    platform has signed the address. If the places of a HIT are taken, an unsigned address gets a row only if
    the platform says that somebody has the HIT `in_hand`. For a signed one, somebody must have returned the
    HIT: `returned` are the assignments that the platform names. None: it was not asked. If nothing is free by
    link, the first of the claims `giving_way` that is still open gives up its row. With Prolific's list of
    `submissions`, a claim does that was never confirmed and is not there: Prolific counts its places itself.
    """

    assignment: str
    worker: str
    now: datetime
    external_hit: str = ""
    move: bool = False
    program: bool = False
    confirmed: bool = True
    in_hand: int = 0
    returned: frozenset[str] | None = frozenset()
    giving_way: tuple[int, ...] = ()
    submissions: frozenset[str] | None = None
    parameters: Mapping[str, str] | None = None
    """What a panel sent beside its ids. None: nothing, or as it was."""


def open_form(
    engine: Engine,
    *,
    hit_key: str,
    external_hit: str,
    assignment: str,
    worker: str,
    now: datetime,
    move: bool = False,
    program: bool = False,
    confirmed: bool = True,
    in_hand: int = 0,
) -> Opened:
    """Give (assignment, worker) its row: the one it has, otherwise the next free one.

    A worker who has a form open in another HIT keeps it there, unless they `move`. See `Visit`.
    """
    visit = Visit(assignment, worker, now, external_hit, move, program, confirmed, in_hand)
    with writing(engine) as session:
        connection = session.connection()
        hit = find_hit(connection, hit_key)
        if hit is None:
            return Opened(Outcome.UNKNOWN)
        hold_study_at(connection, hit.study_id)
        return open_in(connection, engine, hit, visit)


def reopen_in(
    connection: Connection,
    engine: Engine,
    assignment_id: int,
    now: datetime,
    *,
    program: bool = False,
    theirs: Callable[[Work], bool] = lambda work: True,
) -> Opened:
    """The same for a person who comes back to a form that they have claimed, if it is `theirs`."""
    mine = find_work(connection, assignment_id)
    if mine is None or not theirs(mine):
        return Opened(Outcome.UNKNOWN)
    if mine.worker is None:  # the id was purged
        return Opened(Outcome.ANSWERED if mine.answered is not None else Outcome.UNKNOWN, mine.id)
    # Our own address confirms nothing: anybody gets one who makes up ids while the platform is silent.
    visit = Visit(mine.external_id, mine.worker, now, program=program, confirmed=mine.confirmed)
    return open_in(connection, engine, mine.hit, visit)


def has_begun(engine: Engine, hit_key: str, worker: str) -> bool:
    """Whether this person has, or had, a form by this link."""
    with reading(engine) as session:
        return session.scalar(_forms_of(hit_key, worker)) is not None


def was_let_in(engine: Engine, hit_key: str, worker: str, assignment: str) -> bool:
    """Whether the platform has confirmed this person and assignment before."""
    theirs = AssignmentRow.external_id == assignment, AssignmentRow.confirmed
    with reading(engine) as session:
        return session.scalar(_forms_of(hit_key, worker).where(*theirs)) is not None


def answered_by(engine: Engine, hit_key: str, worker: str, assignment: str) -> int | None:
    """Our id of the form that this person has sent by this link; None if there is none."""
    sent = AssignmentRow.external_id == assignment, AssignmentRow.answered_at.is_not(None)
    with reading(engine) as session:
        return session.scalar(_forms_of(hit_key, worker).where(*sent))


def _forms_of(hit_key: str, worker: str) -> Select[int]:
    """One of the forms that this person has, or had, by this link."""
    return (
        select(AssignmentRow.id)
        .join(HitRow, HitRow.id == AssignmentRow.hit_id)
        .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
        .where(HitRow.key == hit_key, WorkerIdentityRow.external_id == worker)
        .where(WorkerIdentityRow.endpoint == HitRow.endpoint)
        .limit(1)
    )


def open_in(connection: Connection, engine: Engine, hit: FoundHit, visit: Visit) -> Opened:
    """As `open_form`, in a transaction that holds the study. Nothing is kept about people who come by link or
    from Prolific and get no form: anybody may invent visitors.
    """
    if not hit.audience and hit.endpoint != PROLIFIC:
        return _opened(connection, engine, hit, visit)
    with connection.begin_nested() as kept:
        opened = _opened(connection, engine, hit, visit)
        if opened.outcome not in (Outcome.FORM, Outcome.ANSWERED):
            kept.rollback()
    return opened


def has_form(hit: FoundHit, visit: Visit) -> bool:
    """Whether the visitor comes to a HIT that shows a form of ours."""
    # Until `publish` has confirmed the HIT we do not know the platform's id. The unguessable key vouches for
    # it. A static HIT has no form of ours.
    elsewhere = hit.external_id and visit.external_hit and hit.external_id != visit.external_hit
    return hit.row_id is None and not elsewhere


def _opened(connection: Connection, engine: Engine, hit: FoundHit, visit: Visit) -> Opened:
    if not has_form(hit, visit):
        return Opened(Outcome.UNKNOWN)
    worker = seen_worker(connection, hit.endpoint, visit.worker)
    if worker is None:
        return Opened(Outcome.KEPT_OUT)
    claims = find_claims(connection, hit, worker.id, visit.assignment)
    mine = claims.mine
    begun = None if mine is None else _begun(connection, hit, visit, mine)
    if begun is not None:
        return begun
    # Nobody has decided anything about a worker who comes for the first time.
    refused = _refused(connection, engine, claims, visit) if worker.before or hit.audience else None
    if refused is not None:
        return refused
    _release(connection, engine, claims, visit)
    if visit.returned:
        give_back(connection, hit.id, visit.returned, visit.now)
    if visit.giving_way:
        give_way(connection, hit, visit.giving_way, visit.now)
    opened = _taken_up(connection, claims, visit)
    if opened.outcome is not Outcome.FORM and release_expired(connection, hit, visit.now):
        opened = _taken_up(connection, claims, visit)
    return opened


def _taken_up(connection: Connection, claims: Claims, visit: Visit) -> Opened:
    """Give this worker a free row, if there is one and a place at the HIT."""
    hit = claims.hit
    beyond = counts_places(hit, visit) and taken(connection, hit) >= hit.assignments
    if beyond and hit.audience:
        return Opened(Outcome.FULL)
    if beyond and not visit.in_hand:
        return Opened(Outcome.BEYOND)
    row_id = _next_row(connection, claims, visit, beyond)
    if row_id is None:
        return Opened(Outcome.FULL)
    return Opened(Outcome.FORM, _claimed(connection, claims, visit, row_id), row_id)


def counts_places(hit: FoundHit, visit: Visit) -> bool:
    """Whether a HIT gives no more rows than it has places. A platform that signs counts its places itself:
    people whom it lets in beyond them have a place that was returned."""
    return bool(hit.audience) or not visit.confirmed or visit.returned is None


def _begun(connection: Connection, hit: FoundHit, visit: Visit, mine: Claim) -> Opened | None:
    """What opening leads to if the worker has begun; None if the worker needs a row again."""
    if mine.study_id != hit.study_id:
        return Opened(Outcome.UNKNOWN)
    if (visit.confirmed and not mine.confirmed) or mine.external_id != visit.assignment:
        # By link, the same form goes on under the id of another session.
        now_so = {"external_id": visit.assignment, "confirmed": visit.confirmed or mine.confirmed}
        connection.execute(_CHANGED, {"of": mine.id, **now_so, **_sent(visit)})
    if connection.execute(_COMPENSATED, {"of": mine.id}).first() is not None:
        return Opened(Outcome.COMPENSATED)
    if mine.state in DONE:
        return Opened(Outcome.ANSWERED, mine.id)
    if mine.open:
        if mine.lease_until is not None and mine.lease_until < visit.now:
            connection.execute(_CHANGED, {"of": mine.id, "lease_until": _lease(hit, visit)})
        return Opened(Outcome.FORM, mine.id, mine.row_id or 0 if mine.hit_id == hit.id else 0)
    return None


def _refused(connection: Connection, engine: Engine, claims: Claims, visit: Visit) -> Opened | None:
    """Why this worker gets no row, if there is a reason."""
    hit = claims.hit
    may = admitted(connection, hit.study(engine), hit.endpoint, claims.worker_id)
    if len(claims.done) >= may.allowed:
        return Opened(Outcome.LIMIT)
    if may.kept_out:
        return Opened(Outcome.KEPT_OUT)
    if hit.audience and hit.expires_at is not None and hit.expires_at <= visit.now:
        return Opened(Outcome.CLOSED)
    in_hand = None if visit.move else claims.in_hand(visit.now)
    return None if in_hand is None else Opened(Outcome.IN_HAND, in_hand)


def _release(connection: Connection, engine: Engine, claims: Claims, visit: Visit) -> None:
    """Release rows whose lease ran out, and rows that this worker left unanswered elsewhere in the study.

    The row of an earlier worker under the same assignment id is released, too: platforms reuse such ids. A
    worker who is not confirmed cannot end the lease of anybody else.
    """
    release_now_and_then(connection, engine, claims.hit, visit.now)
    for each in claims.open_elsewhere if visit.confirmed else ():
        until = min(each.lease_until or visit.now, visit.now)
        changed = {"holds_row": False, "state": "superseded", "lease_until": until}
        connection.execute(_CHANGED, {"of": each.id, **changed})


def release_now_and_then(connection: Connection, engine: Engine, hit: FoundHit, now: datetime) -> None:
    """Release rows whose lease ran out, unless somebody has looked a moment ago."""
    looked, place = _looked.setdefault(engine, {}), (hit.study_id, hit.endpoint)
    if not timedelta(0) <= now - looked.get(place, LONG_AGO) < LOOK_EVERY:
        release_expired(connection, hit, now)
        looked[place] = now


def _next_row(connection: Connection, claims: Claims, visit: Visit, beyond: bool) -> int | None:
    """A free row for this worker; None if every row is taken.

    `beyond` the places of its HIT, an unconfirmed claim gets no row that somebody may still be at work on.
    The worker who opened a form first, and may have returned it, then no longer holds its row. So invented
    claims at one HIT never hold more rows than it has places.
    """
    hit, mine = claims.hit, claims.mine
    done_rows = [other.row_id for other in claims.done if other.row_id is not None]
    own = claims.left_row if mine is None else mine.row_id
    row_id = free_row(connection, hit, done_rows, own, visit.now, unshown=beyond)
    if row_id is not None and beyond:
        give_up(connection, hit)
    guesses = not hit.audience and hit.endpoint != PROLIFIC
    if row_id is None and guesses and release_returned(connection, hit, visit.now):
        row_id = free_row(connection, hit, done_rows, own, visit.now)
    there = visit.submissions
    if row_id is None and there is not None and release_invented(connection, hit, there, visit.now):
        row_id = free_row(connection, hit, done_rows, own, visit.now)
    return row_id


def _claimed(connection: Connection, claims: Claims, visit: Visit, row_id: int) -> int:
    """The assignment with its row, under a lease. Returns our id of it."""
    hit, mine = claims.hit, claims.mine
    values = new_claim(hit, visit, claims.worker_id, row_id)
    if mine is None:
        return int(connection.execute(_NEW, values).scalar_one())
    kept = {name: values[name] for name in values if name not in _OF_A_CLAIM}
    connection.execute(_CHANGED, {"of": mine.id, **kept})
    return mine.id


_OF_A_CLAIM = ("study_id", "endpoint", "external_id", "worker_id", "confirmed")
"""What stays if a claim gets another row."""


def new_claim(hit: FoundHit, visit: Visit, worker_id: int, row_id: int) -> dict[str, Any]:
    """The columns of a claim that has its row from now on, under a lease."""
    return {
        "study_id": hit.study_id,
        "endpoint": hit.endpoint,
        "external_id": visit.assignment,
        "worker_id": worker_id,
        "confirmed": visit.confirmed,
        "hit_id": hit.id,
        "state": "opened",
        "opened_at": visit.now,
        "row_id": row_id,
        "holds_row": True,
        "lease_until": _lease(hit, visit),
        "by_program": visit.program,
        **_sent(visit),
    }


def _sent(visit: Visit) -> dict[str, dict[str, str]]:
    """The column of what the panel sent, if it sent anything. The person's own address sends nothing."""
    return {"parameters": dict(visit.parameters)} if visit.parameters else {}


def _lease(hit: FoundHit, visit: Visit) -> datetime:
    """Until when a row is kept for a worker who opens its form now."""
    return visit.now + timedelta(minutes=hit.settings.hit.assignment_minutes) + GRACE


_work, _payments = table(AssignmentRow), table(PaymentRow)
_NEW = insert(_work).returning(_work.c.id)
_CHANGED = update(_work).where(_work.c.id == bindparam("of"))
_COMPENSATED = (
    select(_payments.c.id)
    .where(_payments.c.assignment_id == bindparam("of"), _payments.c.kind == COMPENSATION)
    .limit(1)
)
