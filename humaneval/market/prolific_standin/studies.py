"""Studies: made, changed, published, paused, stopped, and what becomes of them by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select

from humaneval.market.prolific_standin.completion_codes import screen_out_of
from humaneval.market.prolific_standin.database import Work, new_id
from humaneval.market.prolific_standin.hooks import note_study
from humaneval.market.prolific_standin.money import PAID, counts, settle
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.study_fields import allocated, check_change, check_study
from humaneval.market.prolific_standin.tables import Project, Status, Study, StudyStatus, Task
from humaneval.market.prolific_standin.tables import StudyStatus as S

HOLDING = (Status.RESERVED, Status.ACTIVE, Status.AWAITING_REVIEW, *PAID)
"""Submissions that take a place. That those screened out take none is unverified."""
DEFAULTS: Mapping[str, Any] = {
    "internal_name": None,
    "device_compatibility": [],
    "peripheral_requirements": [],
    "filters": [],
    "study_labels": [],
    "content_warnings": [],
    "naivety_distribution_rate": None,
    "metadata": None,
}
MOVES: Mapping[tuple[str, str], StudyStatus] = {
    (S.UNPUBLISHED, "PUBLISH"): S.PUBLISHING,
    (S.UNPUBLISHED, "SCHEDULE_PUBLISH"): S.SCHEDULED,
    (S.SCHEDULED, "CANCEL_PUBLISH"): S.UNPUBLISHED,
    (S.ACTIVE, "PAUSE"): S.PAUSED,
    (S.PAUSED, "START"): S.ACTIVE,
    (S.ACTIVE, "STOP"): S.COMPLETED,
    (S.PAUSED, "STOP"): S.COMPLETED,
}
"""Every state and action that go together, and where they lead. Any other pair is refused."""
ACTIONS = sorted({action for _, action in MOVES})


def find_study(work: Work, study_id: str) -> Study:
    """The study with this id. Raises NotFound."""
    found = work.session.scalars(select(Study).where(Study.id == study_id)).first()
    if found is None:
        raise NotFound("Study")
    return found


def find_project(work: Work, project_id: str) -> Project | None:
    """The project with this id; None if there is none."""
    return work.session.scalars(select(Project).where(Project.id == project_id)).first()


def create(work: Work, body: Mapping[str, Any]) -> Study:
    """A draft. Raises Refusal, which names the field that is wrong."""
    check_study(body)
    project = find_project(work, body["project"]) if "project" in body else _first_project(work)
    if project is None:
        raise Refusal({"project": ["Project not found."]})
    longest = body.get("maximum_allowed_time") or work.terms.longest_minutes
    filled = {**DEFAULTS, **body, "project": project.id, "maximum_allowed_time": longest}
    study = Study(
        id=new_id(),
        project_id=project.id,
        status=S.UNPUBLISHED,
        body=filled,
        made_at=work.now,
        stopped=False,
        is_test=False,
    )
    work.session.add(study)
    work.session.flush()
    return study


def change(work: Work, study: Study, wanted: Mapping[str, Any]) -> None:
    """Change fields of a study: any of a draft, few of a published one. More places reopen a finished one."""
    before = study.body["total_available_places"]
    if "access_details" in wanted and "total_available_places" not in wanted:
        wanted = {**wanted, "total_available_places": allocated(wanted["access_details"]) or before}
    body = {**study.body, **wanted}
    check_study(body)
    if study.status not in (S.UNPUBLISHED, S.SCHEDULED):
        check_change(study.body, wanted)
    study.body = body
    if "project" in wanted:
        if find_project(work, wanted["project"]) is None:
            raise Refusal({"project": ["Project not found."]})
        study.project_id = wanted["project"]
    if body["total_available_places"] > before and study.status == S.COMPLETED:
        study.stopped = False
        set_status(work, study, S.ACTIVE)
    refresh(work, study)
    settle(work, study)


def delete(work: Work, study: Study) -> None:
    """Delete a draft. Raises Refusal for any other study."""
    if study.status != S.UNPUBLISHED:
        raise Refusal("Only unpublished studies can be deleted.")
    work.session.delete(study)


def clone(work: Work, study: Study, *, block: bool = False) -> Study:
    """A draft like this study, if asked for without those who took part in this one."""
    body = dict(study.body)
    if block:
        blocked = {"filter_id": "previous_studies_blocklist", "selected_values": [study.id]}
        body["filters"] = [*body.get("filters", []), blocked]
    return create(work, {**body, "name": f"{body['name']} Copy"})


def transition(work: Work, study: Study, action: object, publish_at: datetime | None) -> None:
    """Publish, schedule, pause, start or stop a study. Raises Refusal for a pair that does not go."""
    if action not in ACTIONS:
        raise Refusal({"action": [f'"{action}" is not a valid choice.']})
    status = MOVES.get((study.status, str(action)))
    if status is None:
        raise Refusal(f"A study that is {study.status} cannot {action}.")
    if action == "SCHEDULE_PUBLISH":
        if publish_at is None or publish_at <= work.now:
            raise Refusal({"publish_at": ["This must be a moment in the future."]})
        later(work, "publish", publish_at, study=study.id)
    study.publish_at = publish_at if status == S.SCHEDULED else None
    study.stopped = action == "STOP"
    set_status(work, study, status)
    if action == "PUBLISH":
        study.published_at = work.now
        if work.terms.publishing:
            later(work, "activate", work.now + work.terms.publishing, study=study.id)
        else:
            set_status(work, study, S.ACTIVE)
    refresh(work, study)
    settle(work, study)


def publish_when_due(work: Work, study_id: str) -> None:
    """Publish what was scheduled. Without the money, it stays a draft."""
    study = find_study(work, study_id)
    if study.status == S.SCHEDULED and study.publish_at is not None and study.publish_at <= work.now:
        set_status(work, study, S.UNPUBLISHED)
        try:
            with work.session.begin_nested():
                transition(work, study, "PUBLISH", None)
        except Refusal:
            work.session.refresh(study)


def activate_when_due(work: Work, study_id: str) -> None:
    """End the state between draft and live."""
    study = find_study(work, study_id)
    if study.status == S.PUBLISHING:
        set_status(work, study, S.ACTIVE)


def places_taken(work: Work, study: Study) -> int:
    """How many places of a study are taken, from the reservation on."""
    by_status = counts(work, study)
    return sum(by_status.get(status, 0) for status in HOLDING)


def refresh(work: Work, study: Study) -> None:
    """What becomes of a study by itself, after one of its submissions or its places changed."""
    if study.stopped or study.is_test:
        return
    work.session.flush()
    by_status = counts(work, study)
    waiting = by_status.get(Status.AWAITING_REVIEW, 0)
    submitted = waiting + sum(by_status.get(status, 0) for status in PAID)
    full = submitted >= study.body["total_available_places"]
    if study.status == S.ACTIVE and full:
        set_status(work, study, S.AWAITING_REVIEW)
    if study.status == S.AWAITING_REVIEW:
        if not full:
            set_status(work, study, S.ACTIVE)
        elif not waiting:
            set_status(work, study, S.COMPLETED)
    screen_out = screen_out_of(study.body)
    screened = by_status.get(Status.SCREENED_OUT, 0)
    if screen_out is not None and study.status == S.ACTIVE and screened >= screen_out["slots"]:
        set_status(work, study, S.PAUSED)


def set_status(work: Work, study: Study, status: StudyStatus) -> None:
    """Change a study's status, and say so to who subscribed to it."""
    study.status = status
    note_study(work, study)


def later(work: Work, kind: str, moment: datetime, **details: Any) -> None:
    """Let something happen at a moment."""
    work.session.add(Task(kind=kind, due_at=moment, details=details))


def _first_project(work: Work) -> Project | None:
    return work.session.scalars(select(Project).order_by(Project.number)).first()
