"""Stores the HITs and links that are planned for a study, in a few statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from humaneval.crowd.link import Invitation
from humaneval.crowd.outbox import hold_study, token_for
from humaneval.crowd.participants import refuse_unknown_studies
from humaneval.crowd.planned_keys import PlannedKeys
from humaneval.crowd.prolific.answered import CODES
from humaneval.crowd.published_hits import INVITE, PUBLISH, hits_of, refuse_closed
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.store.engine import ASKED_FOR, batches, in_turns, writing
from humaneval.store.responses import rows_in
from humaneval.store.tables import HitRow, OutboxRow
from humaneval.store.types import now


class Portion(NamedTuple):
    """A HIT or link to plan."""

    assignments: int
    row_id: int | None = None
    """Set only if the page is static."""
    audience: str = ""
    subject: str = ""
    """Set only for links: the same subject gives the same link the next time."""
    resize: bool = False
    """Only for links: an existing one gets this number of places."""


def plan_links(at: StudyAtPlatform, invitations: Sequence[Invitation]) -> None:
    """Plan the links that are not planned yet, some at a time: between them others can write."""
    for some in in_turns(invitations, ASKED_FOR):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            refuse_unknown_studies(session, at.study)
            refuse_closed(session, at.study, at.endpoint)
            plan_portions(session, at, invited(session, at, some))


def invited(session: Session, at: StudyAtPlatform, invitations: Sequence[Invitation]) -> list[Portion]:
    """One portion for each link; without a number of places it has one for each row."""
    rows = rows_in(session, at.id)
    return [
        Portion(
            assignments=invitation.places or rows,
            audience=invitation.audience,
            subject=f"{at.name}: {invitation.subject}",
            resize=bool(invitation.places),
        )
        for invitation in invitations
    ]


def plan_portions(
    session: Session, at: StudyAtPlatform, portions: Sequence[Portion], *, dry_run: bool = False
) -> list[HitRow]:
    """Plan what is not planned yet. Together, in a few statements: a study may have ten thousand HITs.

    `dry_run` stores nothing and returns the HITs that would be stored.
    """
    there: dict[str, int] = {}
    invite = (OutboxRow.endpoint == at.endpoint, OutboxRow.operation == INVITE)
    subjects = [portion.subject for portion in portions if portion.subject]
    for some in batches(subjects, ASKED_FOR):
        known = select(OutboxRow.subject, OutboxRow.request).where(*invite, OutboxRow.subject.in_(some))
        there |= {subject: request["hit"] for subject, request in session.execute(known)}
    new: dict[str, Portion] = {}
    resized = []
    keys = PlannedKeys(session, at, [] if subjects else hits_of(session, at.study, at.endpoint))
    for portion in portions:
        if portion.subject not in there:
            key = keys.of_link(portion.subject) if portion.subject else keys.of_hit(portion.row_id)
            new[key] = portion
        elif portion.resize:
            resized.append({"id": there[portion.subject], "assignments": portion.assignments})
    if resized:
        session.execute(update(HitRow), resized)
    hits = [
        {
            "study_id": at.id,
            "endpoint": at.endpoint,
            "key": key,
            "assignments": portion.assignments,
            "row_id": portion.row_id,
            "audience": portion.audience,
            # Only our own marketplace signs.
            "secret": keys.signing(key) if at.endpoint == "local" and portion.row_id is None else "",
        }
        for key, portion in new.items()
    ]
    if dry_run or not hits:
        return [HitRow(**hit) for hit in hits]
    session.execute(insert(HitRow), hits)
    ids: dict[str, int] = {}
    for some in batches(new, ASKED_FOR):
        ids |= dict(session.execute(select(HitRow.key, HitRow.id).where(HitRow.key.in_(some))).all())
    invited = {"state": "confirmed", "confirmed_at": now()}
    unsent = {"state": "pending"}
    invites, writes = [], []
    for key, portion in new.items():
        hit = ids[key]
        if portion.subject:
            invites.append({**_write(at, INVITE, portion.subject, key, {"hit": hit}), **invited})
        asked: dict[str, Any] = {"assignments": portion.assignments}
        if at.endpoint == "prolific":
            asked[CODES] = keys.codes(key)
        writes.append({**_write(at, PUBLISH, f"hit {hit}", key, asked), **unsent})
    # Apart: rows with other columns between them would be a statement each.
    for rows in filter(None, (invites, writes)):
        session.execute(insert(OutboxRow), rows)
    return []


def _write(
    at: StudyAtPlatform, operation: str, subject: str, key: str, request: dict[str, Any]
) -> dict[str, Any]:
    """The columns of an intended write, as `intend` stores them."""
    return {
        "study_id": at.id,
        "endpoint": at.endpoint,
        "operation": operation,
        "subject": subject,
        "token": token_for(at.endpoint, operation, subject, key),
        "request": request,
    }
