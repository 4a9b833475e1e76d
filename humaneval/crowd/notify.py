"""Writes to the workers of a study: each letter to each of them at most once, unless somebody says again."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine, select

from humaneval.crowd.addresses import refuse_elsewhere
from humaneval.crowd.letter_text import MAX_LETTER, MAX_SUBJECT, plain_words
from humaneval.crowd.outbox import Intent, hold_study, intend, perform
from humaneval.crowd.platform import Platform
from humaneval.crowd.pseudonyms import external_worker_id
from humaneval.crowd.workers import find_worker
from humaneval.errors import PlatformError
from humaneval.store.engine import writing
from humaneval.store.tables import AssignmentRow, OutboxRow, WorkerRow

NOTIFY = "notify"


@dataclass(frozen=True, slots=True)
class Notified:
    """What became of a letter. Workers are pseudonyms."""

    sent: int
    before: int
    """Workers who had it already."""
    undelivered: dict[str, str]
    """Of each worker whom it did not reach, why not."""
    unsure: tuple[str, ...]
    """Workers of whom nobody knows: the answer was lost. They are not written to again unless it is said."""


def notify(
    engine: Engine,
    name: str,
    platform: Platform,
    *,
    subject: str,
    text: str,
    workers: Collection[str] = (),
    again: bool = False,
    dry_run: bool = False,
) -> Notified:
    """Send a letter to `workers`, or to everyone whose work was approved or rejected: a platform writes to no
    others.

    `again` sends it also to those of whom nobody knows whether they have it. With `dry_run`, `sent` is who
    would get it.
    """
    subject, text = plain_words("subject", subject, MAX_SUBJECT), plain_words("text", text, MAX_LETTER)
    refuse_elsewhere(engine, name, platform)
    endpoint = platform.endpoint.name
    letter = hashlib.sha256(f"{subject}\n{text}".encode()).hexdigest()[:16]
    with writing(engine) as session:
        study = hold_study(session, name)
        if workers:
            ids = [find_worker(session, endpoint, who) for who in workers]
        else:
            ids = list(
                session.scalars(
                    select(AssignmentRow.worker_id)
                    .where(AssignmentRow.study_id == study.id, AssignmentRow.endpoint == endpoint)
                    .where(AssignmentRow.state.in_(("approved", "rejected")))
                    .order_by(AssignmentRow.id)
                )
            )
        intents, unsure, before = [], [], 0
        for worker_id in dict.fromkeys(ids):
            row = intend(
                session,
                study_id=study.id,
                endpoint=endpoint,
                operation=NOTIFY,
                subject=f"study {study.id} worker {worker_id} letter {letter}",
                key=study.design_hash,
                request={"subject": subject, "text": text},
            )
            pseudonym = session.get_one(WorkerRow, worker_id).pseudonym
            if row.state == "confirmed":
                before += 1
            elif row.state == "pending" and row.attempts and not again:
                unsure.append(pseudonym)
            else:
                intent = Intent(row.id, row.operation, row.subject, row.token, row.attempts > 0)
                intents.append((intent, pseudonym, external_worker_id(session, worker_id)))
        if dry_run:
            session.rollback()
            return Notified(len(intents), before, {}, tuple(unsure))
    sent, undelivered = 0, {}
    for intent, pseudonym, worker in intents:
        try:
            reason = perform(
                engine,
                intent,
                partial(platform.notify, worker, subject, text),
                lambda _, reason: {"not delivered": reason} if reason else {},
                alone=not again,
            )
        except PlatformError as error:
            if not error.nothing_done:
                unsure.append(pseudonym)
                continue
            reason = error.message
        else:
            if reason:
                _not_sent(engine, intent, reason)
        if reason:
            undelivered[pseudonym] = reason
        else:
            sent += 1
    return Notified(sent, before, undelivered, tuple(unsure))


def _not_sent(engine: Engine, intent: Intent, reason: str) -> None:
    """The platform took the call and said that this worker did not get it: the next run tries again."""
    with writing(engine) as session:
        row = session.get_one(OutboxRow, intent.id)
        row.state, row.error = "refused", reason
