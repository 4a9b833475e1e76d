"""Puts answers to a study straight into its database: for tests of what comes after collecting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from sqlalchemy import Engine, select

from humaneval.domain import Role
from humaneval.store.engine import writing
from humaneval.store.tables import AssignmentRow, HitRow, ResponseRow, RowRow, WorkerIdentityRow, WorkerRow
from humaneval.study.stored import get_study

BEGAN = datetime(2026, 3, 1, 12, tzinfo=UTC)


def answer(
    engine: Engine,
    name: str = "study",
    *,
    seed: int = 0,
    spammers: int = 1,
    endpoint: str = "production",
    programs: int = 0,
) -> None:
    """One annotator a row, who notices the Control, but for the first so many; guesses the rest; a minute
    a form. The last `programs` of them are programs."""
    rng = Random(seed)
    with writing(engine) as session:
        study = get_study(session, name)
        study.published_at = BEGAN
        study.simulated = study.simulated or programs > 0
        hit = HitRow(
            study_id=study.id,
            endpoint=endpoint,
            key=f"key-{name}",
            assignments=len(study.rows),
            external_id="HIT1",
        )
        session.add(hit)
        session.flush()
        for number, row in enumerate(
            session.scalars(select(RowRow).where(RowRow.study_id == study.id).order_by(RowRow.ordinal))
        ):
            worker = WorkerRow(pseudonym=f"p{number:03}")
            session.add(worker)
            session.flush()
            session.add(
                WorkerIdentityRow(worker_id=worker.id, endpoint=endpoint, external_id=f"AWORKER{number:03}")
            )
            opened = BEGAN + timedelta(minutes=number)
            assignment = AssignmentRow(
                study_id=study.id,
                hit_id=hit.id,
                endpoint=endpoint,
                external_id=f"A{number}",
                worker_id=worker.id,
                row_id=row.id,
                holds_row=True,
                state="approved",
                opened_at=opened,
                submitted_at=opened + timedelta(seconds=90),
                consent_version="1",
                by_program=number >= len(study.rows) - programs,
            )
            session.add(assignment)
            session.flush()
            for place in row.places:
                passage = place.passage
                seen = passage.role == Role.CONTROL and number >= spammers
                choice = passage.position if seen else rng.randrange(1, 6)
                if passage.role == Role.CONTROL and not seen:
                    choice = passage.position % 5 + 1
                session.add(
                    ResponseRow(
                        assignment_id=assignment.id,
                        passage_id=passage.id,
                        place=place.place,
                        choice=choice,
                        seconds=60 / len(row.places) + rng.random(),
                        shown_hash=passage.shown_hash,
                        source="server",
                    )
                )
