"""Hands rows to workers: the next free row, once, under a lease; and keeps their answers the moment they
arrive.

Opening an accepted form is the one write that a GET may do. It is idempotent by (endpoint, assignment,
worker).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Engine, and_, func, or_, select, update
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.answers import read_answers
from humaneval.crowd.form_of_row import is_passed_on
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
    PassageRow,
    RowPassageRow,
    RowRow,
    WorkerIdentityRow,
)
from humaneval.study.stored import settings_of

GRACE = timedelta(minutes=5)
"""After the platform's own deadline, for clocks that differ and answers on their way."""


class Outcome(StrEnum):
    """What opening a form led to."""

    FORM = "form"
    ANSWERED = "answered"
    """These answers are safe already; only the hand-over to the platform may be missing."""
    FULL = "full"
    """Every row is taken."""
    LIMIT = "limit"
    """This person has done as many forms as the study allows."""
    IN_HAND = "in hand"
    """This person has a form of the study open in another HIT."""
    KEPT_OUT = "kept out"
    """This person is blocked, on the study's list, or took part in a study that this one excludes."""
    COMPENSATED = "compensated"
    """What this person lost of this form is made good, by a HIT of its own: it is not done, and paid,
    again."""
    CLOSED = "closed"
    """A link of ours that takes nobody new."""
    UNKNOWN = "unknown"
    """Not a HIT of ours."""


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
) -> Opened:
    """Give (assignment, worker) its row: the one it has, else the next free one.

    Who has a form open in another HIT keeps it there, unless `move` says that they returned that one.
    """
    with writing(engine) as session:
        return _open(session, hit_key, external_hit, assignment, worker, now, move)


def reopen_form(engine: Engine, assignment_id: int, now: datetime) -> Opened:
    """The same for someone who comes back to a claim of theirs."""
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
        return _open(session, mine.key, "", mine.external_id, worker, now, False)


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


def _open(
    session: Session,
    hit_key: str,
    external_hit: str,
    external_id: str,
    worker_id: str,
    now: datetime,
    move: bool,
) -> Opened:
    hit = session.scalar(select(HitRow).where(HitRow.key == hit_key).options(joinedload(HitRow.study)))
    # Until publish has confirmed the HIT we do not know the platform's id; the unguessable key vouches for
    # it.
    if (
        hit is None
        or hit.row_id is not None
        or (hit.external_id and external_hit and hit.external_id != external_hit)
    ):
        return Opened(Outcome.UNKNOWN)
    hold_study(session, hit.study.name)
    worker = worker_row(session, hit.endpoint, worker_id)
    mine = session.scalar(
        select(AssignmentRow).where(
            AssignmentRow.endpoint == hit.endpoint,
            AssignmentRow.external_id == external_id,
            AssignmentRow.worker_id == worker.id,
        )
    )
    if mine is not None and mine.study_id != hit.study_id:
        return Opened(Outcome.UNKNOWN)
    if mine is None and hit.audience:
        mine = _unanswered(session, hit, worker.id)
        if mine is not None:
            mine.external_id = external_id
    if mine is not None and is_compensated(session, mine):
        return Opened(Outcome.COMPENSATED)
    if mine is not None and mine.state in DONE:
        return Opened(Outcome.ANSWERED, mine.id)
    if mine is not None and mine.state == "opened" and mine.holds_row:
        if mine.lease_until is not None and mine.lease_until < now:
            mine.lease_until = _lease(hit, now)  # nobody wanted the row meanwhile
        return Opened(Outcome.FORM, mine.id)
    done = forms_done(session, hit.study, hit.endpoint, worker.id)
    if len(done) >= forms_allowed(session, hit.study, hit.endpoint, worker.id):
        return Opened(Outcome.LIMIT)
    if is_kept_out(session, hit.study, hit.endpoint, worker.id):
        return Opened(Outcome.KEPT_OUT)
    if hit.audience and hit.expires_at is not None and hit.expires_at <= now:
        return Opened(Outcome.CLOSED)
    in_hand = None if move else _in_hand(session, hit, worker.id, now)
    if in_hand is not None:
        return Opened(Outcome.IN_HAND, in_hand)
    _release(session, hit, external_id, worker.id, now)
    if hit.audience and _taken(session, hit) >= hit.assignments:
        return Opened(Outcome.FULL)
    done_rows = [other.row_id for other in done if other.row_id is not None]
    own = mine.row_id if mine is not None else None
    row_id = _free_row(session, hit, done_rows, own)
    if row_id is None and not hit.audience and _release_returned(session, hit, now):
        row_id = _free_row(session, hit, done_rows, own)
    if row_id is None:
        return Opened(Outcome.FULL)
    if mine is None:
        mine = AssignmentRow(
            study_id=hit.study_id,
            hit_id=hit.id,
            endpoint=hit.endpoint,
            external_id=external_id,
            worker_id=worker.id,
            state="opened",
        )
        session.add(mine)
    mine.hit_id, mine.state, mine.row_id, mine.holds_row, mine.opened_at = hit.id, "opened", row_id, True, now
    mine.lease_until = _lease(hit, now)
    session.flush()
    return Opened(Outcome.FORM, mine.id)


def _lease(hit: HitRow, now: datetime) -> datetime:
    """Until when a row is kept for somebody who opens its form now."""
    return now + timedelta(minutes=settings_of(hit.study).hit.assignment_minutes) + GRACE


