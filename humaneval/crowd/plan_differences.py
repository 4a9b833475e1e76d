"""Compares a platform's HITs with the plan, and keeps each difference until a person accepts it.

The books use what the platform pays: they read the figures there from here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.hit_terms import LIFETIME, PLACES, Difference, Differs, compare, planned_figures
from humaneval.crowd.more_places import MorePlaces, confirm_places, places_to_give
from humaneval.crowd.platform import UNASKED, Standing, Terms
from humaneval.crowd.published_hits import GONE, PUBLISH, UpHit, hits_of, submitted
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import reading, writing
from humaneval.store.tables import DifferenceRow, OutboxRow, StudyRow
from humaneval.store.types import now
from humaneval.study.stored import Study


@dataclass(frozen=True, slots=True)
class _Changes:
    """Differences that are over, and new ones; places that were given although no program lived to say so."""

    over: list[DifferenceRow]
    new: list[DifferenceRow]
    given: list[MorePlaces]


def _changes(session: Session, at: StudyAtPlatform, seen: Mapping[int, Terms | None]) -> _Changes:
    """What `seen` changes. The terms of a HIT that is gone are None."""
    moment, over, new, given = now(), [], [], []
    open_rows = open_differences(session, at.study, at.endpoint)
    published = select(OutboxRow.subject, OutboxRow.request).where(
        OutboxRow.study_id == at.id, OutboxRow.endpoint == at.endpoint, OutboxRow.operation == PUBLISH
    )
    requests = {row.subject: row.request for row in session.execute(published)}
    waiting = places_to_give(session, at)
    for hit in hits_of(session, at.study, at.endpoint):
        if hit.id not in seen:
            continue
        there = seen[hit.id]
        before = {row.what: row for row in open_rows[hit.id]}
        if there is None:
            found = {GONE: Differs("up", "gone")}
        else:
            plan = planned_figures(at.settings, hit, requests.get(f"hit {hit.id}", {}))
            found = compare(plan, hit.expires_at, there, moment)
            if LIFETIME in found and hit.next_expires_at is not None:  # a call that was perhaps interrupted
                found = compare(plan, hit.next_expires_at, there, moment)
            mine = [each for each in waiting if each.hit_id == hit.id]
            if PLACES in found and found[PLACES].there in {str(each.places) for each in mine}:
                places = int(found.pop(PLACES).there)
                given += [each for each in mine if each.places <= places]
            over += [
                row for what, row in before.items() if what not in found or found[what].there != row.there
            ]
        first_seen = {
            what: each
            for what, each in found.items()
            if what not in before or before[what].there != each.there
        }
        new += difference_rows(at, hit.id, first_seen)
    return _Changes(over, new, given)


def difference_rows(at: StudyAtPlatform, hit_id: int, found: Mapping[str, Differs]) -> list[DifferenceRow]:
    """Rows for differences of one HIT that were just found."""
    return [
        DifferenceRow(
            study_id=at.id,
            hit_id=hit_id,
            endpoint=at.endpoint,
            what=what,
            planned=each.planned,
            there=each.there,
        )
        for what, each in found.items()
    ]


def note(session: Session, at: StudyAtPlatform, seen: Mapping[int, Terms | None]) -> None:
    """Record how the platform's HITs differ from the plan: id of ours → terms, or None if it is gone."""
    if at.endpoint in UNASKED:  # nobody but us could change them
        return
    changes, moment = _changes(session, at, seen), now()
    for row in changes.over:
        row.over_at = moment
    for row in changes.new:
        row.found_at = moment  # the same: one value follows the other without a gap
    for given in changes.given:
        confirm_places(session, at, given)
    session.add_all(changes.new)
    session.flush()


def would_note(at: StudyAtPlatform, seen: Mapping[int, Terms | None]) -> list[Difference]:
    """Every difference that no person has accepted, if HITs were as `seen`. Records nothing."""
    if at.endpoint in UNASKED:
        return []
    with reading(at.engine) as session:
        changes = _changes(session, at, seen)
        ids = {hit.id: hit.external_id or "" for hit in hits_of(session, at.study, at.endpoint)}
        stand = [row for rows in open_differences(session, at.study, at.endpoint).values() for row in rows]
        over = {row.id for row in changes.over}
        kept = [row for row in stand if row.id not in over and row.accepted_at is None]
        return [
            Difference(ids[row.hit_id], row.what, row.planned, row.there) for row in [*kept, *changes.new]
        ]


