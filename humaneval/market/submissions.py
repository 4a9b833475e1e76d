"""A worker's answers: checked if the HIT is a QuestionForm, and kept once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import Row, bindparam, func, select, update
from sqlalchemy.orm import joinedload, lazyload
from werkzeug.datastructures import FileStorage, MultiDict

from humaneval.market.events import note
from humaneval.market.hit_status import refresh
from humaneval.market.policies.agreement import Values
from humaneval.market.protocol.answer_xml import Field, answer_xml, answered_values, answers_xml
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.questions.form_answers import Filled, SentFile, field_names, read_filled
from humaneval.market.questions.question import Question, read_question
from humaneval.market.questions.question_form import QuestionForm
from humaneval.market.review_policies import take_in
from humaneval.market.tables.assignments import FINISHED, Assignment, State
from humaneval.market.tables.database import Transaction, written
from humaneval.market.tables.hits import Hit
from humaneval.market.uploads import keep_files
from humaneval.store.types import table

# Every answer needs these, so they are built once.
_DONE, _HITS = table(Assignment), table(Hit)
_ASKED = (
    select(_DONE.c.state, _DONE.c.deadline, _HITS.c.question)
    .join_from(_DONE, _HITS)
    .where(_DONE.c.id == bindparam("id"))
)
_WITH_ID = (
    select(Assignment)
    .where(Assignment.id == bindparam("id"))
    # Only events and policies need these.
    .options(lazyload(Assignment.worker), joinedload(Assignment.hit, innerjoin=True).defer(Hit.question))
)
_SUBMITTED = (
    update(_DONE)
    .where(_DONE.c.number == bindparam("assignment"))
    .values(
        {name: bindparam(name) for name in ("turn", "answer", "submitted_at", "auto_approve_at", "state")}
    )
)
_LAST_TURN = select(func.max(_DONE.c.turn))


@dataclass(frozen=True, slots=True)
class Answer:
    """What will be kept: the answer document, and the files that belong to it.

    It is made before there is a transaction, so what the document says is read then.
    """

    document: str
    files: Sequence[SentFile] = ()
    values: Values = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", answered_values(self.document))


def question_of(work: Transaction, assignment_id: str) -> Question | None:
    """What somebody with this assignment in hand has to answer; None if it was answered before.

    The assignment's id cannot be guessed and is the only key: in a frame on another site there is no
    cookie. Raises NotPossibleError.
    """
    found = work.connection.execute(_ASKED, {"id": assignment_id}).first()
    if found is None:
        raise _no_such_work()
    return read_question(found.question, work.mode) if _is_in_hand(work, found) else None


def read_answer(question: Question, fields: Iterable[Field], files: Mapping[str, FileStorage]) -> Answer:
    """The answer in what a form or a program sent. It may take a while, so nobody holds a transaction.

    For a QuestionForm the fields are those of the form on the worker site. Raises NotPossibleError,
    UnusableAnswerError.
    """
    if isinstance(question, QuestionForm):
        return _filled_in_unseen(question, MultiDict(fields), files)
    if files:
        raise NotPossibleError("This task cannot take files. Its form must ask for text only.", 400)
    return Answer(answer_xml(fields))


def answer_of(filled: Filled) -> Answer:
    """The answer in a filled QuestionForm without faults. Raises UnusableAnswerError."""
    return Answer(answers_xml(filled.answers), filled.files)


def submit(work: Transaction, assignment_id: str, answer: Answer) -> None:
    """Keep the answer to an accepted assignment. A second submission changes nothing.

    Raises NotPossibleError.
    """
    assignment = work.session.scalar(_WITH_ID, {"id": assignment_id})
    if assignment is None:
        raise _no_such_work()
    if _is_in_hand(work, assignment):
        _keep(work, assignment, answer)
        keep_files(work, assignment, answer.files)


def _no_such_work() -> NotPossibleError:
    return NotPossibleError("There is no work with this assignment id.", 404)


def _is_in_hand(work: Transaction, assignment: Assignment | Row[*tuple[Any, ...]]) -> bool:
    """Whether the answer to an assignment is still to come; else there is one. Raises NotPossibleError."""
    if assignment.state is State.RETURNED:
        raise NotPossibleError("This work was returned, so no answer was stored.")
    late = assignment.state is State.ACCEPTED and assignment.deadline <= work.now
    if late or assignment.state is State.ABANDONED:
        raise NotPossibleError("The time for this work ran out, so no answer was stored.")
    return assignment.state not in FINISHED


def _filled_in_unseen(
    form: QuestionForm, posted: MultiDict[str, str], files: Mapping[str, FileStorage]
) -> Answer:
    """The answer of a sender who has not seen the form. A field that the form does not have is refused, so
    that nothing is lost silently."""
    unknown = sorted({*posted, *files} - field_names(form))
    if unknown:
        raise NotPossibleError(f"This task's form has no field {unknown[0]!r}.", 400)
    filled = read_filled(form, posted, files)
    if filled.faults:
        problems = " ".join(f"Question {place + 1}: {fault}" for place, fault in filled.faults.items())
        raise NotPossibleError(problems, 400)
    return answer_of(filled)


def _keep(work: Transaction, assignment: Assignment, answer: Answer) -> None:
    values = {
        "turn": 1 + (work.connection.scalar(_LAST_TURN) or 0),
        "answer": answer.document,
        "submitted_at": work.now,
        "auto_approve_at": work.now + timedelta(seconds=assignment.hit.hit_type.auto_approval_seconds),
        "state": State.SUBMITTED,
    }
    work.connection.execute(_SUBMITTED, {"assignment": assignment.number, **values})
    written(assignment, **values)
    note(work, "AssignmentSubmitted", assignment.hit, assignment)
    # Before the status is set: a place that a policy adds keeps the HIT from becoming Reviewable.
    take_in(work, assignment, answer.values)
    refresh(work, assignment.hit)
