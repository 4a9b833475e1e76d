"""What our database knows and Prolific does not: answers, codes by outcome, and the studies of people."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Engine, select

from humaneval.crowd.prolific.completion_codes import AWAY
from humaneval.crowd.published_hits import PUBLISH
from humaneval.errors import UsageError
from humaneval.store.engine import reading
from humaneval.store.tables import AnswerRow, AssignmentRow, HitRow, OutboxRow, WorkerIdentityRow

CODES = "codes"
"""Where the completion codes stand in the request of a publication, which is stored before the call."""


def answers_at(engine: Engine, endpoint: str, external_id: str) -> dict[tuple[str, str], Mapping[str, str]]:
    """The answers that our server has for a study there: (submission, participant) → fields."""
    kept = (
        select(AssignmentRow.external_id, WorkerIdentityRow.external_id.label("worker"), AnswerRow.fields)
        .join(AnswerRow, AnswerRow.assignment_id == AssignmentRow.id)
        .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
        .join(HitRow, HitRow.id == AssignmentRow.hit_id)
        .where(HitRow.endpoint == endpoint, HitRow.external_id == external_id, AnswerRow.source == "server")
    )
    with reading(engine) as session:
        return {(line.external_id, line.worker): line.fields for line in session.execute(kept)}


def unconfirmed_at(engine: Engine, endpoint: str, external_id: str, before: datetime) -> list[str]:
    """The submissions by name that got a form before then, while Prolific did not say whether they exist, and
    still hold its row."""
    held = (
        select(AssignmentRow.external_id)
        .join(HitRow, HitRow.id == AssignmentRow.hit_id)
        .where(HitRow.endpoint == endpoint, HitRow.external_id == external_id)
        .where(AssignmentRow.holds_row, ~AssignmentRow.confirmed, AssignmentRow.opened_at < before)
    )
    with reading(engine) as session:
        return list(session.scalars(held))


def codes_of(engine: Engine, endpoint: str, hit_id: int) -> dict[str, str]:
    """The completion codes of a study there, by outcome."""
    with reading(engine) as session:
        request = session.scalar(
            select(OutboxRow.request).where(
                OutboxRow.endpoint == endpoint,
                OutboxRow.operation == PUBLISH,
                OutboxRow.subject == f"hit {hit_id}",
            )
        )
    return dict((request or {}).get(CODES, {}))


def away_codes(engine: Engine, endpoint: str, external_id: str) -> frozenset[str]:
    """The codes with which people leave a study there without having done anything in it."""
    here = select(HitRow.id).where(HitRow.endpoint == endpoint, HitRow.external_id == external_id)
    with reading(engine) as session:
        hit_id = session.scalar(here)
    codes = codes_of(engine, endpoint, hit_id) if hit_id is not None else {}
    return frozenset(codes[outcome] for outcome in AWAY if outcome in codes)


def study_of_worker(engine: Engine, endpoint: str, worker: str) -> str:
    """The study there in which a participant took part last: messages are about a study."""
    last = (
        select(HitRow.external_id)
        .join(AssignmentRow, AssignmentRow.hit_id == HitRow.id)
        .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
        .where(AssignmentRow.endpoint == endpoint, WorkerIdentityRow.external_id == worker)
        .order_by(AssignmentRow.id.desc())
        .limit(1)
    )
    with reading(engine) as session:
        found = session.scalar(last)
    if not found:
        raise UsageError("this person took part in no study there, and messages are about a study")
    return found
