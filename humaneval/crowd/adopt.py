"""Finds HITs of the study that are up although the call that made them was never recorded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.hit_terms import compare, planned_figures
from humaneval.crowd.outbox import AS_SQL, Intent, pending, perform_each
from humaneval.crowd.plan_differences import difference_rows
from humaneval.crowd.platform import UNASKED, Published
from humaneval.crowd.published_hits import PUBLISH, refuse_elsewhere
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import reading
from humaneval.store.tables import HitRow, OutboxRow, StudyRow
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
    adopted = perform_each(
        at.engine,
        list(found),
        lambda intent: found[intent].published,
        lambda session, intent, _: record_up(session, at, found[intent], _planned(session, at, intent)),
    )
    return sum(1 for _ in adopted)


def orphans(at: StudyAtPlatform) -> dict[Intent, Orphan]:
    """What `adopt` would record. Changes nothing.

    Also of HITs for which our database knows of no call: an older copy of it may have been put back.
    """
    refuse_elsewhere(at)
    asked = at.endpoint not in UNASKED
    with reading(at.engine) as session:
        intents = pending(session, study_id=at.id, endpoint=at.endpoint, operation=PUBLISH)
        hits = {intent: hit_of(session, intent) for intent in intents if intent.attempted or asked}
    found = at.platform.find([hit.key for hit in hits.values()]) if hits else {}
    return {
        intent: Orphan(hit.id, hit.key, found[hit.key]) for intent, hit in hits.items() if hit.key in found
    }


def hit_of(session: Session, intent: Intent) -> HitRow:
    """The HIT that a write of the operation PUBLISH puts up."""
    return session.get_one(HitRow, hit_id_of(intent))


def hit_id_of(intent: Intent) -> int:
    """Our id of the same HIT."""
    return int(intent.subject.removeprefix("hit "))


def _planned(session: Session, at: StudyAtPlatform, intent: Intent) -> dict[str, str]:
    request = session.get_one(OutboxRow, intent.id).request
    return planned_figures(at.settings, hit_of(session, intent), request)


def record_up(
    session: Session, at: StudyAtPlatform, made: Orphan, planned: Mapping[str, str]
) -> dict[str, Any]:
    """Record that a HIT is up, and how its figures differ from those `planned`. Returns what to keep of the
    platform's answer."""
    published, moment = made.published, now()
    begun = published.terms.made_at or moment
    lifetime = timedelta(seconds=at.settings.hit.lifetime_seconds)
    until = begun + lifetime if at.platform.endpoint.runs_out else None
    found = compare(planned, until, published.terms, moment)
    session.add_all(difference_rows(at, made.hit_id, found))
    there = {"of": made.key, "there": published.external_id, "until": until}
    session.execute(_HIT_UP, there, execution_options=AS_SQL)
    session.execute(_STUDY_UP, {"of": made.key, "at": moment}, execution_options=AS_SQL)
    return {"external_id": published.external_id, "group": published.group}


# Statements, not objects: they run for every HIT, and loading three rows takes as long as everything else.
_HIT_UP = (
    update(HitRow)
    .where(
        HitRow.key == bindparam("of"), HitRow.external_id.is_(None)
    )  # another program may have taken it down
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
