"""Reviews collected work: which annotators missed the control or are excluded, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select, update
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.answers import read_answers
from humaneval.crowd.outbox import AS_SQL, hold_study
from humaneval.crowd.participants import forms_allowed, who_took_part_elsewhere
from humaneval.domain import Role
from humaneval.store.engine import ASKED_FOR, batches, in_turns, reading, writing
from humaneval.store.export_pseudonyms import names_of
from humaneval.store.responses import TOOK_PART, TOOK_PART_ELSEWHERE, by_workers
from humaneval.store.tables import COLLECTED, AnswerRow, AssignmentRow, PassageRow, ResponseRow, StudyRow
from humaneval.store.types import now
from humaneval.study.asked import asked_by, truth_of, with_truth
from humaneval.study.stored import Study

MISSED_CONTROL = "missed the control"
MISSED_ELSEWHERE = "missed the control in another form"
INCOMPLETE = "incomplete"
NO_FORM = "matches no form"

RECORDED = 500
"""How many reasons are recorded in one transaction: some milliseconds of work."""


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
    practice: str = ""
    """Whether the choice in the practice story was right or wrong; empty without one."""
    exported_as: str = ""
    """The worker's name in the study's reports and exports."""


def review_work(study: Study, endpoint: str) -> list[Reviewed]:
    """Every collected assignment, with the exclusions by the study's own rule, which are recorded."""
    decide_exclusions(study, endpoint)
    with reading(study.engine) as session:
        return _reviewed(session, study, endpoint)


class Undecided(NamedTuple):
    """What is submitted at an endpoint, and waits for a person."""

    forms: int
    deadline: datetime | None
    """When the platform approves the first of them by itself."""
    strays: int
    """Submissions that match no form."""


def undecided(study: Study, endpoint: str) -> Undecided:
    """What nobody has decided about."""
    stray = AssignmentRow.is_stray
    found = select(
        func.count().filter(~stray),
        func.min(AssignmentRow.auto_approval_at).filter(~stray),
        func.count().filter(stray),
    ).where(
        AssignmentRow.study_id == study.id,
        AssignmentRow.endpoint == endpoint,
        AssignmentRow.state == "submitted",
    )
    with reading(study.engine) as session:
        return Undecided(*session.execute(found).one())


def would_exclude(session: Session, study: Study, endpoint: str, workers: Collection[int]) -> dict[int, str]:
    """Why assignments of some workers do not count, where that is not recorded yet: by id, and empty if they
    count now."""
    return {
        change["of"]: change["why"]
        for some in batches(workers, ASKED_FOR)
        for change in _decided(session, study, endpoint, some)
    }


def _reviewed(session: Session, study: Study, endpoint: str) -> list[Reviewed]:
    passages = study.settings.row_size
    answered = (
        select(
            ResponseRow.assignment_id,
            func.count().label("responses"),
            func.sum(ResponseRow.seconds).label("seconds"),
        )
        .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
        .group_by(ResponseRow.assignment_id)
        .subquery()
    )
    work = session.execute(
        select(AssignmentRow, answered.c.responses, answered.c.seconds)
        .outerjoin(answered, answered.c.assignment_id == AssignmentRow.id)
        .where(
            AssignmentRow.study_id == study.id,
            AssignmentRow.endpoint == endpoint,
            AssignmentRow.state.in_(COLLECTED),
        )
        .options(joinedload(AssignmentRow.worker))
        .order_by(AssignmentRow.id)
    )
    names = names_of(session, session.get_one(StudyRow, study.id))
    practised = _practised(session, study, endpoint) if study.settings.page.practice else {}
    return [
        Reviewed(
            names.shown(endpoint, assignment.external_id),
            assignment.worker.pseudonym,
            assignment.state,
            responses or 0,
            0 if assignment.is_stray else passages,
            None if seconds is None else round(seconds, 1),
            assignment.excluded,
            assignment.auto_approval_at,
            assignment.differences,
            practised.get(assignment.id, ""),
            names.worker(assignment.worker.pseudonym),
        )
        for assignment, responses, seconds in work
    ]


