"""Puts a study up: plans its HITs once, then makes each of them exactly once, whatever happens in between."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import Engine, bindparam, func, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.addresses import (
    INVITE,
    PUBLISH,
    hits_of,
    preview_urls,
    refuse_closed,
    refuse_elsewhere,
    up,
)
from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Delivery, render_form
from humaneval.crowd.link import Invitation
from humaneval.crowd.outbox import AS_SQL, Intent, hold_study, intend, pending, perform_each
from humaneval.crowd.participants import participants_of, refuse_unknown_studies
from humaneval.crowd.platform import Cost, Endpoint, Offer, Platform, Published
from humaneval.crowd.reconcile import note_balance
from humaneval.crowd.review import lost_assignments
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import MANY_ASSIGNMENTS
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, RowRow, StudyRow
from humaneval.store.types import now
from humaneval.study.file import StudyFile
from humaneval.study.stored import get_study, settings_of

MAX_ASSIGNMENTS = MANY_ASSIGNMENTS - 1
"""Per HIT: from ten assignments on the platform's fee doubles."""

ZERO = Decimal("0.00")


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """What is still to be put up, and what it costs if all of it is approved."""

    hits: int
    assignments: int
    cost: Cost
    already_up: int
    lost_rows: int
    """Rows whose annotators were excluded or rejected, and that are not handed out again unless it is
    asked for."""
    fees_unsplit: Decimal
    """The platform's fees if one HIT carried all these assignments: from ten on they are higher."""
    expected_minutes: float
    hourly: Decimal
    """The wage in dollars an hour of somebody who takes the expected minutes."""
    keys: frozenset[str]
    """Of the HITs that this is the price of."""


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What this call put up, what was up before or was found again, and where people can take it."""

    made: int
    adopted: int
    already_up: int
    assignments: int
    preview_urls: tuple[str, ...]


class _Portion(NamedTuple):
    assignments: int
    row_id: int | None = None
    """Only where the page is static."""
    audience: str = ""
    subject: str = ""
    """Only of links: what makes it the same link the next time."""
    resize: bool = False
    """Only of links: one that is there gets this number of places."""


def plan(
    engine: Engine,
    name: str,
    platform: Platform,
    *,
    static: bool = False,
    top_up: bool = False,
    dry_run: bool = False,
    invitations: Sequence[Invitation] = (),
) -> PublishPlan:
    """Write down the HITs that carry the study's rows on this endpoint; a study that is up stays as it is.

    Where the study says `top_up = "auto"`, or "ask" and `top_up` is set, rows lost in review get HITs of
    their own. `dry_run` writes nothing. By link, `invitations` are planned instead, each once however often
    it is asked for.
    """
    refuse_elsewhere(engine, name, platform)
    endpoint = platform.endpoint.name
    # A real run has recorded them before it plans.
    unrecorded = {orphan.key for orphan in orphans(engine, name, platform).values()} if dry_run else set()
    with writing(engine) as session:
        study = hold_study(session, name)
        settings = settings_of(study)
        if top_up and settings.design.top_up == "never":
            raise UsageError(
                f'study {name!r} says top_up = "never"',
                "Its rows are not handed out again; leave --top-up out.",
            )
        refuse_unknown_studies(session, study)
        _forget_other_way(session, study, endpoint, static)
        hits = hits_of(session, study, endpoint)
        refuse_closed(study, endpoint, hits)
        if invitations:
            rows = _row_ids(session, study)
            portions = [
                _Portion(
                    i.places or len(rows), None, i.audience, f"{study.name}: {i.subject}", bool(i.places)
                )
                for i in invitations
            ]
        else:
            portions = _portions(session, study, endpoint, static)
        lost = lost_assignments(session, study, endpoint) if settings.design.top_up != "never" else []
        if lost and (top_up or settings.design.top_up == "auto"):
            again = [assignment.row_id for assignment in lost]
            if not invitations:  # a link stays open for rows that are free again
                portions += [_Portion(1, row) for row in again] if static else _split(len(again))
            for assignment in lost:
                assignment.holds_row, assignment.row_replaced = False, True
            lost = []
        for portion in portions:
            _plan_hit(session, study, endpoint, portion)
        hits = hits_of(session, study, endpoint)
        waiting = [hit for hit in hits if hit.external_id is None and hit.key not in unrecorded]
        masters = settings.participants.masters
        costs = [platform.cost(settings.hit.reward, hit.assignments, masters=masters) for hit in waiting]
        unsplit = platform.cost(settings.hit.reward, sum(hit.assignments for hit in waiting), masters=masters)
        planned = PublishPlan(
            len(waiting),
            sum(hit.assignments for hit in waiting),
            Cost(sum((c.rewards for c in costs), ZERO), sum((c.fees for c in costs), ZERO)),
            len(hits) - len(waiting),
            len(lost),
            unsplit.fees,
            settings.hit.expected_minutes,
            settings.hit.hourly,
            frozenset(hit.key for hit in waiting),
        )
        if dry_run:
            session.rollback()
        return planned


def _forget_other_way(session: Session, study: StudyRow, endpoint: str, static: bool) -> None:
    """A plan of the other kind is dropped while no call was made for it; afterwards it binds."""
    hits = hits_of(session, study, endpoint)
    if not hits or static == (hits[0].row_id is not None):
        return
    intents = session.scalars(
        select(OutboxRow).where(
            OutboxRow.study_id == study.id, OutboxRow.endpoint == endpoint, OutboxRow.operation == PUBLISH
        )
    ).all()
    if any(intent.attempts for intent in intents):
        raise UsageError(
            f"study {study.name!r} was published to {endpoint} the other way",
            "Run publish again with, or without, --static as before.",
        )
    for row in (*intents, *hits):
        session.delete(row)
    session.flush()


def _plan_hit(session: Session, study: StudyRow, endpoint: str, portion: _Portion) -> None:
    known = select(OutboxRow).where(
        OutboxRow.endpoint == endpoint, OutboxRow.operation == INVITE, OutboxRow.subject == portion.subject
    )
    there = session.scalar(known) if portion.subject else None
    if there is not None:
        if portion.resize:
            session.get_one(HitRow, there.request["hit"]).assignments = portion.assignments
        return
    hit = HitRow(
        study_id=study.id,
        endpoint=endpoint,
        # The letter in front: "/form/ad…" is what ad-blockers look for.
        key="f" + secrets.token_urlsafe(18),
        assignments=portion.assignments,
        row_id=portion.row_id,
        audience=portion.audience,
    )
    session.add(hit)
    session.flush()
    if portion.subject:
        invited = intend(
            session,
            study_id=study.id,
            endpoint=endpoint,
            operation=INVITE,
            subject=portion.subject,
            key=hit.key,
            request={"hit": hit.id},
        )
        invited.state, invited.confirmed_at = "confirmed", now()
    intend(
        session,
        study_id=study.id,
        endpoint=endpoint,
        operation=PUBLISH,
        subject=f"hit {hit.id}",
        key=hit.key,
        request={"assignments": portion.assignments},
    )


def _portions(session: Session, study: StudyRow, endpoint: str, static: bool) -> list[_Portion]:
    """For the rows that no HIT of this endpoint carries: all of them at first, later those that were
    added."""
    rows, hits = _row_ids(session, study), hits_of(session, study, endpoint)
    if static:
        carried = {hit.row_id for hit in hits}
        return [_Portion(1, row) for row in rows if row not in carried]
    # A row that was lost and is handed out again has had a second place.
    again = (
        select(func.count())
        .select_from(AssignmentRow)
        .where(
            AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint, AssignmentRow.row_replaced
        )
    )
    places = sum(hit.assignments for hit in hits) - (session.scalar(again) or 0)
    return _split(max(0, len(rows) - places))


def _row_ids(session: Session, study: StudyRow) -> Sequence[int]:
    return session.scalars(
        select(RowRow.id).where(RowRow.study_id == study.id).order_by(RowRow.ordinal)
    ).all()


def _split(rows: int) -> list[_Portion]:
    whole, rest = divmod(rows, MAX_ASSIGNMENTS)
    return [_Portion(size) for size in [MAX_ASSIGNMENTS] * whole + [rest] * (rest > 0)]


def publish(
    engine: Engine,
    name: str,
    platform: Platform,
    *,
    public_url: str,
    keys: Collection[str] | None = None,
    advance: Callable[[int], None] = lambda amount: None,
) -> PublishResult:
    """Make every planned HIT that is not up yet. Killed at any point and run again it ends with exactly the plan.

    With `keys` of a plan no others: another program may have planned more since its price was agreed to.
    """
    endpoint = platform.endpoint
    already_up = len(up(engine, name, endpoint.name))
    adopted = adopt(engine, name, platform)
    with reading(engine) as session:
        study = get_study(session, name)
        settings = settings_of(study)
        intents = pending(session, study_id=study.id, endpoint=endpoint.name, operation=PUBLISH)
        if keys is not None:
            intents = [intent for intent in intents if _hit_of(session, intent).key in keys]
        offers = {
            intent.id: _offer(session, study, settings, endpoint, intent, public_url) for intent in intents
        }
    for offer in offers.values():
        platform.check(offer)
    if offers:
        balance = _sufficient_balance(platform, offers.values(), settings)
        with writing(engine) as session:
            note_balance(session, hold_study(session, name), endpoint.name, balance)
        people = participants_of(engine, name, platform)
        offers = {id: replace(offer, participants=people) for id, offer in offers.items()}
    advance(adopted)
    made = perform_each(
        engine,
        intents,
        lambda intent: platform.publish(offers[intent.id], intent.token),
        lambda session, intent, published: _up(
            session, offers[intent.id].key, settings.hit.lifetime_seconds, published
        ),
    )
    for _ in made:
        advance(1)
    assignments = sum(offer.assignments for offer in offers.values())
    return PublishResult(len(intents), adopted, already_up, assignments, preview_urls(engine, name, endpoint))


def adopt(engine: Engine, name: str, platform: Platform) -> int:
    """Record HITs of the study that are up although the call that made them never was; returns how many.

    The platform forgets tokens after a while, but not the annotations by which these are found.
    PlatformError, with nothing changed, where the study's HITs are at another platform of this name.
    """
    found = orphans(engine, name, platform)
    with reading(engine) as session:
        lifetime = settings_of(get_study(session, name)).hit.lifetime_seconds
    adopted = perform_each(
        engine,
        list(found),
        lambda intent: found[intent].published,
        lambda session, intent, published: _up(session, found[intent].key, lifetime, published),
    )
    return sum(1 for _ in adopted)


class Orphan(NamedTuple):
    """A HIT of ours that is up and that our database does not know to be."""

    hit_id: int
    key: str
    published: Published


def orphans(engine: Engine, name: str, platform: Platform) -> dict[Intent, Orphan]:
    """What `adopt` would record. Changes nothing."""
    refuse_elsewhere(engine, name, platform)
    with reading(engine) as session:
        study = get_study(session, name)
        intents = pending(session, study_id=study.id, endpoint=platform.endpoint.name, operation=PUBLISH)
        hits = {intent: _hit_of(session, intent) for intent in intents if intent.attempted}
    found = platform.find([hit.key for hit in hits.values()]) if hits else {}
    return {
        intent: Orphan(hit.id, hit.key, found[hit.key]) for intent, hit in hits.items() if hit.key in found
    }


def _hit_of(session: Session, intent: Intent) -> HitRow:
    return session.get_one(HitRow, int(intent.subject.removeprefix("hit ")))


def _up(session: Session, key: str, lifetime: int, published: Published) -> dict[str, Any]:
    """Note that the HIT with `key` is up; returns what to keep of the platform's answer."""
    moment = now()
    there = {"of": key, "there": published.external_id, "until": moment + timedelta(seconds=lifetime)}
    session.execute(_HIT_UP, there, execution_options=AS_SQL)
    session.execute(_STUDY_UP, {"of": key, "at": moment}, execution_options=AS_SQL)
    return asdict(published)


