"""Rows that nobody holds: which one is free for a worker, and how many places of a HIT are taken."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
    update,
)
from sqlalchemy.orm import Session

from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.participants import DONE
from humaneval.store.tables import AssignmentRow, PassageRow, RowPassageRow, RowRow
from humaneval.store.types import padded, table

_rows, _work, _other = table(RowRow), table(AssignmentRow), table(AssignmentRow).alias("other")


def _holds(of: str) -> ColumnElement[bool]:
    """Written as in the index of held rows. SQLite uses it only then, and SQLAlchemy would write `= 1`."""
    return type_coerce(literal_column(f"{of}.holds_row"), Boolean)


def _held_by(row: ColumnElement[int]) -> ColumnElement[bool]:
    other = (_other.c.row_id == row, _other.c.endpoint == bindparam("at"), _holds("other"))
    return select(_other.c.id).where(*other).exists()


def _shown(row: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether somebody gave the row up and may still be at work on it."""
    live = (_other.c.state == "superseded", _other.c.lease_until > bindparam("now"))
    return (
        select(_other.c.id)
        .where(_other.c.row_id == row, _other.c.endpoint == bindparam("at"), *live)
        .exists()
    )


_IS_HELD = select(_work.c.id).where(
    _work.c.endpoint == bindparam("at"), _work.c.row_id == bindparam("row"), _holds("assignments")
)

# In nearly every study the rows that are held are the first ones, without a gap, and the next one is free. To
# count them is quick, however many there are: an index has nothing else in it.
_held = (_work.c.study_id == bindparam("study"), _work.c.endpoint == bindparam("at"), _holds("assignments"))
_of_study = _rows.c.study_id == bindparam("study")
_first = select(func.min(_rows.c.ordinal)).where(_of_study).scalar_subquery()
_count = select(func.count()).select_from(_work).where(*_held).scalar_subquery()
_last = select(func.max(_work.c.row_id)).where(*_held).scalar_subquery()
_after = _rows.alias("last_row")
_taken = func.coalesce(select(_after.c.ordinal).where(_after.c.id == _last).scalar_subquery() + 1, _first)
_NEXT = (
    select(_rows.c.id)
    .where(_of_study, _rows.c.ordinal >= _taken, _count == _taken - _first, ~_shown(_rows.c.id))
    .order_by(_rows.c.ordinal)
    .limit(bindparam("most"))
)
_FREE = select(_rows.c.id).where(_of_study, ~_held_by(_rows.c.id)).order_by(_rows.c.ordinal)
_UNSHOWN = _FREE.where(~_shown(_rows.c.id)).limit(bindparam("most"))
_EXPIRED = (
    update(_work)
    .where(_work.c.study_id == bindparam("study"), _work.c.endpoint == bindparam("at"))
    .where(literal_column("state = 'opened'"), _holds("assignments"), _work.c.lease_until < bindparam("now"))
    .values(holds_row=False, state="superseded")
)

_CLAIMED = select(func.count()).select_from(_work).where(_work.c.hit_id == bindparam("hit"))
_CLAIMS = (
    select(_work.c.hit_id, func.count().label("claims"))
    .where(_work.c.hit_id.in_(bindparam("hits", expanding=True)))
    .group_by(_work.c.hit_id)
)
_TAKEN = _CLAIMED.where(~_work.c.row_replaced, or_(_holds("assignments"), _work.c.state.in_(DONE)))


def row_is_free(session: Session | Connection, endpoint: str, row_id: int) -> bool:
    """Whether nobody holds the row at this endpoint."""
    return session.execute(_IS_HELD, {"at": endpoint, "row": row_id}).first() is None


def release_expired(connection: Connection, hit: FoundHit, now: datetime) -> bool:
    """Release the study's rows whose lease ran out. Says whether there were any."""
    given = {"study": hit.study_id, "at": hit.endpoint, "now": now}
    return connection.execute(_EXPIRED, given).rowcount > 0


def next_rows(connection: Connection, hit: FoundHit, most: int, now: datetime) -> Sequence[int]:
    """Up to `most` free rows of the study, in their order, without those that somebody gave up and may still
    be at work on."""
    given = {"study": hit.study_id, "at": hit.endpoint, "most": most, "now": now}
    return connection.scalars(_NEXT, given).all() or connection.scalars(_UNSHOWN, given).all()


def free_row(
    connection: Connection,
    hit: FoundHit,
    done_rows: Sequence[int],
    own: int | None,
    now: datetime,
    *,
    unshown: bool = False,
) -> int | None:
    """The first free row of the study that shows no story this worker has met. `own` comes before others.
    Rows that somebody gave up, and may still be at work on, come last, or not at all with `unshown`.
    """
    given = {"study": hit.study_id, "at": hit.endpoint, "now": now}
    free = _FREE.limit(1)
    if done_rows:
        places, passages = table(RowPassageRow), table(PassageRow)
        with_passage = places.join(passages, passages.c.id == places.c.passage_id)
        met = select(passages.c.story_id).select_from(with_passage).where(places.c.row_id.in_(done_rows))
        repeats = (
            select(places.c.row_id)
            .select_from(with_passage)
            .where(places.c.row_id == _rows.c.id, passages.c.story_id.in_(met))
        )
        free = free.where(~repeats.exists())
    # Each stops at the first row that it finds; in the order of all of them, every row would be looked at.
    row_id: int | None = None
    if own is not None:
        row_id = connection.scalar(free.where(_rows.c.id == own), given)
    if row_id is None and not done_rows:
        row_id = connection.scalar(_NEXT, {**given, "most": 1})
    if row_id is not None:
        return row_id
    first: int | None = connection.scalar(free, given)
    if first is None:
        return None
    row_id = connection.scalar(free.where(~_shown(_rows.c.id)), given)
    return first if row_id is None and not unshown else row_id


