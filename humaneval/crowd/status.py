"""The progress of a study, counted from its assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import INSTEAD, spent
from humaneval.crowd.counted_forms import Forms, counted_forms, has_arrived, number_of, seconds_taken
from humaneval.crowd.hit_terms import Difference
from humaneval.crowd.more_places import PLACES
from humaneval.crowd.outbox import not_under_way
from humaneval.crowd.panel_postbacks import POSTBACK
from humaneval.crowd.participants import COMPENSATION, DONE
from humaneval.crowd.plan_differences import differing
from humaneval.crowd.published_hits import PUBLISH, known_gone
from humaneval.crowd.reversible import OVERTAKEN
from humaneval.crowd.settle import OWN, settled
from humaneval.crowd.uncollected import There
from humaneval.fees import sign_of
from humaneval.store.engine import reading
from humaneval.store.responses import TEST_ENDPOINTS, rows_in
from humaneval.store.tables import (
    COLLECTED,
    AssignmentRow,
    DeletedFormRow,
    HitRow,
    OutboxRow,
    PaymentRow,
    StudyAdditionRow,
)
from humaneval.store.types import now
from humaneval.study.money_paid import pretended_at
from humaneval.study.stored import Study
from humaneval.study.wage import hourly_at, median_minutes

ZERO = Decimal("0.00")
ENOUGH = 3
"""The fewest submissions from which a rate is estimated."""


class EndpointStatus(NamedTuple):
    """The state of a study at one endpoint."""

    endpoint: str
    hits: int
    hits_up: int
    hits_over: int
    """HITs that were up, and were taken down, expired, or were deleted."""
    hits_closed: int
    """Those of them that `close` has deleted. They do not come back, and the study gets no others there."""
    hits_gone: int
    """HITs that should be up, and that the platform does not have."""
    hits_unsent: int
    """Planned HITs that were never sent to the platform, because `publish` was interrupted. 0 once closed."""
    planned: int
    """Forms that the HITs carry; by link at most the number of rows."""
    added: int
    """Forms that the study got since, and that no HIT or link carries."""
    audience: str
    """By link: for whom the first one is that was not sent yet, or else the last one."""
    opened: int
    """Forms that somebody has open under a running lease."""
    answered: int
    """Forms whose answers are on our server and, as far as we know, not submitted at the platform; by link,
    not collected."""
    lost: int
    """Such forms, and submitted and undecided ones, whose HITs the platform lost: a person can take them
    in."""
    not_collected: int
    """Forms that are submitted and not collected, as far as the platform was asked."""
    crowded_out: int
    """By link: rows that nobody can take, because late answers took their places."""
    submitted: int
    """Submitted forms, collected or not, whatever was decided since. By link, answers are submitted as soon
    as our server has them."""
    approved: int
    usable: int
    """Collected and not excluded by `review`."""
    left_out: Mapping[str, int]
    """Why the other collected ones do not count, and how many each."""
    about_done_at: datetime | None
    """When the rest will be submitted, at the rate so far; see `about_done`."""
    unconfirmed: int
    """Writes that were tried, and that may or may not have got through."""
    refused: int
    """Writes that are still wanted, but that the platform refused or never got: nothing was done."""
    next_auto_approval: datetime | None
    """When the platform automatically approves the first waiting assignment."""
    rewards: Decimal
    """Paid so far, bonuses too."""
    fees: Decimal
    spent: Decimal
    """Both together."""
    pretended: bool
    """Whether it is play money: of the sandbox, or at a stand-in."""
    paid_elsewhere: Decimal
    """What people paid by hand, outside of the platform; a part of `rewards`."""
    settled: Decimal
    """At a marketplace of one's own: what is entered as paid by hand of what is approved there."""
    due_later: Decimal
    """At a marketplace of one's own: the rewards of the forms that wait for approval."""
    to_approve: int
    """Submitted forms, collected or not, that nobody has decided about."""
    rejected: int
    strays: int
    """Undecided submissions that match no form of the study. No other number here counts them."""
    compensations_due: int
    """Compensations that their workers have not taken yet, as far as we know."""
    median_minutes: float | None
    """From opening a form to having its answers; None while there are no answers."""
    hourly: Decimal | None
    """The hourly wage of a worker who took the median time; None also if nothing is paid."""
    by_programs: bool
    """Whether programs sent some of the forms: then the time and the wage are no people's."""
    hourly_expected: Decimal
    """The hourly wage of a worker who takes `expected_minutes`."""
    hits_differ: tuple[Difference, ...]
    """How HITs differ from the plan, accepted or not."""
    currency: str
    """Of every amount here."""
    not_told: int
    """People who are done, and whom their panel does not know or does not credit."""
    unsure_told: int
    """People whom their panel may have credited: its reply was lost."""
    silent: str
    """Why the platform does not say what is submitted; empty if it does, or was not asked."""

    @property
    def is_own(self) -> bool:
        """Whether it is a marketplace of one's own: what is approved there is owed, and paid by hand."""
        return self.endpoint in OWN

    @property
    def owed(self) -> Decimal:
        """At a marketplace of one's own: what is approved, and not entered as paid."""
        return self.rewards - self.paid_elsewhere - self.settled

    @property
    def sign(self) -> str:
        """What stands before an amount here."""
        return sign_of(self.currency)


