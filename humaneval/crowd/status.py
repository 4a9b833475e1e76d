"""How far a study is, counted from its assignments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from sqlalchemy import Engine, func, select

from humaneval.crowd.addresses import PUBLISH
from humaneval.crowd.ledger import INSTEAD, spent
from humaneval.crowd.participants import DONE
from humaneval.crowd.reversible import OVERTAKEN
from humaneval.store.engine import reading
from humaneval.store.tables import COLLECTED, AssignmentRow, HitRow, OutboxRow, PaymentRow, RowRow
from humaneval.store.types import now
from humaneval.study.stored import get_study, settings_of

ENOUGH = 3
"""Submissions from which on a rate means something."""


class EndpointStatus(NamedTuple):
    """The state of a study at one endpoint."""

    endpoint: str
    hits: int
    hits_up: int
    hits_over: int
    """That were up, and were taken down, ran out, or were deleted."""
    hits_unsent: int
    """That are planned, and of which the platform was never told: `publish` did not come so far. None once
    closed."""
    planned: int
    """Forms that the HITs carry; by link never more than there are rows."""
    opened: int
    """Forms that somebody has open under a lease that runs."""
    answered: int
    """Safe on our server, and as far as we know not yet submitted at the platform; by link, not yet
    collected."""
    crowded_out: int
    """By link: rows that nobody has and nobody will, since answers that came late took their places."""
    submitted: int
    """Submitted, whatever was decided since. By link answers are submitted the moment that our server has
    them."""
    approved: int
    usable: int
    """Collected and not excluded by `review`."""
    about_done_at: datetime | None
    """When the rest will be submitted at the rate so far; see `about_done`."""
    unconfirmed: int
    """Writes that were tried and of which nobody knows whether they got through."""
    refused: int
    """Writes that the platform refused, or that never left here, and that are still wanted: nothing was
    done."""
    next_auto_approval: datetime | None
    """When the platform approves the first waiting assignment by itself."""
    rewards: Decimal
    """Paid so far, bonuses too."""
    fees: Decimal
    spent: Decimal
    """Both together."""
    rejected: int
    strays: int
    """Submitted, matching no form of the study, and not decided yet; they are among no other number here."""
    compensations_due: int
    """Compensations whose worker has not taken them yet, as far as we know."""
    median_minutes: float | None
    """From opening a form to having its answers; None before anyone has answered."""
    hourly: Decimal | None
    """The wage in dollars an hour of somebody who took the median time; None also where nothing is paid."""
    hourly_expected: Decimal
    """The same for who takes `expected_minutes`."""


def about_done(submitted: int, planned: int, began: datetime | None, now: datetime) -> datetime | None:
    """When the rest will be submitted if it comes as fast as what was submitted between `began` and `now`.

    None where nothing can be said: fewer than three are submitted, or all.

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


def _median_minutes(work: Iterable[AssignmentRow]) -> float | None:
    """Half of the forms took less. Where our server did not see the answers come, the platform's time
    stands in."""
    spans = [
        (answered - line.opened_at).total_seconds() / 60
        for line in work
        if line.opened_at and (answered := line.answered_at or line.submitted_at)
    ]
    return round(median(spans), 2) if spans else None


def _crowded_out(work: Iterable[AssignmentRow], places: int, rows: int) -> int:
    """A row goes to the next person when its time is over; where the first one answers all the same, both
    count."""
    counting = [line for line in work if not line.row_replaced and (line.holds_row or line.state in DONE)]
    late = sum(not line.holds_row for line in counting)
    unheld = rows - (len(counting) - late)
    return max(0, min(late, unheld - (places - len(counting))))


def _hourly(reward: Decimal, minutes: float | None) -> Decimal | None:
    return (reward * 60 / Decimal(str(minutes))).quantize(Decimal("0.01")) if minutes else None


