"""Purges what is older than a date, or than the study file allows: ids, free texts, unanswered forms.

Answers stay under pseudonyms. Whoever comes back is still recognised: a pseudonym follows from the id.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Engine, delete, null, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.answers import COMMENT
from humaneval.crowd.open_money import refuse_open_money
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.person import worker_in, writes_about
from humaneval.errors import UsageError
from humaneval.store.engine import ASKED_FOR, batches, writing
from humaneval.store.erase import backups_beside, clean_files, overwrite_deleted
from humaneval.store.tables import (
    AnswerRow,
    AssignmentRow,
    OutboxRow,
    PaymentRow,
    StudyRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.study.stored import settings_of

FREE_TEXTS = ("reason", "text", "subject")
"""What a person wrote for or about a worker, in a write to a platform."""
UNANSWERED = ("opened", "superseded")


@dataclass(frozen=True, slots=True)
class Purged:
    """How much was deleted, or would be."""

    ids: int
    """Workers whose ids were deleted: all their work is old enough."""
    comments: int
    texts: int
    """Reasons and letters that were written for or about workers."""
    unanswered: int
    """Forms that were opened and never answered: their workers agreed to nothing."""
    backups: tuple[str, ...]
    not_cleaned: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to delete."""
        return not (self.ids or self.comments or self.texts or self.unanswered)


@dataclass(frozen=True, slots=True)
class _Due:
    """The forms that are old enough, and the workers all of whose forms are."""

    forms: Sequence[AssignmentRow]
    workers: Collection[int]


def purge(engine: Engine, now: datetime, before: datetime | None = None, *, dry_run: bool = False) -> Purged:
    """Purge work from before a moment, or from before the time that each study's file allows.

    Raises UsageError while money is open for such work, and without `before` if no study names a time.
    """
    with writing(engine) as session:
        studies = session.scalars(select(StudyRow).order_by(StudyRow.id)).all()
        limits = _limits(studies, now, before)
        for study_id in limits:
            hold_study(session, study_id)
        due = _due(session, limits)
        refuse_open_money(session, due.workers, now, "this work cannot be purged yet")
        overwrite_deleted(session)
        unanswered = _delete_unanswered(session, due)
        done = Purged(
            ids=_delete_ids(session, due),
            comments=_delete_comments(session, due),
            texts=_delete_texts(session, due),
            unanswered=unanswered,
            backups=tuple(map(str, backups_beside(engine))),
        )
        if dry_run:
            session.rollback()
            return done
    cleaned = () if done.nothing else clean_files(engine)
    return Purged(done.ids, done.comments, done.texts, done.unanswered, done.backups, cleaned)


def _limits(studies: Sequence[StudyRow], now: datetime, before: datetime | None) -> dict[int, datetime]:
    """Study → the moment before which its work is old enough."""
    if before is not None:
        return {study.id: before for study in studies}
    days = {study.id: settings_of(study).consent.retention_days for study in studies}
    limits = {study: now - timedelta(days=number) for study, number in days.items() if number}
    if not limits:
        raise UsageError(
            "no study of this database says after how many days ids and texts may be deleted",
            "Give a date with --before, or set retention_days in [consent] of the next study's file.",
        )
    return limits


def _due(session: Session, limits: Mapping[int, datetime]) -> _Due:
    forms: list[AssignmentRow] = []
    kept: set[int] = set()
    for form in session.scalars(select(AssignmentRow).order_by(AssignmentRow.id)):
        last = form.submitted_at or form.answered_at or form.opened_at
        limit = limits.get(form.study_id)
        if limit is not None and last is not None and last < limit:
            forms.append(form)
        else:
            kept.add(form.worker_id)
    return _Due(forms, {form.worker_id for form in forms} - kept)


def _delete_unanswered(session: Session, due: _Due) -> int:
    """Forms without answers or payments go whole, and their workers if nothing else is left of them."""
    answered = set(session.scalars(select(AnswerRow.assignment_id).distinct()))
    paid = set(session.scalars(select(PaymentRow.assignment_id).distinct()))
    gone = [
        form
        for form in due.forms
        if form.state in UNANSWERED
        and form.id not in answered
        and form.id not in paid
        and (form.endpoint == "link" or not form.holds_row)  # what a platform has may still be fetched
    ]
    for form in gone:
        session.delete(form)
    session.flush()
    left = {form.worker_id for form in gone} & set(due.workers)
    left -= {worker_in(write["subject"]) for write in writes_about(session, left)}
    for some in batches(sorted(left), ASKED_FOR):
        working = set(
            session.scalars(select(AssignmentRow.worker_id).where(AssignmentRow.worker_id.in_(some)))
        )
        idle = [one for one in some if one not in working]
        for of in (WorkerIdentityRow.worker_id, WorkerRow.id):
            session.execute(delete(of.class_).where(of.in_(idle)))
    return len(gone)


def _delete_ids(session: Session, due: _Due) -> int:
    """The platforms' ids of workers. A panel's id of the session goes from the id of the form, too,
    and with it what else the panel sent."""
    deleted = 0
    for some in batches(sorted(due.workers), ASKED_FOR):
        named = WorkerIdentityRow.worker_id.in_(some)
        found = session.scalars(select(WorkerIdentityRow.worker_id).where(named)).all()
        session.execute(delete(WorkerIdentityRow).where(named))
        deleted += len(found)
    for form in due.forms:
        if form.endpoint == "link" and form.worker_id in due.workers:
            own = {"external_id": form.external_id.rpartition("-")[2], "parameters": null()}
            session.execute(update(AssignmentRow).where(AssignmentRow.id == form.id).values(own))
    return deleted


def _delete_comments(session: Session, due: _Due) -> int:
    deleted = 0
    for some in batches([form.id for form in due.forms], ASKED_FOR):
        for answer in session.scalars(select(AnswerRow).where(AnswerRow.assignment_id.in_(some))):
            if answer.fields.get(COMMENT):
                answer.fields = {name: value for name, value in answer.fields.items() if name != COMMENT}
                deleted += answer.source == "server" or not _ours(session, answer.assignment_id)
    return deleted


def _ours(session: Session, assignment_id: int) -> bool:
    """Whether our server has the answers, too: a comment that comes twice is one."""
    copy = select(AnswerRow.id).where(AnswerRow.assignment_id == assignment_id, AnswerRow.source == "server")
    return session.scalar(copy) is not None


def _delete_texts(session: Session, due: _Due) -> int:
    deleted = 0
    for write in writes_about(session, due.workers):
        request: Mapping[str, Any] = write["request"]
        rest = {name: value for name, value in request.items() if name not in FREE_TEXTS}
        if any(request.get(name) for name in FREE_TEXTS):
            emptied = rest | {name: "" for name in FREE_TEXTS if name in request}
            changed = update(OutboxRow).where(OutboxRow.id == write["id"])
            session.execute(changed.values(request=emptied, error=""))
            deleted += 1
    for some in batches([form.id for form in due.forms if form.worker_id in due.workers], ASKED_FOR):
        session.execute(
            update(PaymentRow)
            .where(PaymentRow.assignment_id.in_(some), PaymentRow.reason != "")
            .values(reason="")
        )
    return deleted
