"""Who was paid what, for what: rewards and bonuses, each once; the sum that a study has cost."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from humaneval.crowd.outbox import settle, withdraw
from humaneval.crowd.platform import Cost, Platform
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, HitRow, PaymentRow, StudyRow
from humaneval.store.types import now
from humaneval.study.stored import get_study, settings_of

APPROVE = "approve"
REJECT = "reject"
BONUS = "bonus"
INSTEAD = "decided otherwise"
"""Why a decision is not sent any more."""


def approval_subject(assignment: AssignmentRow) -> str:
    """What an approval is about, for the outbox."""
    return f"assignment {assignment.external_id} worker {assignment.worker_id}"


def reward_paid(session: Session, study: StudyRow, platform: Platform, assignment: AssignmentRow) -> None:
    """Enter the reward of an assignment that the platform has approved, once; an approval that was intended
    is done."""
    settle(session, assignment.endpoint, APPROVE, approval_subject(assignment))
    withdraw(session, assignment.endpoint, REJECT, approval_subject(assignment), INSTEAD)
    there = session.scalar(
        select(PaymentRow).where(
            PaymentRow.endpoint == assignment.endpoint,
            PaymentRow.assignment_id == assignment.id,
            PaymentRow.kind == "reward",
        )
    )
    if there is not None:
        return
    hit = session.get_one(HitRow, assignment.hit_id)
    settings = settings_of(study)
    cost = platform.cost(settings.hit.reward, hit.assignments, masters=settings.participants.masters)
    each = cost.each(hit.assignments)
    if not each.total:
        return
    session.add(
        PaymentRow(
            study_id=study.id,
            endpoint=assignment.endpoint,
            assignment_id=assignment.id,
            kind="reward",
            purpose="reward",
            amount=each.rewards,
            fee=each.fees,
            state="paid",
            paid_at=now(),
        )
    )


def rejection_done(session: Session, assignment: AssignmentRow) -> None:
    """Note that the platform has rejected an assignment: a rejection that was intended is done, an approval
    is not."""
    settle(session, assignment.endpoint, REJECT, approval_subject(assignment))
    withdraw(session, assignment.endpoint, APPROVE, approval_subject(assignment), INSTEAD)


def find_assignment(session: Session, study_id: int, endpoint: str, external_id: str) -> AssignmentRow:
    """The assignment that counts under a platform's id; says plainly when there is none or it is not
    submitted."""
    found = session.scalars(
        select(AssignmentRow)
        .where(
            AssignmentRow.study_id == study_id,
            AssignmentRow.endpoint == endpoint,
            AssignmentRow.external_id == external_id,
            AssignmentRow.state != "superseded",
        )
        .order_by(AssignmentRow.state.in_(("opened", "answered")), AssignmentRow.id.desc())
    ).first()
    if found is None:
        elsewhere = session.scalar(
            select(AssignmentRow.endpoint).where(
                AssignmentRow.study_id == study_id, AssignmentRow.external_id == external_id
            )
        )
        if elsewhere is not None:
            raise UsageError(
                f"assignment {external_id} is one of {elsewhere}, not of {endpoint}",
                f"Say so with --to {elsewhere}.",
            )
        raise UsageError(
            f"the study has no assignment {external_id!r} at {endpoint}",
            "`humaneval review STUDY` lists them; `humaneval collect` brings new ones in.",
        )
    if found.state in ("opened", "answered"):
        raise PlatformError(
            f"assignment {external_id} is not submitted yet", "Run `humaneval collect` when it is."
        )
    return found


def spent(engine: Engine, name: str, endpoint: str | None = None) -> Cost:
    """What the study has paid so far, on one endpoint or all."""
    with reading(engine) as session:
        study = get_study(session, name)
        query = select(PaymentRow).where(PaymentRow.study_id == study.id, PaymentRow.state == "paid")
        if endpoint is not None:
            query = query.where(PaymentRow.endpoint == endpoint)
        payments = session.scalars(query).all()
    zero = Decimal("0.00")
    return Cost(sum((p.amount for p in payments), zero), sum((p.fee for p in payments), zero))
