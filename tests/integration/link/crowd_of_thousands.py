"""Puts thousands of answered forms into a database at once, as the pages store them one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, insert, select

from humaneval.crowd.answers import CONSENT, FORM, answer_field, seconds_field
from humaneval.store.engine import writing
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    RowRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.study.stored import get_study


def answer_by_link(engine: Engine, forms: int, name: str = "study") -> None:
    """Let `forms` people answer the first rows of a study that is up by link."""
    began = datetime.now(UTC) - timedelta(hours=2)
    with writing(engine) as session:
        study = get_study(session, name)
        hit = session.scalars(select(HitRow).where(HitRow.study_id == study.id)).one()
        rows = session.execute(
            select(RowRow.id, RowRow.shown_hash)
            .where(RowRow.study_id == study.id)
            .order_by(RowRow.ordinal)
            .limit(forms)
        ).all()
        numbers = range(1, len(rows) + 1)
        session.execute(
            insert(WorkerRow), [{"id": number, "pseudonym": f"w{number:012x}"} for number in numbers]
        )
        session.execute(
            insert(WorkerIdentityRow),
            [{"worker_id": number, "endpoint": "link", "external_id": f"one {number}"} for number in numbers],
        )
        work = [
            {
                "id": number,
                "study_id": study.id,
                "hit_id": hit.id,
                "endpoint": "link",
                "external_id": f"a{number}",
                "worker_id": number,
                "row_id": row.id,
                "holds_row": True,
                "state": "answered",
                "opened_at": began,
                "answered_at": began + timedelta(minutes=3),
                "lease_until": began + timedelta(hours=24),
            }
            for number, row in zip(numbers, rows, strict=True)
        ]
        session.execute(insert(AssignmentRow), work)
        places = range(1, 5)
        session.execute(
            insert(AnswerRow),
            [
                {
                    "assignment_id": number,
                    "source": "server",
                    "fields": {
                        FORM: row.shown_hash,
                        CONSENT: "1",
                        **{answer_field("choice", place): str((number + place) % 5 + 1) for place in places},
                        **{seconds_field(place): "12.5" for place in places},
                    },
                }
                for number, row in zip(numbers, rows, strict=True)
            ],
        )
