"""Keeps people from taking part twice: one person, one row, across HITs and across studies.

Three checks ensure this. The form server refuses workers who have done a form. The platform does not show a
HIT to workers on the study's exclusion list: a qualification that every worker who has answered gets. And
`collect` checks again.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from sqlalchemy import and_, bindparam, func, select, true, update
from sqlalchemy.orm import Session

from humaneval.crowd.outbox import (
    TOGETHER,
    has_rested,
    hold_study,
    intend,
    intent_of,
    perform,
    token_for,
)
from humaneval.crowd.platform import LIST_GONE, UNASKED, Participants, Qualified
from humaneval.crowd.pseudonyms import NAMELESS, external_worker_id
from humaneval.crowd.reversible import BLOCK, EXCLUDE, OVERTAKEN, is_on, turn, turns, worker_subject
from humaneval.crowd.study_at import StudyAtPlatform, open_study_at
from humaneval.errors import PlatformError, UsageError
from humaneval.store.engine import in_turns, reading, writing
from humaneval.store.responses import by_workers
from humaneval.store.tables import AssignmentRow, HitRow, OutboxRow, PaymentRow, StudyRow, WorkerRow
from humaneval.study.stored import Study
from humaneval.study.words import words_of
from humaneval.text import command

DONE = ("answered", "submitted", "approved", "rejected")
"""States of work that counts as having taken part: not work that was only opened, returned or expired."""
COUNTING = and_(AssignmentRow.state.in_(DONE), AssignmentRow.confirmed)
"""The work that counts for its worker: anybody can send a form in anybody's name, until it is confirmed."""

COMPENSATION = "compensation"
"""The kind of payments for lost work."""
ALLOWED = "allowed"
GIVE_UP_AFTER = 3
"""After so many calls in a row without an answer, the others wait for the next pass: a call takes minutes."""
LIST = "list"
"""The outbox operation that makes a study's exclusion list."""


def forms_done(session: Session, study: Study, endpoint: str, worker_id: int) -> list[AssignmentRow]:
    """The forms that a worker has done in this study."""
    return list(
        session.scalars(
            select(AssignmentRow)
            .where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                AssignmentRow.worker_id == worker_id,
                COUNTING,
            )
            .order_by(AssignmentRow.id)
        )
    )


def forms_allowed(session: Session, study: Study, endpoint: str, worker_id: int) -> int:
    """How many forms a worker may do: as the study says, or as recorded at the last readmission."""
    return allowed_after(study, turns(session, endpoint, EXCLUDE, worker_subject(worker_id, study.id)))


def allowed_after(study: Study, rows: Sequence[OutboxRow]) -> int:
    """The same, after these changes of the worker's place on the list."""
    readmitted = [row for row in rows if row.operation == EXCLUDE.off and row.state != "refused"]
    each = study.settings.design.rows_per_annotator
    if not readmitted:
        return each
    return int(readmitted[-1].request.get(ALLOWED, 2 * each))  # older databases do not say


def readmission(session: Session, study: Study, endpoint: str, worker_id: int) -> dict[str, int]:
    """What is stored with a readmission: how many forms the worker may do from then on.

    Workers who have done all their forms may do as many again. For others the exclusion is only taken back.
    """
    allowed = forms_allowed(session, study, endpoint, worker_id)
    done = len(forms_done(session, study, endpoint, worker_id))
    again = study.settings.design.rows_per_annotator
    return {ALLOWED: allowed if done < allowed else done + again}


def compensation_of(session: Session, assignment: AssignmentRow) -> PaymentRow | None:
    """The line of the books that compensates for this work, due or paid, at the platform or elsewhere."""
    return session.scalar(_MADE_GOOD, {"of": assignment.id, "at": assignment.endpoint})


_MADE_GOOD = select(PaymentRow).where(
    PaymentRow.endpoint == bindparam("at"),  # the index begins with it
    PaymentRow.assignment_id == bindparam("of"),
    PaymentRow.kind == COMPENSATION,
)


def is_kept_out(session: Session, study: Study, endpoint: str, worker_id: int) -> bool:
    """Whether a worker below the study's limit is kept out for another reason.

    The worker is blocked, or on the study's list, or has taken part in a study that it excludes.
    """
    if is_on(session, endpoint, BLOCK, worker_subject(worker_id)):
        return True
    studies = [study.id, *(other.id for other in _excluded_studies(session, study))]
    if any(is_on(session, endpoint, EXCLUDE, worker_subject(worker_id, each)) for each in studies):
        return True
    return worker_id in who_took_part_elsewhere(session, study, endpoint, [worker_id])


