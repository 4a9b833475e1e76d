"""The people of a study by pseudonym: their forms, their answers in order, what stood out, and their pay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import Session, joinedload

from humaneval.crowd.answers import COMMENT
from humaneval.crowd.review import would_exclude
from humaneval.crowd.worker_flags import stood_out
from humaneval.store.engine import reading
from humaneval.store.export_pseudonyms import StudyNames, names_of
from humaneval.store.responses import by_workers, comment_lines, commented
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    PassageRow,
    PaymentRow,
    ResponseRow,
    StudyRow,
    WorkerRow,
)
from humaneval.study.asked import asked_by, truth_of, with_truth
from humaneval.study.signs import signs_of
from humaneval.study.stored import Study
from humaneval.web.requester.remembered import remembered
from humaneval.web.requester.render import PER_PAGE, Paged


class FormOf(NamedTuple):
    """One form of a person."""

    id: int
    worker: str
    exported_as: str
    """The person's name in reports and exports."""
    shown_id: str
    """Its id as `review` shows it, for commands."""
    endpoint: str
    row: int | None
    """Which form of the design it is, from 1; None if it matches none."""
    state: str
    opened_at: datetime | None
    submitted_at: datetime | None
    answers: int
    seconds: float | None
    """On all passages together, as the browser measured them."""
    stood_out: str
    """Why `review` would leave it out, and what the report flags about its person; empty without either."""
    differences: str
    by_program: bool


class AnswerOf(NamedTuple):
    """One answer of a form."""

    place: int
    passage_id: int
    generator: str
    role: str
    position: int
    said: str
    """The answer in words."""
    found: bool | None
    """Whether it is the obvious one; None if nothing is obvious about the passage."""
    seconds: float | None


class Payment(NamedTuple):
    """What a person gets for a form."""

    kind: str
    amount: Decimal
    state: str
    paid_at: datetime | None
    elsewhere: bool
    settled_at: datetime | None
    reason: str


class Done(NamedTuple):
    """A form with all that is known of it."""

    form: FormOf
    answers: list[AnswerOf]
    payments: list[Payment]
    comment: str


def people(study: Study, page: int) -> Paged[list[FormOf]]:
    """A page of the people who have opened a form, each with all forms; the first who came come first."""
    of_study = select(AssignmentRow.worker_id).where(AssignmentRow.study_id == study.id)
    first = of_study.group_by(AssignmentRow.worker_id).order_by(func.min(AssignmentRow.id))
    everybody = remembered(study, "people", lambda: _listed(study, first))
    paged = Paged[list[FormOf]].at(page, len(everybody))
    workers = everybody[paged.offset : paged.offset + PER_PAGE]
    with reading(study.engine) as session:
        forms = _forms(session, study, workers)
    return paged.of([forms[worker] for worker in workers])


def _listed(study: Study, ids: Select[int]) -> Sequence[int]:
    with reading(study.engine) as session:
        return session.scalars(ids).all()


def person(study: Study, pseudonym: str) -> list[Done]:
    """Every form of a person, in the order in which they came; empty if there is no such person."""
    with reading(study.engine) as session:
        worker = session.scalar(select(WorkerRow.id).where(WorkerRow.pseudonym == pseudonym))
        if worker is None:
            return []
        forms = _forms(session, study, [worker]).get(worker, [])
        ids = [form.id for form in forms]
        answers, payments = _answers(session, study, ids), _payments(session, forms)
        comments = _comments(session, ids)
    return [Done(form, answers[form.id], payments[form.id], comments.get(form.id, "")) for form in forms]


def odd_forms(study: Study, page: int, size: int = PER_PAGE, *, strays: bool) -> Paged[FormOf]:
    """A page of the undecided strays, or of the forms whose answers differ between our server and the
    platform."""
    undecided = and_(AssignmentRow.is_stray, AssignmentRow.state == "submitted")
    kind = undecided if strays else AssignmentRow.differences != ""
    of = select(AssignmentRow.id).where(AssignmentRow.study_id == study.id, kind).order_by(AssignmentRow.id)
    forms = remembered(study, "strays" if strays else "differing", lambda: _listed(study, of))
    paged = Paged[FormOf].at(page, len(forms), size)
    ids = forms[paged.offset : paged.offset + size]
    with reading(study.engine) as session:
        return paged.of(_of_assignments(session, study, AssignmentRow.id.in_(ids)))


class Comment(NamedTuple):
    """What a person wrote into the comment box."""

    worker: str
    endpoint: str
    submitted_at: datetime | None
    text: str


def comments(study: Study, page: int, size: int = PER_PAGE) -> Paged[Comment]:
    """A page of the comments, the newest first."""
    written = remembered(study, "comments", lambda: _commented(study))
    paged = Paged[Comment].at(page, len(written), size)
    with reading(study.engine) as session:
        lines = comment_lines(session, written[paged.offset : paged.offset + size])
    return paged.of(
        [
            Comment(
                line["worker"],
                line["endpoint"],
                datetime.fromisoformat(line["submitted_at"]) if line["submitted_at"] else None,
                line["comment"],
            )
            for line in lines
        ]
    )


