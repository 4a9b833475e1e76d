"""One person in the database: found by any of their names, and every row that is about them.

Tables that refer to workers are found by their foreign keys, so a new one cannot be overlooked. The few
others are named here. A test fails for a table that is neither.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, func, or_, select
from sqlalchemy.orm import Session

from humaneval.crowd.ask_return import ASK_RETURN, return_subject
from humaneval.crowd.panel_postbacks import POSTBACK, postback_subject
from humaneval.crowd.panels import in_any_study, of_a_study
from humaneval.crowd.pseudonyms import NAMELESS, pseudonym
from humaneval.crowd.published_hits import INVITE
from humaneval.crowd.workers import pseudonym_in
from humaneval.errors import UsageError
from humaneval.store.engine import ASKED_FOR, batches
from humaneval.store.export_pseudonyms import PSEUDONYM_KEY, names_of
from humaneval.store.tables import (
    METADATA,
    AssignmentRow,
    ConsentTextRow,
    EventRow,
    HitRow,
    MetaRow,
    OutboxRow,
    StudyRow,
    WorkerIdentityRow,
    WorkerRow,
)
from humaneval.store.types import table
from humaneval.text import command

WORKERS, OUTBOX, HITS, CONSENTS, EVENTS = (
    table(row) for row in (WorkerRow, OutboxRow, HitRow, ConsentTextRow, EventRow)
)
BY_OTHER_WAYS = frozenset({OUTBOX.name, HITS.name, CONSENTS.name, EVENTS.name})
"""Tables without a foreign key to workers that have rows about one. Writes to platforms name the worker in
their subject. Personal links are a person's. Work names the text of the consent by its hash. Events name a
submission by its id at the platform."""
ABOUT_NOBODY = frozenset(
    {
        "meta",
        "stories",
        "generators",
        "runs",
        "infills",
        "studies",
        "study_additions",
        "study_blanks",
        "passages",
        "rows",
        "row_passages",
        "gaps",
        "differences",
        "forgotten",
        "deleted_forms",
        "exports",
    }
)
"""Tables whose rows are about no worker."""

Lines = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Person:
    """A worker as the database knows them. `external_id` is None if it was purged, and nobody gave it."""

    id: int
    pseudonym: str
    endpoint: str
    external_id: str | None


def find_person(session: Session, who: str) -> Person:
    """The person whom a pseudonym, a name in an export or a platform's own id names, at whatever endpoint.

    Raises UsageError if there is none, or if an id is somebody's at several endpoints.
    """
    who = who.strip()
    name = pseudonym_in(session, who)
    known = select(
        WorkerRow.id, WorkerRow.pseudonym, WorkerIdentityRow.endpoint, WorkerIdentityRow.external_id
    )
    known = known.outerjoin(WorkerIdentityRow, WorkerIdentityRow.worker_id == WorkerRow.id)
    rows = session.execute(known.where(WorkerRow.pseudonym == name)).all()
    for same in (
        or_(
            WorkerIdentityRow.external_id == who,
            WorkerIdentityRow.external_id.like(in_any_study(who), escape="/"),
        ),
        func.lower(WorkerIdentityRow.external_id) == who.lower(),
    ):
        rows = rows or session.execute(known.where(same).order_by(WorkerRow.id)).all()
    people = [Person(row.id, row.pseudonym, row.endpoint or "", row.external_id) for row in rows]
    people = people or _purged(session, who)
    if not people:
        raise UsageError(
            f"no worker {who!r} is known here",
            f"`{command('worker', 'list', 'STUDY')}` lists a study's workers, except the forgotten.",
        )
    if len(people) > 1:
        names = " or ".join(f"{each.pseudonym} ({_where(session, each)})" for each in people)
        raise UsageError(
            f"that id is known at {len(people)} places", f"Name the worker by pseudonym: {names}."
        )
    (person,) = people
    if person.endpoint:
        return person
    where = session.scalar(
        select(AssignmentRow.endpoint).where(AssignmentRow.worker_id == person.id).limit(1)
    )
    return replace(person, endpoint=where or "")


def _where(session: Session, person: Person) -> str:
    """Where a person has taken part, in words."""
    named = select(StudyRow.name).join(AssignmentRow, AssignmentRow.study_id == StudyRow.id)
    studies = session.scalars(named.where(AssignmentRow.worker_id == person.id).distinct()).all()
    return ", in ".join([f"at {person.endpoint}", ", ".join(sorted(studies))][: 1 + bool(studies)])


def _purged(session: Session, who: str) -> list[Person]:
    """The people to whom the purged id `who` belonged: their pseudonym follows from it."""
    row = session.get(MetaRow, PSEUDONYM_KEY)
    key = bytes.fromhex(row.value) if row is not None else b""
    found: dict[int, Person] = {}
    work = select(AssignmentRow.endpoint, AssignmentRow.study_id).distinct()
    for endpoint, study in session.execute(work.order_by(AssignmentRow.study_id)).all():
        for known in (who, of_a_study(study, who)):
            name = pseudonym(key, endpoint, known)
            worker = session.scalar(select(WorkerRow).where(WorkerRow.pseudonym == name, NAMELESS))
            if worker is not None:
                found[worker.id] = Person(worker.id, name, endpoint, known)
    return list(found.values())


def tables_about_workers() -> tuple[Table, ...]:
    """Every table that leads to a worker by foreign keys: workers first, each after those it refers to."""
    found = [WORKERS]
    for one in METADATA.sorted_tables:
        if one not in found and any(key.column.table in found for key in one.foreign_keys):
            found.append(one)
    return tuple(found)


def rows_about(session: Session, person: Person) -> dict[Table, Lines]:
    """Every row about a person, by table. What a worker's rows lead to is theirs, too."""
    found: dict[Table, Lines] = {WORKERS: _lines(session, WORKERS, WORKERS.c.id == person.id)}
    for one in tables_about_workers()[1:]:
        theirs = [
            key.parent.in_([line[key.column.name] for line in found[key.column.table]])
            for key in one.foreign_keys
            if key.column.table in found
        ]
        found[one] = _lines(session, one, or_(*theirs))
    work = found[table(AssignmentRow)]
    found[OUTBOX] = [
        *writes_about(session, [person.id]),
        *writes_about_forms(session, work),
    ]
    personal = and_(HITS.c.audience == "personal", HITS.c.id.in_({line["hit_id"] for line in work}))
    found[HITS] = _lines(session, HITS, personal)
    submitted = EVENTS.c.about.in_({line["external_id"] for line in work})
    found[EVENTS] = _lines(session, EVENTS, submitted & (EVENTS.c.endpoint == person.endpoint))
    found[CONSENTS] = _lines(session, CONSENTS, CONSENTS.c.hash.in_({line["consent_hash"] for line in work}))
    return found


