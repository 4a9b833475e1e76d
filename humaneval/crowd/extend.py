"""Changes how long a study's HITs can be found: extends them, or takes them down. Accepted work can still be
finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select, update

from humaneval.crowd.adopt import adopt, orphans
from humaneval.crowd.mturk_csv import refuse_by_file
from humaneval.crowd.outbox import AS_SQL, hold_study
from humaneval.crowd.plan_differences import differing, look
from humaneval.crowd.published_hits import UpHit, refuse_closed, refuse_gone, up
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import refuse_differing, refuse_unaccepted
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import ASKED_FOR, in_turns, reading, writing
from humaneval.store.tables import AssignmentRow, HitRow
from humaneval.store.types import now
from humaneval.text import command


class Expired(NamedTuple):
    """How many HITs were taken down, and how many workers have an open form and may still submit."""

    hits: int
    still_working: int


def extend_all(at: StudyAtPlatform, days: float) -> int:
    """Let every published HIT of the study be found for `days` from now. Returns how many there are.

    Raises PartialError if the platform then has another HIT than planned.
    """
    until = now() + timedelta(days=days)
    hits = to_change(at)
    refuse_unaccepted(at, "Nothing was extended.")
    kept = until if at.platform.endpoint.runs_out else None
    gone = _each(at, hits, lambda hit: at.platform.extend(hit, until), kept)
    look(at, hits)
    refuse_gone(at, gone, "the others were extended")
    refuse_differing(at, differing(at.study, at.endpoint))
    return len(hits)


def expire_all(at: StudyAtPlatform) -> Expired:
    """Take every HIT of the study down. Workers who have accepted one can finish it and are paid."""
    hits = to_change(at)
    gone = take_down(at, hits)
    look(at, hits)
    refuse_gone(at, gone, "the others were taken down")
    with reading(at.engine) as session:
        working = session.scalar(
            select(func.count())
            .select_from(AssignmentRow)
            .where(
                AssignmentRow.study_id == at.id,
                AssignmentRow.endpoint == at.endpoint,
                AssignmentRow.state == "opened",
                AssignmentRow.lease_until > now(),
            )
        )
    return Expired(len(hits), working or 0)


def take_down(at: StudyAtPlatform, hits: Sequence[UpHit]) -> list[str]:
    """Take `hits` off the list. Returns those that the platform no longer has; the others are still taken
    down."""
    return _each(at, hits, at.platform.expire, now())


def _each(
    at: StudyAtPlatform, hits: Sequence[UpHit], change: Callable[[str], None], until: datetime | None
) -> list[str]:
    for batch in in_turns(hits, ASKED_FOR):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            these = update(HitRow).where(HitRow.id.in_([hit.id for hit in batch]))
            session.execute(these.values(next_expires_at=until), execution_options=AS_SQL)
    gone = []
    for hit in hits:
        try:
            change(hit.external_id)
        except PlatformError:
            if at.platform.standing(hit.external_id) is not None:
                raise
            gone.append(hit.external_id)
            continue
        with writing(at.engine) as session:
            hold_study(session, at.id)
            row = session.get_one(HitRow, hit.id)
            row.expires_at, row.next_expires_at = until, None
    return gone


def published(at: StudyAtPlatform, *, dry_run: bool = False) -> list[UpHit]:
    """The HITs that are up, with those that an interrupted `publish` made and did not record. `dry_run`
    records none."""
    found = []
    if dry_run:
        unrecorded = orphans(at).values()
        found = [UpHit(orphan.hit_id, orphan.published.external_id) for orphan in unrecorded]
    else:
        adopt(at)
    return [*up(at.study, at.endpoint), *found]


def to_change(at: StudyAtPlatform, *, dry_run: bool = False) -> list[UpHit]:
    """As `published`; raises UsageError if there are none, and PlatformError if we cannot change them."""
    refuse_by_file(at, "a batch is extended and ended at the site", "Do it there.")
    hits = published(at, dry_run=dry_run)
    if not hits:
        with reading(at.engine) as session:
            refuse_closed(session, at.study, at.endpoint)
        raise UsageError(
            f"study {at.name!r} has no HITs at {at.endpoint}",
            f"`{command('publish', at.name, '--to', at.endpoint)}` puts them up.",
        )
    return hits
