"""What is known of bonuses that were tried before: which may have been paid, and when these are shown."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import BONUS, bonus_kinds, payment_writes
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import PlatformError
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, OutboxRow, PaymentRow
from humaneval.store.types import now
from humaneval.text import PAYING, command

PREPARED, TOTAL, PREPARED_AT = "prepared", "total", "prepared_at"
"""Where the id, the sum and the time of a payment that was set up stand in the request."""
SHOWN_WITHIN = timedelta(days=1)
"""How long a payment may be on its way, or made and not shown yet."""
MINUTE = "%Y-%m-%d %H:%M UTC"


def subject_of(work: AssignmentRow, payment: PaymentRow) -> str:
    """The subject of the write that pays it."""
    what = f"purpose {payment.purpose}" if payment.kind == BONUS else payment.kind
    return f"assignment {work.external_id} worker {work.worker_id} {what}"


def shown_by_of(row: OutboxRow) -> datetime | None:
    """When the platform shows the payment that an earlier try had set up, if it was made; else None."""
    if row.state != "pending" or PREPARED not in row.request:
        return None
    at = row.request.get(PREPARED_AT)
    return (datetime.fromisoformat(at) if at else row.attempted_at or now()) + SHOWN_WITHIN


def never_paid(session: Session, payment: PaymentRow) -> bool:
    """Whether it is certain that nothing was paid, because nothing was due or the platform refused. Then the
    payment can still change."""
    work = session.get_one(AssignmentRow, payment.assignment_id)
    row = session.scalar(
        select(OutboxRow).where(
            OutboxRow.endpoint == payment.endpoint,
            OutboxRow.operation == BONUS,
            OutboxRow.subject == subject_of(work, payment),
        )
    )
    return payment.state != "paid" and (row is None or row.state == "refused")


def alike(session: Session, at: StudyAtPlatform, payment: PaymentRow, *, sure: bool) -> int:
    """How many other bonuses for the same work look the same at the platform, and were or may have been paid;
    with `sure`, only those that were: of several that may have been paid, one is as good as another.

    To be asked after the platform was: what it shows was stored here before.
    """
    others = select(PaymentRow).where(
        PaymentRow.endpoint == payment.endpoint,
        PaymentRow.assignment_id == payment.assignment_id,
        PaymentRow.kind.in_(bonus_kinds(at)),
        PaymentRow.amount == payment.amount,
        PaymentRow.id != payment.id,
        ~PaymentRow.elsewhere,
    )
    if sure:
        others = others.where(PaymentRow.state == "paid")
    if not at.platform.endpoint.plain_bonuses:
        others = others.where(PaymentRow.reason == payment.reason)
    return sum(not never_paid(session, other) for other in session.scalars(others))


def refuse_unknown_bonus(at: StudyAtPlatform, work: AssignmentRow) -> None:
    """Raise PlatformError if the platform shows a bonus for this work that our books do not have as paid."""
    with reading(at.engine) as session:
        for row in payment_writes(session, work):
            shown_by = shown_by_of(row)
            if shown_by is not None and now() < shown_by:
                raise PlatformError(
                    f"a payment for {work.external_id} was sent to {at.endpoint} and does not show there yet",
                    f"Nothing was entered. It may still show until {shown_by:{MINUTE}}. Try again then.",
                )
        known = select(PaymentRow.amount).where(
            PaymentRow.endpoint == work.endpoint,
            PaymentRow.assignment_id == work.id,
            PaymentRow.state == "paid",
            ~PaymentRow.elsewhere,
        )
        booked = Counter(session.scalars(known.where(PaymentRow.kind.in_(bonus_kinds(at)))))
    unknown = Counter(there.amount for there in at.platform.bonuses(work.external_id)) - booked
    for amount in unknown:
        enters = command("compensate", at.name, work.external_id, "--to", at.endpoint, *PAYING)
        raise PlatformError(
            f"{at.endpoint} shows a bonus of {at.sign}{amount} for {work.external_id} that the books lack",
            f"Nothing was entered. With this sum, this enters it, and pays nothing again: `{enters}`",
        )