def look(at: StudyAtPlatform, hits: Sequence[UpHit]) -> dict[UpHit, Standing | None]:
    """Ask the platform about `hits`, record what differs from the plan, and return how they stand.

    None stands for a HIT that the platform no longer has.
    """
    standings = {hit: at.platform.standing(hit.external_id) for hit in hits}
    seen = terms_seen(at, standings)
    with reading(at.engine) as session:
        changes = _changes(session, at, seen) if at.endpoint not in UNASKED else _Changes([], [], [])
        changed = bool(changes.over or changes.new or changes.given)
        session.expunge_all()
    if changed:
        with writing(at.engine) as session:
            session.get_one(StudyRow, at.id, with_for_update={"key_share": True})
            note(session, at, seen)
    return standings


def terms_seen(at: StudyAtPlatform, standings: Mapping[UpHit, Standing | None]) -> dict[int, Terms | None]:
    """The terms of HITs by our ids; None if a HIT is gone. A deleted HIT whose work is still listed is
    neither."""
    seen: dict[int, Terms | None] = {}
    for hit, standing in standings.items():
        if standing is not None:
            seen[hit.id] = standing.terms
        elif submitted(at.platform, hit.external_id) is None:
            seen[hit.id] = None
    return seen


def open_differences(session: Session, study: Study, endpoint: str) -> dict[int, list[DifferenceRow]]:
    """The differences that stand, accepted or not, by HIT."""
    found: dict[int, list[DifferenceRow]] = defaultdict(list)
    rows = (
        select(DifferenceRow)
        .where(
            DifferenceRow.study_id == study.id,
            DifferenceRow.endpoint == endpoint,
            DifferenceRow.over_at.is_(None),
        )
        .options(joinedload(DifferenceRow.hit))
    )
    for row in session.scalars(rows.order_by(DifferenceRow.id)):
        found[row.hit_id].append(row)
    return found


def differing(study: Study, endpoint: str) -> tuple[Difference, ...]:
    """Every difference that stands, accepted or not, in the order in which they were found."""
    with reading(study.engine) as session:
        rows = [row for each in open_differences(session, study, endpoint).values() for row in each]
        return tuple(
            Difference(row.hit.external_id or "", row.what, row.planned, row.there, row.accepted_at)
            for row in sorted(rows, key=lambda row: row.id)
        )


def accept(session: Session, study: Study, endpoint: str, *, gone: bool) -> list[int]:
    """Accept, for a person, that HITs are `gone`, or else every other difference that stands. Returns the
    ids of the HITs concerned, also of those accepted before."""
    hits = []
    for rows in open_differences(session, study, endpoint).values():
        for row in rows:
            if (row.what == GONE) == gone:
                row.accepted_at = row.accepted_at or now()
                hits.append(row.hit_id)
    return hits


def accepted_gone(study: Study, endpoint: str) -> set[int]:
    """The HITs that the platform lost, where a person has accepted that."""
    with reading(study.engine) as session:
        rows = [row for each in open_differences(session, study, endpoint).values() for row in each]
        return {row.hit_id for row in rows if row.what == GONE and row.accepted_at is not None}


def figures_there(session: Session, hit_id: int, when: datetime | None = None) -> dict[str, str]:
    """The figures of a HIT that were known to differ at the platform: name → as they are there. By default
    those that differ now, else those that differed at `when`.
    """
    rows = select(DifferenceRow).where(DifferenceRow.hit_id == hit_id)
    if when is None:
        rows = rows.where(DifferenceRow.over_at.is_(None))
    else:
        over_later = or_(DifferenceRow.over_at.is_(None), DifferenceRow.over_at > when)
        rows = rows.where(DifferenceRow.found_at <= when, over_later)
    return {row.what: row.there for row in session.scalars(rows.order_by(DifferenceRow.id))}


def next_change(session: Session, hit_id: int, what: str, when: datetime | None) -> datetime | None:
    """When a figure of a HIT was next seen to have changed after `when`; None if it was not."""
    if when is None:
        return None
    of = (DifferenceRow.hit_id == hit_id, DifferenceRow.what == what)
    found = select(func.min(DifferenceRow.found_at)).where(*of, DifferenceRow.found_at > when)
    over = select(func.min(DifferenceRow.over_at)).where(*of, DifferenceRow.over_at > when)
    return min((moment for moment in (session.scalar(found), session.scalar(over)) if moment), default=None)
