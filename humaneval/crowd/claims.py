"""Hands rows to workers: the next free row, once, under a lease. Keeps their answers as soon as they arrive.

Opening an accepted form is the only write that a GET may do. It is idempotent for each (endpoint,
assignment, worker).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Engine, case, or_, select, update
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.answers import read_answers
from humaneval.crowd.form_of_row import is_passed_on
from humaneval.crowd.free_rows import free_row, give_up, release_returned, row_is_free, taken
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.participants import (
    DONE,
    forms_allowed,
    forms_done,
    intend_exclusion,
    is_compensated,
    is_kept_out,
)
from humaneval.crowd.pseudonyms import external_worker_id, worker_row
from humaneval.store.engine import reading, writing
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    WorkerIdentityRow,
)
from humaneval.study.stored import Study, study_of

GRACE = timedelta(minutes=5)
"""Added to the platform's own deadline: clocks differ, and answers may be on their way."""


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
    """This person is blocked, on the study's list, or took part in a study that this one excludes."""
    COMPENSATED = "compensated"
    """This person was compensated for this form, by a HIT of its own. The form is not done and paid again."""
    CLOSED = "closed"
    """A link that no longer takes new people."""
    UNKNOWN = "unknown"
    """Not a HIT of ours."""
    BEYOND = "beyond"
    """The HIT's places are taken, and nothing says that the platform let this person in."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The outcome, and for FORM, ANSWERED and IN_HAND which assignment it is about."""

    outcome: Outcome
    assignment_id: int = 0


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

    A worker who has a form open in another HIT keeps it there, unless `move` says that they returned it.
    `program` says that the worker is a simulated annotator. `confirmed` says that the platform has signed the
    address. Without that, a HIT whose places are taken gives a row only if the platform says that somebody
    has it `in_hand`.
    """
    with writing(engine) as session:
        visit = _visit(session, engine, hit_key, external_hit, assignment, worker, now)
        if visit is None:
            return Opened(Outcome.UNKNOWN)
        visit = visit._replace(program=program, confirmed=confirmed, in_hand=in_hand)
        return _open(session, visit, move)


def reopen_form(engine: Engine, assignment_id: int, now: datetime, *, program: bool = False) -> Opened:
    """The same for a person who comes back to a form that they have claimed."""
    with writing(engine) as session:
        # Columns, not the row itself: it is read when the study is held.
        mine = session.execute(
            select(HitRow.key, AssignmentRow.external_id, AssignmentRow.worker_id)
            .join(HitRow, HitRow.id == AssignmentRow.hit_id)
            .where(AssignmentRow.id == assignment_id)
        ).first()
        if mine is None:
            return Opened(Outcome.UNKNOWN)
        worker = external_worker_id(session, mine.worker_id)
        visit = _visit(session, engine, mine.key, "", mine.external_id, worker, now)
        if visit is None:
            return Opened(Outcome.UNKNOWN)
        return _open(session, visit._replace(program=program), False)


def has_begun(engine: Engine, hit_key: str, worker: str) -> bool:
    """Whether this person has, or had, a form by this link."""
    with reading(engine) as session:
        begun = (
            select(AssignmentRow.id)
            .join(HitRow, HitRow.id == AssignmentRow.hit_id)
            .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
            .where(HitRow.key == hit_key, WorkerIdentityRow.external_id == worker)
            .where(WorkerIdentityRow.endpoint == HitRow.endpoint)
        )
        return session.scalar(begun.limit(1)) is not None


class _Visit(NamedTuple):
    """A worker who opens a form of a HIT under an assignment id."""

    hit: HitRow
    study: Study
    external_id: str
    worker_id: int
    now: datetime
    program: bool = False
    confirmed: bool = True
    in_hand: int = 0


def _visit(
    session: Session,
    engine: Engine,
    hit_key: str,
    external_hit: str,
    external_id: str,
    worker: str,
    now: datetime,
) -> _Visit | None:
    hit = _hit(session, hit_key, external_hit)
    if hit is None:
        return None
    hold_study(session, hit.study_id)
    worker_id = worker_row(session, hit.endpoint, worker).id
    return _Visit(hit, study_of(engine, hit.study), external_id, worker_id, now)


def _open(session: Session, visit: _Visit, move: bool) -> Opened:
    hit, study, worker_id = visit.hit, visit.study, visit.worker_id
    mine = _mine(session, visit)
    begun = None if mine is None else _begun(session, visit, mine)
    if begun is not None:
        return begun
    done = forms_done(session, study, hit.endpoint, worker_id)
    refused = _refused(session, visit, done, move)
    if refused is not None:
        return refused
    _release(session, visit)
    # A platform that signs counts its places itself.
    beyond = bool(hit.audience or not visit.confirmed) and taken(session, hit) >= hit.assignments
    if beyond and hit.audience:
        return Opened(Outcome.FULL)
    if beyond and not visit.in_hand:
        return Opened(Outcome.BEYOND)
    row_id = _next_row(session, visit, done, mine, beyond)
    if row_id is None:
        return Opened(Outcome.FULL)
    return Opened(Outcome.FORM, _claimed(session, visit, mine, row_id).id)


def _hit(session: Session, key: str, external_id: str) -> HitRow | None:
    """The HIT whose form is asked for; None if our server shows no form of it."""
    hit = session.scalar(select(HitRow).where(HitRow.key == key).options(joinedload(HitRow.study)))
    if hit is None or hit.row_id is not None:
        return None
    # Until `publish` has confirmed the HIT we do not know the platform's id. The unguessable key vouches for
    # it.
    if hit.external_id and external_id and hit.external_id != external_id:
        return None
    return hit


def _mine(session: Session, visit: _Visit) -> AssignmentRow | None:
    """The assignment that this worker has under this id, or has begun by link under another id."""
    mine = session.scalar(
        select(AssignmentRow).where(
            AssignmentRow.endpoint == visit.hit.endpoint,
            AssignmentRow.external_id == visit.external_id,
            AssignmentRow.worker_id == visit.worker_id,
        )
    )
    if mine is None and visit.hit.audience:
        mine = _unanswered(session, visit.hit, visit.worker_id)
        if mine is not None:
            mine.external_id = visit.external_id
    if mine is not None and visit.confirmed:
        mine.confirmed = True
    return mine


def _begun(session: Session, visit: _Visit, mine: AssignmentRow) -> Opened | None:
    """What opening leads to if the worker has begun; None if the worker needs a row again."""
    if mine.study_id != visit.study.id:
        return Opened(Outcome.UNKNOWN)
    if is_compensated(session, mine):
        return Opened(Outcome.COMPENSATED)
    if mine.state in DONE:
        return Opened(Outcome.ANSWERED, mine.id)
    if mine.state == "opened" and mine.holds_row:
        if mine.lease_until is not None and mine.lease_until < visit.now:
            mine.lease_until = _lease(visit)  # nobody else wanted the row
        return Opened(Outcome.FORM, mine.id)
    return None


def _refused(session: Session, visit: _Visit, done: Sequence[AssignmentRow], move: bool) -> Opened | None:
    """Why this worker gets no row, if there is a reason; `move` says that they returned their open form."""
    hit, study, worker_id = visit.hit, visit.study, visit.worker_id
    if len(done) >= forms_allowed(session, study, hit.endpoint, worker_id):
        return Opened(Outcome.LIMIT)
    if is_kept_out(session, study, hit.endpoint, worker_id):
        return Opened(Outcome.KEPT_OUT)
    if hit.audience and hit.expires_at is not None and hit.expires_at <= visit.now:
        return Opened(Outcome.CLOSED)
    in_hand = None if move else _in_hand(session, hit, worker_id, visit.now)
    return None if in_hand is None else Opened(Outcome.IN_HAND, in_hand)


def _next_row(
    session: Session,
    visit: _Visit,
    done: Sequence[AssignmentRow],
    mine: AssignmentRow | None,
    beyond: bool,
) -> int | None:
    """A free row for this worker; None if every row is taken.

    `beyond` the places of its HIT, a claim that nobody has confirmed gets no row that somebody may still be
    at work on. And the worker who opened a form first, and may have returned it, gives up the hold: invented
    claims at one HIT never hold more rows than it has places.
    """
    done_rows = [other.row_id for other in done if other.row_id is not None]
    own = mine.row_id if mine is not None else None
    row_id = free_row(session, visit.hit, done_rows, own, visit.now, unshown=beyond)
    if row_id is not None and beyond:
        give_up(session, visit.hit)
    if row_id is None and not visit.hit.audience and release_returned(session, visit.hit, visit.now):
        row_id = free_row(session, visit.hit, done_rows, own, visit.now)
    return row_id


def _claimed(session: Session, visit: _Visit, mine: AssignmentRow | None, row_id: int) -> AssignmentRow:
    """The assignment with its row, under a lease."""
    hit = visit.hit
    if mine is None:
        mine = AssignmentRow(
            study_id=hit.study_id,
            hit_id=hit.id,
            endpoint=hit.endpoint,
            external_id=visit.external_id,
            worker_id=visit.worker_id,
            state="opened",
            confirmed=visit.confirmed,
        )
        session.add(mine)
    mine.hit_id, mine.state, mine.opened_at = hit.id, "opened", visit.now
    mine.row_id, mine.holds_row, mine.lease_until = row_id, True, _lease(visit)
    mine.by_program = visit.program
    session.flush()
    return mine


def _lease(visit: _Visit) -> datetime:
    """Until when a row is kept for a worker who opens its form now."""
    return visit.now + timedelta(minutes=visit.study.settings.hit.assignment_minutes) + GRACE


def _in_hand(session: Session, hit: HitRow, worker_id: int, now: datetime) -> int | None:
    """The form that this worker has open in another HIT of the study: platforms let a worker take several."""
    other = select(AssignmentRow.id).where(
        AssignmentRow.study_id == hit.study_id,
        AssignmentRow.endpoint == hit.endpoint,
        AssignmentRow.worker_id == worker_id,
        AssignmentRow.hit_id != hit.id,
        AssignmentRow.state == "opened",
        AssignmentRow.holds_row,
        AssignmentRow.lease_until >= now,
    )
    return session.scalar(other.limit(1)) if not hit.audience else None


def _unanswered(session: Session, hit: HitRow, worker_id: int) -> AssignmentRow | None:
    """The form that this person has begun by link and not answered. It is the same form in every session.

    With a form for each session, one person could answer two.
    """
    begun = select(AssignmentRow).where(
        AssignmentRow.study_id == hit.study_id,
        AssignmentRow.endpoint == hit.endpoint,
        AssignmentRow.worker_id == worker_id,
        AssignmentRow.state.in_(("opened", "superseded")),
    )
    return session.scalar(begun.order_by(AssignmentRow.id.desc()).limit(1))


def _release(session: Session, visit: _Visit) -> None:
    """Release rows whose lease ran out, and rows that this worker left unanswered elsewhere in the study.

    Release also the row of an earlier worker under the same assignment id: platforms reuse such ids. Who is
    not confirmed cannot end the lease of anybody who may be somebody else.
    """
    over = over_time = AssignmentRow.lease_until < visit.now
    if visit.confirmed:
        same = or_(AssignmentRow.worker_id == visit.worker_id, AssignmentRow.external_id == visit.external_id)
        over = or_(over, same)
    session.execute(
        update(AssignmentRow)
        .where(
            AssignmentRow.study_id == visit.study.id,
            AssignmentRow.endpoint == visit.hit.endpoint,
            AssignmentRow.state == "opened",
            AssignmentRow.holds_row,
            over,
        )
        .values(
            holds_row=False,
            state="superseded",
            lease_until=case((over_time, AssignmentRow.lease_until), else_=visit.now),
        )
        .execution_options(synchronize_session="fetch")
    )
    session.flush()


def keep_answers(
    engine: Engine, assignment_id: int, fields: Mapping[str, str], now: datetime, *, program: bool = False
) -> Mapping[str, str]:
    """Keep the answers of a form; the first complete set stays. Returns the set that is kept, once it is on
    the disk."""
    with writing(engine) as session:
        assignment = session.get_one(
            AssignmentRow, assignment_id, options=[joinedload(AssignmentRow.hit).joinedload(HitRow.study)]
        )
        hold_study(session, assignment.hit.study_id)
        session.refresh(assignment, ["state", "row_id", "holds_row", "confirmed"])
        kept = session.scalar(
            select(AnswerRow).where(AnswerRow.assignment_id == assignment_id, AnswerRow.source == "server")
        )
        if kept is not None:
            return dict(kept.fields)
        passed_on = is_passed_on(session, assignment)
        session.add(
            AnswerRow(assignment_id=assignment_id, source="server", fields=dict(fields), received_at=now)
        )
        assignment.answered_at, assignment.by_program = now, program
        assignment.consent_version = read_answers(fields).consent
        if passed_on:
            return dict(fields)
        if assignment.state in ("opened", "superseded"):
            # Superseded: the lease ran out while the worker was at work. The answers are still kept.
            assignment.state = "answered"
            row_id = assignment.row_id
            assignment.holds_row = assignment.holds_row or (
                row_id is not None and row_is_free(session, assignment.endpoint, row_id)
            )
        # Links have no list: our own record of who answered is enough. Others are listed once they are known.
        if not assignment.hit.audience and assignment.confirmed:
            session.flush()
            study = study_of(engine, assignment.hit.study)
            intend_exclusion(session, study, assignment.endpoint, assignment.worker_id)
        return dict(fields)
