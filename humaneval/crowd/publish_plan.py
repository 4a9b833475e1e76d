"""Plans the HITs that carry a study's rows on a platform: once, before any of them is made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import hit_cost
from humaneval.crowd.link import Invitation
from humaneval.crowd.more_places import MorePlaces, add_places, places_to_give
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.participants import refuse_unknown_studies
from humaneval.crowd.planned_hits import Portion, invited, plan_links, plan_portions
from humaneval.crowd.platform import UNASKED, Cost
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.published_hits import (
    INVITE,
    PUBLISH,
    hits_of,
    known_gone,
    refuse_closed,
    refuse_elsewhere,
)
from humaneval.crowd.review import lost_assignments
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError, UsageError
from humaneval.fees import MANY_ASSIGNMENTS, SIGNS
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, DeletedFormRow, HitRow, OutboxRow
from humaneval.text import command

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
    gone: int
    """HITs that were up, and that the platform is known to have lost."""
    lost_rows: int
    """Rows whose annotators were excluded, rejected or forgotten. They are handed out again on request."""
    fees_unsplit: Decimal
    """The platform's fees if one HIT carried all these assignments: from ten on they are higher."""
    expected_minutes: float
    hourly: Decimal
    """The hourly wage, in dollars, of a worker who takes the expected minutes."""
    keys: frozenset[str]
    """The keys of the HITs that the cost covers, and the subjects of `more_places`."""
    more_places: int = 0
    """How many places HITs that are up still get; `assignments` and the cost count them, too."""
    grew: bool = False
    """Whether something is planned that was not planned before."""


class _Lost(NamedTuple):
    """Rows whose annotators were excluded, rejected or forgotten."""

    assignments: Sequence[AssignmentRow]
    deleted: Sequence[DeletedFormRow]

    @property
    def rows(self) -> list[int | None]:
        """Each of them; None for the place of a submission that matched no form."""
        return [*(one.row_id for one in self.assignments), *(one.row_id for one in self.deleted)]

    def handed_out(self) -> _Lost:
        """Record that they are handed out again. Nothing is lost then."""
        for assignment in self.assignments:
            assignment.holds_row, assignment.row_replaced = False, True
        for form in self.deleted:
            form.row_replaced = True
        return _Lost([], [])


def _refuse_other_currency(at: StudyAtPlatform) -> None:
    """Raise UsageError if people would read of a currency other than that in which they are paid."""
    if isinstance(at.platform, Prolific):
        there = at.platform.account.currency()
    else:
        there = "" if at.endpoint in UNASKED else at.platform.endpoint.currency
    ours = at.settings.hit.currency
    if there and there != ours:
        raise UsageError(
            f"{at.endpoint} pays in {there}, and the study's reward is in {ours}",
            f'Make a study with hit.currency = "{there}", and a reward in it.'
            if there in SIGNS
            else "Use an account in one of these currencies: " + ", ".join(SIGNS),
        )


def plan_hits(
    at: StudyAtPlatform,
    *,
    static: bool = False,
    top_up: bool = False,
    dry_run: bool = False,
    invitations: Sequence[Invitation] = (),
) -> PublishPlan:
    """Store the HITs that carry the study's rows on this endpoint. A study that is up stays as it is.

    If the study says `top_up = "auto"`, or "ask" and `top_up` is set, rows lost in review get new HITs.
    `dry_run` stores nothing. By link, `invitations` are planned instead, each only once. Raises
    PlatformError, with nothing stored, if the balance does not cover what is added.
    """
    refuse_elsewhere(at)
    if top_up and at.settings.design.top_up == "never":
        raise UsageError(
            f'study {at.name!r} says top_up = "never"',
            "Its rows are not handed out again; leave --top-up out.",
        )
    if invitations:
        _refuse_promise(at)
    _refuse_other_currency(at)
    if not dry_run:
        plan_links(at, invitations)
        invitations = invitations[:1]  # nothing is left to add for them
    hit_cost(at, at.settings.design.annotators)  # if the platform must be asked, not while the study is held
    # `publish_hits` drops a first plan that cannot be paid. What is added later is paid for beforehand.
    most = ZERO if at.endpoint not in UNASKED and _was_planned(at) else None
    plan = _stored(at, static, top_up, invitations, dry_run=dry_run, most=most)
    if not ((dry_run and plan.hits) or _lacks(plan, most)) or at.endpoint in UNASKED:
        return plan
    balance = None if dry_run else at.platform.balance()
    # What `adopt` would find.
    if (dry_run or _lacks(plan, balance)) and (there := at.platform.find(plan.keys)):
        plan = _stored(at, static, top_up, invitations, dry_run=True, there=there)
    if dry_run:
        return plan
    if balance is not None:
        refuse_lacking(at, balance, plan.cost.total)
    return _stored(at, static, top_up, invitations, dry_run=False)


