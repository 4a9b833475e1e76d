"""Keeps the answers of forms as soon as they arrive, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, Engine, and_, bindparam, select
from sqlalchemy.orm import Session

from humaneval.crowd.answers import CONSENT
from humaneval.crowd.block_history import turned
from humaneval.crowd.form_of_row import channel_of, shown_settings
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.free_rows import row_is_free
from humaneval.crowd.outbox import hold_study_at, token_for
from humaneval.crowd.panel_postbacks import intend_postback
from humaneval.crowd.participants import intend_exclusion
from humaneval.crowd.reversible import EXCLUDE, worker_subject
from humaneval.crowd.stored_claim import PASSED_ON, Work, find_work
from humaneval.errors import GoneError
from humaneval.store.engine import writing
from humaneval.store.tables import AnswerRow, AssignmentRow, ConsentTextRow, OutboxRow
from humaneval.store.together import add_rows, change_rows
from humaneval.store.types import padded, table
from humaneval.study.consent import Consent, consent_of
from humaneval.study.stored import MOST_PARSED

_work, _outbox, _answers = table(AssignmentRow), table(OutboxRow), table(AnswerRow)
_NOW = (
    select(
        _work.c.id,
        _work.c.row_id,
        _work.c.holds_row,
        _work.c.state,
        _work.c.confirmed,
        PASSED_ON.label("passed_on"),
        _answers.c.fields,
    )
    .outerjoin_from(
        _work, _answers, and_(_answers.c.assignment_id == _work.c.id, _answers.c.source == "server")
    )
    .where(_work.c.id.in_(bindparam("ids", expanding=True)))
)
_HAS_LIST = select(_outbox.c.id).where(
    _outbox.c.endpoint == bindparam("at"), _outbox.c.operation == "list", _outbox.c.subject == bindparam("of")
)
_consents = table(ConsentTextRow)
_made: dict[str, Consent] = {}


class Sending(NamedTuple):
    """A form that somebody sends."""

    engine: Engine
    work: Work
    """The claim, which may have changed since it was read."""
    fields: Mapping[str, str]
    now: datetime
    program: bool = False
    """Whether a simulated annotator sends it."""


class _Now(NamedTuple):
    """What may change of a claim."""

    id: int
    row_id: int | None
    holds_row: bool
    state: str
    confirmed: bool
    passed_on: bool
    answered: Mapping[str, str] | None


def keep_answers(
    engine: Engine, assignment_id: int, fields: Mapping[str, str], now: datetime, *, program: bool = False
) -> Mapping[str, str]:
    """Keep the answers of a form; the first complete set stays. Returns the set that is kept, once it is on
    the disk."""
    with writing(engine) as session:
        connection = session.connection()
        work = find_work(connection, assignment_id)
        if work is None:
            raise _unknown(assignment_id)
        hold_study_at(connection, work.hit.study_id)
        return keep_all(connection, [Sending(engine, work, fields, now, program)])[0]


def keep_all(connection: Connection, sent: Sequence[Sending]) -> list[Mapping[str, str]]:
    """The same for forms of one study that are sent at the same moment, in a transaction that holds it."""
    ids = [each.work.id for each in sent]
    there = {
        row.id: _Now._make(row) for row in connection.execute(_NOW, {"ids": padded(list(dict.fromkeys(ids)))})
    }
    kept: dict[int, Mapping[str, str]] = {}
    new: list[Sending] = []
    for each in sent:
        known = there.get(each.work.id)
        if known is None:
            raise _unknown(each.work.id)
        if known.answered is not None:
            kept[known.id] = known.answered
        elif known.id not in kept:
            kept[known.id] = dict(each.fields)
            new.append(each._replace(work=each.work._replace(**known._asdict())))
    if new:
        _keep_new(connection, new)
    return [kept[id] for id in ids]


def _keep_new(connection: Connection, sent: Sequence[Sending]) -> None:
    answers = [
        {
            "assignment_id": each.work.id,
            "source": "server",
            "fields": dict(each.fields),
            "received_at": each.now,
        }
        for each in sent
    ]
    add_rows(connection, _answers, answers)
    consents = _consents_kept(connection, sent)
    changes, given_again = [], set[int]()
    for each, consent in zip(sent, consents, strict=True):
        work, state, holds = each.work, each.work.state, each.work.holds_row
        if not work.passed_on and state in ("opened", "superseded"):
            # Superseded: the lease ran out while the worker was at work. The answers are still kept.
            state = "answered"
            if not holds and work.row_id is not None and work.row_id not in given_again:
                holds = row_is_free(connection, work.hit.endpoint, work.row_id)
                given_again |= {work.row_id} if holds else set()
        changes.append(
            {
                "of": work.id,
                "answered_at": each.now,
                "by_program": each.program,
                "consent_version": each.fields.get(CONSENT, ""),
                "consent_hash": consent,
                "consented_at": each.now,
                "state": state,
                "holds_row": holds,
            }
        )
    change_rows(connection, _work, changes)
    # Links have no list: our own record of who answered is enough. Others are listed once they are known.
    listed = [
        each
        for each in sent
        if not each.work.passed_on and not each.work.hit.audience and each.work.confirmed
    ]
    for endpoint in dict.fromkeys(each.work.hit.endpoint for each in listed):
        _exclude(connection, [each for each in listed if each.work.hit.endpoint == endpoint])
    for each in sent:
        if not each.program:
            intend_postback(connection, each.work, each.fields)


def _consents_kept(connection: Connection, sent: Sequence[Sending]) -> list[str]:
    """The hashes of the texts that were agreed to. A text itself is stored once: words change with
    versions."""
    consents = [_consent(each.work.hit) for each in sent]
    texts = [
        {
            "hash": consent.hash,
            "version": consent.version,
            "channel": consent.channel,
            "language": consent.language,
            "text": consent.text,
            "created_at": sent[0].now,
        }
        for consent in dict.fromkeys(consents)
    ]
    add_rows(connection, _consents, texts, skip=True)
    return [consent.hash for consent in consents]


def _consent(hit: FoundHit) -> Consent:
    """The text is filled in once for each study and channel: that takes longer than a request should."""
    channel = channel_of(hit)
    place = f"{hit.settings_hash} {hit.audience} {channel}"
    if place not in _made:
        if len(_made) >= MOST_PARSED:
            _made.clear()
        _made[place] = consent_of(shown_settings(hit), channel)
    return _made[place]


def _exclude(connection: Connection, sent: Sequence[Sending]) -> None:
    """Intend to put the workers of one endpoint on the study's list, if it has one and this was the last form
    allowed."""
    hit = sent[0].work.hit
    has_list = connection.execute(_HAS_LIST, {"at": hit.endpoint, "of": f"study {hit.study_id}"}).first()
    if has_list is None:
        return
    about = [worker_subject(each.work.worker_id, hit.study_id) for each in sent]
    if hit.settings.design.rows_per_annotator > 1 or turned(connection, hit.endpoint, about) != ():
        with Session(connection) as session:
            for each in sent:
                intend_exclusion(session, hit.study(each.engine), hit.endpoint, each.work.worker_id)
                session.flush()
        return
    intended = [
        {
            "study_id": hit.study_id,
            "endpoint": hit.endpoint,
            "operation": EXCLUDE.on,
            "subject": f"{subject} #1",
            "token": token_for(hit.endpoint, EXCLUDE.on, f"{subject} #1", hit.design_hash),
            "request": {},
        }
        for subject in dict.fromkeys(about)
    ]
    add_rows(connection, _outbox, intended)


def _unknown(assignment_id: int) -> GoneError:
    return GoneError(f"there is no assignment {assignment_id}", "Open the form again.")
