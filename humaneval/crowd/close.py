"""Ends a study at a platform: takes its HITs down, waits for workers, and deletes the HITs. Answers stay
here."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.approve import UNDO_DAYS
from humaneval.crowd.collect import unpaid_work
from humaneval.crowd.extend import published, take_down
from humaneval.crowd.more_places import withdraw_places
from humaneval.crowd.outbox import intend, intent_of, perform
from humaneval.crowd.plan_differences import look
from humaneval.crowd.platform import Platform, Standing
from humaneval.crowd.published_hits import UpHit
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.take_in import held_of_lost
from humaneval.crowd.uncollected import Place, of_people_here, still_new
from humaneval.errors import PartialError, PlatformError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow
from humaneval.store.types import now
from humaneval.text import command, counted

CLOSE = "close"
PAUSE = 1.0
"""Seconds between looks at HITs that are not ready to be deleted."""


@dataclass(frozen=True, slots=True)
class Closed:
    """What closing did, or would do."""

    hits: int
    """HITs that this call deleted, or would delete."""
    in_hand: int
    """Workers who have a form and may still submit it."""
    unpaid: int
    """Forms whose answers are on our server only, and that were neither paid nor compensated."""
    final_rejections: int
    """Rejections that can be undone now, and no longer once their HITs are deleted."""
    gone: int = 0
    """HITs that the platform no longer had: there was nothing to delete."""
    lost: int = 0
    """Forms that our server holds of HITs that the platform lost, and that nobody has taken in."""


def close_all(at: StudyAtPlatform, *, wait: float = 10.0, dry_run: bool = False) -> Closed:
    """Delete every HIT that this study made here. Closing twice does nothing more.

    Raises PlatformError, with nothing changed, while work is not collected, or neither approved nor rejected.
    Raises PartialError if somebody is still at work after `wait` seconds: the HITs are then down, and can be
    deleted later.
    """
    hits = published(at, dry_run=dry_run)
    standings = {hit: at.platform.standing(hit.external_id) for hit in hits} if dry_run else look(at, hits)
    _refuse_unfinished(at, standings)
    in_hand = sum(standing.in_hand for standing in standings.values() if standing)
    planned = _plan(at, standings)
    if dry_run or not hits:
        return planned
    if any(standing is not None and not standing.expired for standing in standings.values()):
        take_down(at, hits)
    _wait_for_people(at, hits, in_hand, wait)
    # Somebody may have submitted while the HITs were taken down.
    _refuse_unfinished(at, {hit: at.platform.standing(hit.external_id) for hit in hits})
    if at.platform.endpoint.one_offer:  # what was listed last may have a state that nobody knows
        _wait_for_people(at, hits, in_hand, 0)
    for hit in hits:
        _delete(at, hit)
    return planned


def _wait_for_people(at: StudyAtPlatform, hits: list[UpHit], in_hand: int, wait: float) -> None:
    """Raise PartialError if a HIT cannot be deleted yet after `wait` seconds."""
    if _until_deletable(at.platform, hits, wait):
        raise PartialError(
            f"the HITs are down, but {counted(max(in_hand, 1), 'person', plural='people')} may still submit:"
            " nothing was deleted",
            f"Run `{command('collect', at.name, '--to', at.endpoint)}` and close again later. A worker who"
            " has accepted a HIT can finish it and is paid.",
        )


def _until_deletable(platform: Platform, hits: list[UpHit], wait: float) -> list[UpHit]:
    """The `hits` that cannot be deleted yet after `wait` seconds."""
    until = time.monotonic() + wait
    waiting = hits
    while True:
        waiting = [
            hit
            for hit in waiting
            if (standing := platform.standing(hit.external_id)) and not standing.deletable
        ]
        if not waiting or time.monotonic() >= until:
            return waiting
        time.sleep(min(PAUSE, max(0.0, until - time.monotonic())))


def _refuse_unfinished(at: StudyAtPlatform, standings: dict[UpHit, Standing | None]) -> None:
    """Raise PlatformError if deleting would lose answers, or leave somebody unpaid."""
    # Platforms delete a HIT only when all of its work is decided, so work of a deleted HIT is decided, too.
    gone = [hit.id for hit, standing in standings.items() if standing is None]
    with reading(at.engine) as session:
        undecided = _count(session, at, AssignmentRow.state == "submitted", AssignmentRow.hit_id.notin_(gone))
    there = {
        hit: list(at.platform.submissions(hit.external_id))
        for hit, standing in standings.items()
        if standing is not None
    }
    collectable = [Place(hit.id, one.external_id) for hit in there for one in of_people_here(at, there[hit])]
    missing = len(still_new(at.engine, collectable))
    if missing:
        raise PlatformError(
            f"{counted(missing, 'submission')} at {at.endpoint} {'is' if missing == 1 else 'are'} not"
            " collected yet: nothing was deleted",
            f"Run `{command('collect', at.name, '--to', at.endpoint)}` first.",
        )
    undecided = max(undecided, sum(one.state == "submitted" for work in there.values() for one in work))
    if undecided:
        raise PlatformError(
            f"{counted(undecided, 'submission')} at {at.endpoint} {'is' if undecided == 1 else 'are'} neither"
            " approved nor rejected: nothing was deleted",
            f"`{command('review', at.name, '--to', at.endpoint)}` lists them.",
        )


def _count(session: Session, at: StudyAtPlatform, *which: ColumnElement[bool]) -> int:
    """The number of the study's forms at the platform that meet all of `which`."""
    forms = select(func.count()).select_from(AssignmentRow)
    of_study = AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint
    return session.scalar(forms.where(*of_study, *which)) or 0


def _plan(at: StudyAtPlatform, standings: dict[UpHit, Standing | None]) -> Closed:
    there = [standing for standing in standings.values() if standing is not None]
    with reading(at.engine) as session:
        final_rejections = _count(
            session,
            at,
            AssignmentRow.state == "rejected",
            AssignmentRow.submitted_at > now() - timedelta(days=UNDO_DAYS),
        )
        unpaid = len(unpaid_work(session, at.study, at.endpoint))
    return Closed(
        hits=len(there),
        in_hand=sum(standing.in_hand for standing in there),
        unpaid=unpaid,
        final_rejections=final_rejections,
        gone=len(standings) - len(there),
        lost=held_of_lost(at.study, at.endpoint),
    )


def _delete(at: StudyAtPlatform, hit: UpHit) -> None:
    with writing(at.engine) as session:
        row = intend(
            session,
            study_id=at.id,
            endpoint=at.endpoint,
            operation=CLOSE,
            subject=f"hit {hit.id}",
            key=session.get_one(HitRow, hit.id).key,
            request={},
        )
        intent = intent_of(row)

    def record(session: Session, _: None) -> dict[str, str]:
        session.get_one(HitRow, hit.id).closed_at = now()
        withdraw_places(session, at, hit.id)
        return {}

    perform(at.engine, intent, lambda: at.platform.close(hit.external_id), record)
