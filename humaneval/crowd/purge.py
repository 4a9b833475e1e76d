"""Purges what is older than a date, or than the study file allows: ids, free texts, unanswered forms.

Answers stay under pseudonyms. A person who comes back is still recognised: a pseudonym follows from the id. A
few people go in each transaction, so nobody waits. What a kill leaves, the next run finds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Engine, delete, func, null, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.answers import COMMENT
from humaneval.crowd.costs import INSTEAD
from humaneval.crowd.open_money import refuse_open_money
from humaneval.crowd.outbox import TOGETHER, hold_study
from humaneval.crowd.panels import without_session
from humaneval.crowd.personal_data import EVENTS, subjects_about, worker_in, writes_about_forms
from humaneval.crowd.reversible import OVERTAKEN
from humaneval.errors import UsageError
from humaneval.store.engine import ASKED_FOR, batches, in_turns, reading, writing
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
from humaneval.store.types import table
from humaneval.study.stored import settings_of

WORK, ANSWERS, PAYMENTS, OUTBOX, WORKERS, IDENTITIES = map(
    table, (AssignmentRow, AnswerRow, PaymentRow, OutboxRow, WorkerRow, WorkerIdentityRow)
)
FREE_TEXTS = ("reason", "text", "subject")
"""What a person wrote for or about a worker, in a write to a platform."""
REPLIES = ("said", "not delivered")
"""What a platform or panel replied about a worker."""
_FORM = re.compile(r"(?<=^assignment )\S+(?= worker )")
"""The form in the subject of a decision."""
UNANSWERED = ("opened", "superseded")


@dataclass(frozen=True, slots=True)
class Purged:
    """How much was deleted, or would be."""

    ids: int
    """Workers whose ids, and whose sessions' ids, were deleted: all their work is old enough."""
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
class _Old:
    """A person's forms that are old enough, and whether all of their forms are."""

    worker: int
    forms: Sequence[int]
    whole: bool


class _Written(NamedTuple):
    """The writes to a platform, by the worker that they are about, and the number of the last one."""

    about: Mapping[int, Sequence[int]]
    last: int


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left to delete of some people."""

    unanswered: Sequence[int]
    """Forms without answers or payments: they go whole."""
    about_unanswered: Sequence[int]
    """Writes about these: nothing leads to them then."""
    nobodies: Sequence[int]
    """Workers about whom nothing is left then."""
    ids: Sequence[int]
    """Workers whose ids go, or the ids of whose sessions."""
    panel_ids: Mapping[int, str]
    """Form → its id without the panel's id of the session."""
    comments: Mapping[int, Mapping[str, str]]
    """Answers → their fields without the comment."""
    told: int
    """How many comments these are: one that both servers have is one."""
    writes: Mapping[int, Mapping[str, Any]]
    """Writes to a platform → their columns without free texts and sessions."""
    texts: int
    """How many of them had free texts."""
    reasons: Sequence[int]
    """Payments with a reason."""

    @property
    def nothing(self) -> bool:
        """Whether nothing is left."""
        return not any((self.unanswered, self.ids, self.panel_ids, self.comments, self.writes, self.reasons))


def purge(engine: Engine, now: datetime, before: datetime | None = None, *, dry_run: bool = False) -> Purged:
    """Purge work from before a moment, or from before the time that each study's file allows.

    Raises UsageError while money is open for such work, and without `before` if no study names a time.
    """
    with reading(engine) as session:
        limits = _limits(session.scalars(select(StudyRow).order_by(StudyRow.id)).all(), now, before)
        written = _written(session)
        old = _old(session, limits, written)
        refuse_open_money(session, _whole(old), now, "this work cannot be purged yet")
        found = [(some, _rest(session, some, written)) for some in batches(old, TOGETHER)]
    waiting = [[one.worker for one in some] for some, rest in found if not rest.nothing]
    backups = tuple(map(str, backups_beside(engine)))
    if dry_run or not waiting:
        return _sum([rest for _, rest in found], backups)
    done: list[_Rest] = []
    try:
        for (some,) in in_turns(waiting, 1):
            with writing(engine) as session:
                done.append(_delete(session, limits, some, written, now))
    finally:
        cleaned = clean_files(engine) if done else ()
    return _sum(done, backups, cleaned)


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