def refuse_lacking(at: StudyAtPlatform, balance: Decimal, cost: Decimal) -> None:
    """Raise PlatformError if the balance does not cover the cost: publishing would stop halfway."""
    if balance < cost:
        raise PlatformError(
            f"the balance at {at.endpoint} is {at.sign}{balance}, and this costs {at.sign}{cost}",
            f"Nothing was published. {at.platform.endpoint.add_funds}, or make the study smaller.",
        )


def _was_planned(at: StudyAtPlatform) -> bool:
    with reading(at.engine) as session:
        there = select(HitRow.id).where(HitRow.study_id == at.id, HitRow.endpoint == at.endpoint)
        return session.scalar(there.limit(1)) is not None


def _lacks(plan: PublishPlan, balance: Decimal | None) -> bool:
    """Whether something was added that the balance does not cover."""
    return plan.grew and balance is not None and balance < plan.cost.total


def _stored(
    at: StudyAtPlatform,
    static: bool,
    top_up: bool,
    invitations: Sequence[Invitation],
    *,
    dry_run: bool,
    there: Collection[str] = (),
    most: Decimal | None = None,
) -> PublishPlan:
    """The plan, of which the HITs `there` are up although our database does not say so. What is added is not
    stored if it costs more than `most`."""
    with writing(at.engine) as session:
        hold_study(session, at.id)
        refuse_unknown_studies(session, at.study)
        _drop_other_plan(session, at, static)
        refuse_closed(session, at.study, at.endpoint)
        portions = invited(session, at, invitations) if invitations else _portions(session, at, static)
        lost = _Lost([], [])
        if at.settings.design.top_up != "never":
            lost = _Lost(lost_assignments(session, at.study, at.endpoint), _deleted(session, at))
        if lost.rows and (top_up or at.settings.design.top_up == "auto"):
            if not invitations:  # a link stays open for rows that are free again
                portions += _again(at, lost.rows, static)
            lost = lost.handed_out()
        added: Sequence[HitRow] = []
        if not at.platform.endpoint.one_offer or not hits_of(session, at.study, at.endpoint):
            added = plan_portions(session, at, portions, dry_run=dry_run)
        else:
            add_places(session, at, sum(portion.assignments for portion in portions))
        more = places_to_give(session, at)
        hits = [*hits_of(session, at.study, at.endpoint), *added]
        planned = _planned(at, hits, there, len(lost.rows), more)
        planned = replace(planned, grew=bool(portions))
        if dry_run or _lacks(planned, most):
            session.rollback()
        return planned


def _refuse_promise(at: StudyAtPlatform) -> None:
    """Raise UsageError if the consent names a reward, and people who come by link are paid none."""
    if at.settings.link.pay == "none" and "{reward}" in at.settings.consent.text:
        raise UsageError(
            'consent.text names {reward}, but link.pay = "none": people who come by link would read $0.00',
            'Make another study with {pay} instead, which says what is true, or with pay = "elsewhere".',
        )


