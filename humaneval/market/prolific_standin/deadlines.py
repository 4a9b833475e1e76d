"""What happens by itself when time has passed: work runs out or is approved, and tasks are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, exists, or_, select

from humaneval.market.prolific_standin.bonuses import pay_when_due
from humaneval.market.prolific_standin.database import Books, Work
from humaneval.market.prolific_standin.outcomes import set_status
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.studies import activate_when_due, publish_when_due
from humaneval.market.prolific_standin.submissions import approve, approve_when_due
from humaneval.market.prolific_standin.tables import Status, Submission, Task
from humaneval.store.types import table


def let_time_pass(work: Work) -> None:
    """Do everything that is due by now, each as of its own moment, in the order of the moments."""
    while work.session.scalar(_ANYTHING, {"now": work.now}):
        submission = work.session.scalars(_SUBMISSIONS, {"now": work.now}).first()
        task = work.session.scalars(_TASKS, {"now": work.now}).first()
        if task is not None and (submission is None or task.due_at <= _due(submission)):
            work.session.delete(task)
            _TASKS_BY_KIND[task.kind](replace(work, now=task.due_at), task.details)
        elif submission is not None:
            _ends(replace(work, now=_due(submission)), submission)
        work.session.flush()


def _due(submission: Submission) -> datetime:
    assert submission.due_at is not None
    return submission.due_at


def _ends(work: Work, submission: Submission) -> None:
    if submission.status == Status.RESERVED:
        submission.expired = True  # what the live service shows then is unverified
        set_status(work, submission, Status.RETURNED)
    elif submission.status == Status.ACTIVE:
        set_status(work, submission, Status.TIMED_OUT)
    elif submission.status == Status.AWAITING_REVIEW:
        approve(work, submission)
    else:
        submission.due_at = None


# Asked at every call, so they are made once, and the first one makes no objects.
_ANYTHING = select(
    or_(
        exists().where(table(Submission).c.due_at <= bindparam("now")),
        exists().where(table(Task).c.due_at <= bindparam("now")),
    )
)
_SUBMISSIONS = (
    select(Submission)
    .where(Submission.due_at <= bindparam("now"))
    .order_by(Submission.due_at, Submission.number)
    .limit(1)
)
_TASKS = select(Task).where(Task.due_at <= bindparam("now")).order_by(Task.due_at, Task.number).limit(1)
_TASKS_BY_KIND: Mapping[str, Callable[[Work, Mapping[str, Any]], None]] = {
    "activate": lambda work, details: activate_when_due(work, details["study"]),
    "approve": lambda work, details: approve_when_due(work, details["submissions"]),
    "bonus": lambda work, details: pay_when_due(work, details["batch"]),
    "publish": lambda work, details: publish_when_due(work, details["study"]),
}


@contextmanager
def due_and_then(books: Books) -> Iterator[Work]:
    """One transaction in which everything that is due has happened, also if the block is refused."""
    try:
        with books.writing() as work:
            let_time_pass(work)
            yield work
    except Refusal:
        with books.writing() as work:
            let_time_pass(work)
        raise
