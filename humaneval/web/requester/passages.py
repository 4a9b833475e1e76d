"""The passages of a study, and one of them with all answers to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, aliased, joinedload

from humaneval.crowd.review import would_exclude
from humaneval.crowd.worker_flags import stood_out
from humaneval.domain import Role
from humaneval.scoring.questions.question import Answer, Truth
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
from humaneval.study.asked import Asked, asked_by
from humaneval.study.signs import signs_of
from humaneval.study.stored import Study
from humaneval.web.requester.render import PER_PAGE, Paged

_other = aliased(GeneratorRow)
_WHOLE = [joinedload(each) for each in (PassageRow.story, PassageRow.generator, PassageRow.other_generator)]


class Listed(NamedTuple):
    """A passage in a list."""

    id: int
    story: str
    title: str
    generator: str
    role: str
    position: int
    sentence: str
    """The first that a generator wrote, or Human's at the held-out position."""
    answers: int


class AnswerTo(NamedTuple):
    """One answer to a passage."""

    worker: str
    state: str
    place: int
    said: str
    """The answer in words."""
    found: bool | None
    """Whether it is the obvious one; None if nothing is obvious about the passage."""
    seconds: float | None
    stood_out: str
    """Why `review` would leave its form out, and what the report flags about its person; empty if there is
    nothing."""


class Passage(NamedTuple):
    """A passage with all answers to it."""

    id: int
    story: str
    title: str
    generator: str
    other: str
    """Who wrote a second sentence for the position; empty if there is none."""
    role: str
    position: int
    """One more than there are sentences if a person wrote all."""
    sentences: list[str]
    alternative: str
    by_machine: range
    """The numbers of the sentences that were replaced, or held out."""
    given: list[Given]
    answers: list[AnswerTo]


class Given(NamedTuple):
    """How many people gave an answer to one of the question's fields."""

    said: str
    people: int


def passages(study: Study, page: int, generator: str = "") -> Paged[Listed]:
    """A page of the passages, in the order of stories; of one generator, or of all."""
    of = [PassageRow.study_id == study.id]
    if generator:
        of.append(or_(GeneratorRow.name == generator, _other.name == generator))
    with reading(study.engine) as session:
        joined = (
            select(PassageRow.id)
            .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
            .outerjoin(_other, _other.id == PassageRow.other_generator_id)
        )
        total = session.scalar(select(func.count()).select_from(joined.where(*of).subquery())) or 0
        paged = Paged[Listed].at(page, total)
        ids = session.scalars(
            joined.where(*of)
            .order_by(
                PassageRow.story_id,
                PassageRow.position,
                PassageRow.generator_id,
                PassageRow.other_generator_id,
            )
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
            for row in session.scalars(select(PassageRow).where(PassageRow.id.in_(ids)).options(*_WHOLE))
        }
    return paged.of(
        [
            Listed(
                row.id,
                row.story.key,
                _title(row.story),
                " | ".join(_names(row)),
                row.role,
                row.position,
                " | ".join(
                    [*row.sentences[row.position - 1 :][:1], *([row.alternative] if row.alternative else [])]
                ),
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
            .options(*_WHOLE)
        )
        if row is None:
            return None
        asked, count = asked_by(study.settings), len(row.sentences)
        names = _names(row)
        truth = Truth(tuple(names), Role(row.role), row.position, count, study.settings.design.control)
        lines = _lines(session, passage_id)
        told = [asked.answer(line.choice, line.answer, count) for line in lines]
        found = [(asked.said(answer, count), asked.found(truth, answer)) for answer in told]
        return Passage(
            row.id,
            row.story.key,
            row.story.title,
            names[0],
            names[1] if len(names) > 1 else "",
            row.role,
            row.position,
            row.sentences,
            row.alternative or "",
            range(row.position, (count if asked.question.rest else row.position) + 1),
            _given(asked, told, count),
            _answers(session, study, lines, found),
        )


def _lines(session: Session, passage_id: int) -> Sequence[Any]:
    """The collected answers to a passage, as stored, each with its assignment and worker."""
    return session.execute(
        select(
            AssignmentRow.id,
            AssignmentRow.endpoint,
            WorkerRow.pseudonym,
            AssignmentRow.state,
            ResponseRow.place,
            ResponseRow.choice,
            ResponseRow.answer,
            ResponseRow.seconds,
            AssignmentRow.excluded,
            AssignmentRow.worker_id,
        )
        .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(ResponseRow.passage_id == passage_id, AssignmentRow.state.in_(COLLECTED))
        .order_by(ResponseRow.id)
    ).all()


def _answers(
    session: Session, study: Study, lines: Sequence[Any], found: Sequence[tuple[str, bool | None]]
) -> list[AnswerTo]:
    """Each of `lines` as shown, with what it said and whether that is the obvious answer."""
    workers = {line.worker_id for line in lines}
    decided: dict[int, str] = {}
    for endpoint in {line.endpoint for line in lines}:
        decided |= would_exclude(session, study, endpoint, workers)
    signs = signs_of(session, study, workers)
    return [
        AnswerTo(
            line.pseudonym,
            line.state,
            line.place,
            said,
            obvious,
            line.seconds,
            stood_out(line.state, decided.get(line.id, line.excluded), signs.get(line.worker_id, ())),
        )
        for line, (said, obvious) in zip(lines, found, strict=True)
    ]


def _given(asked: Asked, answers: Sequence[Answer], sentences: int) -> list[Given]:
    """How often each answer was given, of each field."""
    question, settings = asked
    fields = question.fields(settings, sentences)
    return [
        Given(
            question.said(field.name, value, settings, sentences),
            sum(answer.get(field.name) == value for answer in answers),
        )
        for field in fields
        for value in range(1, field.values + 1)
        if len(fields) > 1 or question.complete({field.name: value}, settings, sentences)
    ]


def _names(row: PassageRow) -> list[str]:
    return [each.name for each in (row.generator, row.other_generator) if each is not None]


def _title(story: StoryRow) -> str:
    """Its title, or how it begins."""
    if story.title.strip():
        return story.title.strip()
    words = story.sentences[0].split()
    return " ".join(words[:6]) + "…" * (len(words) > 6)
