"""What work costs: the reward and fee of each assignment, entered once, and the sum a study has spent."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.hit_terms import PLACES, REWARD
from humaneval.crowd.outbox import settle, withdraw
from humaneval.crowd.participants import COMPENSATION, compensation_of
from humaneval.crowd.plan_differences import figures_there
from humaneval.crowd.platform import Cost, Part
from humaneval.crowd.published_hits import GONE
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import to_accept
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import reading
from humaneval.store.export_pseudonyms import names_of
from humaneval.store.tables import TAKEN_IN, AssignmentRow, HitRow, PaymentRow, StudyRow
from humaneval.store.types import now
from humaneval.study.stored import Study
from humaneval.text import PAYING, command

APPROVE = "approve"
REJECT = "reject"
BONUS = "bonus"
INSTEAD = "decided otherwise"
"""Why a decision is no longer sent."""


def bonus_kinds(at: StudyAtPlatform) -> tuple[str, ...]:
    """The kinds of payments that the platform shows as bonuses."""
    return (BONUS, COMPENSATION) if at.platform.endpoint.plain_bonuses else (BONUS,)


def approval_subject(assignment: AssignmentRow) -> str:
    """The assignment of a decision, for the outbox."""
    return f"assignment {assignment.external_id} worker {assignment.worker_id}"


def hit_cost(at: StudyAtPlatform, assignments: int) -> Cost:
    """What a HIT of the study costs if all its assignments are approved."""
    return at.platform.cost(at.settings.hit.reward, assignments, masters=at.settings.participants.masters)


def assignment_cost(session: Session, at: StudyAtPlatform, hit: HitRow, when: datetime | None = None) -> Cost:
    """What one assignment of a HIT costs if it is approved `when`, by default now: as planned, unless the
    platform was known to pay otherwise."""
    there = figures_there(session, hit.id, when)
    reward, places = at.settings.hit.reward, int(there.get(PLACES, hit.assignments))
    if REWARD in there:
        reward = Decimal(there[REWARD].removeprefix("$"))
    return at.platform.cost(reward, places, masters=at.settings.participants.masters).each(places)


def reward_paid(
    session: Session,
    at: StudyAtPlatform,
    assignment: AssignmentRow,
    when: datetime | None = None,
    part: Part | None = None,
) -> None:
    """Enter the reward of an assignment that the platform has approved, once. An intended approval is
    then done.

    `when` is when the platform approved it, by default now: it pays the reward of that moment, or else a
    `part`. Nothing is entered if nobody tells how much that is.
    """
    settle(session, assignment.endpoint, APPROVE, approval_subject(assignment))
    withdraw(session, assignment.endpoint, REJECT, approval_subject(assignment), INSTEAD)
    there = session.scalar(
        select(PaymentRow).where(
            PaymentRow.endpoint == assignment.endpoint,
            PaymentRow.assignment_id == assignment.id,
            PaymentRow.kind == "reward",
        )
    )
    if there is not None or (part is not None and part.amount is None):
        return
    if part is not None and part.amount is not None:
        each = at.platform.cost(part.amount, 1)
    else:
        each = assignment_cost(session, at, session.get_one(HitRow, assignment.hit_id), when)
    if not each.total:
        return
    session.add(
        PaymentRow(
            study_id=at.id,
            endpoint=assignment.endpoint,
            assignment_id=assignment.id,
            kind="reward",
            purpose="reward",
            amount=each.rewards,
            fee=each.fees,
            state="paid",
            paid_at=when or now(),
        )
    )


def rejection_done(session: Session, assignment: AssignmentRow) -> None:
    """Record that the platform has rejected an assignment: an intended rejection is done, an approval is
    withdrawn."""
    settle(session, assignment.endpoint, REJECT, approval_subject(assignment))
    withdraw(session, assignment.endpoint, APPROVE, approval_subject(assignment), INSTEAD)


def find_assignment(session: Session, at: StudyAtPlatform, external_id: str) -> AssignmentRow:
    """The assignment that counts under a platform's id, or under the name that `review` shows of it.

    Raises UsageError if there is none, and PlatformError if it is not submitted yet.
    """
    given, external_id = external_id, platform_id(session, at, external_id)
    found = session.scalars(
        select(AssignmentRow)
        .where(
            AssignmentRow.study_id == at.id,
            AssignmentRow.endpoint == at.endpoint,
            AssignmentRow.external_id == external_id,
            AssignmentRow.state != "superseded",
        )
        .order_by(AssignmentRow.state.in_(("opened", "answered")), AssignmentRow.id.desc())
    ).first()
    if found is None:
        elsewhere = session.scalars(
            select(AssignmentRow.endpoint).where(
                AssignmentRow.study_id == at.id, AssignmentRow.external_id == external_id
            )
        ).all()
        if at.endpoint in elsewhere:
            raise PlatformError(
                f"assignment {given} is not submitted at {at.endpoint}:"
                " it was given back, or its time ran out",
                f"If it is submitted now, fetch it: {command('collect', at.name, '--to', at.endpoint)}",
            )
        if elsewhere:
            raise UsageError(
                f"assignment {given} is at {elsewhere[0]}, not at {at.endpoint}",
                f"Use --to {elsewhere[0]}.",
            )
        raise UsageError(
            f"the study has no assignment {given!r} at {at.endpoint}",
            f"See those that it has: `{command('review', at.name, '--to', at.endpoint)}`.\n"
            f"Also, if it was submitted since: `{command('collect', at.name, '--to', at.endpoint)}`.",
        )
    lost = GONE in figures_there(session, found.hit_id)
    if found.state == TAKEN_IN or (lost and found.state in ("opened", "answered")):
        raise PlatformError(
            f"{at.endpoint} no longer has assignment {given}: nothing can be decided or paid for it there",
            settled(session, at, found)
            or (
                "Its answers count all the same."
                if found.state == TAKEN_IN
                else f"Take in what our server has of it: `{to_accept(at, lost=True)}`."
            )
            + "\nAlso, pay with a HIT of its own:"
            f" `{command('compensate', at.name, given, '--to', at.endpoint, *PAYING)}`."
            f"\n{pay_by_hand(at, given)}",
        )
    if found.state in ("opened", "answered"):
        raise PlatformError(
            f"assignment {given} is not submitted yet",
            f"Run `{command('collect', at.name, '--to', at.endpoint)}` when it is.",
        )
    return found


def platform_id(session: Session, at: StudyAtPlatform, shown: str) -> str:
    """The platform's id of the assignment that is shown as `shown`; `shown` itself if none is."""
    if at.endpoint != "link":
        return shown
    mine = select(AssignmentRow.external_id).where(
        AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint
    )
    if session.scalar(mine.where(AssignmentRow.external_id == shown).limit(1)) is not None:
        return shown
    names, ids = names_of(session, session.get_one(StudyRow, at.id)), session.scalars(mine)
    return next((one for one in ids if names.assignment(at.endpoint, one) == shown), shown)


