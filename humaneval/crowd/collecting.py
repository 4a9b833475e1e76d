"""Brings submitted work home: the platform's answers are the record, our server's copy adds timing; both are compared.

Collecting is incremental and repeatable: twice gives the same rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Engine, func, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.answers import Answers, read_answers
from humaneval.crowd.ledger import reward_paid
from humaneval.crowd.people import worker_row
from humaneval.crowd.platform import Platform, Submission
from humaneval.store.engine import reading, writing
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    ResponseRow,
    RowPassageRow,
    RowRow,
    StrayRow,
    StudyRow,
)
from humaneval.studies import get_study


@dataclass(frozen=True, slots=True)
class Collected:
    """What there is after collecting. `new` counts assignments that were not collected before."""

    submissions: int
    new: int
    responses: int
    not_handed_over: int
    """Answers safe on our server whose hand-over to the platform never came."""
    rebuilt: int
    """Submissions that our server never saw; taken from the platform's answers."""
    strays: int
    """Submissions at our HITs that match no form of the study: kept apart, neither paid nor refused."""
    differences: tuple[str, ...]


class _Hit(NamedTuple):
    id: int
    external_id: str


def collect(
    engine: Engine, name: str, platform: Platform, advance: Callable[[int], None] = lambda amount: None
) -> Collected:
    """Fetch everything submitted for the study's HITs on this endpoint."""
    endpoint = platform.endpoint.name
    with reading(engine) as session:
        study_id = get_study(session, name).id
        lines = session.execute(
            select(HitRow.id, HitRow.external_id).where(
                HitRow.study_id == study_id, HitRow.endpoint == endpoint, HitRow.external_id.is_not(None)
            ).order_by(HitRow.id)
        )  # fmt: skip
        hits = [_Hit(id, external_id or "") for id, external_id in lines]
    counts: Counter[str] = Counter()
    for hit in hits:
        submissions = list(platform.submissions(hit.external_id))
        with writing(engine) as session:
            study = session.get_one(StudyRow, study_id)
            for submission in submissions:
                counts["submissions"] += 1
                counts[_take_in(session, study, hit.id, platform, submission)] += 1
        advance(1)
    with reading(engine) as session:
        mine = (AssignmentRow.study_id == study_id, AssignmentRow.endpoint == endpoint)
        responses = (
            session.scalar(select(func.count()).select_from(ResponseRow).join(AssignmentRow).where(*mine))
            or 0
        )
        waiting = (
            session.scalar(
                select(func.count())
                .select_from(AssignmentRow)
                .where(*mine, AssignmentRow.state == "answered")
            )
            or 0
        )
        strays = (
            session.scalar(
                select(func.count())
                .select_from(StrayRow)
                .where(StrayRow.study_id == study_id, StrayRow.endpoint == endpoint)
            )
            or 0
        )
        differing = session.scalars(
            select(AssignmentRow).where(*mine, AssignmentRow.differences != "").order_by(AssignmentRow.id)
        )
        differences = tuple(f"assignment {row.external_id}: {row.differences}" for row in differing)
    return Collected(
        counts["submissions"],
        counts["new"] + counts["rebuilt"],
        responses,
        waiting,
        counts["rebuilt"],
        strays,
        differences,
    )


def _take_in(
    session: Session, study: StudyRow, hit_id: int, platform: Platform, submission: Submission
) -> str:
    """Store one submission; says whether it was new, rebuilt from the platform's answers alone, a stray, or known."""
    endpoint = platform.endpoint.name
    worker = worker_row(session, endpoint, submission.worker)
    assignment = session.scalar(
        select(AssignmentRow).where(
            AssignmentRow.endpoint == endpoint,
            AssignmentRow.external_id == submission.external_id,
            AssignmentRow.worker_id == worker.id,
        )
    )
    answers = read_answers(submission.fields)
    hit = session.get_one(HitRow, hit_id)
    row = (
        session.scalar(select(RowRow).where(RowRow.study_id == study.id, RowRow.shown_hash == answers.form))
        if answers.form
        else None
    )
    row_id = (
        row.id if row is not None else hit.row_id or (assignment.row_id if assignment is not None else None)
    )
    _supersede_others(session, endpoint, submission.external_id, worker.id)
    if row_id is None:
        _stray(session, study, hit_id, endpoint, worker.id, submission)
        return "stray"
    verdict = "known"
    if assignment is None:
        assignment = AssignmentRow(
            study_id=study.id, hit_id=hit_id, endpoint=endpoint, external_id=submission.external_id, worker_id=worker.id,
            row_id=row_id, holds_row=_is_free(session, endpoint, row_id), state="submitted",
        )  # fmt: skip
        session.add(assignment)
        session.flush()
        verdict = "rebuilt" if hit.row_id is None else "new"
    kept = session.scalar(
        select(AnswerRow).where(AnswerRow.assignment_id == assignment.id, AnswerRow.source == "platform")
    )
    if kept is None:
        verdict = "new" if verdict == "known" else verdict
        session.add(AnswerRow(assignment_id=assignment.id, source="platform", fields=dict(submission.fields)))
        _store_responses(session, study, assignment, row_id, answers)
    _follow(session, study, platform, assignment, submission)
    return verdict