def about_done(submitted: int, planned: int, began: datetime | None, now: datetime) -> datetime | None:
    """When the rest will be submitted if it comes as fast as what was submitted between `began` and `now`.

    None if there is no estimate: fewer than three are submitted, or all.

    >>> from datetime import UTC
    >>> began = datetime(2026, 11, 2, 9, tzinfo=UTC)
    >>> print(about_done(10, 40, began, began + timedelta(hours=2)))
    2026-11-02 17:00:00+00:00
    """
    if began is None or began >= now or submitted < ENOUGH or submitted >= planned:
        return None
    # Longer than a year is no estimate.
    left = (now - began) * ((planned - submitted) / submitted)
    return now + left if left < timedelta(days=366) else None


def _crowded_out(work: Iterable[Forms], places: int, rows: int) -> int:
    """A row goes to the next person when its time is over. If the first person still answers, both count."""
    counting = [each for each in work if not each.row_replaced and (each.holds_row or each.state in DONE)]
    late = number_of(each for each in counting if not each.holds_row)
    unheld = rows - (number_of(counting) - late)
    return max(0, min(late, unheld - (places - number_of(counting))))


class _Records(NamedTuple):
    """What our database has about a study, at all endpoints."""

    hits: Sequence[HitRow]
    work: Sequence[Forms]
    seconds: Mapping[str, list[float]]
    """Endpoint → the time of each submitted form, from opening it to sending it."""
    writes: Mapping[tuple[str, str], int]
    """(endpoint, state) → tried writes."""
    unsent: Mapping[str, int]
    """Endpoint → planned HITs that were never sent to the platform."""
    due: Mapping[str, int]
    """Endpoint → compensations that nobody has taken yet."""
    told: Mapping[tuple[str, bool], int]
    """(endpoint, whether its reply was lost) → people that a panel has not confirmed."""
    settled: Mapping[str, Decimal]
    """Endpoint → what is entered there as paid by hand."""
    rows: int
    first_rows: int
    """Without those that were added later."""
    replaced: Mapping[str, int]
    """Endpoint → rows that were handed out again, and have had a second place."""
    pretended: frozenset[str]

    def at(self, endpoint: str) -> tuple[list[HitRow], list[Forms]]:
        hits = [hit for hit in self.hits if hit.endpoint == endpoint]
        return hits, [each for each in self.work if each.endpoint == endpoint]


def study_status(
    study: Study, moment: datetime | None = None, there: Mapping[str, There] | None = None
) -> list[EndpointStatus]:
    """One line for each endpoint that the study is published or planned at; `moment` is now by default.

    `there` is what platforms say, by endpoint. Without it, only our own database counts.
    """
    moment = moment or now()
    said = there or {}
    with reading(study.engine) as session:
        records = _records(session, study, moment, said)
    endpoints = dict.fromkeys(hit.endpoint for hit in records.hits)
    return [_status(study, endpoint, records, moment, said.get(endpoint, There())) for endpoint in endpoints]


