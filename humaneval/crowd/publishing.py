"""Puts a study up: plans its HITs once, then makes each of them exactly once, whatever happens in between."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.claims import form_of
from humaneval.crowd.outbox import Intent, intend, pending, perform
from humaneval.crowd.platform import Cost, Endpoint, Offer, Participants, Platform, Published
from humaneval.crowd.questions import Delivery, render_form
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import MANY_ASSIGNMENTS
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, RowRow, StudyRow
from humaneval.store.types import now
from humaneval.studies import get_study, settings_of
from humaneval.study_file import StudyFile

MAX_ASSIGNMENTS = MANY_ASSIGNMENTS - 1
"""Per HIT: from ten assignments on the platform's fee doubles."""

PUBLISH = "publish"


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What is still to be put up, and what it costs if all of it is approved."""

    hits: int
    assignments: int
    cost: Cost
    already_up: int


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What this call put up, what was up before or was found again, and where people can take it."""

    made: int
    adopted: int
    already_up: int
    assignments: int
    preview_urls: tuple[str, ...]


def plan(engine: Engine, name: str, platform: Platform, *, static: bool = False) -> PublishPlan:
    """Write down the HITs that carry the study's rows on this endpoint; a study that is planned stays as it is."""
    endpoint = platform.endpoint.name
    with writing(engine) as session:
        study = get_study(session, name)
        settings = settings_of(study)
        planned = session.scalars(
            select(HitRow).where(HitRow.study_id == study.id, HitRow.endpoint == endpoint)
        ).all()
        if planned and static != (planned[0].row_id is not None):
            raise UsageError(
                f"study {name!r} was published to {endpoint} the other way",
                "Run publish again with, or without, --static as before.",
            )
        if not planned:
            for assignments, row_id in _portions(session, study, static):
                _plan_hit(session, study, endpoint, assignments, row_id)
        for missing in _rows_to_replace(session, study, settings, endpoint, static):
            _plan_hit(session, study, endpoint, *missing)
    with reading(engine) as session:
        study = get_study(session, name)
        hits = session.scalars(
            select(HitRow).where(HitRow.study_id == study.id, HitRow.endpoint == endpoint)
        ).all()
        waiting = [hit for hit in hits if hit.external_id is None]
        costs = [platform.cost(settings.hit.reward, hit.assignments) for hit in waiting]
        total = Cost(
            sum((c.rewards for c in costs), Decimal("0.00")), sum((c.fees for c in costs), Decimal("0.00"))
        )
        return PublishPlan(
            len(waiting), sum(hit.assignments for hit in waiting), total, len(hits) - len(waiting)
        )


def _plan_hit(session: Session, study: StudyRow, endpoint: str, assignments: int, row_id: int | None) -> None:
    hit = HitRow(
        study_id=study.id,
        endpoint=endpoint,
        key=secrets.token_urlsafe(18),
        assignments=assignments,
        row_id=row_id,
    )
    session.add(hit)
    session.flush()
    intend(
        session,
        study_id=study.id,
        endpoint=endpoint,
        operation=PUBLISH,
        subject=f"hit {hit.id}",
        key=hit.key,
        request={"assignments": assignments},
    )


def _portions(session: Session, study: StudyRow, static: bool) -> list[tuple[int, int | None]]:
    rows = session.scalars(
        select(RowRow.id).where(RowRow.study_id == study.id).order_by(RowRow.ordinal)
    ).all()
    if static:
        return [(1, row) for row in rows]
    return _split(len(rows))


def _split(rows: int) -> list[tuple[int, int | None]]:
    whole, rest = divmod(rows, MAX_ASSIGNMENTS)
    sizes = [MAX_ASSIGNMENTS] * whole + [rest] * (rest > 0)
    return [(size, None) for size in sizes]


def _rows_to_replace(
    session: Session, study: StudyRow, settings: StudyFile, endpoint: str, static: bool
) -> list[tuple[int, int | None]]:
    """New HITs for rows whose annotators were rejected or excluded in review, where the study tops up."""
    if settings.design.top_up == "never":
        return []
    lost = session.scalars(
        select(AssignmentRow.row_id).where(
            AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint, AssignmentRow.row_replaced.is_(False),
            AssignmentRow.excluded != "", AssignmentRow.holds_row.is_(False), AssignmentRow.row_id.is_not(None),
        )
    ).all()  # fmt: skip
    if lost:
        for assignment in session.scalars(
            select(AssignmentRow).where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                AssignmentRow.excluded != "",
            )
        ):
            assignment.row_replaced = True
    return [(1, row) for row in lost] if static else _split(len(lost))


def publish(
    engine: Engine,
    name: str,
    platform: Platform,
    *,
    public_url: str,
    advance: Callable[[int], None] = lambda amount: None,
) -> PublishResult:
    """Make every planned HIT that is not up yet. Killed at any point and run again it ends with exactly the plan."""
    endpoint = platform.endpoint
    with writing(engine) as session:
        study = get_study(session, name)
        study_id, settings = study.id, settings_of(study)
        study.published_at = study.published_at or now()
        intents = pending(session, study_id=study_id, endpoint=endpoint.name, operation=PUBLISH)
        offers = {
            intent.id: _offer(session, study, settings, endpoint, intent, public_url) for intent in intents
        }
        already_up = (
            session.query(HitRow)
            .filter(
                HitRow.study_id == study_id, HitRow.endpoint == endpoint.name, HitRow.external_id.is_not(None)
            )
            .count()
        )
    if offers:
        platform.check(next(iter(offers.values())))
        _refuse_if_too_poor(platform, offers.values(), settings)
    tried = [offers[intent.id].key for intent in intents if intent.attempted]
    # A try that died before it was recorded may have left a HIT; the platform forgets tokens, not annotations.
    orphans = platform.find(tried) if tried else {}
    made = adopted = 0
    for intent in intents:
        offer = offers[intent.id]
        found = orphans.get(offer.key)
        _make(engine, intent, platform, offer, found, settings)
        made, adopted = (made, adopted + 1) if found else (made + 1, adopted)
        advance(1)
    assignments = sum(offer.assignments for offer in offers.values())
    return PublishResult(made, adopted, already_up, assignments, preview_urls(engine, name, endpoint))


