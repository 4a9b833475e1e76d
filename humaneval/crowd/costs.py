"""What work costs: the reward and fee of each assignment, entered once, and the sum a study has spent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from humaneval.crowd.hit_terms import PLACES, REWARD
from humaneval.crowd.outbox import settle, withdraw
from humaneval.crowd.participants import COMPENSATION
from humaneval.crowd.plan_differences import figures_there
from humaneval.crowd.platform import Cost, Part
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from humaneval.study.stored import Study

APPROVE = "approve"
REJECT = "reject"
BONUS = "bonus"
COMPENSATE = "compensate"
MONEY = (APPROVE, REJECT, BONUS, COMPENSATE)
"""The operations that money hangs on."""
INSTEAD = "decided otherwise"
"""Why a decision is no longer sent."""


def bonus_kinds(at: StudyAtPlatform) -> tuple[str, ...]:
    """The kinds of payments that the platform shows as bonuses."""
    return (BONUS, COMPENSATION) if at.platform.endpoint.plain_bonuses else (BONUS,)


def approval_subject(assignment: AssignmentRow) -> str:
    """The assignment of a decision, for the outbox."""
    return f"assignment {assignment.external_id} worker {assignment.worker_id}"


def payment_writes(session: Session, work: AssignmentRow) -> Sequence[OutboxRow]:
    """The writes that decide about work or pay for it."""
    of = approval_subject(work)
    about = or_(OutboxRow.subject == of, OutboxRow.subject.startswith(f"{of} ", autoescape=True))
    at = (OutboxRow.endpoint == work.endpoint, OutboxRow.operation.in_(MONEY))
    return session.scalars(select(OutboxRow).where(*at, about).order_by(OutboxRow.id)).all()


def is_compensation(operation: str, subject: str) -> bool:
    """Whether a write pays for lost work, with a HIT or, where that is the way, with a bonus."""
    return operation == COMPENSATE or (operation == BONUS and subject.split()[4:] == [COMPENSATION])


def withdraw_payments(session: Session, work: AssignmentRow) -> None:
    """Withdraw what the platform was to decide or pay for work that it cannot pay for: its worker was paid
    elsewhere."""
    for row in payment_writes(session, work):
        if row.state == "pending":
            row.state, row.error = "refused", INSTEAD
    of = (PaymentRow.endpoint == work.endpoint, PaymentRow.assignment_id == work.id)
    due = (PaymentRow.state == "due", PaymentRow.kind == BONUS)
    session.execute(delete(PaymentRow).where(*of, *due))


def hit_cost(at: StudyAtPlatform, assignments: int) -> Cost:
    """What a HIT of the study costs if all its assignments are approved."""
    return at.platform.cost(at.settings.hit.reward, assignments, masters=at.settings.participants.masters)


def assignment_cost(session: Session, at: StudyAtPlatform, hit: HitRow, when: datetime | None = None) -> Cost:
    """What one assignment of a HIT costs if it is approved `when`, by default now. It is what was planned,
    unless the platform was known to pay something else."""
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
    """Enter once the reward of an assignment that the platform has approved. If the approval was intended, it
    is done now.

    `when` is the time of the approval at the platform, by default now. The platform pays the reward of that
    moment, or a `part`. If the amount of the part is not known, nothing is entered.
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


def spent(study: Study, endpoint: str | None = None, *, by_hand: bool = True) -> Cost:
    """What the study has paid so far, at one endpoint or at all; also what people paid by hand, unless told
    otherwise."""
    query = select(func.sum(PaymentRow.amount), func.sum(PaymentRow.fee))
    query = query.where(PaymentRow.study_id == study.id, PaymentRow.state == "paid")
    if not by_hand:
        query = query.where(~PaymentRow.elsewhere)
    if endpoint is not None:
        query = query.where(PaymentRow.endpoint == endpoint)
    with reading(study.engine) as session:
        rewards, fees = session.execute(query).one()
    zero = Decimal("0.00")
    return Cost(rewards or zero, fees or zero)