def _supersede_others(session: Session, endpoint: str, external_id: str, worker_id: int) -> None:
    """The platform's worker decides: an earlier claim under the same assignment id was returned."""
    session.execute(
        update(AssignmentRow)
        .where(
            AssignmentRow.endpoint == endpoint,
            AssignmentRow.external_id == external_id,
            AssignmentRow.worker_id != worker_id,
        )
        .values(state="superseded", holds_row=False)
    )


def _is_free(session: Session, endpoint: str, row_id: int) -> bool:
    held = select(AssignmentRow.id).where(
        AssignmentRow.endpoint == endpoint, AssignmentRow.row_id == row_id, AssignmentRow.holds_row
    )
    return session.scalar(held) is None


def _stray(
    session: Session, study: StudyRow, hit_id: int, endpoint: str, worker_id: int, submission: Submission
) -> None:
    known = session.scalar(
        select(StrayRow).where(
            StrayRow.endpoint == endpoint,
            StrayRow.external_id == submission.external_id,
            StrayRow.worker_id == worker_id,
        )
    )
    if known is None:
        session.add(
            StrayRow(
                study_id=study.id, hit_id=hit_id, endpoint=endpoint, external_id=submission.external_id, worker_id=worker_id,
                reason="its answers name no form of this study", fields=dict(submission.fields), submitted_at=submission.submitted_at,
            )
        )  # fmt: skip


def _store_responses(
    session: Session, study: StudyRow, assignment: AssignmentRow, row_id: int, platform_answers: Answers
) -> None:
    server = session.scalar(
        select(AnswerRow).where(AnswerRow.assignment_id == assignment.id, AnswerRow.source == "server")
    )
    ours = (
        {choice.place: choice for choice in read_answers(server.fields).choices} if server is not None else {}
    )
    theirs = {choice.place: choice for choice in platform_answers.choices}
    places = session.scalars(
        select(RowPassageRow).where(RowPassageRow.row_id == row_id).order_by(RowPassageRow.place)
    ).all()
    differences = []
    for place in places:
        choice, copy = theirs.get(place.place), ours.get(place.place)
        if server is not None and (choice.choice if choice else None) != (copy.choice if copy else None):
            differences.append(
                f"passage {place.place}: platform {choice.choice if choice else 'none'}, our server {copy.choice if copy else 'none'}"
            )
        if choice is None:
            continue
        seconds = copy.seconds if copy is not None and copy.seconds is not None else choice.seconds
        session.add(
            ResponseRow(
                assignment_id=assignment.id, passage_id=place.passage_id, place=place.place, choice=choice.choice, seconds=seconds,
                shown_hash=place.passage.shown_hash, source="both" if copy is not None else "platform",
            )
        )  # fmt: skip
    assignment.differences = "; ".join(differences)
    assignment.row_id = row_id
    assignment.consent_version = assignment.consent_version or platform_answers.consent


def _follow(
    session: Session, study: StudyRow, platform: Platform, assignment: AssignmentRow, submission: Submission
) -> None:
    """Let our state follow the platform's: nothing is called approved here that is not approved there."""
    assignment.state = submission.state
    assignment.submitted_at = submission.submitted_at
    assignment.opened_at = assignment.opened_at or submission.accepted_at
    assignment.auto_approval_at = submission.auto_approval_at
    if submission.state == "approved":
        reward_paid(session, study, platform, assignment)