def study_status(engine: Engine, name: str, moment: datetime | None = None) -> list[EndpointStatus]:
    """One line for each endpoint that the study was published to, or was about to be; `moment` is now."""
    moment = moment or now()
    with reading(engine) as session:
        study = get_study(session, name)
        hits = session.scalars(select(HitRow).where(HitRow.study_id == study.id).order_by(HitRow.id)).all()
        work = session.scalars(select(AssignmentRow).where(AssignmentRow.study_id == study.id)).all()
        outbox = session.execute(
            select(OutboxRow.endpoint, OutboxRow.state).where(
                OutboxRow.study_id == study.id,
                OutboxRow.attempts > 0,
                OutboxRow.error.notin_((OVERTAKEN, INSTEAD)),
            )
        )
        unsent = Counter(
            session.scalars(
                select(OutboxRow.endpoint).where(
                    OutboxRow.study_id == study.id,
                    OutboxRow.operation == PUBLISH,
                    OutboxRow.state == "pending",
                    OutboxRow.attempts == 0,
                )
            )
        )
        settings = settings_of(study)
        due = Counter(
            session.scalars(
                select(PaymentRow.endpoint).where(
                    PaymentRow.study_id == study.id,
                    PaymentRow.kind == "compensation",
                    PaymentRow.state == "due",
                )
            )
        )
        writes = Counter((endpoint, state) for endpoint, state in outbox)
        rows = session.scalar(select(func.count()).select_from(RowRow).where(RowRow.study_id == study.id))
    lines = []
    for endpoint in dict.fromkeys(hit.endpoint for hit in hits):
        mine = [hit for hit in hits if hit.endpoint == endpoint]
        paid = spent(engine, name, endpoint)
        here = [line for line in work if line.endpoint == endpoint]
        collected = [line for line in here if line.state in COLLECTED and not line.is_stray]
        waiting = [line for line in here if line.state == "answered"]
        submitted = [*collected, *waiting] if endpoint == "link" else collected
        planned = places = sum(hit.assignments for hit in mine)
        if endpoint == "link":  # any number of links may lead to the same rows
            planned = min(planned, rows or 0) + sum(line.row_replaced for line in here)
        began = min((line.opened_at or moment for line in submitted), default=None)
        closed = all(hit.expires_at is not None and hit.expires_at <= moment for hit in mine)
        over = sum(
            hit.external_id is not None
            and (hit.closed_at is not None or (hit.expires_at is not None and hit.expires_at <= moment))
            for hit in mine
        )
        minutes = _median_minutes(submitted)
        reward = (settings.by_link if endpoint == "link" else settings).hit.reward
        lines.append(
            EndpointStatus(
                endpoint=endpoint,
                hits=len(mine),
                hits_up=sum(hit.external_id is not None for hit in mine) - over,
                hits_over=over,
                hits_unsent=0 if any(hit.closed_at for hit in mine) else unsent[endpoint],
                planned=planned,
                opened=sum(
                    line.state == "opened" and line.lease_until is not None and line.lease_until > moment
                    for line in here
                ),
                answered=len(waiting),
                crowded_out=_crowded_out(here, places, rows or 0) if endpoint == "link" else 0,
                submitted=len(submitted),
                approved=sum(line.state == "approved" for line in collected),
                usable=sum(not line.excluded and line.state != "rejected" for line in collected),
                about_done_at=None if closed else about_done(len(submitted), planned, began, moment),
                unconfirmed=writes[endpoint, "pending"],
                refused=writes[endpoint, "refused"],
                next_auto_approval=min(
                    (
                        line.auto_approval_at
                        for line in here
                        if line.state == "submitted" and line.auto_approval_at
                    ),
                    default=None,
                ),
                rewards=paid.rewards,
                fees=paid.fees,
                spent=paid.total,
                rejected=sum(line.state == "rejected" for line in collected),
                strays=sum(line.is_stray and line.state == "submitted" for line in here),
                compensations_due=due[endpoint],
                median_minutes=minutes,
                hourly=_hourly(reward, minutes) if reward else None,
                hourly_expected=settings.hit.hourly,
            )
        )
    return lines
