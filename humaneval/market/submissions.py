"""A worker's answers: checked if the HIT is a QuestionForm, and kept once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from types import MappingProxyType

from sqlalchemy import func, select
from werkzeug.datastructures import FileStorage, MultiDict

from humaneval.market.events import note
from humaneval.market.hit_status import refresh
from humaneval.market.protocol.answer_xml import Field, answer_xml, answers_xml
from humaneval.market.protocol.refusals import NotPossibleError
from humaneval.market.questions.form_answers import Filled, field_names, read_filled
from humaneval.market.questions.question import read_question
from humaneval.market.questions.question_form import QuestionForm
from humaneval.market.review_policies import score_known_answers
from humaneval.market.tables.assignments import FINISHED, Assignment, State
from humaneval.market.tables.database import Transaction
from humaneval.market.uploads import keep_files

NO_FILES: Mapping[str, FileStorage] = MappingProxyType({})


def submit(
    work: Transaction,
    assignment_id: str,
    fields: Iterable[Field],
    files: Mapping[str, FileStorage] = NO_FILES,
) -> Assignment:
    """Keep the answer to an accepted assignment. A second submission changes nothing.

    The assignment's id cannot be guessed and is the only key: in a frame on another site there is no
    cookie. For a QuestionForm the fields are those of the form on the worker site. Raises
    NotPossibleError, UnusableAnswerError.
    """
    assignment = work.session.scalar(select(Assignment).where(Assignment.id == assignment_id))
    if assignment is None:
        raise NotPossibleError("There is no work with this assignment id.", 404)
    if assignment.state in FINISHED:
        return assignment
    if assignment.state is State.RETURNED:
        raise NotPossibleError("This work was returned, so no answer was stored.")
    if assignment.state is State.ABANDONED:
        raise NotPossibleError("The time for this work ran out, so no answer was stored.")
    question = read_question(assignment.hit.question, work.mode)
    if isinstance(question, QuestionForm):
        _fill_in_unseen(work, assignment, question, MultiDict(fields), files)
    elif files:
        raise NotPossibleError("This HIT cannot take files. Its form must ask for text only.", 400)
    else:
        _keep(work, assignment, answer_xml(fields))
    return assignment


def fill_in(
    work: Transaction,
    assignment: Assignment,
    form: QuestionForm,
    posted: MultiDict[str, str],
    files: Mapping[str, FileStorage],
) -> Filled:
    """Keep the answers to a QuestionForm, unless some of them must be changed. Raises UnusableAnswerError."""
    filled = read_filled(form, posted, files)
    if not filled.faults:
        _keep(work, assignment, answers_xml(filled.answers))
        keep_files(work, assignment, filled.files)
    return filled


def _fill_in_unseen(
    work: Transaction,
    assignment: Assignment,
    form: QuestionForm,
    posted: MultiDict[str, str],
    files: Mapping[str, FileStorage],
) -> None:
    """As `fill_in`, for a sender who has not seen the form. A field that the form does not have is refused,
    so that nothing is lost silently."""
    unknown = sorted({*posted, *files} - field_names(form))
    if unknown:
        raise NotPossibleError(f"This HIT's form has no field {unknown[0]!r}.", 400)
    faults = fill_in(work, assignment, form, posted, files).faults
    if faults:
        problems = " ".join(f"Question {place + 1}: {fault}" for place, fault in faults.items())
        raise NotPossibleError(problems, 400)


def _keep(work: Transaction, assignment: Assignment, document: str) -> None:
    assignment.answer = document
    assignment.submitted_at = work.now
    assignment.auto_approve_at = work.now + timedelta(seconds=assignment.hit.hit_type.auto_approval_seconds)
    assignment.turn = 1 + (work.session.scalar(select(func.max(Assignment.turn))) or 0)
    assignment.state = State.SUBMITTED
    note(work, "AssignmentSubmitted", assignment.hit, assignment)
    # Before the status is set: a place that a policy adds keeps the HIT from becoming Reviewable.
    score_known_answers(work, assignment)
    refresh(work, assignment.hit)