def who_took_part_elsewhere(
    session: Session, study: Study, endpoint: str, workers: Collection[int] | None = None
) -> dict[int, datetime | None]:
    """The workers, all or of some, who have done a form of a study whose participants this study excludes.
    With each, the time when they first opened one."""
    others = [other.id for other in _excluded_studies(session, study)]
    if not others:
        return {}
    began = func.coalesce(AssignmentRow.opened_at, AssignmentRow.answered_at, AssignmentRow.submitted_at)
    of = and_(AssignmentRow.study_id.in_(others), AssignmentRow.endpoint == endpoint)
    if workers is not None:
        of = by_workers(others, workers, endpoint)
    done = select(AssignmentRow.worker_id, began).where(of, COUNTING)
    first: dict[int, datetime | None] = {}
    for worker, moment in session.execute(done):
        known = first.get(worker, moment)
        first[worker] = None if known is None or moment is None else min(known, moment)
    return first


def _excluded_studies(session: Session, study: Study) -> Sequence[StudyRow]:
    names = study.settings.participants.exclude_studies
    if not names:
        return []
    return session.scalars(select(StudyRow).where(StudyRow.name.in_(names)).order_by(StudyRow.id)).all()


def intend_exclusions(study: Study, endpoint: str) -> None:
    """Intend to put every worker on the study's list who has done all their forms and is not on it yet."""
    with reading(study.engine) as session:
        if not _has_list(session, study, endpoint):
            return
        work = (
            select(AssignmentRow.worker_id)
            .where(
                AssignmentRow.study_id == study.id,
                AssignmentRow.endpoint == endpoint,
                COUNTING,
            )
            .distinct()
        )
        done = session.scalars(work.order_by(AssignmentRow.worker_id)).all()
        last = _last_turns(session, study, endpoint)
    missing = [one for one in done if one not in last or last[one].operation != EXCLUDE.on]
    for batch in in_turns(missing, TOGETHER):
        with writing(study.engine) as session:
            hold_study(session, study.id)
            for worker_id in batch:
                intend_exclusion(session, study, endpoint, worker_id)


class _Turned(NamedTuple):
    id: int
    operation: str


def _last_turns(session: Session, study: Study, endpoint: str) -> dict[int, _Turned]:
    """For each worker who was ever put on the study's list or taken off it, the last confirmed change."""
    turned = select(OutboxRow.id, OutboxRow.subject, OutboxRow.operation).where(
        OutboxRow.study_id == study.id,
        OutboxRow.endpoint == endpoint,
        OutboxRow.operation.in_(EXCLUDE),
        OutboxRow.state == "confirmed",
    )
    rows = session.execute(turned.order_by(OutboxRow.id))
    return {_worker_in(row.subject): _Turned(row.id, row.operation) for row in rows}


def _worker_in(subject: str) -> int:
    """The worker in the subject of an exclusion: 7 in `study 3 worker 7 #1`."""
    return int(subject.split()[3])


def intend_exclusion(session: Session, study: Study, endpoint: str, worker_id: int) -> None:
    """The same for one worker."""
    if not _has_list(session, study, endpoint):
        return
    forms = len(forms_done(session, study, endpoint, worker_id))
    if forms >= forms_allowed(session, study, endpoint, worker_id):
        turn(session, study, endpoint, EXCLUDE, worker_subject(worker_id, study.id), on=True, request={})


def _has_list(session: Session, study: Study, endpoint: str) -> bool:
    return _list_row(session, study, endpoint) is not None


def _list_row(session: Session, study: Study, endpoint: str) -> OutboxRow | None:
    return session.scalar(
        select(OutboxRow).where(
            OutboxRow.endpoint == endpoint,
            OutboxRow.operation == LIST,
            OutboxRow.subject == f"study {study.id}",
        )
    )


class Performed(NamedTuple):
    """How many exclusions and readmissions were done, and why others failed."""

    done: int
    failed: tuple[str, ...]


def perform_exclusions(at: StudyAtPlatform, *, rested: bool = False) -> Performed:
    """Put workers on the study's list and take them off it, as intended. What fails stays intended.

    Each is tried once; with `rested`, not those that failed a short while ago.
    """
    performed = _perform_all(at, rested=rested)
    if performed is None:
        standing_list(at)
        performed = _perform_all(at, rested=False)
    return performed or Performed(0, (f"{at.endpoint} no longer has a list of this study",))