def _commented(study: Study) -> Sequence[int]:
    with reading(study.engine) as session:
        return commented(session, session.get_one(StudyRow, study.id))[::-1]


def _forms(session: Session, study: Study, workers: Sequence[int]) -> dict[int, list[FormOf]]:
    found: dict[int, list[FormOf]] = defaultdict(list)
    of_worker = dict(
        session.execute(select(WorkerRow.pseudonym, WorkerRow.id).where(WorkerRow.id.in_(workers))).all()
    )
    for form in _of_assignments(session, study, by_workers([study.id], workers)):
        found[of_worker[form.worker]].append(form)
    return found


def _of_assignments(session: Session, study: Study, which: ColumnElement[bool]) -> list[FormOf]:
    work = session.scalars(
        select(AssignmentRow)
        .where(which)
        .options(joinedload(AssignmentRow.worker), joinedload(AssignmentRow.row))
        .order_by(AssignmentRow.id)
    ).all()
    sums = {
        line.assignment_id: line
        for line in session.execute(
            select(
                ResponseRow.assignment_id,
                func.count().label("answers"),
                func.sum(ResponseRow.seconds).label("seconds"),
            )
            .where(ResponseRow.assignment_id.in_([one.id for one in work]))
            .group_by(ResponseRow.assignment_id)
        )
    }
    excluded = {one.id: one.excluded for one in work}
    workers = {one.worker_id for one in work}
    for endpoint in {one.endpoint for one in work}:
        excluded |= would_exclude(session, study, endpoint, workers)
    names = names_of(session, session.get_one(StudyRow, study.id))
    signs = signs_of(session, study, workers)
    return [
        _form(one, sums, stood_out(one.state, excluded[one.id], signs.get(one.worker_id, ())), names)
        for one in work
    ]


def _form(one: AssignmentRow, sums: Mapping[int, object], stood_out: str, names: StudyNames) -> FormOf:
    found = sums.get(one.id)
    seconds = getattr(found, "seconds", None)
    return FormOf(
        id=one.id,
        worker=one.worker.pseudonym,
        exported_as=names.worker(one.worker.pseudonym),
        shown_id=names.shown(one.endpoint, one.external_id),
        endpoint=one.endpoint,
        row=one.row.ordinal if one.row else None,
        state=one.state,
        opened_at=one.opened_at,
        submitted_at=one.submitted_at,
        answers=getattr(found, "answers", 0),
        seconds=None if seconds is None else round(seconds, 1),
        stood_out=stood_out,
        differences=one.differences,
        by_program=one.by_program,
    )


def _answers(session: Session, study: Study, forms: Sequence[int]) -> dict[int, list[AnswerOf]]:
    found: dict[int, list[AnswerOf]] = defaultdict(list)
    asked = asked_by(study.settings)
    lines = session.execute(
        with_truth(
            select(
                ResponseRow.assignment_id,
                ResponseRow.place,
                PassageRow.id.label("passage_id"),
                ResponseRow.choice,
                ResponseRow.answer,
                ResponseRow.seconds,
            )
            .join(PassageRow, PassageRow.id == ResponseRow.passage_id)
            .where(ResponseRow.assignment_id.in_(forms))
            .order_by(ResponseRow.assignment_id, ResponseRow.place)
        )
    )
    for line in lines:
        truth = truth_of(line, study.settings)
        answer = asked.answer(line.choice, line.answer, truth.sentences)
        found[line.assignment_id].append(
            AnswerOf(
                line.place,
                line.passage_id,
                " | ".join(truth.generators),
                line.role,
                line.position,
                asked.said(answer, truth.sentences),
                asked.found(truth, answer),
                line.seconds,
            )
        )
    return found


def _payments(session: Session, forms: Sequence[FormOf]) -> dict[int, list[Payment]]:
    found: dict[int, list[Payment]] = defaultdict(list)
    of = (
        PaymentRow.endpoint.in_({form.endpoint for form in forms}),  # the index begins with it
        PaymentRow.assignment_id.in_([form.id for form in forms]),
    )
    rows = select(PaymentRow).where(*of).order_by(PaymentRow.id)
    for row in session.scalars(rows):
        payment = Payment(
            row.kind, row.amount, row.state, row.paid_at, row.elsewhere, row.settled_at, row.reason
        )
        if row.assignment_id is not None:
            found[row.assignment_id].append(payment)
    return found


def _comments(session: Session, forms: Sequence[int]) -> dict[int, str]:
    """Our own copy comes last here, so it stays."""
    rows = session.scalars(
        select(AnswerRow).where(AnswerRow.assignment_id.in_(forms)).order_by(AnswerRow.source)
    )
    found = {row.assignment_id: str(row.fields.get(COMMENT) or "").strip() for row in rows}
    return {form: comment for form, comment in found.items() if comment}
