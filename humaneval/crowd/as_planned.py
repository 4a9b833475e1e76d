"""Compares what a platform has with what was planned, and keeps each difference until a person accepts it.

Money never moves on a difference that nobody has accepted. The books use what the platform pays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.addresses import GONE, PUBLISH, UpHit, hits_of, submitted
from humaneval.crowd.platform import Standing, Terms
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PartialError, PlatformError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import DifferenceRow, HitRow, OutboxRow, StudyRow
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.study.stored import Study
from humaneval.text import command

REWARD, PLACES, LIFETIME = "reward", "places", "lifetime"
TERMS = "terms"
"""Where the planned figures stand in the request of a publication."""
SLACK = timedelta(minutes=5)
"""Clocks and calls make times differ by less than this."""
SHOWN = 3
"""How many HITs with the same difference are named."""


class Differs(NamedTuple):
    """One figure, as planned and as a platform has it."""

    planned: str
    there: str


class Difference(NamedTuple):
    """A figure of a HIT that the platform has otherwise than it was planned."""

    hit: str
    what: str
    planned: str
    there: str
    accepted_at: datetime | None = None


def figures(terms: Terms) -> dict[str, str]:
    """The figures that are told, in words, but for the lifetime.

    >>> from decimal import Decimal
    >>> figures(Terms(reward=Decimal("0.8"), assignment_seconds=5400))
    {'reward': '$0.80', 'time for an assignment': '90 minutes'}
    """
    delay = terms.auto_approval_seconds
    words = {
        REWARD: None if terms.reward is None else f"${terms.reward:.2f}",
        PLACES: None if terms.places is None else str(terms.places),
        "time for an assignment": _minutes(terms.assignment_seconds),
        "approval delay": None if delay is None else f"{delay / 3600:g} hours",
        "question": None if terms.question is None else f"one with the hash {terms.question}",
        "requirements": terms.requirements,
        "title": terms.title,
        "description": terms.description,
        "keywords": terms.keywords,
    }
    return {name: word for name, word in words.items() if word is not None}


def _minutes(seconds: int | None) -> str | None:
    return None if seconds is None else f"{seconds / 60:g} minutes"


def compare(
    planned: Mapping[str, str], until: datetime | None, there: Terms, moment: datetime
) -> dict[str, Differs]:
    """What differs between planned figures and a platform's, by the name of the figure.

    `until` is when the HIT should run out. Once it has run out on both sides, it does not matter when.
    """
    has = figures(there)
    found = {
        name: Differs(planned[name], has[name])
        for name in planned
        if name in has and planned[name].strip() != has[name].strip()
    }
    if until is not None and there.expires_at is not None:
        both_over = until <= moment and there.expires_at <= moment
        if not both_over and abs(until - there.expires_at) > SLACK:
            found[LIFETIME] = Differs(_until(until), _until(there.expires_at))
    return found


def _until(moment: datetime) -> str:
    return f"until {moment:%Y-%m-%d %H:%M} UTC"


def planned_figures(settings: StudyFile, hit: HitRow, request: Mapping[str, object]) -> dict[str, str]:
    """What a HIT should have. Older databases kept no figures: theirs are those of the study file."""
    terms = settings.hit
    kept = request.get(TERMS)
    known = figures(
        Terms(
            reward=terms.reward,
            places=hit.assignments,
            assignment_seconds=terms.assignment_minutes * 60,
            auto_approval_seconds=round(terms.auto_approval_days * 86_400),
        )
    )
    return {**known, **kept, PLACES: str(hit.assignments)} if isinstance(kept, dict) else known


@dataclass(frozen=True, slots=True)
class _Changes:
    """Differences that are over, and new ones."""

    over: list[DifferenceRow]
    new: list[DifferenceRow]


def _changes(session: Session, at: StudyAtPlatform, seen: Mapping[int, Terms | None]) -> _Changes:
    """What `seen` changes. The terms of a HIT that is gone are None."""
    moment, over, new = now(), [], []
    open_rows = _open(session, at.study, at.endpoint)
    published = select(OutboxRow.subject, OutboxRow.request).where(
        OutboxRow.study_id == at.id, OutboxRow.endpoint == at.endpoint, OutboxRow.operation == PUBLISH
    )
    requests = {row.subject: row.request for row in session.execute(published)}
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
            over += [
                row for what, row in before.items() if what not in found or found[what].there != row.there
            ]
        first_seen = {
            what: each
            for what, each in found.items()
            if what not in before or before[what].there != each.there
        }
        new += difference_rows(at, hit.id, first_seen)
    return _Changes(over, new)


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
    if at.endpoint == "link":  # nobody but us could change them
        return
    changes, moment = _changes(session, at, seen), now()
    for row in changes.over:
        row.over_at = moment
    for row in changes.new:
        row.found_at = moment  # the same: one value follows the other without a gap
    session.add_all(changes.new)
    session.flush()


def would_note(at: StudyAtPlatform, seen: Mapping[int, Terms | None]) -> list[Difference]:
    """Every difference that no person has accepted, if HITs were as `seen`. Records nothing."""
    if at.endpoint == "link":
        return []
    with reading(at.engine) as session:
        changes = _changes(session, at, seen)
        ids = {hit.id: hit.external_id or "" for hit in hits_of(session, at.study, at.endpoint)}
        stand = [row for rows in _open(session, at.study, at.endpoint).values() for row in rows]
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
        changes = _changes(session, at, seen) if at.endpoint != "link" else _Changes([], [])
        changed = bool(changes.over or changes.new)
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


def _open(session: Session, study: Study, endpoint: str) -> dict[int, list[DifferenceRow]]:
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
        rows = [row for each in _open(session, study, endpoint).values() for row in each]
        return tuple(
            Difference(row.hit.external_id or "", row.what, row.planned, row.there, row.accepted_at)
            for row in sorted(rows, key=lambda row: row.id)
        )


def unaccepted(differences: Sequence[Difference]) -> list[Difference]:
    """Those that no person has accepted."""
    return [each for each in differences if each.accepted_at is None]


def told(differences: Sequence[Difference], endpoint: str) -> list[str]:
    """A line for each kind of difference, with the HITs that have it.

    >>> told([Difference("3A", "reward", "$0.80", "$5.00")], "local")
    ['reward: planned $0.80, local has $5.00 (HIT 3A)']
    """
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for each in differences:
        groups[each.what, each.planned, each.there].append(each.hit)
    lines = []
    for (what, planned, there), hits in groups.items():
        more = f" and {len(hits) - SHOWN} more" if len(hits) > SHOWN else ""
        named = f"HIT {', '.join(hits[:SHOWN])}{more}"
        lines.append(
            f"{endpoint} no longer has the {named}"
            if what == GONE
            else f"{what}: planned {planned}, {endpoint} has {there} ({named})"
        )
    return lines


def accept(session: Session, study: Study, endpoint: str, *, gone: bool) -> list[int]:
    """Accept, for a person, that HITs are `gone`, or else every other difference that stands. Returns the
    ids of the HITs concerned, also of those accepted before."""
    hits = []
    for rows in _open(session, study, endpoint).values():
        for row in rows:
            if (row.what == GONE) == gone:
                row.accepted_at = row.accepted_at or now()
                hits.append(row.hit_id)
    return hits


def refuse_unaccepted(at: StudyAtPlatform, nothing: str, hits: Collection[int] | None = None) -> None:
    """Raise PlatformError if a HIT, of `hits` or of all, differs from the plan and nobody has accepted it.

    `nothing` says what was not done: "Nothing was approved."
    """
    found = [
        Difference(row.hit.external_id or "", row.what, row.planned, row.there)
        for row in _standing(at, hits)
        if row.what != GONE and row.accepted_at is None
    ]
    if found:
        raise PlatformError(
            f"what is planned is not what is there: {'; '.join(told(found, at.endpoint))}",
            f"{nothing} Correct it at {at.endpoint}, or accept it: {to_accept(at)}",
            nothing_done=True,
        )


def refuse_gone_hits(at: StudyAtPlatform, nothing: str, hits: Collection[int]) -> None:
    """Raise PlatformError if the platform lost one of `hits`, even if somebody has accepted that."""
    lost = sorted({row.hit.external_id or "" for row in _standing(at, hits) if row.what == GONE})
    if lost:
        raise PlatformError(
            f"{at.endpoint} no longer has the HIT {', '.join(lost)}",
            f"{nothing} What our server has of its work can be taken in: {to_accept(at, lost=True)}",
            nothing_done=True,
        )


def _standing(at: StudyAtPlatform, hits: Collection[int] | None) -> list[DifferenceRow]:
    """The differences that stand, of `hits` or of all."""
    with reading(at.engine) as session:
        rows = _open(session, at.study, at.endpoint)
        return [row for hit, each in rows.items() if hits is None or hit in hits for row in each]


def refuse_differing(at: StudyAtPlatform, differences: Sequence[Difference]) -> None:
    """Raise PartialError, after a verb has done its work, if nobody has accepted one of `differences`."""
    found = [each for each in unaccepted(differences) if each.what != GONE]
    if found:
        raise PartialError(
            f"what is planned is not what is there: {'; '.join(told(found, at.endpoint))}",
            f"No money moves before somebody corrects it at {at.endpoint}, or accepts it: {to_accept(at)}",
        )


def to_accept(at: StudyAtPlatform, *, lost: bool = False) -> str:
    """The command with which a person accepts."""
    accepting = "--accept-lost" if lost else "--accept-differences"
    return command("collect", at.name, "--to", at.endpoint, accepting)


def accepted_gone(study: Study, endpoint: str) -> set[int]:
    """The HITs that the platform lost, where a person has accepted that."""
    with reading(study.engine) as session:
        rows = [row for each in _open(session, study, endpoint).values() for row in each]
        return {row.hit_id for row in rows if row.what == GONE and row.accepted_at is not None}


def figures_there(session: Session, hit_id: int, when: datetime | None = None) -> dict[str, str]:
    """The figures of a HIT that were known to be otherwise at the platform: name → as they are there.

    By default those that still are; or those of the moment `when`.
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