def _records(session: Session, study: Study, moment: datetime, said: Mapping[str, There]) -> _Records:
    hits = session.scalars(select(HitRow).where(HitRow.study_id == study.id).order_by(HitRow.id)).all()
    closed = {hit.endpoint for hit in hits if hit.closed_at}  # what was never made there is never made
    tried = select(OutboxRow.endpoint, OutboxRow.state).where(
        OutboxRow.study_id == study.id,
        OutboxRow.attempts > 0,
        OutboxRow.error.notin_((OVERTAKEN, INSTEAD)),
        OutboxRow.operation != POSTBACK,
        ~(OutboxRow.operation.in_((PUBLISH, PLACES)) & OutboxRow.endpoint.in_(closed)),
    )
    lost = ((OutboxRow.state == "pending") & (OutboxRow.attempts > 0)).label("lost")
    told = select(OutboxRow.endpoint, lost).where(
        OutboxRow.study_id == study.id,
        OutboxRow.operation == POSTBACK,
        OutboxRow.state != "confirmed",
        not_under_way(),
    )
    unsent = select(OutboxRow.endpoint).where(
        OutboxRow.study_id == study.id,
        OutboxRow.operation == PUBLISH,
        OutboxRow.state == "pending",
        OutboxRow.attempts == 0,
    )
    due = select(PaymentRow.endpoint).where(
        PaymentRow.study_id == study.id, PaymentRow.kind == COMPENSATION, PaymentRow.state == "due"
    )
    new = {endpoint: there.new for endpoint, there in said.items() if there.new}
    rows = rows_in(session, study.id)
    first = select(func.min(StudyAdditionRow.rows_before)).where(StudyAdditionRow.study_id == study.id)
    again = Counter[str]()
    for of in (AssignmentRow, DeletedFormRow):
        replaced = select(of.endpoint).where(of.study_id == study.id, of.row_replaced)
        again.update(dict(_counted(session, replaced)))
    return _Records(
        hits=hits,
        work=counted_forms(session, study, moment, new),
        seconds=seconds_taken(session, study, new),
        writes={(endpoint, state): number for endpoint, state, number in _counted(session, tried)},
        unsent=dict(_counted(session, unsent)),
        due=dict(_counted(session, due)),
        told={(endpoint, bool(lost)): number for endpoint, lost, number in _counted(session, told)},
        settled={endpoint: settled(session, study, endpoint) for endpoint in OWN},
        rows=rows,
        first_rows=rows if (before := session.scalar(first)) is None else before,
        replaced=again,
        pretended=pretended_at(session, study.id),
    )


def _counted(session: Session, query: Select[*tuple[Any, ...]]) -> Sequence[Any]:
    """The different lines of a query, each with how often it comes."""
    return session.execute(query.add_columns(func.count()).group_by(*query.selected_columns)).all()


