"""Finds HITs of the study that are up although the call that made them was never recorded."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import PUBLISH, refuse_elsewhere
from humaneval.crowd.outbox import AS_SQL, Intent, pending, perform_each
from humaneval.crowd.platform import Published
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, StudyRow
from humaneval.store.types import now


class Orphan(NamedTuple):
    """A HIT that is up, and that our database does not record as up."""

    hit_id: int
    key: str
    published: Published


def adopt(at: StudyAtPlatform) -> int:
    """Record HITs of the study that are up although the call that made them was never recorded. Returns how
    many.

    The platform forgets tokens after a while, but not the annotations by which these HITs are found.
    Raises PlatformError, with nothing changed, if the study's HITs are at another platform of this name.
    """
    found = orphans(at)
    lifetime = at.settings.hit.lifetime_seconds
    adopted = perform_each(
        at.engine,
        list(found),
        lambda intent: found[intent].published,
        lambda session, intent, published: record_up(session, found[intent].key, lifetime, published),
    )
    return sum(1 for _ in adopted)


def orphans(at: StudyAtPlatform) -> dict[Intent, Orphan]:
    """What `adopt` would record. Changes nothing."""
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        intents = pending(session, study_id=at.id, endpoint=at.endpoint, operation=PUBLISH)
        hits = {intent: hit_of(session, intent) for intent in intents if intent.attempted}
    found = at.platform.find([hit.key for hit in hits.values()]) if hits else {}
    return {
        intent: Orphan(hit.id, hit.key, found[hit.key]) for intent, hit in hits.items() if hit.key in found
    }


def hit_of(session: Session, intent: Intent) -> HitRow:
    """The HIT that a write of the operation PUBLISH puts up."""
    return session.get_one(HitRow, int(intent.subject.removeprefix("hit ")))


def record_up(session: Session, key: str, lifetime: int, published: Published) -> dict[str, Any]:
    """Record that the HIT with `key` is up for `lifetime` seconds. Returns what to keep of the platform's
    answer."""
    moment = now()
    there = {"of": key, "there": published.external_id, "until": moment + timedelta(seconds=lifetime)}
    session.execute(_HIT_UP, there, execution_options=AS_SQL)
    session.execute(_STUDY_UP, {"of": key, "at": moment}, execution_options=AS_SQL)
    return asdict(published)


# Statements, not objects: they run for every HIT, and loading three rows takes as long as everything else.
_HIT_UP = (
    update(HitRow)
    .where(HitRow.key == bindparam("of"))
    .values(external_id=bindparam("there"), expires_at=bindparam("until"))
)
_STUDY_UP = (
    update(StudyRow)
    .where(
        StudyRow.id == select(HitRow.study_id).where(HitRow.key == bindparam("of")).scalar_subquery(),
        StudyRow.published_at.is_(None),
    )
    .values(published_at=bindparam("at"))
)
