"""Queries that several rooms share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Text, and_, cast, func, or_, select
from sqlalchemy.orm import Session, aliased

from humaneval.domain import SENTENCES
from humaneval.store.engine import ASKED_FOR, batches
from humaneval.store.tables import (
    COLLECTED,
    TAKEN_IN,
    AnswerRow,
    AssignmentRow,
    DeletedFormRow,
    GeneratorRow,
    HitRow,
    PassageRow,
    ResponseRow,
    RowPassageRow,
    RowRow,
    StoryRow,
    StudyRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.text import Answerers

READ_TOGETHER = 5_000
"""How many lines are read at once."""

TOOK_PART = "took part before"
TOOK_PART_ELSEWHERE = "took part in a study that this one excludes"
"""Why an assignment does not count although the study's exclusion rule keeps it."""

SET_ASIDE = frozenset({TOOK_PART, TOOK_PART_ELSEWHERE})

TEST_ENDPOINTS = frozenset({"sandbox"})
"""Endpoints whose answers are always rehearsals."""


_PASSAGES = (
    select(RowPassageRow.row_id, func.count().label("passages")).group_by(RowPassageRow.row_id).subquery()
)
"""How many passages each row has."""


def rows_in(session: Session, study_id: int) -> int:
    """How many rows the study has, those that `study enlarge` added too."""
    return session.scalar(select(func.count()).select_from(RowRow).where(RowRow.study_id == study_id)) or 0


def by_workers(studies: Collection[int], workers: Collection[int], endpoint: str = "") -> ColumnElement[bool]:
    """The work of some workers in studies; at one endpoint, or at all."""
    # As sums, no index has these: SQLite would look through all work of the study or at the endpoint.
    of = and_(AssignmentRow.worker_id.in_(workers), (AssignmentRow.study_id + 0).in_(studies))
    return and_(of, AssignmentRow.endpoint + "" == endpoint) if endpoint else of


_OTHER = aliased(GeneratorRow)
_RESPONSE = {
    "worker": WorkerRow.pseudonym,
    "story": StoryRow.key,
    "generator": GeneratorRow.name,
    "position": PassageRow.position,
    "choice": ResponseRow.choice,
    "role": PassageRow.role,
    "study": StudyRow.name,
    "endpoint": AssignmentRow.endpoint,
    "hit": HitRow.external_id,
    "assignment": AssignmentRow.external_id,
    "row": RowRow.ordinal,
    "order": ResponseRow.place,
    "row_passages": _PASSAGES.c.passages,
    "infill": PassageRow.infill_id,
    "seconds": ResponseRow.seconds,
    "words": PassageRow.sentences,
    "shown_at": AssignmentRow.opened_at,
    "submitted_at": AssignmentRow.submitted_at,
    "test": StudyRow.is_test,
    "simulated": AssignmentRow.by_program,
    "platform_lost": AssignmentRow.state == TAKEN_IN,
    "sentences": func.json_array_length(StoryRow.sentences),
    "other": _OTHER.name,
    "answer": ResponseRow.answer,
}
"""The columns of a response table, and what each is made from. The last three only if they tell anything."""


def response_lines(session: Session, study: StudyRow, *, everything: bool = False) -> list[dict[str, Any]]:
    """The response table of a study, one mapping a response; see `response_columns`."""
    columns = response_columns(session, study, everything=everything)
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def response_columns(
    session: Session, study: StudyRow, *, everything: bool = False, without: Set[str] = frozenset()
) -> dict[str, list[Any]]:
    """The response table of a study by its columns, in the order of forms and places.

    Columns take a tenth of the memory of mappings, and each text is kept once.

    Workers are pseudonyms. `simulated`: a program answered. `platform_lost`: a person accepted the answers
    although the platform no longer has them. Superseded assignments have no responses. Rejected forms, and
    forms by workers who had taken part before, are left out unless `everything` is set. The columns
    `without` are not read.
    """
    read = {name: column for name, column in _RESPONSE.items() if name not in without}
    counts: list[ColumnElement[bool]] = [AssignmentRow.state.in_(COLLECTED)]
    if not everything:
        counts += [AssignmentRow.state != "rejected", AssignmentRow.excluded.not_in(SET_ASIDE)]
    query = (
        select(*read.values())
        .select_from(ResponseRow)
        .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
        .join(StudyRow, StudyRow.id == AssignmentRow.study_id)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .join(HitRow, HitRow.id == AssignmentRow.hit_id)
        .join(RowRow, RowRow.id == AssignmentRow.row_id)
        .join(_PASSAGES, _PASSAGES.c.row_id == RowRow.id)
        .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
        .join(StoryRow, StoryRow.id == PassageRow.story_id)
        .join(GeneratorRow, GeneratorRow.id == PassageRow.generator_id)
        .outerjoin(_OTHER, _OTHER.id == PassageRow.other_generator_id)
        .where(AssignmentRow.study_id == study.id, *counts)
        .order_by(
            func.coalesce(AssignmentRow.submitted_at, AssignmentRow.answered_at),
            AssignmentRow.id,
            ResponseRow.place,
        )
    )
    columns: dict[str, list[Any]] = {name: [] for name in read}
    kept: dict[Any, Any] = {}
    for line in session.execute(query, execution_options={"yield_per": READ_TOGETHER}):
        written = _as_written(dict(zip(read, line, strict=True)))
        for name, value in written.items():
            columns[name].append(kept.setdefault(value, value) if isinstance(value, str) else value)
    return _by_question(columns, study.settings.get("question"))


