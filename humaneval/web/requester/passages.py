"""The passages of a study, and one of them with all answers to it."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import joinedload

from humaneval.crowd.review import would_exclude
from humaneval.store.engine import reading
from humaneval.store.tables import (
    COLLECTED,
    AssignmentRow,
    GeneratorRow,
    PassageRow,
    ResponseRow,
    StoryRow,
    WorkerRow,
)
from humaneval.study.stored import Study
from humaneval.web.requester.render import PER_PAGE, Paged


class Listed(NamedTuple):
    """A passage in a list."""

    id: int
    story: str
    title: str
    generator: str
    role: str
    position: int
    sentence: str
    """The one that a generator wrote, or Human's at the held-out position."""
    answers: int


class AnswerTo(NamedTuple):
    """One answer to a passage."""

    worker: str
    state: str
    place: int
    choice: int
    seconds: float | None
    stood_out: str
    """Why `review` would leave it out; empty if it counts."""


class Passage(NamedTuple):
    """A passage with all answers to it."""

    id: int
    story: str
    title: str
    generator: str
    role: str
    position: int
    sentences: list[str]
    chosen: list[int]
    """How many marked sentence 1, 2, … 5."""
    answers: list[AnswerTo]


def passages(study: Study, page: int, generator: str = "") -> Paged[Listed]:
    """A page of the passages, in the order of stories; of one generator, or of all."""
    of = [PassageRow.study_id == study.id]
    if generator:
        of.append(GeneratorRow.name == generator)
    with reading(study.engine) as session:
        joined = select(PassageRow.id).join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        total = session.scalar(select(func.count()).select_from(joined.where(*of).subquery())) or 0
        paged = Paged[Listed].at(page, total)
        ids = session.scalars(
            joined.where(*of)
            .order_by(PassageRow.story_id, PassageRow.position, PassageRow.generator_id)
            .limit(PER_PAGE)
            .offset(paged.offset)
        ).all()
        answers = dict(
            session.execute(
                select(ResponseRow.passage_id, func.count())
                .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
                .where(ResponseRow.passage_id.in_(ids), AssignmentRow.state.in_(COLLECTED))
                .group_by(ResponseRow.passage_id)
            ).all()
        )
        rows = {
            row.id: row
            for row in session.scalars(
                select(PassageRow)
                .where(PassageRow.id.in_(ids))
                .options(joinedload(PassageRow.story), joinedload(PassageRow.generator))
            )
        }
    return paged.of(
        [
            Listed(
                row.id,
                row.story.key,
                _title(row.story),
                row.generator.name,
                row.role,
                row.position,
                row.sentences[row.position - 1],
                answers.get(row.id, 0),
            )
            for row in map(rows.__getitem__, ids)
        ]
    )


def passage(study: Study, passage_id: int) -> Passage | None:
    """One passage of the study; None if there is none with this id."""
    with reading(study.engine) as session:
        row = session.scalar(
            select(PassageRow)
            .where(PassageRow.id == passage_id, PassageRow.study_id == study.id)
            .options(joinedload(PassageRow.story), joinedload(PassageRow.generator))
        )
        if row is None:
            return None
        lines = session.execute(
            select(
                AssignmentRow.id,
                AssignmentRow.endpoint,
                WorkerRow.pseudonym,
                AssignmentRow.state,
                ResponseRow.place,
                ResponseRow.choice,
                ResponseRow.seconds,
                AssignmentRow.excluded,
            )
            .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
            .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
            .where(ResponseRow.passage_id == passage_id, AssignmentRow.state.in_(COLLECTED))
            .order_by(ResponseRow.id)
        ).all()
        decided = {
            id: why
            for endpoint in {line.endpoint for line in lines}
            for id, why in would_exclude(study, endpoint).items()
        }
        answers = [AnswerTo(*line[2:-1], decided.get(line.id, line.excluded)) for line in lines]
        chosen = [sum(one.choice == each for one in answers) for each in range(1, len(row.sentences) + 1)]
        return Passage(
            row.id,
            row.story.key,
            row.story.title,
            row.generator.name,
            row.role,
            row.position,
            row.sentences,
            chosen,
            answers,
        )


def _title(story: StoryRow) -> str:
    """Its title, or how it begins."""
    if story.title.strip():
        return story.title.strip()
    words = story.sentences[0].split()
    return " ".join(words[:6]) + "…" * (len(words) > 6)
