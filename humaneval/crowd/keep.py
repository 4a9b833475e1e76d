"""Keeps the answers of a form as soon as they arrive, once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, Engine, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from humaneval.crowd.answers import CONSENT
from humaneval.crowd.form_of_row import channel_of, shown_settings
from humaneval.crowd.found_hit import FoundHit
from humaneval.crowd.free_rows import row_is_free
from humaneval.crowd.outbox import hold_study_at, token_for
from humaneval.crowd.panel_postbacks import intend_postback
from humaneval.crowd.participants import intend_exclusion
from humaneval.crowd.reversible import EXCLUDE, worker_subject
from humaneval.crowd.turned import turned
from humaneval.crowd.work import Work, find_work
from humaneval.errors import UsageError
from humaneval.store.engine import writing
from humaneval.store.tables import AnswerRow, AssignmentRow, ConsentTextRow, OutboxRow
from humaneval.store.types import table
from humaneval.study.consent import Consent, consent_of
from humaneval.study.stored import MOST_PARSED

_work, _outbox = table(AssignmentRow), table(OutboxRow)
_ANSWER = insert(table(AnswerRow))
_ANSWERED = update(_work).where(_work.c.id == bindparam("of"))
_HAS_LIST = select(_outbox.c.id).where(
    _outbox.c.endpoint == bindparam("at"), _outbox.c.operation == "list", _outbox.c.subject == bindparam("of")
)
_INTENDED = insert(_outbox)
_consents = table(ConsentTextRow)
_made: dict[str, Consent] = {}


def keep_answers(
    engine: Engine, assignment_id: int, fields: Mapping[str, str], now: datetime, *, program: bool = False
) -> Mapping[str, str]:
    """Keep the answers of a form; the first complete set stays. Returns the set that is kept, once it is on
    the disk."""
    with writing(engine) as session:
        connection = session.connection()
        work = find_work(connection, assignment_id)
        if work is None:
            raise UsageError(f"there is no assignment {assignment_id}", "Open the form again.")
        hold_study_at(connection, work.hit.study_id)
        return keep_in(connection, engine, assignment_id, fields, now, program=program)


def keep_in(
    connection: Connection,
    engine: Engine,
    assignment_id: int,
    fields: Mapping[str, str],
    now: datetime,
    *,
    program: bool = False,
) -> Mapping[str, str]:
    """The same in a transaction that holds the study."""
    work = find_work(connection, assignment_id)
    if work is None:
        raise UsageError(f"there is no assignment {assignment_id}", "Open the form again.")
    if work.answered is not None:
        return work.answered
    connection.execute(
        _ANSWER,
        {"assignment_id": work.id, "source": "server", "fields": dict(fields), "received_at": now},
    )
    state, holds = work.state, work.holds_row
    if not work.passed_on and state in ("opened", "superseded"):
        # Superseded: the lease ran out while the worker was at work. The answers are still kept.
        state = "answered"
        if not holds and work.row_id is not None:
            holds = row_is_free(connection, work.hit.endpoint, work.row_id)
    consent = _consent_kept(connection, work.hit, now)
    connection.execute(
        _ANSWERED,
        {
            "of": work.id,
            "answered_at": now,
            "by_program": program,
            "consent_version": fields.get(CONSENT, ""),
            "consent_hash": consent,
            "consented_at": now,
            "state": state,
            "holds_row": holds,
        },
    )
    # Links have no list: our own record of who answered is enough. Others are listed once they are known.
    if not work.passed_on and not work.hit.audience and work.confirmed:
        _exclude(connection, engine, work)
    if not program:
        intend_postback(connection, work, fields)
    return dict(fields)


def _consent_kept(connection: Connection, hit: FoundHit, now: datetime) -> str:
    """The hash of the text that was agreed to. The text itself is stored once: words change with versions."""
    consent = _consent(hit)
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    connection.execute(
        insert(_consents).on_conflict_do_nothing(),
        {
            "hash": consent.hash,
            "version": consent.version,
            "channel": consent.channel,
            "language": consent.language,
            "text": consent.text,
            "created_at": now,
        },
    )
    return consent.hash


def _consent(hit: FoundHit) -> Consent:
    """Made once for each study and channel: filling a text in takes longer than a request should."""
    channel = channel_of(hit)
    place = f"{hit.settings_hash} {hit.audience} {channel}"
    if place not in _made:
        if len(_made) >= MOST_PARSED:
            _made.clear()
        _made[place] = consent_of(shown_settings(hit), channel)
    return _made[place]


def _exclude(connection: Connection, engine: Engine, work: Work) -> None:
    """Intend to put the worker on the study's list, if it has one and this was the last form allowed."""
    hit = work.hit
    listed = connection.execute(_HAS_LIST, {"at": hit.endpoint, "of": f"study {hit.study_id}"}).first()
    if listed is None:
        return
    about = worker_subject(work.worker_id, hit.study_id)
    if hit.settings.design.rows_per_annotator > 1 or turned(connection, hit.endpoint, [about]) != ():
        with Session(connection) as session:
            intend_exclusion(session, hit.study(engine), hit.endpoint, work.worker_id)
            session.flush()
        return
    subject = f"{about} #1"
    connection.execute(
        _INTENDED,
        {
            "study_id": hit.study_id,
            "endpoint": hit.endpoint,
            "operation": EXCLUDE.on,
            "subject": subject,
            "token": token_for(hit.endpoint, EXCLUDE.on, subject, hit.design_hash),
            "request": {},
        },
    )
