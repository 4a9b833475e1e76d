"""Workers as keyed pseudonyms. In a database the same person always has the same pseudonym, and nobody can
guess whose it is."""

from __future__ import annotations

import hmac
import re
import secrets
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from humaneval.store.published import PSEUDONYM_KEY
from humaneval.store.tables import MetaRow, WorkerIdentityRow, WorkerRow
from humaneval.store.types import table

_stored = select(table(MetaRow).c.value).where(table(MetaRow).c.key == PSEUDONYM_KEY)
_identities = table(WorkerIdentityRow).c
_known = select(_identities.worker_id).where(
    _identities.endpoint == bindparam("at"), _identities.external_id == bindparam("of")
)
_KNOWN = select(_known.scalar_subquery(), _stored.scalar_subquery())


def stored_secret(session: Session, name: str) -> bytes:
    """The secret called `name` of this database, made at its first use."""
    row = session.get(MetaRow, name)
    if row is None:
        try:
            with session.begin_nested():
                session.add(MetaRow(key=name, value=secrets.token_hex(32)))
        except IntegrityError:
            pass  # another program was faster, and its secret counts
        row = session.get_one(MetaRow, name)
    return bytes.fromhex(row.value)


def pseudonym(key: bytes, endpoint: str, external_id: str) -> str:
    """HMAC-SHA-256 of the platform's worker id under `key`, shortened to 12 hex digits behind a `w`."""
    digest = hmac.digest(key, f"{endpoint}\n{external_id}".encode(), "sha256")
    return "w" + digest.hex()[:12]


def worker_row(session: Session, endpoint: str, external_id: str) -> WorkerRow:
    """The worker with this id at this endpoint, added when first seen."""
    query = (
        select(WorkerRow)
        .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == WorkerRow.id)
        .where(WorkerIdentityRow.endpoint == endpoint, WorkerIdentityRow.external_id == external_id)
    )
    known = session.scalar(query)
    if known is not None:
        return known
    key = stored_secret(session, PSEUDONYM_KEY)
    try:
        with session.begin_nested():
            worker = WorkerRow(pseudonym=pseudonym(key, endpoint, external_id))
            session.add(worker)
            session.flush()
            session.add(WorkerIdentityRow(worker_id=worker.id, endpoint=endpoint, external_id=external_id))
    except IntegrityError:
        pass  # another program added the same worker at this moment
    return session.scalars(query).one()


def without_ids(session: Session, text: str) -> str:
    """A platform's words with the pseudonym in place of each worker's id: they are printed and logged."""
    words = {word.strip(".") for word in re.findall(r"[\w.@+~-]+", text)}
    named = session.execute(
        select(WorkerIdentityRow.external_id, WorkerRow.pseudonym)
        .join(WorkerRow, WorkerRow.id == WorkerIdentityRow.worker_id)
        .where(WorkerIdentityRow.external_id.in_(words))
    ).all()
    for external_id, name in sorted(named, key=lambda row: -len(row.external_id)):
        text = text.replace(external_id, name)
    return text


class SeenWorker(NamedTuple):
    """Our id of a worker, and whether they were seen before."""

    id: int
    before: bool


def seen_worker(connection: Connection, endpoint: str, external_id: str) -> SeenWorker:
    """The worker with this id at this endpoint, added when first seen."""
    known, stored = connection.execute(_KNOWN, {"at": endpoint, "of": external_id}).one()
    if known is not None:
        return SeenWorker(int(known), True)
    return SeenWorker(_new_worker(connection, endpoint, external_id, stored), False)


def _new_worker(connection: Connection, endpoint: str, external_id: str, stored: str | None) -> int:
    """Another program may add the same worker at this moment."""
    if stored is None:
        with Session(connection) as session:
            key = stored_secret(session, PSEUDONYM_KEY)
    else:
        key = bytes.fromhex(stored)
    made = {"pseudonym": pseudonym(key, endpoint, external_id)}
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    workers, identities = table(WorkerRow), table(WorkerIdentityRow)
    added = insert(workers).on_conflict_do_nothing().returning(workers.c.id)
    worker = connection.scalar(added, made)
    if worker is None:
        worker = connection.scalar(select(workers.c.id).where(workers.c.pseudonym == made["pseudonym"]))
    identity = {"worker_id": worker, "endpoint": endpoint, "external_id": external_id}
    connection.execute(insert(identities).on_conflict_do_nothing(), identity)
    return int(worker)


def external_worker_id(session: Session, worker_id: int) -> str:
    """The platform's own id of a worker, for payments, never for exports."""
    return session.scalars(
        select(WorkerIdentityRow.external_id).where(WorkerIdentityRow.worker_id == worker_id)
    ).one()
