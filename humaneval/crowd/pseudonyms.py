"""Workers as keyed pseudonyms. In a database the same person always has the same pseudonym, and nobody can
guess whose it is. When a person is forgotten, one keyed hash is left, which keeps them out."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from humaneval.errors import UsageError
from humaneval.store.export_pseudonyms import PSEUDONYM_KEY
from humaneval.store.tables import ForgottenRow, MetaRow, WorkerIdentityRow, WorkerRow
from humaneval.store.together import add_rows
from humaneval.store.types import padded, table

EXCLUSION_KEY = "exclusion key"
"""Another secret, made when the first worker is forgotten: its hashes match no pseudonym of an export."""
_KEYS = select(table(MetaRow).c.key, table(MetaRow).c.value).where(
    table(MetaRow).c.key.in_((PSEUDONYM_KEY, EXCLUSION_KEY))
)
_FORGOTTEN = select(table(ForgottenRow).c.hash).where(
    table(ForgottenRow).c.hash.in_(bindparam("of", expanding=True))
)
_identities = table(WorkerIdentityRow).c
_KNOWN = select(_identities.worker_id).where(
    _identities.endpoint == bindparam("at"), _identities.external_id == bindparam("of")
)
_SEEN = select(_identities.external_id).where(
    _identities.endpoint == bindparam("at"), _identities.external_id.in_(bindparam("of", expanding=True))
)

NAMELESS = ~select(WorkerIdentityRow.worker_id).where(WorkerIdentityRow.worker_id == WorkerRow.id).exists()
"""The workers whose ids were purged."""


def pseudonym(key: bytes, endpoint: str, external_id: str) -> str:
    """HMAC-SHA-256 of the platform's worker id under `key`, shortened to 12 hex digits behind a `w`."""
    digest = hmac.digest(key, f"{endpoint}\n{external_id}".encode(), "sha256")
    return "w" + digest.hex()[:12]


def exclusion_hash(key: bytes, name: str) -> str:
    """HMAC-SHA-256 of a pseudonym under `key`, in 64 hex digits: it is known when the id is gone, too."""
    return hmac.digest(key, name.encode(), "sha256").hex()


def exclusion_hashes(key: bytes, name: str, endpoint: str, external_id: str) -> frozenset[str]:
    """What may be kept of a forgotten worker with this name and id. Old databases have a hash of the id."""
    of_the_id = hmac.digest(key, f"{endpoint}\n{external_id}".encode(), "sha256").hex()
    return frozenset({exclusion_hash(key, name), of_the_id})


def worker_row(session: Session, endpoint: str, external_id: str) -> WorkerRow:
    """The worker with this id at this endpoint, added when first seen. Raises UsageError if the worker was
    forgotten."""
    query = (
        select(WorkerRow)
        .join(WorkerIdentityRow, WorkerIdentityRow.worker_id == WorkerRow.id)
        .where(WorkerIdentityRow.endpoint == endpoint, WorkerIdentityRow.external_id == external_id)
    )
    known = session.scalar(query)
    if known is not None:
        return known
    names = _named(session.connection(), endpoint, [external_id])
    if not names:
        raise UsageError(
            "this worker was forgotten, and is kept out of every study of this database",
            "Nothing about them can be stored, so leave them out.",
        )
    name = names[external_id]
    try:
        with session.begin_nested():
            # There already if the id was purged.
            worker = session.scalar(select(WorkerRow).where(WorkerRow.pseudonym == name))
            if worker is None:
                worker = WorkerRow(pseudonym=name)
                session.add(worker)
                session.flush()
            session.add(WorkerIdentityRow(worker_id=worker.id, endpoint=endpoint, external_id=external_id))
    except IntegrityError:
        pass  # another program added the same worker at this moment
    return session.scalars(query).one()


def without_ids(session: Session, text: str) -> str:
    """A platform's words with the pseudonym in place of each worker's id: they are printed and logged."""
    text = re.sub(r"[^\s,;]+…$", "…", text)  # `quoted` may have cut an id, which would be found no more
    words = {word.strip(".") for word in re.findall(r"[\w.@+~-]+", text)}
    # An id may have any character that no blank is, and platforms put quotes or brackets around it.
    words |= {word.strip("\"'`()[]<>,;:.") for word in text.split()}
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