def give_up(connection: Connection, hit: FoundHit) -> None:
    """Let the worker who opened a form of the HIT first, and has not answered, hold it no longer.

    Their answers are still kept, and hold the row again if nobody else has it. Unconfirmed claims go first.
    """
    held = select(_work.c.id).where(
        _work.c.hit_id == hit.id, _holds("assignments"), _work.c.state == "opened"
    )
    first = connection.scalar(held.order_by(_work.c.confirmed, _work.c.opened_at).limit(1))
    if first is not None:
        connection.execute(
            update(_work).where(_work.c.id == first).values(holds_row=False, state="superseded")
        )


def release_invented(connection: Connection, hit: FoundHit, there: Collection[str], now: datetime) -> bool:
    """Release one row of a worker whom the platform has not confirmed, and whose assignment is not among
    those that are `there`: first the oldest that is not answered. Says whether there was any. Answers are
    kept, and hold the row again if nobody else has it.
    """
    held = select(_work.c.id, _work.c.external_id).where(
        _work.c.hit_id == hit.id,
        _holds("assignments"),
        _work.c.state.in_(("opened", "answered")),
        ~_work.c.confirmed,
    )
    found = connection.execute(held.order_by(_work.c.state != "opened", _work.c.opened_at))
    first = next((row.id for row in found if row.external_id not in there), None)
    return first is not None and _released(connection, _work.c.id == first, now=now) > 0


def held_assignments(connection: Connection, hit: FoundHit, most: int) -> Sequence[str]:
    """The platform's ids of up to `most` assignments of a HIT that hold rows and are not collected."""
    held = select(_work.c.external_id).where(
        _work.c.hit_id == hit.id, _holds("assignments"), _work.c.state.in_(("opened", "answered"))
    )
    return connection.scalars(held.order_by(_work.c.opened_at).limit(most)).all()


def give_back(connection: Connection, hit_id: int, assignments: Collection[str], now: datetime) -> int:
    """Release the rows of assignments whose places the platform has opened again. Returns how many. Work that
    was collected, and then returned there, no longer counts. Answers are kept in any case.
    """
    theirs = (_work.c.hit_id == hit_id, _work.c.external_id.in_(assignments))
    return _released(
        connection,
        *theirs,
        or_(
            _holds("assignments") & _work.c.state.in_(("opened", "answered", "rejected")),
            _work.c.state == "submitted",
        ),
        now=now,
    )


def _released(connection: Connection, *claims: ColumnElement[bool], now: datetime) -> int:
    """Release the rows of these claims, and keep the answers. Returns how many."""
    state = case((_work.c.state.in_(("opened", "submitted")), "superseded"), else_=_work.c.state)
    held = update(_work).where(*claims)
    return connection.execute(held.values(holds_row=False, lease_until=now, state=state)).rowcount


def give_way(connection: Connection, hit: FoundHit, claims: Sequence[int], now: datetime) -> None:
    """Release the row of the first of `claims` that is still open. Its answers are still kept.

    If this link has places, it may be a claim by another link of the study.
    """
    held = (_work.c.study_id == hit.study_id, _work.c.endpoint == hit.endpoint, _holds("assignments"))
    still = select(_work.c.id, _work.c.hit_id).where(*held, _work.c.state == "opened")
    of = {row.id: row.hit_id for row in connection.execute(still)}
    here = [each for each in claims if of.get(each) == hit.id]
    if not here and taken(connection, hit) < hit.assignments:
        here = [each for each in claims if each in of]
    if here:
        _released(connection, _work.c.id == here[0], now=now)


def taken(connection: Connection, hit: FoundHit) -> int:
    """How many places of a HIT or link are taken. A row that is handed out again frees its place."""
    most = connection.execute(_CLAIMED, {"hit": hit.id}).scalar_one()
    if most < hit.assignments:  # an index counts quickly; the exact count is needed only at the end
        return int(most)
    return int(connection.execute(_TAKEN, {"hit": hit.id}).scalar_one())


def places_taken(connection: Connection, hits: Collection[int]) -> dict[int, int]:
    """How many claims each of these HITs has: at least as many as places are taken."""
    return {row.hit_id: row.claims for row in connection.execute(_CLAIMS, {"hits": padded(list(hits))})}


def release_returned(connection: Connection, hit: FoundHit, now: datetime) -> bool:
    """Release rows of workers who must have returned the HIT. Says whether any row was released.

    If every place of the HIT but one is answered, the other workers with an open form have returned it.
    A platform never lets more workers into a HIT than it has places.
    """
    here = (_work.c.hit_id == hit.id, _holds("assignments"))
    answered = select(func.count()).where(
        *here,
        _work.c.state.in_(DONE),
        # Answered, not submitted and out of time: the platform offers that place again.
        or_(_work.c.state != "answered", _work.c.lease_until >= now),
    )
    if hit.assignments - (connection.scalar(answered) or 0) > 1:
        return False
    return _released(connection, *here, _work.c.state == "opened", now=now) > 0