def _old(
    session: Session,
    limits: Mapping[int, datetime],
    written: _Written,
    workers: Collection[int] | None = None,
) -> list[_Old]:
    """The work that is old enough, of `workers` or of everybody; and people without any, if all else about
    them is."""
    last = func.coalesce(WORK.c.submitted_at, WORK.c.answered_at, WORK.c.opened_at)
    query = select(WORK.c.worker_id, WORK.c.id, WORK.c.study_id, last)
    if workers is not None:
        query = query.where(WORK.c.worker_id.in_(workers))
    lines = session.execute(query.order_by(WORK.c.worker_id, WORK.c.id))
    people = (_of(worker, theirs, limits) for worker, theirs in groupby(lines, lambda line: line[0]))
    old = [one for one in people if one.forms]
    return old + [_Old(one, (), True) for one in _without_forms(session, limits, written, workers)]


def _without_forms(
    session: Session, limits: Mapping[int, datetime], written: _Written, workers: Collection[int] | None
) -> Iterator[int]:
    """Those about whom something was only written, to exclude them beforehand for example, and long ago. Or
    they came long ago, and there was no form for them."""
    longest = min(limits.values(), default=None)
    query = select(WORKERS.c.id, WORKERS.c.created_at).where(
        ~select(WORK.c.id).where(WORK.c.worker_id == WORKERS.c.id).exists()
    )
    if workers is not None:
        query = query.where(WORKERS.c.id.in_(workers))
    found = session.execute(query.order_by(WORKERS.c.id)).all()
    recent: set[int] = set()
    for some in batches((write for worker, _ in found for write in written.about.get(worker, ())), ASKED_FOR):
        about = select(OUTBOX.c.id, OUTBOX.c.study_id, OUTBOX.c.created_at).where(OUTBOX.c.id.in_(some))
        lines = session.execute(about)
        recent |= {one.id for one in lines if not one.created_at < limits.get(one.study_id, one.created_at)}
    for worker, came in found:
        if writes := written.about.get(worker):
            if recent.isdisjoint(writes):
                yield worker
        elif longest is not None and came < longest:
            yield worker


def _of(worker: int, lines: Iterator[Any], limits: Mapping[int, datetime]) -> _Old:
    forms, whole = [], True
    for _, form, study, last in lines:
        limit = limits.get(study)
        if limit is not None and last is not None and last < limit:
            forms.append(form)
        else:
            whole = False
    return _Old(worker, forms, whole)


def _whole(old: Sequence[_Old]) -> list[int]:
    return [one.worker for one in old if one.whole]


def _written(session: Session, before: _Written | None = None) -> _Written:
    """All of them, or those `before` and what was written since."""
    about = dict(before.about) if before else {}
    last = before.last if before else 0
    for write, subject in subjects_about(session, last):
        last = write
        if (worker := worker_in(subject)) is not None:
            about[worker] = [*about.get(worker, ()), write]
    return _Written(about, last)


def _rest(session: Session, old: Sequence[_Old], written: _Written) -> _Rest:
    whole, forms = _whole(old), [form for one in old for form in one.forms]
    lines = session.execute(select(WORK).where(WORK.c.id.in_(forms)).order_by(WORK.c.id)).all()
    answers = session.execute(select(ANSWERS).where(ANSWERS.c.assignment_id.in_(forms))).all()
    payments = session.execute(select(PAYMENTS).where(PAYMENTS.c.assignment_id.in_(forms))).all()
    known = session.scalars(select(IDENTITIES.c.worker_id).where(IDENTITIES.c.worker_id.in_(whole))).all()
    used = {one.assignment_id for one in (*answers, *payments)}
    gone = {one.id for one in lines if _may_go(one) and one.id not in used}
    about_gone = writes_about_forms(session, [dict(one._mapping) for one in lines if one.id in gone])
    staying = {one.worker_id for one in lines if one.id not in gone}
    leaving = {one.worker_id for one in lines} - staying
    nobodies = [one for one in whole if one in leaving and one not in written.about]
    commented = [one for one in answers if one.fields.get(COMMENT)]
    ours = {one.assignment_id for one in answers if one.source == "server"}
    writes = [write for worker in whole for write in written.about.get(worker, ())]
    wholly = {one.id for one in lines if one.worker_id in whole}
    of_forms = [dict(one._mapping) for one in lines if one.id in wholly - gone]
    writes += [line["id"] for line in writes_about_forms(session, of_forms)]
    found = session.execute(select(OUTBOX).where(OUTBOX.c.id.in_(writes))).all()
    changed = {one.id: changes for one in found if (changes := _changes(one))}
    panel_ids = {one.id: own for one in lines if one.id in wholly - gone if (own := _own_id(one))}
    named = {*known, *(one.worker_id for one in lines if one.id in panel_ids)}
    named |= {worker_in(one.subject) for one in found if "subject" in changed.get(one.id, ())}
    return _Rest(
        unanswered=sorted(gone),
        about_unanswered=[one["id"] for one in about_gone],
        nobodies=nobodies,
        ids=[one for one in whole if one in named and one not in nobodies],
        panel_ids=panel_ids,
        comments={
            one.id: {name: value for name, value in one.fields.items() if name != COMMENT}
            for one in commented
        },
        told=sum(one.source == "server" or one.assignment_id not in ours for one in commented),
        writes=changed,
        texts=sum("request" in changes for changes in changed.values()),
        reasons=[one.id for one in payments if one.reason and one.assignment_id in wholly],
    )