def _planned(
    at: StudyAtPlatform,
    hits: Sequence[HitRow],
    there: Collection[str],
    lost_rows: int,
    more: Sequence[MorePlaces],
) -> PublishPlan:
    waiting = [hit for hit in hits if hit.external_id is None and hit.key not in there]
    numbers = [*(hit.assignments for hit in waiting), *(each.more for each in more)]
    costs = [hit_cost(at, number) for number in numbers]
    assignments = sum(numbers)
    gone = len(known_gone(at.study, at.endpoint))
    return PublishPlan(
        hits=len(waiting),
        assignments=assignments,
        cost=Cost(sum((c.rewards for c in costs), ZERO), sum((c.fees for c in costs), ZERO)),
        already_up=len(hits) - len(waiting) - gone,
        gone=gone,
        lost_rows=lost_rows,
        fees_unsplit=hit_cost(at, assignments).fees,
        expected_minutes=at.settings.hit.expected_minutes,
        hourly=at.settings.hit.hourly,
        keys=frozenset([*(hit.key for hit in waiting), *(each.intent.subject for each in more)]),
        more_places=sum(each.more for each in more),
    )


def drop_untried(at: StudyAtPlatform) -> bool:
    """Drop the plan if no call was made for any of it, and say so. Nothing is out then, and the study stays
    unused."""
    with writing(at.engine) as session:
        hold_study(session, at.id)
        return _drop_untried(session, at)


def _drop_other_plan(session: Session, at: StudyAtPlatform, static: bool) -> None:
    """Drop a plan of the other kind, static or not, while no call was made for it. Afterwards it binds."""
    first = select(HitRow.row_id).where(HitRow.study_id == at.id, HitRow.endpoint == at.endpoint)
    found = session.execute(first.order_by(HitRow.id).limit(1)).first()
    if found and static != (found.row_id is not None) and not _drop_untried(session, at):
        as_before = command("publish", at.name, "--to", at.endpoint, *["--static"] * (not static))
        raise UsageError(
            f"study {at.name!r} was published to {at.endpoint} the other way",
            f"To go on as before: {as_before}",
        )


def _drop_untried(session: Session, at: StudyAtPlatform) -> bool:
    planned = select(OutboxRow).where(
        OutboxRow.study_id == at.id,
        OutboxRow.endpoint == at.endpoint,
        OutboxRow.operation.in_((PUBLISH, INVITE)),
    )
    # In the order in which attempts lock them: otherwise two programs could wait for each other.
    intents = session.scalars(planned.order_by(OutboxRow.id).with_for_update()).all()
    if any(intent.attempts for intent in intents):
        return False
    for row in (*intents, *hits_of(session, at.study, at.endpoint)):
        session.delete(row)
    session.flush()
    return True


def _portions(session: Session, at: StudyAtPlatform, static: bool) -> list[Portion]:
    """For the rows that no HIT of this endpoint carries: at first all rows, later the added ones."""
    rows, hits = session.scalars(at.study.row_ids).all(), hits_of(session, at.study, at.endpoint)
    if static:
        carried = {hit.row_id for hit in hits}
        return [Portion(1, row) for row in rows if row not in carried]
    # A row that was lost and is handed out again has had a second place.
    places = sum(hit.assignments for hit in hits) + sum(each.more for each in places_to_give(session, at))
    for of in (AssignmentRow, DeletedFormRow):
        again = select(func.count()).where(of.study_id == at.id, of.endpoint == at.endpoint, of.row_replaced)
        places -= session.scalar(again.select_from(of)) or 0
    return _split(at, max(0, len(rows) - places))


def _again(at: StudyAtPlatform, lost: Sequence[int | None], static: bool) -> list[Portion]:
    """For rows that are handed out again."""
    return [Portion(1, row) for row in lost] if static else _split(at, len(lost))


def _deleted(session: Session, at: StudyAtPlatform) -> list[DeletedFormRow]:
    """The forms of people who were forgotten, whose places at the platform are used up."""
    if at.endpoint == "link":
        return []
    deleted = select(DeletedFormRow).where(
        DeletedFormRow.study_id == at.id,
        DeletedFormRow.endpoint == at.endpoint,
        ~DeletedFormRow.row_replaced,
    )
    return list(session.scalars(deleted.order_by(DeletedFormRow.id)))


def _split(at: StudyAtPlatform, rows: int) -> list[Portion]:
    most = max(1, rows) if at.platform.endpoint.one_offer else MAX_ASSIGNMENTS
    whole, rest = divmod(rows, most)
    return [Portion(size) for size in [most] * whole + [rest] * (rest > 0)]
