"""Finds submissions that are not fetched again: a platform still lists those of people who are forgotten."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.platform import Submission
from humaneval.crowd.pseudonyms import EXCLUSION_KEY, NAMELESS, exclusion_hashes, pseudonym
from humaneval.store.engine import ASKED_FOR, batches
from humaneval.store.export_pseudonyms import PSEUDONYM_KEY
from humaneval.store.meta import stored_secret
from humaneval.store.tables import AssignmentRow, ForgottenRow, MetaRow, WorkerRow


def left_alone(session: Session, endpoint: str, submissions: Sequence[Submission]) -> list[bool]:
    """For each submission, whether it is left where it is. That is all work of people who were forgotten. It
    is also stored work of people whose ids were purged: fetching it would bring their ids back.
    """
    gone = set(session.scalars(select(ForgottenRow.hash)))
    purged = _purged(session, endpoint, submissions)
    if not (gone or purged):
        return [False] * len(submissions)
    own = stored_secret(session, PSEUDONYM_KEY)
    other = session.get(MetaRow, EXCLUSION_KEY)
    key = b"" if other is None else bytes.fromhex(other.value)
    left = []
    for one in submissions:
        name = pseudonym(own, endpoint, one.worker)
        known = name in purged.get(one.external_id, ())
        left.append(known or bool(gone & exclusion_hashes(key, name, endpoint, one.worker)))
    return left


def _purged(session: Session, endpoint: str, submissions: Sequence[Submission]) -> dict[str, set[str]]:
    """Assignment → the pseudonyms of its workers whose ids were purged."""
    stored = (
        select(AssignmentRow.external_id, WorkerRow.pseudonym)
        .join(WorkerRow, WorkerRow.id == AssignmentRow.worker_id)
        .where(AssignmentRow.endpoint == endpoint, NAMELESS)
    )
    found: dict[str, set[str]] = {}
    for some in batches({one.external_id for one in submissions}, ASKED_FOR):
        for assignment, name in session.execute(stored.where(AssignmentRow.external_id.in_(some))):
            found.setdefault(assignment, set()).add(name)
    return found
