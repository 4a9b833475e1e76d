"""Writes to the workers of a study. Each worker gets each letter at most once, unless --again is given."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sqlalchemy import Engine, or_, select
from sqlalchemy.orm import Session

from humaneval.crowd.letter_text import MAX_LETTER, MAX_SUBJECT, plain_words
from humaneval.crowd.outbox import TOGETHER, Intent, hold_study, intend, intent_of, not_under_way, perform
from humaneval.crowd.platform import UNASKED
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.published_hits import refuse_elsewhere
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.workers import find_worker
from humaneval.errors import PlatformError
from humaneval.store.engine import in_turns, reading, writing
from humaneval.store.tables import AssignmentRow, OutboxRow, WorkerIdentityRow, WorkerRow

NOTIFY = "notify"


@dataclass(frozen=True, slots=True)
class Notified:
    """What became of a letter. Workers are pseudonyms."""

    sent: int
    before: int
    """Workers who had it already."""
    undelivered: dict[str, str]
    """For each worker without the letter, the reason."""
    unsure: tuple[str, ...]
    """Workers who may have it: the platform's answer was lost. Only --again writes to them again."""


class _Letter(NamedTuple):
    """A letter to one worker that is intended."""

    intent: Intent
    pseudonym: str
    worker: str


class _Letters(NamedTuple):
    """The letters to send, the workers who may have theirs, and how many have it."""

    due: list[_Letter]
    unsure: list[str]
    before: int

    def and_these(self, more: _Letters) -> _Letters:
        return _Letters(self.due + more.due, self.unsure + more.unsure, self.before + more.before)


def notify_workers(
    at: StudyAtPlatform,
    *,
    subject: str,
    text: str,
    workers: Collection[str] = (),
    again: bool = False,
    dry_run: bool = False,
) -> Notified:
    """Send a letter to `workers`, or to everybody whose work was approved or rejected: platforms deliver
    letters only to such workers. `again` sends it also to workers who may already have it. With `dry_run`,
    `sent` counts the workers who would get it.
    """
    subject, text = plain_words("subject", subject, MAX_SUBJECT), plain_words("text", text, MAX_LETTER)
    if at.endpoint in UNASKED:  # refused before a letter is kept that can never go out
        at.platform.notify("", subject, text)
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        named = [find_worker(session, at.endpoint, who) for who in workers]
        ids = list(dict.fromkeys(named or _decided(session, at)))
    letters = _Letters([], [], 0)
    for batch in in_turns(ids, TOGETHER):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            letters = letters.and_these(_intended(session, at, batch, subject, text, again))
            if dry_run:
                session.rollback()
    if dry_run:
        return Notified(len(letters.due), letters.before, {}, tuple(letters.unsure))
    sent, undelivered, unsure = 0, {}, letters.unsure
    for letter in letters.due:
        with reading(at.engine) as session:
            taken = or_(OutboxRow.state == "confirmed", ~not_under_way())
            by_another = select(OutboxRow.id).where(OutboxRow.id == letter.intent.id, taken)
            if session.scalar(by_another) is not None:
                unsure.append(letter.pseudonym)  # another program writes to them
                continue
        try:
            reason = perform(
                at.engine,
                letter.intent,
                partial(at.platform.notify, letter.worker, subject, text),
                lambda _, reason: {"not delivered": reason} if reason else {},
                alone=not again,
            )
        except PlatformError as error:
            if not error.nothing_done:
                unsure.append(letter.pseudonym)
                continue
            reason = error.message
        else:
            if reason:
                _not_sent(at.engine, letter.intent, reason)
        if reason:
            undelivered[letter.pseudonym] = reason
        else:
            sent += 1
    return Notified(sent, letters.before, undelivered, tuple(unsure))


def _decided(session: Session, at: StudyAtPlatform) -> Sequence[int]:
    """The workers whose work was approved or rejected, and whose ids were not purged."""
    return session.scalars(
        select(AssignmentRow.worker_id)
        .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == AssignmentRow.worker_id)
        .where(AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint)
        .where(AssignmentRow.state.in_(("approved", "rejected")))
        .order_by(AssignmentRow.id)
    ).all()


def _intended(
    session: Session, at: StudyAtPlatform, ids: Iterable[int], subject: str, text: str, again: bool
) -> _Letters:
    letter = hashlib.sha256(f"{subject}\n{text}".encode()).hexdigest()[:16]
    due, unsure, before = [], [], 0
    for worker_id in ids:
        row = intend(
            session,
            study_id=at.id,
            endpoint=at.endpoint,
            operation=NOTIFY,
            subject=f"study {at.id} worker {worker_id} letter {letter}",
            key=at.study.design_hash,
            request={"subject": subject, "text": text},
        )
        pseudonym = session.get_one(WorkerRow, worker_id).pseudonym
        if row.state == "confirmed":
            before += 1
        elif row.state == "pending" and row.attempts and not again:
            unsure.append(pseudonym)
        else:
            due.append(_Letter(intent_of(row), pseudonym, external_worker_id(session, worker_id)))
    return _Letters(due, unsure, before)


def _not_sent(engine: Engine, intent: Intent, reason: str) -> None:
    """The platform accepted the call, and said that this worker did not get the letter. The next run tries
    again."""
    with writing(engine) as session:
        row = session.get_one(OutboxRow, intent.id)
        row.state, row.error = "refused", reason