def _practised(session: Session, study: Study, endpoint: str) -> dict[int, str]:
    """How the practice story of each assignment went."""
    found = session.execute(
        select(AnswerRow.assignment_id, AnswerRow.fields)
        .join(AssignmentRow, AssignmentRow.id == AnswerRow.assignment_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
    )
    asked = asked_by(study.settings)
    return {assignment: read_answers(fields, asked, {}).practised for assignment, fields in found}


class _Work(NamedTuple):
    """A collected form, as far as the rule asks."""

    id: int
    worker_id: int
    excluded: str
    sent_at: datetime | None


def decide_exclusions(study: Study, endpoint: str) -> None:
    """Record on every collected assignment why it does not count, by the study's own rule, as in `score`.

    Under the rule "annotator", an annotator who missed a control is excluded with all their forms. The study
    is held only to record what changed, a batch at a time.
    """
    with reading(study.engine) as session:
        decided = _decided(session, study, endpoint)
    for batch in in_turns(decided, RECORDED):
        with writing(study.engine) as session:
            hold_study(session, study.id)
            session.execute(_EXCLUDED, batch, execution_options=AS_SQL)


_EXCLUDED = (
    update(AssignmentRow.__table__)  # type: ignore[arg-type]  # a Table, typed as its base class
    .where(
        AssignmentRow.__table__.c.id == bindparam("of"),
        # What another program decided meanwhile was decided from later answers.
        AssignmentRow.__table__.c.excluded == bindparam("before"),
    )
    .values(excluded=bindparam("why"))
)


def _decided(
    session: Session, study: Study, endpoint: str, workers: Collection[int] | None = None
) -> list[dict[str, Any]]:
    """The assignments whose exclusion changes, of all workers or of some: from what, and to what."""
    settings = study.settings
    here = and_(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
    if workers is not None:
        here = by_workers([study.id], workers, endpoint)
    lines = session.execute(
        select(
            AssignmentRow.id,
            AssignmentRow.worker_id,
            AssignmentRow.excluded,
            func.coalesce(AssignmentRow.submitted_at, AssignmentRow.answered_at),
        ).where(
            here,
            AssignmentRow.state.in_(COLLECTED),
            ~AssignmentRow.is_stray,  # the reason for these was recorded when they came
        )
    )
    work = [_Work(*line) for line in lines]
    found = select(
        ResponseRow.assignment_id,
        func.count().label("answers"),
    )
    counts = dict(
        session.execute(
            found.join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
            .where(here)
            .group_by(ResponseRow.assignment_id)
        ).all()
    )
    rule, passages = settings.exclusions, settings.row_size
    gaps = {one.id for one in work if rule.incomplete and counts.get(one.id, 0) < passages}
    missed = _missed(session, study, here)
    unreliable = {one.worker_id for one in work if one.id in missed and rule.missed_control == "annotator"}
    elsewhere = who_took_part_elsewhere(session, study, endpoint, workers)
    repeats = _repeats(session, study, endpoint, work, elsewhere)
    changes = []
    for one in work:
        why = ""
        if one.id in repeats:
            why = repeats[one.id]
        elif one.id in gaps:
            why = INCOMPLETE
        elif rule.missed_control != "none" and one.id in missed:
            why = MISSED_CONTROL
        elif one.worker_id in unreliable:
            why = MISSED_ELSEWHERE
        if why != one.excluded:
            changes.append({"of": one.id, "before": one.excluded, "why": why})
    return changes


def _missed(session: Session, study: Study, here: ColumnElement[bool]) -> set[int]:
    """The assignments in which a control has another answer than an obvious one."""
    asked = asked_by(study.settings)
    controls = session.execute(
        with_truth(
            select(ResponseRow.assignment_id, ResponseRow.choice, ResponseRow.answer)
            .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
            .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
            .where(here, PassageRow.role == Role.CONTROL)
        )
    )
    return {
        line.assignment_id
        for line in controls
        if not asked.passed(
            truth_of(line, study.settings), asked.answer(line.choice, line.answer, line.sentence_count)
        )
    }


def _repeats(
    session: Session,
    study: Study,
    endpoint: str,
    work: Sequence[_Work],
    elsewhere: Mapping[int, datetime | None],
) -> dict[int, str]:
    """Forms by workers who should not have taken part, or who did more than they may. The first ones
    submitted count."""
    by_worker: dict[int, list[_Work]] = defaultdict(list)
    for one in sorted(work, key=lambda one: (one.sent_at or now(), one.id)):
        by_worker[one.worker_id].append(one)
    found: dict[int, str] = {}
    allowed = study.settings.design.rows_per_annotator
    for worker_id, forms in by_worker.items():
        if len(forms) > allowed:
            more = forms_allowed(session, study, endpoint, worker_id)
            found.update({each.id: TOOK_PART for each in forms[more:]})
        if worker_id in elsewhere:
            began = elsewhere[worker_id]
            met = [each for each in forms if began is None or each.sent_at is None or began < each.sent_at]
            found.update({each.id: TOOK_PART_ELSEWHERE for each in met})
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
