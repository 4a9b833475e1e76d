"""How long a study's HITs can be found: extend them, or take them down without taking work out of anyone's
hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Engine, func, select

from humaneval.crowd.addresses import UpHit, hits_of, refuse_closed, refuse_gone, up
from humaneval.crowd.platform import Platform
from humaneval.crowd.publish import adopt, orphans
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow
from humaneval.store.types import now
from humaneval.study.stored import get_study


class Expired(NamedTuple):
    """How many HITs were taken down, and how many people have an open form and may still submit."""

    hits: int
    still_working: int


def extend_all(engine: Engine, name: str, platform: Platform, days: float) -> int:
    """Let every HIT of the study that was published be found for `days` from now; returns how many there
    are."""
    until = now() + timedelta(days=days)
    hits = to_change(engine, name, platform)
    gone = _each(engine, platform, hits, lambda hit: platform.extend(hit, until), until)
    refuse_gone(platform.endpoint.name, gone, "the others were extended")
    return len(hits)


def expire_all(engine: Engine, name: str, platform: Platform) -> Expired:
    """Take every HIT of the study down. Who has accepted one can finish it and is paid."""
    hits = to_change(engine, name, platform)
    refuse_gone(platform.endpoint.name, take_down(engine, platform, hits), "the others were taken down")
    with reading(engine) as session:
        working = session.scalar(
            select(func.count())
            .select_from(AssignmentRow)
            .where(
                AssignmentRow.study_id == get_study(session, name).id,
                AssignmentRow.endpoint == platform.endpoint.name,
                AssignmentRow.state == "opened",
                AssignmentRow.lease_until > now(),
            )
        )
    return Expired(len(hits), working or 0)


def take_down(engine: Engine, platform: Platform, hits: Sequence[UpHit]) -> list[str]:
    """Take `hits` off the list. Returns those that the platform has no more: they do not keep the others
    up."""
    return _each(engine, platform, hits, platform.expire, now())


def _each(
    engine: Engine, platform: Platform, hits: Sequence[UpHit], change: Callable[[str], None], until: datetime
) -> list[str]:
    gone = []
    for hit in hits:
        try:
            change(hit.external_id)
        except PlatformError:
            if platform.standing(hit.external_id) is not None:
                raise
            gone.append(hit.external_id)
            continue
        _set_expiry(engine, hit, until)
    return gone


def published(engine: Engine, name: str, platform: Platform, *, dry_run: bool = False) -> list[UpHit]:
    """The HITs that are up, also one that an interrupted `publish` made and did not record. `dry_run` records
    none."""
    found = []
    if dry_run:
        unrecorded = orphans(engine, name, platform).values()
        found = [UpHit(orphan.hit_id, orphan.published.external_id) for orphan in unrecorded]
    else:
        adopt(engine, name, platform)
    return [*up(engine, name, platform.endpoint.name), *found]


def to_change(engine: Engine, name: str, platform: Platform, *, dry_run: bool = False) -> list[UpHit]:
    """The same; UsageError where there are none."""
    endpoint = platform.endpoint.name
    hits = published(engine, name, platform, dry_run=dry_run)
    if not hits:
        with reading(engine) as session:
            study = get_study(session, name)
            refuse_closed(study, endpoint, hits_of(session, study, endpoint))
        raise UsageError(
            f"study {name!r} has no HITs at {endpoint}",
            f"`humaneval publish {name} --to {endpoint}` puts them up.",
        )
    return hits


def _set_expiry(engine: Engine, hit: UpHit, moment: datetime) -> None:
    with writing(engine) as session:
        session.get_one(HitRow, hit.id).expires_at = moment
