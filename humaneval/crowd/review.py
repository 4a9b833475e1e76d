"""Reviews collected work: which annotators missed the control or are excluded, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.outbox import hold_study
from humaneval.crowd.participants import forms_allowed, who_took_part_elsewhere
from humaneval.store.engine import writing
from humaneval.store.published import names_of
from humaneval.store.queries import TOOK_PART, TOOK_PART_ELSEWHERE
from humaneval.store.tables import COLLECTED, AssignmentRow, PassageRow, ResponseRow, StudyRow
from humaneval.store.types import now
from humaneval.study.stored import Study

MISSED_CONTROL = "missed the control"
MISSED_ELSEWHERE = "missed the control in another form"
INCOMPLETE = "incomplete"
NO_FORM = "matches no form"


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One assignment as a reviewer sees it. `seconds` is the sum over the passages that the browser timed.

    A submission that matches no form of the study has no `passages`.
    """

    external_id: str
    worker: str
    state: str
    answered: int
    passages: int
    seconds: float | None
    excluded: str
    auto_approval_at: datetime | None
    differences: str


def review_work(study: Study, endpoint: str) -> list[Reviewed]:
    """Every collected assignment, with the exclusions by the study's own rule."""
    with writing(study.engine) as session:
        hold_study(session, study.id)
        work = session.scalars(
            select(AssignmentRow)
            .where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                AssignmentRow.state.in_(COLLECTED),
            )
            .options(joinedload(AssignmentRow.worker))
            .order_by(AssignmentRow.id)
        ).all()
        decide_exclusions(session, study, endpoint)
        names = names_of(session, session.get_one(StudyRow, study.id))
        reviewed = []
        for assignment in work:
            seconds = session.scalars(
                select(ResponseRow.seconds).where(ResponseRow.assignment_id == assignment.id)
            ).all()
            timed = [each for each in seconds if each is not None]
            reviewed.append(
                Reviewed(
                    names.shown(endpoint, assignment.external_id),
                    assignment.worker.pseudonym,
                    assignment.state,
                    len(seconds),
                    0 if assignment.is_stray else study.settings.design.row_size,
                    round(sum(timed), 1) if timed else None,
                    assignment.excluded,
                    assignment.auto_approval_at,
                    assignment.differences,
                )
            )
        return reviewed


def decide_exclusions(session: Session, study: Study, endpoint: str) -> None:
    """Record on every collected assignment why it does not count, by the study's own rule, as in `score`.

    Under the rule "annotator", an annotator who missed a control is excluded with all their forms.
    """
    settings = study.settings
    work = session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.study_id == study.id,
            AssignmentRow.endpoint == endpoint,
            AssignmentRow.state.in_(COLLECTED),
            ~AssignmentRow.is_stray,  # the reason for these was recorded when they came
        )
    ).all()
    answers: dict[int, list[tuple[str, bool]]] = defaultdict(list)
    for assignment_id, role, choice, position in session.execute(
        select(ResponseRow.assignment_id, PassageRow.role, ResponseRow.choice, PassageRow.position)
        .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
        .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
    ):
        answers[assignment_id].append((role, choice == position))
    rule, passages = settings.exclusions, settings.design.row_size
    gaps = {work.id for work in work if rule.incomplete and len(answers[work.id]) < passages}
    missed = {
        work.id for work in work if any(role == "control" and not found for role, found in answers[work.id])
    }
    unreliable = {work.worker_id for work in work if work.id in missed and rule.missed_control == "annotator"}
    repeats = _repeats(session, study, endpoint, work)
    for assignment in work:
        if assignment.id in repeats:
            assignment.excluded = repeats[assignment.id]
        elif assignment.id in gaps:
            assignment.excluded = INCOMPLETE
        elif rule.missed_control != "none" and assignment.id in missed:
            assignment.excluded = MISSED_CONTROL
        elif assignment.worker_id in unreliable:
            assignment.excluded = MISSED_ELSEWHERE
        else:
            assignment.excluded = ""


def _repeats(session: Session, study: Study, endpoint: str, work: Sequence[AssignmentRow]) -> dict[int, str]:
    """Forms by workers who should not have taken part, or not so often. The first forms submitted count."""
    by_worker: dict[int, list[AssignmentRow]] = defaultdict(list)
    for assignment in sorted(work, key=lambda one: (one.submitted_at or one.answered_at or now(), one.id)):
        by_worker[assignment.worker_id].append(assignment)
    found: dict[int, str] = {}
    elsewhere = who_took_part_elsewhere(session, study, endpoint)
    allowed = study.settings.design.rows_per_annotator
    for worker_id, forms in by_worker.items():
        if len(forms) > allowed:
            more = forms_allowed(session, study, endpoint, worker_id)
            found.update({each.id: TOOK_PART for each in forms[more:]})
        if worker_id in elsewhere:
            found.update({each.id: TOOK_PART_ELSEWHERE for each in forms})
    return found


def lost_assignments(session: Session, study: Study, endpoint: str) -> list[AssignmentRow]:
    """Assignments whose places are lost and not replaced yet: excluded in `review`, rejected, or taken by a
    submission that matches no form."""
    return list(
        session.scalars(
            select(AssignmentRow)
            .where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                AssignmentRow.state.in_(COLLECTED),
                ~AssignmentRow.row_replaced,
                or_(AssignmentRow.holds_row, AssignmentRow.is_stray),
                or_(AssignmentRow.excluded != "", AssignmentRow.state == "rejected"),
            )
            .order_by(AssignmentRow.id)
        )
    )