def _perform_all(at: StudyAtPlatform, *, rested: bool) -> Performed | None:
    """None if the list itself is gone."""
    with reading(at.engine) as session:
        rows = session.scalars(
            select(OutboxRow)
            .where(
                OutboxRow.study_id == at.id,
                OutboxRow.endpoint == at.endpoint,
                OutboxRow.operation.in_(EXCLUDE),
                OutboxRow.state != "confirmed",
                OutboxRow.error != OVERTAKEN,
                has_rested() if rested else true(),
            )
            .order_by(OutboxRow.id)
        ).all()
        purged = set(session.scalars(select(WorkerRow.id).where(NAMELESS)))
        intents = [
            (intent_of(row), external_worker_id(session, whom))
            for row in rows
            if (whom := _worker_in(row.subject)) not in purged
        ]
    if not intents:
        return Performed(0, ())
    listed = make_list(at)
    failed: list[str] = []
    done, in_the_dark = 0, 0
    for intent, worker in intents:
        if in_the_dark == GIVE_UP_AFTER:
            break
        act = at.platform.put_on_list if intent.operation == EXCLUDE.on else at.platform.take_off_list
        try:
            perform(at.engine, intent, partial(act, listed, worker), lambda _, __: {})
        except PlatformError as error:
            if error.code.endswith(LIST_GONE):
                return None
            failed.append(error.message)
            in_the_dark = 0 if error.nothing_done else in_the_dark + 1
        else:
            done, in_the_dark = done + 1, 0
    return Performed(done, tuple(failed))


def make_list(at: StudyAtPlatform) -> str:
    """The platform's id of the study's exclusion list, which is made at its first use."""
    with writing(at.engine) as session:
        hold_study(session, at.id)
        # Not the study's hash: another database that made the same study would share its list.
        row = intend(
            session,
            study_id=at.id,
            endpoint=at.endpoint,
            operation=LIST,
            subject=f"study {at.id}",
            key=secrets.token_urlsafe(18),
            request={},
        )
        if row.state == "confirmed" and row.answer:
            return str(row.answer["id"])
        intent = intent_of(row)
    # Workers read the name. No other database has a list of this number.
    title = f"Took part in “{at.settings.hit.title}”, no. {intent.number}"
    made: str = perform(
        at.engine,
        intent,
        lambda: at.platform.make_list(title, words_of(at.settings).plain("list_took_part")),
        lambda _, external_id: {"id": external_id},
    )
    return made


def standing_list(at: StudyAtPlatform) -> str:
    """As `make_list`. If somebody deleted the list at the platform, a new one is made, to be filled again."""
    listed = make_list(at)
    if at.platform.has_list(listed):
        return listed
    with writing(at.engine) as session:
        hold_study(session, at.id)
        row = _list_row(session, at.study, at.endpoint)
        if row is not None and row.answer == {"id": listed}:
            # A used name may not be free again for days.
            row.token = token_for(at.endpoint, LIST, row.subject, secrets.token_urlsafe(18))
            row.state, row.answer, row.attempts = "pending", None, 0
            for turned in _last_turns(session, at.study, at.endpoint).values():
                if turned.operation == EXCLUDE.on:
                    session.execute(
                        update(OutboxRow).where(OutboxRow.id == turned.id).values(state="pending")
                    )
    return make_list(at)


def participants_of(at: StudyAtPlatform) -> Participants:
    """The people who may take part in the study on this platform. Makes and fills the exclusion lists for
    that.

    A study that stays with a single HIT needs no list of its own: no platform gives one worker the same HIT
    twice.
    """
    people = known_participants(at)
    if at.endpoint in UNASKED:
        return people
    with writing(at.engine) as session:
        hold_study(session, at.id)
        hits = session.scalars(
            select(HitRow.id).where(HitRow.study_id == at.id, HitRow.endpoint == at.endpoint)
        ).all()
        settings = at.settings
        earlier = settings.participants.exclude_studies
        # With top-up there will be more HITs. With other requirements, workers would see them as another
        # group.
        own = not at.platform.endpoint.one_offer and (
            len(hits) > 1 or settings.design.top_up != "never" or _has_list(session, at.study, at.endpoint)
        )
    qualified = list(people.qualified)
    listed = [open_study_at(at.engine, name, at.platform) for name in earlier]
    for other in [*listed, at] if own else listed:
        qualified.append(Qualified(standing_list(other), lacking=True))
        intend_exclusions(other.study, at.endpoint)
        failed = perform_exclusions(other).failed
        if failed:
            raise PlatformError(failed[0], "Nothing was published. Run the command again to continue.")
    return replace(people, qualified=tuple(qualified))


def known_participants(at: StudyAtPlatform) -> Participants:
    """The people who may take part, by the study file alone."""
    people = at.settings.participants
    return Participants(
        people.countries,
        people.min_approved_percent,
        people.min_approved_hits,
        people.masters,
        tuple(
            Qualified(each.id, each.at_least, each.lacking)
            for each in people.qualifications
            if each.endpoint in ("", at.endpoint)
        ),
    )


def refuse_unknown_studies(session: Session, study: Study) -> None:
    """Raise UsageError if the study excludes participants of a study that this database does not have."""
    names = set(study.settings.participants.exclude_studies)
    missing = names - {other.name for other in _excluded_studies(session, study)}
    if missing:
        raise UsageError(
            f"study {study.name!r} excludes the participants of a study that does not exist:"
            f" {', '.join(sorted(missing))}",
            "`exclude_studies` names studies of this database. Exclude single workers with"
            f" `{command('worker', 'exclude', study.name, 'WORKER')}`.",
        )
