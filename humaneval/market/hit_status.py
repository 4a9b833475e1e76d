"""A HIT's status and the money held for it, which follow from its assignments and its expiry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, bindparam, delete, select

from humaneval.market.account import post
from humaneval.market.events import note
from humaneval.market.tables.assignments import Assignment
from humaneval.market.tables.database import Transaction
from humaneval.market.tables.hits import Hit, HitSums
from humaneval.market.tables.uploads import Upload
from humaneval.store.types import table


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of a HIT's places are at each stage."""

    accepted: int = 0
    submitted: int = 0
    approved: int = 0
    rejected: int = 0
    places: int = 0

    @property
    def free(self) -> int:
        """Places that are not taken, even if the HIT has expired."""
        return self.places - self.accepted - self.submitted - self.approved - self.rejected

    @property
    def finished(self) -> int:
        """Places with an answer."""
        return self.submitted + self.approved + self.rejected

    @property
    def reviewed(self) -> int:
        """What MTurk calls completed: approved or rejected."""
        return self.approved + self.rejected


def counts(work: Transaction, hits: Sequence[Hit]) -> dict[int, Counts]:
    """The counts of each of `hits`, by the HIT's number, as the database has them now."""
    sums = work.connection.execute(_SUMS, {"hits": [hit.number for hit in hits]})
    found = {each.hit_number: each for each in sums}
    return {hit.number: _counts(found[hit.number], hit) for hit in hits}


def _counts(sums: Row[Any], hit: Hit) -> Counts:
    return Counts(sums.accepted, sums.submitted, sums.approved, sums.rejected, hit.max_assignments)


def refresh(work: Transaction, hit: Hit) -> Counts:
    """Update a HIT's status and hold after its assignments or its expiry changed. Returns its counts."""
    work.session.flush()
    sums = work.connection.execute(_SUMS, {"hits": [hit.number]}).one()
    count = _counts(sums, hit)
    _settle_hold(work, hit, count, sums.held)
    _change(hit, status=_status(hit, count))
    finished = hit.status in ("Reviewable", "Reviewing")
    if finished:
        if hit.finished_at is None:
            hit.finished_at = work.now
            note(work, "HITReviewable", hit)
    elif hit.disposed:
        mine = select(Assignment.number).where(Assignment.hit_number == hit.number)
        work.session.execute(delete(Upload).where(Upload.assignment_number.in_(mine)))
    else:
        _change(hit, finished_at=None, policy_due=hit.hit_policy is not None)
    work.session.flush()
    return count


def _change(hit: Hit, **values: object) -> None:
    """Set what is different. The session looks for what to write in every object that anything was set in."""
    for name, value in values.items():
        if getattr(hit, name) != value:
            setattr(hit, name, value)


def _settle_hold(work: Transaction, hit: Hit, count: Counts, held: int) -> None:
    """Hold the price of every place that may still have to be paid, and of no other."""
    open_places = 0 if hit.expired or hit.disposed else count.free
    wanted = hit.price_cents * (open_places + count.accepted + count.submitted)
    more = wanted - held
    if more:
        post(work, "hold" if more > 0 else "release", hit, on_hold=more, available=-more)


def _status(hit: Hit, count: Counts) -> str:
    if hit.disposed:
        return "Disposed"
    if count.finished == count.places or (hit.expired and not count.accepted):
        return "Reviewing" if hit.reviewing else "Reviewable"
    _change(hit, reviewing=False)
    return "Assignable" if count.free and not hit.expired else "Unassignable"


# Nearly every request needs it, so it is built once.
_KEPT = table(HitSums)
_SUMS = select(_KEPT).where(_KEPT.c.hit_number.in_(bindparam("hits", expanding=True)))