def seen_worker(connection: Connection, endpoint: str, external_id: str) -> SeenWorker | None:
    """The worker with this id at this endpoint, added when first seen; None if the worker was forgotten."""
    for known in connection.scalars(_KNOWN, {"at": endpoint, "of": external_id}):
        return SeenWorker(int(known), True)
    names = _named(connection, endpoint, [external_id])
    if not names:
        return None
    added = add_workers(connection, endpoint, names)
    if not added:  # there already: the id was purged, or another program adds the same worker at this moment
        workers = table(WorkerRow).c
        worker = select(workers.id).where(workers.pseudonym == names[external_id])
        added = {external_id: int(connection.execute(worker).scalar_one())}
        _add_identities(connection, endpoint, added)
    return SeenWorker(added[external_id], False)


def strangers(connection: Connection, endpoint: str, external_ids: Sequence[str]) -> dict[str, str]:
    """The ids that were never seen and are not forgotten, with the pseudonyms that they will have."""
    seen = set(connection.scalars(_SEEN, {"at": endpoint, "of": padded(external_ids)}))
    return _named(connection, endpoint, [each for each in external_ids if each not in seen])


def add_workers(connection: Connection, endpoint: str, strangers: Mapping[str, str]) -> dict[str, int]:
    """Add workers by their ids, with pseudonyms. Returns our ids of them. Workers whose pseudonym is there
    already are left out."""
    ids = {name: external_id for external_id, name in strangers.items()}
    new = [{"pseudonym": name} for name in ids]
    added = add_rows(connection, table(WorkerRow), new, returning=("id", "pseudonym"), skip=True)
    found = {ids[name]: int(worker) for worker, name in added}
    if found:
        _add_identities(connection, endpoint, found)
    return found


def _add_identities(connection: Connection, endpoint: str, workers: Mapping[str, int]) -> None:
    rows = [
        {"worker_id": worker, "endpoint": endpoint, "external_id": external_id}
        for external_id, worker in workers.items()
    ]
    add_rows(connection, table(WorkerIdentityRow), rows, skip=True)


def _named(connection: Connection, endpoint: str, external_ids: Sequence[str]) -> dict[str, str]:
    """The pseudonyms of these workers, without those that were forgotten."""
    keys = _keys(connection)
    if PSEUDONYM_KEY not in keys and external_ids:
        # Not in a session of its own: what it adds is gone when it ends, and so would be the key.
        secret = {"key": PSEUDONYM_KEY, "value": secrets.token_hex(32)}
        add_rows(connection, table(MetaRow), [secret], skip=True)
        keys = _keys(connection)
    return _not_forgotten(connection, keys, endpoint, external_ids)


def recognised(connection: Connection, endpoint: str, external_ids: Sequence[str]) -> dict[str, str]:
    """The same of ids that others list. Nothing is written: without a key, nobody was ever here."""
    return _not_forgotten(connection, _keys(connection), endpoint, external_ids)


def _keys(connection: Connection) -> dict[str, bytes]:
    return {name: bytes.fromhex(value) for name, value in connection.execute(_KEYS)}


def _not_forgotten(
    connection: Connection, keys: Mapping[str, bytes], endpoint: str, external_ids: Sequence[str]
) -> dict[str, str]:
    own = keys.get(PSEUDONYM_KEY, b"")
    names = {each: pseudonym(own, endpoint, each) for each in external_ids}
    if EXCLUSION_KEY not in keys:
        return names
    hashes = {of: exclusion_hashes(keys[EXCLUSION_KEY], name, endpoint, of) for of, name in names.items()}
    asked = [one for two in hashes.values() for one in two]
    gone = set(connection.scalars(_FORGOTTEN, {"of": padded(asked)}))
    return {each: name for each, name in names.items() if not hashes[each] & gone}


def external_worker_id(session: Session, worker_id: int) -> str:
    """The platform's own id of a worker, for payments, never for exports. UsageError if it was purged."""
    found = session.scalar(
        select(WorkerIdentityRow.external_id).where(WorkerIdentityRow.worker_id == worker_id)
    )
    if found is None:
        name = session.get_one(WorkerRow, worker_id).pseudonym
        raise UsageError(
            f"the platform's id of {name} was purged: nothing can be done about this worker there",
            "Give the platform's own id if you have it, or leave this worker out.",
        )
    return found