def _make(
    engine: Engine,
    intent: Intent,
    platform: Platform,
    offer: Offer,
    found: Published | None,
    settings: StudyFile,
) -> None:
    def record(session: Session, published: Published) -> dict[str, Any]:
        hit = session.scalars(select(HitRow).where(HitRow.key == offer.key)).one()
        hit.external_id = published.external_id
        hit.expires_at = now() + timedelta(seconds=offer.lifetime_seconds)
        return asdict(published)

    perform(engine, intent, lambda: found or platform.publish(offer, intent.token), record)


def _offer(
    session: Session,
    study: StudyRow,
    settings: StudyFile,
    endpoint: Endpoint,
    intent: Intent,
    public_url: str,
) -> Offer:
    hit = session.get_one(HitRow, int(intent.subject.removeprefix("hit ")))
    page = ""
    if hit.row_id is not None:
        delivery = Delivery(action=endpoint.submit_origin + "/mturk/externalSubmit", static=True)
        page = render_form(form_of(session, study, hit.row_id), delivery)
    return Offer(
        key=hit.key,
        title=settings.hit.title,
        description=settings.hit.description,
        keywords=settings.hit.keywords,
        reward=settings.hit.reward,
        assignments=hit.assignments,
        assignment_seconds=settings.hit.assignment_minutes * 60,
        lifetime_seconds=round(settings.hit.lifetime_days * 86_400),
        auto_approval_seconds=round(settings.hit.auto_approval_days * 86_400),
        form_url="" if page else f"{public_url}/form/{hit.key}",
        page=page,
        participants=Participants(
            settings.participants.countries,
            settings.participants.min_approved_percent,
            settings.participants.min_approved_hits,
        ),
    )


def _refuse_if_too_poor(platform: Platform, offers: Any, settings: StudyFile) -> None:
    """Before the first call: a batch that the balance cannot carry would stop half-way."""
    balance = platform.balance()
    cost = sum(
        (platform.cost(settings.hit.reward, offer.assignments).total for offer in offers), Decimal("0.00")
    )
    if balance is not None and balance < cost:
        raise PlatformError(
            f"the balance at {platform.endpoint.name} is ${balance}, and this costs ${cost}",
            "Nothing was published. Add funds, or make the study smaller.",
        )


def preview_urls(engine: Engine, name: str, endpoint: Endpoint) -> tuple[str, ...]:
    """Where workers find what is up."""
    with reading(engine) as session:
        study = get_study(session, name)
        answers = session.scalars(
            select(OutboxRow.answer)
            .where(
                OutboxRow.study_id == study.id,
                OutboxRow.endpoint == endpoint.name,
                OutboxRow.operation == PUBLISH,
            )
            .order_by(OutboxRow.id)
        )
        return tuple(
            dict.fromkeys(endpoint.preview_url.format(type=answer["group"]) for answer in answers if answer)
        )


def extend_all(engine: Engine, name: str, platform: Platform, days: float) -> int:
    """Let every HIT of the study that is up be found for `days` from now; returns how many there are."""
    until = now() + timedelta(days=days)
    hits = _up(engine, name, platform.endpoint)
    for hit_id, external_id in hits:
        platform.extend(external_id, until)
        _set_expiry(engine, hit_id, until)
    return len(hits)


def expire_all(engine: Engine, name: str, platform: Platform) -> tuple[int, int]:
    """Take every HIT of the study down; returns how many, and how many people have an open form."""
    hits = _up(engine, name, platform.endpoint)
    for hit_id, external_id in hits:
        platform.expire(external_id)
        _set_expiry(engine, hit_id, now())
    with reading(engine) as session:
        study = get_study(session, name)
        working = session.scalar(
            select(func.count()).select_from(AssignmentRow).where(
                AssignmentRow.study_id == study.id, AssignmentRow.endpoint == platform.endpoint.name, AssignmentRow.state == "opened",
                AssignmentRow.lease_until > now(),
            )
        )  # fmt: skip
    return len(hits), working or 0


def _up(engine: Engine, name: str, endpoint: Endpoint) -> list[tuple[int, str]]:
    with reading(engine) as session:
        study = get_study(session, name)
        hits = session.scalars(
            select(HitRow)
            .where(
                HitRow.study_id == study.id, HitRow.endpoint == endpoint.name, HitRow.external_id.is_not(None)
            )
            .order_by(HitRow.id)
        ).all()
    if not hits:
        raise UsageError(
            f"study {name!r} has no HITs at {endpoint.name}",
            f"`humaneval publish {name} --to {endpoint.name}` puts them up.",
        )
    return [(hit.id, hit.external_id or "") for hit in hits]


def _set_expiry(engine: Engine, hit_id: int, moment: datetime) -> None:
    with writing(engine) as session:
        session.get_one(HitRow, hit_id).expires_at = moment
