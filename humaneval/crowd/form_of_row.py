"""What a person who has claimed a row is shown: its form, and where its answers go afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session, joinedload, selectinload

from humaneval.crowd.form_page import Form, ShownPassage
from humaneval.domain import Sentences
from humaneval.store.engine import reading
from humaneval.store.queries import TEST_ENDPOINTS
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    HitRow,
    PassageRow,
    RowPassageRow,
    RowRow,
    StudyRow,
)
from humaneval.study.stored import settings_of
from humaneval.study.words import Channel


@dataclass(frozen=True, slots=True)
class Place:
    """An opened form: what to show, and where its answers go afterwards."""

    form: Form
    assignment_id: int
    external_id: str
    endpoint: str
    hit_key: str
    channel: Channel
    answered: Mapping[str, str] | None
    """The answers that are already stored, as they came."""
    passed_on: bool
    """Whether the platform has since given the assignment to another worker: anything submitted would be
    theirs."""


def load_form(engine: Engine, assignment_id: int) -> Place:
    """The form of an opened assignment."""
    with reading(engine) as session:
        assignment = session.get_one(
            AssignmentRow, assignment_id, options=[joinedload(AssignmentRow.hit).joinedload(HitRow.study)]
        )
        answer = session.scalar(
            select(AnswerRow).where(AnswerRow.assignment_id == assignment_id, AnswerRow.source == "server")
        )
        form = form_of(session, assignment.hit.study, assignment.row_id, assignment.endpoint)
        return Place(
            form,
            assignment.id,
            assignment.external_id,
            assignment.endpoint,
            assignment.hit.key,
            channel_of(assignment.hit),
            answer.fields if answer else None,
            is_passed_on(session, assignment),
        )


def channel_of(hit: HitRow) -> Channel:
    """How people come to the forms of `hit`."""
    return cast(Channel, hit.audience or "hit")


def is_passed_on(session: Session, assignment: AssignmentRow) -> bool:
    """Whether another worker has opened a form under the same assignment id after this one did.

    Some platforms give a returned assignment to the next worker under the same id. What nobody has confirmed
    takes no confirmed work away.
    """
    later = select(AssignmentRow.id).where(
        AssignmentRow.endpoint == assignment.endpoint,
        AssignmentRow.external_id == assignment.external_id,
        AssignmentRow.worker_id != assignment.worker_id,
        AssignmentRow.opened_at > assignment.opened_at,
    )
    if assignment.confirmed:
        later = later.where(AssignmentRow.confirmed)
    return session.scalar(later.limit(1)) is not None


def tests_of(study: StudyRow, endpoint: str) -> tuple[str, ...]:
    """What kinds of test the study is at `endpoint`, as keys of words; empty if it is no test."""
    return ("pilot",) * study.is_test + ("rehearsal",) * (endpoint in TEST_ENDPOINTS)


def form_of(session: Session, study: StudyRow, row_id: int | None, endpoint: str = "") -> Form:
    """What row `row_id` of `study` shows at `endpoint`; nothing for None."""
    settings = settings_of(study)
    if endpoint == "link":
        settings = settings.by_link
    tests = tests_of(study, endpoint)
    if row_id is None:
        return Form(settings, (), "", study.simulated, tests)
    row = session.get_one(
        RowRow,
        row_id,
        options=[selectinload(RowRow.places).joinedload(RowPassageRow.passage).joinedload(PassageRow.story)],
    )
    passages = tuple(
        ShownPassage(
            place.place,
            _five(place.passage.sentences),
            place.passage.story.title if settings.page.show_titles else "",
        )
        for place in row.places
    )
    return Form(settings, passages, row.shown_hash, study.simulated, tests)


def _five(sentences: list[str]) -> Sentences:
    first, second, third, fourth, fifth = sentences
    return first, second, third, fourth, fifth