_NAMES_A_WORKER = and_(OUTBOX.c.subject.like("%worker %"), OUTBOX.c.operation != INVITE)


def writes_about(
    session: Session | Connection, workers: Collection[int], *where: ColumnElement[bool]
) -> Lines:
    """The writes to a platform whose subject names one of these workers and for which `where` holds."""
    wanted = set(workers)
    named = _lines(session, OUTBOX, and_(_NAMES_A_WORKER, *where))
    return [line for line in named if worker_in(line["subject"]) in wanted]


def writes_about_forms(session: Session, work: Collection[Mapping[str, Any]]) -> Lines:
    """The writes whose subject names one of these forms. Calls that tell a panel about it have our id,
    requests to return it have the platform's."""
    named = {POSTBACK: [postback_subject(line["id"]) for line in work]}
    named[ASK_RETURN] = [return_subject(line["external_id"]) for line in work]
    at = OUTBOX.c.endpoint.in_({line["endpoint"] for line in work})  # with it they are found by an index
    found: list[Mapping[str, Any]] = []
    for operation, subjects in named.items():
        for some in batches(sorted(subjects), ASKED_FOR):
            mine = and_(at, OUTBOX.c.operation == operation, OUTBOX.c.subject.in_(some))
            found += _lines(session, OUTBOX, mine)
    return found


def subjects_about(session: Session, after: int = 0) -> Iterator[Row[int, str]]:
    """The number and subject of each write after a given number that may name a worker, in order."""
    query = select(OUTBOX.c.id, OUTBOX.c.subject).where(_NAMES_A_WORKER, OUTBOX.c.id > after)
    return iter(session.execute(query.order_by(OUTBOX.c.id)))


def worker_in(subject: str) -> int | None:
    """The worker in a subject: 7 in `assignment 3ABC worker 7 purpose x`. Platforms' ids have no blanks."""
    found = re.match(r"(?:\S+ \S+ )?worker ([0-9]+)(?: |$)", subject)
    return int(found[1]) if found else None


def _lines(session: Session | Connection, of: Table, condition: Any) -> Lines:
    keys = of.primary_key.columns
    return [dict(row) for row in session.execute(select(of).where(condition).order_by(*keys)).mappings()]


def names_in_exports(session: Session, person: Person) -> dict[str, str]:
    """The person's name in the exports of each study."""
    theirs = select(AssignmentRow.study_id).where(AssignmentRow.worker_id == person.id)
    studies = session.scalars(select(StudyRow).where(StudyRow.id.in_(theirs)).order_by(StudyRow.id))
    return {study.name: names_of(session, study).worker(person.pseudonym) for study in studies}
