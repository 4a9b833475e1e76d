"""Publishes a study: makes each of its planned HITs exactly once, whatever happens in between."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session

from humaneval.crowd import outbox
from humaneval.crowd.adopt import Orphan, adopt, hit_id_of, hit_of, record_up
from humaneval.crowd.costs import hit_cost
from humaneval.crowd.form_of_row import form_of
from humaneval.crowd.form_page import Delivery, render_form
from humaneval.crowd.hit_terms import QUESTION, TERMS, Difference, figures, unaccepted
from humaneval.crowd.link import Invitation
from humaneval.crowd.more_places import MorePlaces, places_to_give
from humaneval.crowd.outbox import (
    Intent,
    dropped,
    hold_study,
    intent_of,
    pending,
    perform,
    perform_each,
)
from humaneval.crowd.participants import participants_of
from humaneval.crowd.plan_differences import differing, look
from humaneval.crowd.platform import LINK, PROLIFIC, Offer, Published
from humaneval.crowd.prolific.answered import CODES
from humaneval.crowd.publish_plan import drop_untried, refuse_lacking
from humaneval.crowd.published_hits import PUBLISH, hits_of, hits_of_links, known_gone, preview_urls, up
from humaneval.crowd.reconcile import note_balance
from humaneval.crowd.signatures import with_secret
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import refuse_unaccepted
from humaneval.errors import HumanEvalError, PartialError, UsageError
from humaneval.store.engine import in_turns, reading, writing
from humaneval.store.tables import HitRow, OutboxRow, StudyRow
from humaneval.store.types import now
from humaneval.study.money_paid import STAND_IN
from humaneval.study.planned_cost import COST, cost_told
from humaneval.study.words import channel_at
from humaneval.text import command, counted

ZERO = Decimal("0.00")

LINKS_TOGETHER = 100
"""How many links are made between two commits: nothing is called for a link."""


@dataclass(frozen=True, slots=True)
class PublishResult:
    """What this call put up, what was up before or was found again, and where workers find it."""

    made: int
    adopted: int
    already_up: int
    assignments: int
    preview_urls: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    """What the platform has otherwise than planned, and nobody has accepted. Then the rest was not made."""


def publish_hits(
    at: StudyAtPlatform,
    *,
    public_url: str,
    keys: Collection[str] | None = None,
    advance: Callable[[int], None] = lambda amount: None,
) -> PublishResult:
    """Make every planned HIT that is not up yet. After a kill at any point, another run completes the plan.

    If the first call is not made at all, because the balance does not suffice for example, no plan is kept.
    With the `keys` of a plan, make no others: another program may have planned more HITs since somebody
    agreed to the price. What the platform replies is compared with the plan. Once it differs, no more HITs
    are made.
    """
    already_up = len(up(at.study, at.endpoint)) - len(known_gone(at.study, at.endpoint))
    adopted = adopt(at)
    with reading(at.engine) as session:
        intents = pending(session, study_id=at.id, endpoint=at.endpoint, operation=PUBLISH)
        hits = {f"hit {hit.id}": hit for hit in hits_of(session, at.study, at.endpoint)}
        if keys is not None:
            intents = [intent for intent in intents if hits[intent.subject].key in keys]
        offers = {
            intent.id: _offer(session, at, intent, hits[intent.subject], public_url) for intent in intents
        }
    if offers:
        try:
            balance = _checked(at, offers.values())
        except HumanEvalError as error:
            if not drop_untried(at):
                error.hint += (
                    " What is planned stays, because a part of it was tried: the next publish goes on."
                )
            raise
        with writing(at.engine) as session:
            hold_study(session, at.id)
            note_balance(session, at.study, at.endpoint, balance)
        people = participants_of(at)
        offers = {id: replace(offer, participants=people) for id, offer in offers.items()}
    advance(adopted)
    _give_places(at, keys)
    made, found = _make(at, intents, offers, advance)
    assignments = sum(offers[intent.id].assignments for intent in intents[:made])
    urls = preview_urls(at.study, at.platform.endpoint)
    return PublishResult(made, adopted, already_up, assignments, urls, found)


def leads_elsewhere(at: StudyAtPlatform, public_url: str) -> str:
    """How HITs that are up lead people to forms at another address, in words; empty if they do not. Of the
    plans only a hash of the address is kept. The first HIT and the last one will do."""
    gone = known_gone(at.study, at.endpoint)
    with reading(at.engine) as session:
        hits = [
            hit
            for hit in hits_of(session, at.study, at.endpoint)
            if hit.external_id is not None and hit.closed_at is None and hit.row_id is None
            if hit.id not in gone
            if hit.expires_at is None or hit.expires_at > now()
        ]
        subjects = {f"hit {hit.id}" for hit in (*hits[:1], *hits[-1:])}
        for row in session.scalars(_wrote(at).where(OutboxRow.subject.in_(subjects))):
            here = _figures(session, at, row, public_url)
            if row.request.get(TERMS, {}).get(QUESTION) not in (None, here.get(QUESTION)):
                what = "links" if at.endpoint == LINK else f"HITs at {at.endpoint}"
                return (
                    f"study {at.name!r} has {what} that lead people to forms at another address than"
                    f" {public_url}"
                )
    return ""


def refuse_moved(at: StudyAtPlatform, public_url: str) -> None:
    """Raise UsageError if HITs that are up lead to another address: a published HIT keeps its own."""
    if moved := leads_elsewhere(at, public_url):
        raise UsageError(
            moved,
            "Nothing was published. Set public_url to the address that they were published with, and serve"
            f" the forms there. If it is lost, take them down first:"
            f" {command('expire', at.name, '--to', at.endpoint)}",
        )


def moved_links(at: StudyAtPlatform, public_url: str, again: Sequence[Invitation]) -> str:
    """As `leads_elsewhere`. The links `again` are handed out once more, and from now on lead here."""
    if moved := leads_elsewhere(at, public_url):
        with reading(at.engine) as session:
            subjects = [f"hit {hit.id}" for hit in hits_of_links(session, at.study, at.endpoint, again)]
        for some in in_turns(subjects, outbox.TOGETHER):
            with writing(at.engine) as session:
                hold_study(session, at.id)
                for row in session.scalars(_wrote(at).where(OutboxRow.subject.in_(some))):
                    here = _figures(session, at, row, public_url)
                    row.request = {**row.request, TERMS: here}
    return moved


def _figures(session: Session, at: StudyAtPlatform, row: OutboxRow, public_url: str) -> dict[str, str]:
    intent = intent_of(row)
    return figures(at.platform.terms(_offer(session, at, intent, hit_of(session, intent), public_url)))


def _wrote(at: StudyAtPlatform) -> Select[OutboxRow]:
    """What was written to the platform to put HITs up."""
    of_study = (OutboxRow.study_id == at.id, OutboxRow.endpoint == at.endpoint)
    return select(OutboxRow).where(*of_study, OutboxRow.operation == PUBLISH)


def _give_places(at: StudyAtPlatform, keys: Collection[str] | None) -> None:
    """Give offers that are up the places that are planned, as far as somebody has agreed to the price."""
    with reading(at.engine) as session:
        waiting = places_to_give(session, at)
        ids = {each.hit_id: session.get_one(HitRow, each.hit_id).external_id or "" for each in waiting}
    for each in waiting:
        if keys is not None and each.intent.subject not in keys:
            continue

        def record(session: Session, _: None, each: MorePlaces = each) -> dict[str, int]:
            session.get_one(HitRow, each.hit_id).assignments = each.places
            return {"places": each.places}

        give = partial(at.platform.more_places, ids[each.hit_id], each.places)
        perform(at.engine, each.intent, give, record)
    if waiting:
        look(at, up(at.study, at.endpoint))


class _Made(NamedTuple):
    hits: int
    differences: tuple[Difference, ...]


def _make(
    at: StudyAtPlatform,
    intents: Sequence[Intent],
    offers: Mapping[int, Offer],
    advance: Callable[[int], None],
) -> _Made:
    """Make the offers, until one turns out otherwise than planned."""
    planned = {id: figures(at.platform.terms(offer)) for id, offer in offers.items()}
    places = {id: offer.assignments for id, offer in offers.items()}
    costs = {id: cost_told(number, hit_cost(at, number).total) for id, number in places.items()}
    # Said either way: an interrupted try may have gone to the other.
    played = {STAND_IN: at.platform.endpoint.is_stand_in} if at.endpoint == PROLIFIC else {}
    with reading(at.engine) as session:
        over = _over(session, at)
    together = LINKS_TOGETHER if at.endpoint == LINK else outbox.TOGETHER
    for part in in_turns(intents, together):
        with writing(at.engine) as session:
            these = select(OutboxRow).where(OutboxRow.id.in_([intent.id for intent in part]))
            rows = {row.id: row for row in session.scalars(these)}
            for intent in part:
                if (row := rows.get(intent.id)) is None:
                    raise dropped()
                told = {TERMS: planned[intent.id], COST: costs[intent.id]}
                row.request = {**row.request, **told, **played}

    def record(session: Session, intent: Intent, published: Published) -> Mapping[str, Any]:
        up_now = Orphan(hit_id_of(intent), offers[intent.id].key, published)
        return record_up(session, at, up_now, planned[intent.id])

    done, batch = 0, 0
    made = perform_each(
        at.engine,
        intents,
        lambda intent: at.platform.publish(offers[intent.id], intent.token),
        record,
        together=together,
    )
    for _ in made:
        advance(1)
        done, batch = done + 1, (batch + 1) % together
        if not batch and unaccepted(differing(at.study, at.endpoint)):
            break
        if not batch or done == len(intents):
            _refuse_taken_down(at, over, done)
    return _Made(done, tuple(unaccepted(differing(at.study, at.endpoint))))


def _over(session: Session, at: StudyAtPlatform) -> int:
    """How many HITs of the study are deleted, over, or about to be taken down."""
    over = (HitRow.closed_at.is_not(None), HitRow.expires_at <= now(), HitRow.next_expires_at <= now())
    of_study = (HitRow.study_id == at.id, HitRow.endpoint == at.endpoint)
    return session.scalar(select(func.count()).select_from(HitRow).where(*of_study, or_(*over))) or 0


def _refuse_taken_down(at: StudyAtPlatform, over: int, made: int) -> None:
    """Raise PartialError if more HITs than `over` are: another program has taken the study down meanwhile."""
    with reading(at.engine) as session:
        if _over(session, at) <= over:
            return
    raise PartialError(
        f"the study was taken down at {at.endpoint} meanwhile: {counted(made, 'HIT', 'was', 'were')} put"
        " up, and no more",
        f"To take these down, too: {command('expire', at.name, '--to', at.endpoint)}",
    )


def _offer(session: Session, at: StudyAtPlatform, intent: Intent, hit: HitRow, public_url: str) -> Offer:
    terms = at.settings.hit
    page, form_path = "", at.platform.endpoint.form_path
    if hit.row_id is not None:
        delivery = Delivery(
            action=at.platform.endpoint.submit_origin + "/mturk/externalSubmit",
            static=True,
            channel=channel_at(at.endpoint),
        )
        study = session.get_one(StudyRow, at.id)
        page = render_form(form_of(session, study, hit.row_id, at.endpoint), delivery)
    return Offer(
        key=hit.key,
        title=terms.title,
        description=terms.description,
        # Platforms list HITs with equal terms as one group. The last word keeps two studies, or a pilot,
        # apart.
        keywords=(*terms.keywords, f"study {at.study.design_hash[:6]}"),
        reward=terms.reward,
        assignments=hit.assignments,
        assignment_seconds=terms.assignment_minutes * 60,
        lifetime_seconds=terms.lifetime_seconds,
        auto_approval_seconds=round(terms.auto_approval_days * 86_400),
        form_url="" if page else with_secret(f"{public_url}/{form_path}/{hit.key}", hit.secret),
        page=page,
        expected_minutes=terms.expected_minutes,
        forms_each=at.settings.design.rows_per_annotator,
        codes=session.get_one(OutboxRow, intent.id).request.get(CODES, {}) if at.endpoint == PROLIFIC else {},
        devices=at.settings.prolific.devices,
        filters=at.settings.prolific.filters,
    )


def _checked(at: StudyAtPlatform, offers: Collection[Offer]) -> Decimal | None:
    """The balance, before the first call. Raises PlatformError if it does not cover all offers: publishing
    would stop halfway. Raises an error, too, for an offer that the platform would refuse."""
    for offer in offers:
        at.platform.check(offer)
    refuse_unaccepted(at, "Nothing was published.")
    balance = at.platform.balance()
    cost = sum((hit_cost(at, offer.assignments).total for offer in offers), ZERO)
    if balance is not None:
        refuse_lacking(at, balance, cost)
    return balance
