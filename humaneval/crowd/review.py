"""Looks through what was collected: who missed the control, who is excluded, who is to be paid; and pays them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Engine, or_, select
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.ledger import APPROVE, approval_subject, find_assignment, reward_paid
from humaneval.crowd.outbox import Intent, hold_study, intend, perform
from humaneval.crowd.platform import Cost, Platform
from humaneval.errors import PartialError, PlatformError
from humaneval.store.engine import reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, PassageRow, ResponseRow, StudyRow
from humaneval.studies import get_study, settings_of

MISSED_CONTROL = "missed the control"
MISSED_ELSEWHERE = "missed the control in another form"
INCOMPLETE = "incomplete"
COLLECTED = ("submitted", "approved", "rejected")


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One assignment as a reviewer sees it. `seconds` is the sum over its passages, where the browser said."""

    external_id: str
    worker: str
    state: str
    answered: int
    passages: int
    seconds: float | None
    excluded: str
    auto_approval_at: datetime | None
    differences: str


def review(engine: Engine, name: str, endpoint: str) -> list[Reviewed]:
    """Every collected assignment, with the exclusions that the study's own rule decides."""
    with writing(engine) as session:
        study = hold_study(session, name)
        settings = settings_of(study)
        work = session.scalars(
            select(AssignmentRow)
            .where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                AssignmentRow.state.in_(("submitted", "approved", "rejected")),
            )
            .options(joinedload(AssignmentRow.worker))
            .order_by(AssignmentRow.id)
        ).all()
        decide_exclusions(session, study, endpoint)
        reviewed = []
        for assignment in work:
            seconds = session.scalars(
                select(ResponseRow.seconds).where(ResponseRow.assignment_id == assignment.id)
            ).all()
            timed = [each for each in seconds if each is not None]
            reviewed.append(
                Reviewed(
                    assignment.external_id, assignment.worker.pseudonym, assignment.state, len(seconds), len(settings.design.generators),
                    round(sum(timed), 1) if timed else None, assignment.excluded, assignment.auto_approval_at, assignment.differences,
                )
            )  # fmt: skip
        return reviewed


def decide_exclusions(session: Session, study: StudyRow, endpoint: str) -> None:
    """Note on every collected assignment why it does not count: by the study's own rule, as `score` applies it.

    Who left out a passage, or under the rule "annotator" missed a control, is excluded with all of their forms.
    """
    settings = settings_of(study)
    work = session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.study_id == study.id,
            AssignmentRow.endpoint == endpoint,
            AssignmentRow.state.in_(COLLECTED),
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
    rule, passages = settings.exclusions, len(settings.design.generators)
    gaps = {work.id for work in work if rule.incomplete and len(answers[work.id]) < passages}
    missed = {
        work.id for work in work if any(role == "control" and not found for role, found in answers[work.id])
    }
    unreliable = {work.worker_id for work in work if work.id in missed and rule.missed_control == "annotator"}
    for assignment in work:
        if assignment.id in gaps:
            assignment.excluded = INCOMPLETE
        elif rule.missed_control != "none" and assignment.id in missed:
            assignment.excluded = MISSED_CONTROL
        elif assignment.worker_id in unreliable:
            assignment.excluded = MISSED_ELSEWHERE
        else:
            assignment.excluded = ""


def lost_assignments(session: Session, study: StudyRow, endpoint: str) -> list[AssignmentRow]:
    """Assignments whose rows are lost to the study: excluded in `review` or rejected, and not replaced yet."""
    return list(
        session.scalars(
            select(AssignmentRow)
            .where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                AssignmentRow.state.in_(("submitted", "approved", "rejected")),
                AssignmentRow.holds_row,
                or_(AssignmentRow.excluded != "", AssignmentRow.state == "rejected"),
            )
            .order_by(AssignmentRow.id)
        )
    )


def approve(
    engine: Engine,
    name: str,
    platform: Platform,
    *,
    assignments: Collection[str] | None = None,
    feedback: str = "",
    advance: Callable[[int], None] = lambda amount: None,
) -> int:
    """Approve submitted work: the assignments named, or all of it. Returns how many this call approved.

    One that the platform refuses does not stop the others; PartialError says how many are left and why.
    """
    endpoint = platform.endpoint.name
    with writing(engine) as session:
        study_id = hold_study(session, name).id
        if assignments is None:
            work = session.scalars(
                select(AssignmentRow)
                .where(
                    AssignmentRow.study_id == study_id,
                    AssignmentRow.endpoint == endpoint,
                    AssignmentRow.state == "submitted",
                )
                .order_by(AssignmentRow.id)
            ).all()
        else:
            found = [find_assignment(session, study_id, endpoint, external_id) for external_id in assignments]
            rejected = [assignment.external_id for assignment in found if assignment.state == "rejected"]
            if rejected:
                raise PlatformError(
                    f"rejected work is not approved: {', '.join(rejected)}",
                    "Leave it out; nothing was approved.",
                )
            work = [assignment for assignment in found if assignment.state == "submitted"]
        intents = [
            (_intent(session, study_id, assignment), assignment.id, assignment.external_id)
            for assignment in work
        ]
    approved, refused = 0, []
    for intent, assignment_id, external_id in intents:
        try:
            _approve(engine, intent, study_id, platform, assignment_id, external_id, feedback)
            approved += 1
        except PlatformError as error:
            refused.append(error)
        advance(1)
    if refused:
        raise PartialError(
            f"{approved} approved, {len(refused)} not: {refused[0].message}",
            "Run the command again to try the rest.",
        )
    return approved


def _intent(session: Session, study_id: int, assignment: AssignmentRow) -> Intent:
    hit = session.get_one(HitRow, assignment.hit_id)
    row = intend(
        session,
        study_id=study_id,
        endpoint=assignment.endpoint,
        operation=APPROVE,
        subject=approval_subject(assignment),
        key=hit.key,
        request={},
    )
    return Intent(row.id, row.operation, row.subject, row.token, row.attempts > 0)


def _approve(
    engine: Engine,
    intent: Intent,
    study_id: int,
    platform: Platform,
    assignment_id: int,
    external_id: str,
    feedback: str,
) -> None:
    def record(session: Session, _: None) -> dict[str, str]:
        assignment = session.get_one(AssignmentRow, assignment_id)
        assignment.state = "approved"
        reward_paid(session, session.get_one(StudyRow, study_id), platform, assignment)
        return {"assignment": external_id}

    perform(engine, intent, lambda: platform.approve(external_id, feedback), record)


def approval_cost(
    engine: Engine, name: str, platform: Platform, assignments: Collection[str] | None = None
) -> Cost:
    """What approving the assignments named, or all submitted ones, would cost."""
    endpoint = platform.endpoint.name
    with reading(engine) as session:
        study = get_study(session, name)
        query = (
            select(HitRow.assignments)
            .join(AssignmentRow, AssignmentRow.hit_id == HitRow.id)
            .where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                AssignmentRow.state == "submitted",
            )
        )
        if assignments is not None:
            query = query.where(AssignmentRow.external_id.in_(assignments))
        reward = settings_of(study).hit.reward
        costs = [platform.cost(reward, size).each(size) for size in session.scalars(query)]
    zero = Decimal("0.00")
    return Cost(sum((cost.rewards for cost in costs), zero), sum((cost.fees for cost in costs), zero))
