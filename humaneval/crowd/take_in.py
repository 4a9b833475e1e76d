"""Takes in what our server holds of work that the platform lost: only if a person decides so, and marked."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from humaneval.crowd.answers import read_answers
from humaneval.crowd.free_rows import row_is_free
from humaneval.crowd.outbox import TOGETHER, hold_study
from humaneval.crowd.plan_differences import accept, look
from humaneval.crowd.published_hits import known_gone, up
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import in_turns, reading, writing
from humaneval.store.tables import TAKEN_IN, AnswerRow, AssignmentRow, ResponseRow, RowPassageRow
from humaneval.store.types import now
from humaneval.study.asked import asked_by
from humaneval.study.file import StudyFile
from humaneval.study.stored import Study


def accept_lost(at: StudyAtPlatform) -> None:
    """Accept, for a person, that the platform has lost the HITs that it does not have now."""
    look(at, up(at.study, at.endpoint))
    with writing(at.engine) as session:
        hold_study(session, at.id)
        accept(session, at.study, at.endpoint, gone=True)


def take_in(at: StudyAtPlatform, hits: Collection[int]) -> int:
    """Take in the work at `hits` that our server holds. Returns how many forms.

    Work that was collected before, and never decided, is taken in as well: nobody can approve it there.
    """
    held = _held(at.study, at.endpoint, hits)
    with reading(at.engine) as session:
        waiting = session.scalars(held.with_only_columns(AssignmentRow.id).order_by(AssignmentRow.id)).all()
    taken = 0
    for batch in in_turns(waiting, TOGETHER):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            work = session.scalars(held.where(AssignmentRow.id.in_(batch)).order_by(AssignmentRow.id)).all()
            for assignment in work:
                if assignment.state == "answered":
                    _store_ours(session, at.settings, assignment)
                assignment.state, assignment.reviewed_at, assignment.auto_approval_at = TAKEN_IN, now(), None
        taken += len(work)
    return taken


def held_of_lost(study: Study, endpoint: str) -> int:
    """How many forms our server holds of HITs that the platform lost, and that nobody has taken in."""
    gone = known_gone(study, endpoint)
    with reading(study.engine) as session:
        held = _held(study, endpoint, gone).subquery()
        return session.scalar(select(func.count()).select_from(held)) or 0


def _held(study: Study, endpoint: str, hits: Collection[int]) -> Select[AssignmentRow]:
    return select(AssignmentRow).where(
        AssignmentRow.study_id == study.id,
        AssignmentRow.endpoint == endpoint,
        AssignmentRow.hit_id.in_(hits),
        AssignmentRow.state.in_(("answered", "submitted")),
    )


def _store_ours(session: Session, study: StudyFile, assignment: AssignmentRow) -> None:
    """Store our own copy of the answers as responses."""
    fields = session.scalars(
        select(AnswerRow.fields).where(AnswerRow.assignment_id == assignment.id, AnswerRow.source == "server")
    ).one()
    places: Sequence[RowPassageRow] = session.scalars(
        select(RowPassageRow).where(RowPassageRow.row_id == assignment.row_id).order_by(RowPassageRow.place)
    ).all()
    asked = asked_by(study)
    counts = {place.place: len(place.passage.sentences) for place in places}
    given = read_answers(fields, asked, counts).given
    for place in places:
        if place.place in given:
            session.add(
                ResponseRow(
                    assignment_id=assignment.id,
                    passage_id=place.passage_id,
                    place=place.place,
                    **asked.stored(given[place.place].answer),
                    seconds=given[place.place].seconds,
                    shown_hash=place.passage.shown_hash,
                    source="server",
                )
            )
    if not assignment.holds_row and assignment.row_id is not None:
        assignment.holds_row = row_is_free(session, assignment.endpoint, assignment.row_id)
        session.flush()
