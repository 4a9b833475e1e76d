"""Rows that nobody holds: which one is free for a worker, and how many places of a HIT are taken."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from humaneval.crowd.participants import DONE
from humaneval.store.tables import AssignmentRow, HitRow, PassageRow, RowPassageRow, RowRow


def row_is_free(session: Session, endpoint: str, row_id: int) -> bool:
    """Whether nobody holds the row at this endpoint."""
    held = select(AssignmentRow.id).where(
        AssignmentRow.endpoint == endpoint, AssignmentRow.row_id == row_id, AssignmentRow.holds_row
    )
    return session.scalar(held) is None


def free_row(
    session: Session,
    hit: HitRow,
    done_rows: Sequence[int],
    own: int | None,
    now: datetime,
    *,
    unshown: bool = False,
) -> int | None:
    """The first free row of the study that shows no story this worker has met; `own` comes before others.

    Last come rows that somebody gave up and may still be at work on; with `unshown` they do not come at all.
    """
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
    shown = (
        select(AssignmentRow.id)
        .where(AssignmentRow.row_id == RowRow.id, AssignmentRow.endpoint == hit.endpoint)
        .where(AssignmentRow.state == "superseded", AssignmentRow.lease_until > now)
        .exists()
    )
    mine = RowRow.id == own
    if unshown:
        query = query.where(or_(mine, ~shown))
    return session.scalar(query.order_by(~mine, shown, RowRow.ordinal).limit(1))


def give_up(session: Session, hit: HitRow) -> None:
    """Let the worker who opened a form of the HIT first, and has not answered, hold it no longer.

    Their answers are still kept, and hold the row again if nobody else has it. Unconfirmed claims go first.
    """
    held = select(AssignmentRow).where(
        AssignmentRow.hit_id == hit.id, AssignmentRow.holds_row, AssignmentRow.state == "opened"
    )
    first = session.scalar(held.order_by(AssignmentRow.confirmed, AssignmentRow.opened_at).limit(1))
    if first is not None:
        first.holds_row, first.state = False, "superseded"
        session.flush()


def taken(session: Session, hit: HitRow) -> int:
    """How many places of a link are taken; no platform counts them for us. A row that is handed out again
    frees its place."""
    here = (
        select(func.count())
        .select_from(AssignmentRow)
        .where(AssignmentRow.hit_id == hit.id, ~AssignmentRow.row_replaced)
    )
    return session.scalar(here.where(or_(AssignmentRow.holds_row, AssignmentRow.state.in_(DONE)))) or 0


def release_returned(session: Session, hit: HitRow, now: datetime) -> bool:
    """Release rows of workers who must have returned the HIT. Says whether any row was released.

    If every place of the HIT but one is answered, the other workers with an open form have returned it.
    A platform never lets more workers into a HIT than it has places.
    """
    here = (AssignmentRow.hit_id == hit.id, AssignmentRow.holds_row)
    answered = (
        session.scalar(
            select(func.count())
            .select_from(AssignmentRow)
            .where(
                *here,
                AssignmentRow.state.in_(DONE),
                # Answered, not submitted and out of time: the platform offers that place again.
                or_(AssignmentRow.state != "answered", AssignmentRow.lease_until >= now),
            )
        )
        or 0
    )
    if hit.assignments - answered > 1:
        return False
    returned = session.scalars(select(AssignmentRow).where(*here, AssignmentRow.state == "opened")).all()
    for assignment in returned:
        assignment.holds_row, assignment.state, assignment.lease_until = False, "superseded", now
    session.flush()
    return bool(returned)