def _own_id(form: Any) -> str:
    """The id of a form by link without what a panel has sent; empty if it has nothing of that."""
    own = without_session(form.external_id)
    sent = own != form.external_id or form.parameters is not None
    return own if form.endpoint == "link" and sent else ""


def _changes(write: Any) -> dict[str, Any]:
    """The columns of a write to a platform in which something of a person would stay, without it."""
    answer = write.answer or {}
    own = {
        "request": write.request | {name: "" for name in FREE_TEXTS if name in write.request},
        "answer": answer | {name: "" for name in REPLIES if name in answer},
        "error": write.error if write.error in (INSTEAD, OVERTAKEN) else "",
    }
    if write.endpoint == "link":
        own["subject"] = _FORM.sub(lambda found: without_session(found[0]), write.subject)
        if form := answer.get("assignment"):
            own["answer"]["assignment"] = without_session(form)
    return {name: value for name, value in own.items() if value != (getattr(write, name) or type(value)())}


def _may_go(form: Any) -> bool:
    """Whether a form may go if it has no answers: what a platform has may still be fetched."""
    return form.state in UNANSWERED and (form.endpoint == "link" or not form.holds_row)


def _delete(
    session: Session, limits: Mapping[int, datetime], workers: Sequence[int], written: _Written, now: datetime
) -> _Rest:
    """Delete what is left of some people, unless they came back since it was looked for."""
    theirs = select(WORK.c.study_id).where(WORK.c.worker_id.in_(workers))
    for study_id in session.scalars(theirs.distinct().order_by(WORK.c.study_id)).all():
        hold_study(session, study_id)
    written = _written(session, written)
    old = _old(session, limits, written, workers)
    about = [write for worker in _whole(old) for write in written.about.get(worker, ())]
    refuse_open_money(session, _whole(old), now, "the rest cannot be purged yet", "Some is deleted.", about)
    overwrite_deleted(session)
    rest = _rest(session, old, written)
    session.execute(delete(OUTBOX).where(OUTBOX.c.id.in_(rest.about_unanswered)))
    gone = select(WORK.c.external_id).where(WORK.c.id.in_(rest.unanswered))
    here = gone.where(WORK.c.external_id == EVENTS.c.about, WORK.c.endpoint == EVENTS.c.endpoint).exists()
    session.execute(delete(EVENTS).where(EVENTS.c.about.in_(gone), here))
    session.execute(delete(WORK).where(WORK.c.id.in_(rest.unanswered)))
    session.execute(delete(IDENTITIES).where(IDENTITIES.c.worker_id.in_([*rest.nobodies, *rest.ids])))
    session.execute(delete(WORKERS).where(WORKERS.c.id.in_(rest.nobodies)))
    session.execute(update(PAYMENTS).where(PAYMENTS.c.id.in_(rest.reasons)).values(reason=""))
    for form, own in rest.panel_ids.items():
        changed = {"external_id": own, "parameters": null()}
        session.execute(update(WORK).where(WORK.c.id == form).values(changed))
    for answer, fields in rest.comments.items():
        session.execute(update(ANSWERS).where(ANSWERS.c.id == answer).values(fields=fields))
    for write, changes in rest.writes.items():
        session.execute(update(OUTBOX).where(OUTBOX.c.id == write).values(changes))
    return rest


def _sum(rests: Sequence[_Rest], backups: tuple[str, ...], cleaned: tuple[str, ...] = ()) -> Purged:
    return Purged(
        ids=sum(len(one.ids) for one in rests),
        comments=sum(one.told for one in rests),
        texts=sum(one.texts for one in rests),
        unanswered=sum(len(one.unanswered) for one in rests),
        backups=backups,
        not_cleaned=cleaned,
    )