def _by_question(columns: dict[str, list[Any]], question: str | None) -> dict[str, list[Any]]:
    """The columns as the study's question has them: none beyond those of five-sentence stories with a marked
    sentence, unless they tell anything."""
    answers = columns.pop("answer")
    if set(columns["sentences"]) <= {SENTENCES}:
        del columns["sentences"]
    if not any(columns["other"]):
        del columns["other"]
    if question not in (None, "detect"):
        columns["question"] = [question] * len(answers)
    for name in dict.fromkeys(name for answer in answers for name in answer or ()):
        columns[name] = [(answer or {}).get(name) for answer in answers]
    return columns


def answerers(session: Session, study: StudyRow) -> Answerers:
    """How many of those who have answered are programs, and how many are people."""
    counts = session.execute(
        select(AssignmentRow.by_program, func.count(AssignmentRow.worker_id.distinct()))
        .where(AssignmentRow.study_id == study.id, AssignmentRow.state.in_(("answered", *COLLECTED)))
        .group_by(AssignmentRow.by_program)
    )
    found = {bool(by_program): count for by_program, count in counts}
    return Answerers(found.get(True, 0), found.get(False, 0))


def _as_written(line: dict[str, Any]) -> dict[str, Any]:
    if "words" in line:
        line["words"] = len(" ".join(line["words"]).split())
    for name in {"shown_at", "submitted_at"} & line.keys():
        line[name] = _iso(line[name])
    line["test"] = line["test"] or line["endpoint"] in TEST_ENDPOINTS
    return line


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


_WRITTEN = func.replace(cast(AnswerRow.fields, Text), '"comment": ""', "").contains('"comment": "')
"""Whether something is in the comment box. Mostly nothing is, and to read all answers takes long."""


def commented(session: Session, study: StudyRow) -> list[int]:
    """The answers with what annotators wrote into the comment box, by their ids, in the order of forms. Of
    two copies, it is our own."""
    lines = session.execute(
        select(AnswerRow.id, AnswerRow.fields, AssignmentRow.endpoint, AssignmentRow.external_id)
        .join(AssignmentRow, AssignmentRow.id == AnswerRow.assignment_id)
        .where(AssignmentRow.study_id == study.id, AssignmentRow.state.in_(COLLECTED), _WRITTEN)
        .order_by(AssignmentRow.submitted_at, AssignmentRow.id, AnswerRow.source.desc()),
        execution_options={"yield_per": READ_TOGETHER},
    )
    found: dict[tuple[str, str], int] = {}
    for answer, fields, *form in lines:
        if _comment(fields):
            found.setdefault(tuple(form), answer)
    return list(found.values())


def comment_lines(session: Session, answers: Iterable[int]) -> list[dict[str, Any]]:
    """What is in the comment box of these answers, one mapping a comment, in their order. `ids` are those of
    the person and the form, as the platform knows them."""
    found = []
    for some in batches(answers, ASKED_FOR):
        lines = session.execute(
            select(
                AnswerRow.id,
                WorkerRow.pseudonym,
                AssignmentRow.endpoint,
                AssignmentRow.external_id,
                AssignmentRow.submitted_at,
                AnswerRow.fields,
                WorkerIdentityRow.external_id,
                HitRow.external_id,
            )
            .join(AssignmentRow, AssignmentRow.id == AnswerRow.assignment_id)
            .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
            .join(HitRow, HitRow.id == AssignmentRow.hit_id)
            .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == WorkerRow.id, isouter=True)
            .where(AnswerRow.id.in_(some))
        ).all()
        of = {line[0]: line for line in lines}
        for _, worker, endpoint, assignment, submitted, fields, person, hit in (
            of[each] for each in some if each in of
        ):
            found.append(
                {
                    "worker": worker,
                    "endpoint": endpoint,
                    "assignment": assignment,
                    "submitted_at": _iso(submitted),
                    "comment": _comment(fields),
                    "ids": [each for each in (person, assignment, hit) if each],
                }
            )
    return found


def _comment(fields: Mapping[str, Any]) -> str:
    return str(fields.get("comment") or "").strip()


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
                    and_(AssignmentRow.state.in_(COLLECTED), AssignmentRow.excluded.in_(SET_ASIDE)),
                ),
            )
        )
        or 0
    )


class Deleted(NamedTuple):
    """What was deleted because its annotators were forgotten."""

    forms: int
    responses: int


NOTHING_DELETED = Deleted(0, 0)


def deleted_forms(session: Session, study_id: int) -> Deleted:
    """How many forms of a study were deleted, and how many responses they had."""
    counts = select(func.count(), func.coalesce(func.sum(DeletedFormRow.responses), 0))
    return Deleted(*session.execute(counts.where(DeletedFormRow.study_id == study_id)).one())
