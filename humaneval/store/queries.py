"""Queries that several rooms share."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    GeneratorRow,
    HitRow,
    PassageRow,
    ResponseRow,
    RowPassageRow,
    RowRow,
    StoryRow,
    StudyRow,
    WorkerRow,
)

TOOK_PART = "took part before"
TOOK_PART_ELSEWHERE = "took part in a study that this one excludes"
"""Why an assignment does not count although the study's exclusion rule keeps it."""

SET_ASIDE = frozenset({TOOK_PART, TOOK_PART_ELSEWHERE})

TEST_ENDPOINTS = frozenset({"sandbox"})
"""Endpoints whose answers are always rehearsals."""


def rows_in(session: Session, study: StudyRow) -> int:
    """How many rows the study has, those that `study enlarge` added too."""
    return session.scalar(select(func.count()).select_from(RowRow).where(RowRow.study_id == study.id)) or 0


def response_lines(session: Session, study: StudyRow, *, everything: bool = False) -> list[dict[str, Any]]:
    """The response table of a study, one mapping a response, in the order of forms and places.

    Workers are pseudonyms. Superseded assignments have no responses. Rejected forms, and forms by workers who
    had taken part before, are left out unless `everything` is set.
    """
    counts: list[ColumnElement[bool]] = [AssignmentRow.state.in_(("submitted", "approved", "rejected"))]
    if not everything:
        counts += [AssignmentRow.state != "rejected", AssignmentRow.excluded.not_in(SET_ASIDE)]
    passages = (
        select(RowPassageRow.row_id, func.count().label("passages")).group_by(RowPassageRow.row_id).subquery()
    )
    lines = session.execute(
        select(
            WorkerRow.pseudonym,
            StoryRow.key,
            GeneratorRow.name,
            PassageRow.position,
            ResponseRow.choice,
            PassageRow.role,
            AssignmentRow.endpoint,
            HitRow.external_id,
            AssignmentRow.external_id,
            RowRow.ordinal,
            ResponseRow.place,
            PassageRow.infill_id,
            ResponseRow.seconds,
            AssignmentRow.opened_at,
            AssignmentRow.submitted_at,
            PassageRow.sentences,
            passages.c.passages,
        )
        .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .join(HitRow, HitRow.id == AssignmentRow.hit_id)
        .join(RowRow, RowRow.id == AssignmentRow.row_id)
        .join(passages, passages.c.row_id == RowRow.id)
        .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
        .join(StoryRow, StoryRow.id == PassageRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .where(AssignmentRow.study_id == study.id, *counts)
        .order_by(AssignmentRow.submitted_at, AssignmentRow.id, ResponseRow.place)
    )
    return [
        {
            "worker": worker,
            "story": story,
            "generator": generator,
            "position": position,
            "choice": choice,
            "role": role,
            "study": study.name,
            "endpoint": endpoint,
            "hit": hit,
            "assignment": assignment,
            "row": row,
            "order": order,
            "row_passages": shown_with,
            "infill": infill,
            "seconds": seconds,
            "words": len(" ".join(sentences).split()),
            "shown_at": shown.isoformat() if shown else None,
            "submitted_at": submitted.isoformat() if submitted else None,
            "test": study.is_test or endpoint in TEST_ENDPOINTS,
            "simulated": study.simulated,
        }
        for (
            worker,
            story,
            generator,
            position,
            choice,
            role,
            endpoint,
            hit,
            assignment,
            row,
            order,
            infill,
            seconds,
            shown,
            submitted,
            sentences,
            shown_with,
        ) in lines
    ]


def comment_lines(session: Session, study: StudyRow) -> list[dict[str, Any]]:
    """What annotators wrote into the comment box, one mapping a comment. Our own copy comes first."""
    lines = session.execute(
        select(
            WorkerRow.pseudonym,
            AssignmentRow.endpoint,
            AssignmentRow.external_id,
            AssignmentRow.submitted_at,
            AnswerRow.source,
            AnswerRow.fields,
        )
        .join(AssignmentRow, AssignmentRow.id == AnswerRow.assignment_id)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(
            AssignmentRow.study_id == study.id, AssignmentRow.state.in_(("submitted", "approved", "rejected"))
        )
        .order_by(AssignmentRow.submitted_at, AssignmentRow.id, AnswerRow.source.desc())
    )
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for worker, endpoint, assignment, submitted, _, fields in lines:
        comment = str(fields.get("comment") or "").strip()
        if comment:
            found.setdefault(
                (endpoint, assignment),
                {
                    "worker": worker,
                    "endpoint": endpoint,
                    "assignment": assignment,
                    "submitted_at": submitted.isoformat() if submitted else None,
                    "comment": comment,
                },
            )
    return list(found.values())


def forms_set_aside(session: Session, study: StudyRow) -> int:
    """How many forms `response_lines` leaves out unless `everything` is set."""
    return (
        session.scalar(
            select(func.count())
            .select_from(AssignmentRow)
            .where(
                AssignmentRow.study_id == study.id,
                or_(
                    AssignmentRow.state == "rejected",
                    and_(
                        AssignmentRow.state.in_(("submitted", "approved")),
                        AssignmentRow.excluded.in_(SET_ASIDE),
                    ),
                ),
            )
        )
        or 0
    )