def _status(study: Study, endpoint: str, records: _Records, moment: datetime, there: There) -> EndpointStatus:
    hits, work = records.at(endpoint)
    collected = [each for each in work if each.state in COLLECTED and not each.is_stray]
    by_link, gone = endpoint == "link", there.gone | known_gone(study, endpoint)
    arrived = [each for each in work if has_arrived(each, there.new)]
    submitted = [*collected, *arrived]
    new = number_of(arrived) if by_link else len(there.new)
    places = sum(hit.assignments for hit in hits)
    began = min((each.began for each in submitted), default=None)
    closed = all(hit.id in gone or hit.closed_at or _is_over(hit, moment) for hit in hits)
    minutes = median_minutes(records.seconds.get(endpoint, ()))
    reward = (study.settings.by_link if by_link else study.settings).hit.reward
    paid = spent(study, endpoint)
    to_approve = new + number_of(each for each in collected if each.state == "submitted")
    left_out = _by_reason(collected)
    return EndpointStatus(
        endpoint=endpoint,
        hits=len(hits),
        hits_up=sum(_is_up(hit, gone, moment) for hit in hits),
        hits_over=sum(_is_over(hit, moment) for hit in hits),
        hits_closed=sum(hit.external_id is not None and hit.closed_at is not None for hit in hits),
        hits_gone=sum(hit.id in gone and hit.closed_at is None for hit in hits),
        hits_unsent=0 if any(hit.closed_at for hit in hits) else records.unsent.get(endpoint, 0),
        planned=(planned := _rows_of_links(places, work, records) if by_link else places),
        added=_added(endpoint, hits, places, records, moment),
        audience=next((hit for hit in hits if hit.external_id is None), hits[-1]).audience,
        opened=sum(each.opened for each in work),
        answered=_answered(work, there),
        lost=number_of(each for each in work if each.hit_id in gone),
        not_collected=new,
        crowded_out=_crowded_out(work, places, records.rows) if by_link else 0,
        submitted=number_of(collected) + new,
        approved=number_of(each for each in collected if each.state == "approved"),
        usable=left_out.pop("", 0),
        left_out=left_out,
        about_done_at=None if closed else about_done(number_of(collected) + new, planned, began, moment),
        unconfirmed=records.writes.get((endpoint, "pending"), 0),
        refused=records.writes.get((endpoint, "refused"), 0),
        next_auto_approval=_next_auto_approval(each for each in work if each.hit_id not in gone),
        rewards=paid.rewards,
        fees=paid.fees,
        spent=paid.total,
        pretended=endpoint in records.pretended,
        paid_elsewhere=paid.rewards - spent(study, endpoint, by_hand=False).rewards,
        settled=records.settled.get(endpoint, ZERO),
        due_later=to_approve * reward if endpoint in OWN else ZERO,
        to_approve=to_approve,
        rejected=number_of(each for each in collected if each.state == "rejected"),
        strays=number_of(each for each in work if each.is_stray and each.state == "submitted"),
        compensations_due=records.due.get(endpoint, 0),
        median_minutes=minutes,
        hourly=hourly_at(reward, minutes),
        by_programs=any(each.by_program for each in submitted),
        hourly_expected=study.settings.hit.hourly,
        hits_differ=differing(study, endpoint),
        currency=study.settings.hit.currency,
        not_told=records.told.get((endpoint, False), 0),
        unsure_told=records.told.get((endpoint, True), 0),
        silent=there.silent,
    )


def _answered(work: Iterable[Forms], there: There) -> int:
    answered = [each for each in work if each.state == "answered"]
    return number_of(each for each in answered if each.endpoint == "link" or not has_arrived(each, there.new))


def _by_reason(collected: Iterable[Forms]) -> Counter[str]:
    """Why forms do not count, and how many each; no words stand for those that do."""
    found = Counter[str]()
    for each in collected:
        found[each.why_unusable] += each.number
    return found


def _added(endpoint: str, hits: Sequence[HitRow], places: int, records: _Records, moment: datetime) -> int:
    """What `publish` would plan of a study that was enlarged. A link may be for fewer people anyway.

    Of several endpoints it is put up at one: not where the study was rehearsed, or is over, and nowhere once
    another has them.
    """
    elsewhere = Counter[str]()
    for hit in records.hits:
        if hit.endpoint != endpoint:
            elsewhere[hit.endpoint] += hit.assignments
    past = endpoint in TEST_ENDPOINTS or all(_is_over(hit, moment) for hit in hits)
    there = any(number >= records.rows for number in elsewhere.values())
    if any(hit.closed_at for hit in hits) or (elsewhere and past) or there:
        return 0
    left = records.rows - places + (endpoint != "link") * records.replaced.get(endpoint, 0)
    return max(0, min(left, records.rows - records.first_rows))


def _rows_of_links(places: int, work: Iterable[Forms], records: _Records) -> int:
    """Any number of links may lead to the same rows."""
    return min(places, records.rows) + number_of(each for each in work if each.row_replaced)


def _is_up(hit: HitRow, gone: Collection[int], moment: datetime) -> bool:
    return hit.external_id is not None and hit.id not in gone and not _is_over(hit, moment)


def _is_over(hit: HitRow, moment: datetime) -> bool:
    """Whether the HIT was up, and was deleted, taken down, or ran out."""
    expired = hit.expires_at is not None and hit.expires_at <= moment
    return hit.external_id is not None and (hit.closed_at is not None or expired)


def _next_auto_approval(work: Iterable[Forms]) -> datetime | None:
    waiting = [each.auto_approval_at for each in work if each.state == "submitted" and each.auto_approval_at]
    return min(waiting, default=None)
