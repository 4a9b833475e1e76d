"""Rows that nobody holds: which one is free for a worker, and how many places of a HIT are taken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import partial

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
    union,
    update,
)
from sqlalchemy.orm import Session

from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.participants import DONE
from humaneval.store.tables import AssignmentRow, GapRow, HitRow, PassageRow, RowPassageRow, RowRow
from humaneval.store.types import padded, table

_rows, _work, _other = table(RowRow), table(AssignmentRow), table(AssignmentRow).alias("other")
_gaps, _hits = table(GapRow), table(HitRow)


def _holds(of: str) -> ColumnElement[bool]:
    """Written as in the index of held rows. SQLite uses it only then, and SQLAlchemy would write `= 1`."""
    return type_coerce(literal_column(f"{of}.holds_row"), Boolean)


def _held_by(row: ColumnElement[int]) -> ColumnElement[bool]:
    other = (_other.c.row_id == row, _other.c.endpoint == bindparam("at"), _holds("other"))
    return select(_other.c.id).where(*other).exists()


def _shown(row: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether somebody gave the row up and may still be at work on it."""
    live = (_other.c.state == "superseded", _other.c.lease_until > bindparam("now"))
    theirs = select(_other.c.id).where(_other.c.row_id == row, _other.c.endpoint == bindparam("at"), *live)
    return theirs.offset(0).exists()  # or PostgreSQL would read all claims at once, for a join


_IS_HELD = select(_work.c.id).where(
    _work.c.endpoint == bindparam("at"), _work.c.row_id == bindparam("row"), _holds("assignments")
)

_held = (_work.c.study_id == bindparam("study"), _work.c.endpoint == bindparam("at"), _holds("assignments"))
_last = select(func.max(_work.c.row_id)).where(*_held).scalar_subquery()
_after = _rows.alias("last_row")
_end = func.coalesce(select(_after.c.ordinal).where(_after.c.id == _last).scalar_subquery(), -1)

Condition = Callable[[ColumnElement[int]], ColumnElement[bool]]
"""What is asked of a row, by its id."""


def _free(*asked: Condition) -> Select[int]:
    """The first free rows, in their order: gaps, and then those after the last one that is held.

    Each part stops at what it needs. A walk over all rows would find the same, and would grow with them.
    """
    here = (_gaps.c.study_id == bindparam("study"), _gaps.c.endpoint == bindparam("at"))
    gaps = select(_gaps.c.row_id.label("id")).where(*here, *(each(_gaps.c.row_id) for each in asked))
    rest = select(_rows.c.id).where(_rows.c.study_id == bindparam("study"), _rows.c.ordinal > _end)
    rest = rest.where(*(each(_rows.c.id) for each in asked))
    found = union(
        select(gaps.order_by(_gaps.c.row_id).limit(bindparam("most")).subquery()),
        select(rest.order_by(_rows.c.ordinal).limit(bindparam("most")).subquery()),
    ).subquery()
    return select(found.c.id).order_by(found.c.id).limit(bindparam("most"))


def _unshown(row: ColumnElement[int]) -> ColumnElement[bool]:
    return ~_shown(row)


_FREE, _UNSHOWN = _free(), _free(_unshown)
_OWN = select(_rows.c.id).where(_rows.c.id == bindparam("own"), ~_held_by(_rows.c.id))
_EXPIRED = (
    update(_work)
    .where(_work.c.study_id == bindparam("study"), _work.c.endpoint == bindparam("at"))
    .where(literal_column("state = 'opened'"), _holds("assignments"), _work.c.lease_until < bindparam("now"))
    .values(holds_row=False, state="superseded")
)

_PLACES = select(_hits.c.id, _hits.c.taken).where(_hits.c.id.in_(bindparam("hits", expanding=True)))


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
    return connection.scalars(_UNSHOWN, given).all()


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
    given = {"study": hit.study_id, "at": hit.endpoint, "now": now, "most": 1}
    free, free_unshown, free_own = _FREE, _UNSHOWN, _OWN
    if done_rows:
        new = partial(_shows_none_of, done_rows)
        free, free_unshown, free_own = _free(new), _free(new, _unshown), _OWN.where(new(_rows.c.id))
    row_id: int | None = None
    if own is not None:
        row_id = connection.scalar(free_own, {"at": hit.endpoint, "own": own})
    if row_id is None:
        row_id = connection.scalar(free_unshown, given)
    if row_id is None and not unshown:
        row_id = connection.scalar(free, given)
    return row_id


def _shows_none_of(done_rows: Sequence[int], row: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether the row shows no story of these rows."""
    places, passages = table(RowPassageRow), table(PassageRow)
    with_passage = places.join(passages, passages.c.id == places.c.passage_id)
    met = select(passages.c.story_id).select_from(with_passage).where(places.c.row_id.in_(done_rows))
    repeats = (
        select(places.c.row_id)
        .select_from(with_passage)
        .where(places.c.row_id == row, passages.c.story_id.in_(met))
    )
    return ~repeats.offset(0).exists()  # as in `_shown`


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
    at = (_work.c.study_id == hit.study_id, _work.c.endpoint == hit.endpoint)
    still = select(_work.c.id, _work.c.hit_id).where(*at, _work.c.state == "opened", _holds("assignments"))
    found = connection.execute(still.where(_work.c.id.in_(padded(claims))))
    of = {row.id: row.hit_id for row in found}
    here = [each for each in claims if of.get(each) == hit.id]
    if not here and taken(connection, hit) < hit.assignments:
        here = [each for each in claims if each in of]
    if here:
        _released(connection, _work.c.id == here[0], now=now)


def taken(connection: Connection, hit: FoundHit) -> int:
    """How many places of a HIT or link are taken. A row that is handed out again frees its place."""
    return places_taken(connection, [hit.id])[hit.id]


def places_taken(connection: Connection, hits: Collection[int]) -> dict[int, int]:
    """How many places of each of these HITs are taken."""
    return {row.id: row.taken for row in connection.execute(_PLACES, {"hits": padded(list(hits))})}


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
