"""Asks people to return submissions: nobody is rejected, and their place opens again."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import INSTEAD
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.outbox import Intent, hold_study, intend, intent_of, perform, withdraw
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.published_hits import refuse_elsewhere
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.errors import UsageError
from humaneval.store.engine import writing
from humaneval.store.tables import AssignmentRow, HitRow

ASK_RETURN = "ask for a return"


def return_subject(assignment: str) -> str:
    """The form that a request is about, by the platform's id of it."""
    return f"assignment {assignment}"


def ask_returns(at: StudyAtPlatform, assignments: Collection[str], reason: str, *, dry_run: bool) -> int:
    """Ask the people of these submissions to return them, each once. Returns how many this call asked."""
    reason = plain_words("reason", reason)
    platform = at.platform
    if not isinstance(platform, Prolific):
        raise UsageError(f"{at.endpoint} cannot ask people to return their work", "Use --to prolific.")
    refuse_elsewhere(at)
    with writing(at.engine) as session:
        hold_study(session, at.id)
        waiting = {each: _intended(session, at, each, reason) for each in dict.fromkeys(assignments)}
        if dry_run:
            session.rollback()
    due = {each: intent for each, intent in waiting.items() if intent is not None}
    for assignment, intent in due.items() if not dry_run else ():
        perform(at.engine, intent, partial(platform.request_return, assignment, reason), _recorded)
    return len(due)


def _recorded(session: Session, _: None) -> dict[str, str]:
    return {}


def _intended(session: Session, at: StudyAtPlatform, assignment: str, reason: str) -> Intent | None:
    """The intention; None if the person was asked before. If a request was interrupted, and the work is
    returned or decided since, nothing is left to ask."""
    work = session.scalar(
        select(AssignmentRow).where(
            AssignmentRow.study_id == at.id,
            AssignmentRow.endpoint == at.endpoint,
            AssignmentRow.external_id == assignment,
            AssignmentRow.state.in_(("opened", "answered", "submitted")),
        )
    )
    if work is None and withdraw(session, at.endpoint, ASK_RETURN, return_subject(assignment), INSTEAD):
        return None
    if work is None:
        raise UsageError(f"the study has no undecided submission {assignment!r} at {at.endpoint}")
    row = intend(
        session,
        study_id=at.id,
        endpoint=at.endpoint,
        operation=ASK_RETURN,
        subject=return_subject(assignment),
        key=session.get_one(HitRow, work.hit_id).key,
        request={"reason": reason},
    )
    return None if row.state == "confirmed" else intent_of(row)
