"""Forgets a person: deletes all that is kept about them, but for amounts in the books and one keyed hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, Table, delete, func, insert, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.open_money import refuse_open_money
from humaneval.crowd.outbox import hold_study
from humaneval.crowd.personal_data import (
    CONSENTS,
    HITS,
    Lines,
    Person,
    find_person,
    rows_about,
)
from humaneval.crowd.pseudonyms import EXCLUSION_KEY, exclusion_hash
from humaneval.store.engine import writing
from humaneval.store.erase import backups_beside, clean_files, overwrite_deleted
from humaneval.store.exports import exports_of
from humaneval.store.meta import stored_secret
from humaneval.store.tables import (
    COLLECTED,
    AssignmentRow,
    DeletedFormRow,
    ForgottenRow,
    PaymentRow,
    ResponseRow,
    StudyRow,
)
from humaneval.store.types import now, table

WORK, PAYMENTS, RESPONSES = table(AssignmentRow), table(PaymentRow), table(ResponseRow)
STAYS = frozenset({PAYMENTS.name, HITS.name, CONSENTS.name})
"""Tables whose rows stay: payments without a person, HITs without work, and texts of consent, which are a
study's."""
ELSEWHERE = (
    "The platform or panel keeps records of its own, and files that you made before still hold these answers:"
    " delete them there, too."
)
"""What the store cannot know."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What one study lost: forms with answers, their responses, and the exports that may hold them."""

    study: str
    forms: int
    responses: int
    exports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted, or would be."""

    worker: str
    endpoint: str
    deleted: Mapping[str, int]
    """Table → rows."""
    payments: int
    """Payments that stay in the books without a person."""
    studies: tuple[Lost, ...]
    backups: tuple[str, ...]
    not_cleaned: tuple[str, ...]
    """What still holds deleted rows, in sentences."""


def forget(engine: Engine, who: str, *, dry_run: bool = False) -> Forgotten:
    """Delete everything about the person whom `who` names. Raises UsageError while money is open.

    What stays are amounts in the books, one keyed hash that keeps the person out, and how many forms each
    study lost.
    """
    with writing(engine) as session:
        person = find_person(session, who)
        theirs = select(AssignmentRow.study_id).where(AssignmentRow.worker_id == person.id)
        for study_id in session.scalars(theirs.distinct().order_by(AssignmentRow.study_id)).all():
            hold_study(session, study_id)
        about = rows_about(session, person)
        refuse_open_money(session, [person.id], now(), f"{person.pseudonym} cannot be forgotten yet")
        lost = _losses(session, about[WORK])
        deleted = {of.name: len(lines) for of, lines in about.items() if of.name not in STAYS and lines}
        if not dry_run:
            _delete(session, person, about)
    return Forgotten(
        person.pseudonym,
        person.endpoint,
        deleted,
        len(about[PAYMENTS]),
        lost,
        tuple(map(str, backups_beside(engine))),
        () if dry_run else clean_files(engine),
    )


def _losses(session: Session, work: Lines) -> tuple[Lost, ...]:
    found = []
    for study_id in sorted({line["study_id"] for line in work}):
        forms = [line for line in work if line["study_id"] == study_id and _has_answers(line)]
        name = session.get_one(StudyRow, study_id).name
        responses = sum(_responses(session, form["id"]) for form in forms)
        found.append(Lost(name, len(forms), responses, tuple(exports_of(session, study_id))))
    return tuple(found)


def _has_answers(line: Mapping[str, object]) -> bool:
    """Whether the study had this form. At a platform, it has only forms that were submitted."""
    return line["state"] in COLLECTED or (line["state"] == "answered" and line["endpoint"] == "link")


def _responses(session: Session, assignment_id: int) -> int:
    counted = select(func.count()).select_from(RESPONSES).where(RESPONSES.c.assignment_id == assignment_id)
    return session.scalar(counted) or 0


def _delete(session: Session, person: Person, about: Mapping[Table, Lines]) -> None:
    overwrite_deleted(session)
    for line in about[WORK]:
        if _has_answers(line):
            session.execute(
                insert(DeletedFormRow),
                {
                    "study_id": line["study_id"],
                    "endpoint": line["endpoint"],
                    "row_id": line["row_id"],
                    "responses": _responses(session, line["id"]),
                    "row_replaced": line["row_replaced"],
                },
            )
    for line in about[PAYMENTS]:
        nobodys = {"assignment_id": None, "reason": "", "purpose": line["kind"]}
        session.execute(update(PAYMENTS).where(PAYMENTS.c.id == line["id"]).values(nobodys))
    for of in reversed([of for of in about if of.name not in STAYS]):
        for line in about[of]:
            session.execute(delete(of).where(*(key == line[key.name] for key in of.primary_key.columns)))
    secret = stored_secret(session, EXCLUSION_KEY)
    session.merge(ForgottenRow(hash=exclusion_hash(secret, person.pseudonym)))