def refuse_lost(session: Session, at: StudyAtPlatform, work: AssignmentRow) -> None:
    """Raise PlatformError if the platform lost the HIT of this work: nothing can be paid for it there."""
    if GONE in figures_there(session, work.hit_id):
        raise PlatformError(
            f"{at.endpoint} no longer has the HIT of assignment {work.external_id}: it cannot pay for it",
            settled(session, at, work) or pay_by_hand(at, work.external_id),
            nothing_done=True,
        )


def settled(session: Session, at: StudyAtPlatform, work: AssignmentRow) -> str:
    """A sentence if the worker of this work was compensated, or is about to be; otherwise empty."""
    payment = compensation_of(session, work)
    if payment is None:
        return ""
    where = "elsewhere" if payment.elsewhere else f"at {at.endpoint}"
    did = "was paid" if payment.state == "paid" else "can take"
    return f"Its worker {did} {at.sign}{payment.amount} {where}."


def pay_by_hand(at: StudyAtPlatform, assignment: str) -> str:
    """What to do if a platform cannot pay for an assignment: a sentence that ends with a command."""
    enter = command("compensate", at.name, assignment, "--to", at.endpoint, "--elsewhere", *PAYING)
    return f"If you pay by hand where you can reach the worker, enter it in the books: {enter}"


def spent(study: Study, endpoint: str | None = None, *, by_hand: bool = True) -> Cost:
    """What the study has paid so far, at one endpoint or at all; also what people paid by hand, unless told
    otherwise."""
    with reading(study.engine) as session:
        query = select(PaymentRow).where(PaymentRow.study_id == study.id, PaymentRow.state == "paid")
        if not by_hand:
            query = query.where(~PaymentRow.elsewhere)
        if endpoint is not None:
            query = query.where(PaymentRow.endpoint == endpoint)
        payments = session.scalars(query).all()
    zero = Decimal("0.00")
    return Cost(sum((p.amount for p in payments), zero), sum((p.fee for p in payments), zero))