# Statements made once, not objects: this is done for every HIT, and loading three rows takes as long as the
# rest.
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


def _offer(
    session: Session,
    study: StudyRow,
    settings: StudyFile,
    endpoint: Endpoint,
    intent: Intent,
    public_url: str,
) -> Offer:
    hit = _hit_of(session, intent)
    page = ""
    if hit.row_id is not None:
        delivery = Delivery(action=endpoint.submit_origin + "/mturk/externalSubmit", static=True)
        page = render_form(form_of(session, study, hit.row_id, endpoint.name), delivery)
    return Offer(
        key=hit.key,
        title=settings.hit.title,
        description=settings.hit.description,
        # Platforms list HITs with equal terms as one group: the last word keeps two studies, or a pilot,
        # apart.
        keywords=(*settings.hit.keywords, f"study {study.design_hash[:6]}"),
        reward=settings.hit.reward,
        assignments=hit.assignments,
        assignment_seconds=settings.hit.assignment_minutes * 60,
        lifetime_seconds=settings.hit.lifetime_seconds,
        auto_approval_seconds=round(settings.hit.auto_approval_days * 86_400),
        form_url="" if page else f"{public_url}/form/{hit.key}",
        page=page,
    )


def _sufficient_balance(platform: Platform, offers: Iterable[Offer], settings: StudyFile) -> Decimal | None:
    """The balance, before the first call: a batch that it cannot carry would stop half-way, so
    PlatformError."""
    balance = platform.balance()
    masters = settings.participants.masters
    cost = sum(
        (platform.cost(settings.hit.reward, offer.assignments, masters=masters).total for offer in offers),
        ZERO,
    )
    if balance is not None and balance < cost:
        raise PlatformError(
            f"the balance at {platform.endpoint.name} is ${balance}, and this costs ${cost}",
            f"Nothing was published. {platform.endpoint.add_funds}, or make the study smaller.",
        )
    return balance