def _in_hand(session: Session, hit: HitRow, worker_id: int, now: datetime) -> int | None:
    """The form that this person has open in another HIT of the study: a platform lets them take several."""
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
    """What this person has begun by link and not answered: whatever session they come with now, it is the
    same form.

    With a form for each session one person could answer two.
    """
    begun = select(AssignmentRow).where(
        AssignmentRow.study_id == hit.study_id,
        AssignmentRow.endpoint == hit.endpoint,
        AssignmentRow.worker_id == worker_id,
        AssignmentRow.state.in_(("opened", "superseded")),
    )
    return session.scalar(begun.order_by(AssignmentRow.id.desc()).limit(1))


def _release(session: Session, hit: HitRow, external_id: str, worker_id: int, now: datetime) -> None:
    """Let go of rows whose lease ran out, of what this worker has left unanswered elsewhere in the study, and
    of an earlier worker's claim under the same assignment id: the platform gave that id to somebody else."""
    session.execute(
        update(AssignmentRow)
        .where(
            AssignmentRow.study_id == hit.study_id,
            AssignmentRow.endpoint == hit.endpoint,
            AssignmentRow.state == "opened",
            AssignmentRow.holds_row,
            or_(
                AssignmentRow.lease_until < now,
                AssignmentRow.worker_id == worker_id,
                and_(AssignmentRow.external_id == external_id, AssignmentRow.worker_id != worker_id),
            ),
        )
        .values(holds_row=False, state="superseded")
        .execution_options(synchronize_session="fetch")
    )
    session.flush()


def _release_returned(session: Session, hit: HitRow, now: datetime) -> bool:
    """Where every place of the HIT but this one is answered, whoever else has it open has returned it: a platform
    never has more people at a HIT than it has places. Says whether that let go of a row."""
    here = (AssignmentRow.hit_id == hit.id, AssignmentRow.holds_row)
    taken = (
        session.scalar(
            select(func.count())
            .select_from(AssignmentRow)
            .where(
                *here,
                AssignmentRow.state.in_(DONE),
                # Answered, never handed over and out of time: that place is on offer again.
                or_(AssignmentRow.state != "answered", AssignmentRow.lease_until >= now),
            )
        )
        or 0
    )
    if hit.assignments - taken > 1:
        return False
    returned = session.scalars(select(AssignmentRow).where(*here, AssignmentRow.state == "opened")).all()
    for assignment in returned:
        assignment.holds_row, assignment.state = False, "superseded"
    session.flush()
    return bool(returned)


def _taken(session: Session, hit: HitRow) -> int:
    """How many places of a link of ours are taken: no platform counts them for us. A row that is handed out
    again has its place again."""
    here = (
        select(func.count())
        .select_from(AssignmentRow)
        .where(AssignmentRow.hit_id == hit.id, ~AssignmentRow.row_replaced)
    )
    return session.scalar(here.where(or_(AssignmentRow.holds_row, AssignmentRow.state.in_(DONE)))) or 0


def row_is_free(session: Session, endpoint: str, row_id: int) -> bool:
    """Whether nobody holds the row on this endpoint."""
    held = select(AssignmentRow.id).where(
        AssignmentRow.endpoint == endpoint, AssignmentRow.row_id == row_id, AssignmentRow.holds_row
    )
    return session.scalar(held) is None


def _free_row(session: Session, hit: HitRow, done_rows: list[int], own: int | None) -> int | None:
    """The first row of the study that nobody holds and that shows no story this worker has met; `own` before
    others."""
    held = select(AssignmentRow.id).where(
        AssignmentRow.row_id == RowRow.id, AssignmentRow.endpoint == hit.endpoint, AssignmentRow.holds_row
    )
    query = select(RowRow.id).where(RowRow.study_id == hit.study_id, ~held.exists())
    if done_rows:
        met = select(PassageRow.story_id).join(RowPassageRow).where(RowPassageRow.row_id.in_(done_rows))
        repeats = (
            select(RowPassageRow.row_id)
            .join(PassageRow)
            .where(RowPassageRow.row_id == RowRow.id, PassageRow.story_id.in_(met))
        )
        query = query.where(~repeats.exists())
    return session.scalar(query.order_by(RowRow.id != own, RowRow.ordinal).limit(1))


def keep_answers(
    engine: Engine, assignment_id: int, fields: Mapping[str, str], now: datetime
) -> Mapping[str, str]:
    """Keep the answers of a form; the first complete set stays. Returns the set that is kept, safe on the
    disk."""
    with writing(engine) as session:
        assignment = session.get_one(
            AssignmentRow, assignment_id, options=[joinedload(AssignmentRow.hit).joinedload(HitRow.study)]
        )
        hold_study(session, assignment.hit.study.name)
        session.refresh(assignment, ["state", "row_id", "holds_row"])
        kept = session.scalar(
            select(AnswerRow).where(AnswerRow.assignment_id == assignment_id, AnswerRow.source == "server")
        )
        if kept is not None:
            return dict(kept.fields)
        passed_on = is_passed_on(session, assignment)
        session.add(
            AnswerRow(assignment_id=assignment_id, source="server", fields=dict(fields), received_at=now)
        )
        assignment.answered_at = now
        assignment.consent_version = read_answers(fields).consent
        if passed_on:
            return dict(fields)
        if assignment.state in ("opened", "superseded"):
            # Superseded: the lease ran out under the worker's hands. What arrived is kept all the same.
            assignment.state = "answered"
            row_id = assignment.row_id
            assignment.holds_row = assignment.holds_row or (
                row_id is not None and row_is_free(session, assignment.endpoint, row_id)
            )
        if not assignment.hit.audience:  # links have no list: our own record of who answered is all there is
            session.flush()
            intend_exclusion(session, assignment.hit.study, assignment.endpoint, assignment.worker_id)
        return dict(fields)
