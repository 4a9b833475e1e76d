"""Forgets a person who refused consent: the claim, and the person too, unless known from elsewhere."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from humaneval.crowd.personal_data import EVENTS, OUTBOX, WORKERS, writes_about
from humaneval.store.tables import AnswerRow, AssignmentRow, PaymentRow, WorkerIdentityRow
from humaneval.store.types import table

WORK, ANSWERS, PAYMENTS, IDENTITIES = (
    table(row) for row in (AssignmentRow, AnswerRow, PaymentRow, WorkerIdentityRow)
)


def forget_refusal(connection: Connection, assignment_id: int) -> None:
    """Delete the claim of a person who does not want to take part, in a transaction that holds the study.

    A person who has answered something, was paid or is known from elsewhere stays known as that.
    """
    answered = select(ANSWERS.c.id).where(ANSWERS.c.assignment_id == assignment_id)
    paid = select(PAYMENTS.c.id).where(PAYMENTS.c.assignment_id == assignment_id)
    claim = connection.execute(
        select(WORK.c.worker_id, WORK.c.endpoint, WORK.c.external_id).where(
            WORK.c.id == assignment_id,
            WORK.c.state.in_(("opened", "superseded")),
            ~answered.exists(),
            ~paid.exists(),
        )
    ).first()
    if claim is None:
        return
    here, subject = OUTBOX.c.endpoint == claim.endpoint, f"assignment {claim.external_id}"
    connection.execute(delete(OUTBOX).where(here, OUTBOX.c.subject == subject))
    about = (EVENTS.c.endpoint == claim.endpoint, EVENTS.c.about == claim.external_id)
    connection.execute(delete(EVENTS).where(*about))
    connection.execute(delete(WORK).where(WORK.c.id == assignment_id))
    other_work = select(WORK.c.id).where(WORK.c.worker_id == claim.worker_id)
    if connection.execute(other_work.limit(1)).first() or writes_about(connection, [claim.worker_id]):
        return
    connection.execute(delete(IDENTITIES).where(IDENTITIES.c.worker_id == claim.worker_id))
    connection.execute(delete(WORKERS).where(WORKERS.c.id == claim.worker_id))
