"""Approves and rejects submitted work. Work is called approved only when the platform has confirmed it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, TypeVar

from sqlalchemy import Select, literal, select
from sqlalchemy.orm import Session

from humaneval.crowd.costs import (
    APPROVE,
    REJECT,
    approval_subject,
    assignment_cost,
    rejection_done,
    reward_paid,
)
from humaneval.crowd.find_assignment import find_assignment, refuse_lost, settled, shown_ids
from humaneval.crowd.letter_text import plain_words
from humaneval.crowd.mturk_csv import refuse_by_file
from humaneval.crowd.outbox import TOGETHER, Intent, hold_study, intend, intent_of, perform_each
from humaneval.crowd.participants import COMPENSATION
from humaneval.crowd.plan_differences import look
from humaneval.crowd.platform import Cost
from humaneval.crowd.prolific.decisions import check_rejection
from humaneval.crowd.prolific.platform import Prolific
from humaneval.crowd.published_hits import refuse_elsewhere, up
from humaneval.crowd.reopened import free_if_reopened
from humaneval.crowd.rewards import settle_rewards
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.crowd.unaccepted import refuse_gone_hits, refuse_unaccepted
from humaneval.errors import PartialError, PlatformError
from humaneval.store.engine import in_turns, reading, writing
from humaneval.store.tables import AssignmentRow, HitRow, PaymentRow
from humaneval.store.types import now
from humaneval.text import PAYING, command

UNDO_DAYS = 30
"""How long a rejection can be undone, counted from the submission."""

T = TypeVar("T")
Advance = Callable[[int], None]


class _Work(NamedTuple):
    intent: Intent
    assignment_id: int
    external_id: str


class Pending(NamedTuple):
    """The assignments that a decision would concern, and what it would cost."""

    assignments: tuple[str, ...]
    """The platform's ids."""
    shown: tuple[str, ...]
    """The ids of these that people see."""
    cost: Cost


def approve_work(
    at: StudyAtPlatform,
    *,
    assignments: Collection[str] | None = None,
    feedback: str = "",
    undo_rejection: bool = False,
    advance: Advance = lambda amount: None,
) -> int:
    """Approve submitted work: the assignments named, or all of it. Returns how many this call approved.

    With `undo_rejection`, the ones named may be rejected ones, within 30 days of their submission. If the
    platform refuses one, the others still go on; PartialError says how many are left and why.
    """
    refuse_by_file(at)
    feedback = plain_words("feedback", feedback, needed=False)
    refuse_elsewhere(at)
    named = _look_before_paying(at, assignments, undo_rejection=undo_rejection)
    work = _all_intended(
        at, APPROVE, named, lambda session, some: _to_approve(session, at, some, undo_rejection), {}
    )

    def pay(one: _Work) -> datetime | None:
        return at.platform.approve(one.external_id, feedback, override=undo_rejection)

    def record(session: Session, one: _Work, before: datetime | None) -> None:
        assignment = session.get_one(AssignmentRow, one.assignment_id)
        assignment.state, assignment.reviewed_at = "approved", now()
        reward_paid(session, at, assignment, before)

    if not (feedback or undo_rejection):
        at.platform.start_approving([one.external_id for one in work])
    approved = _each(at, "approved", work, pay, record, advance)
    settle_rewards(at)  # some may have been approved before, at another reward
    return approved


def _look_before_paying(
    at: StudyAtPlatform, assignments: Collection[str] | None, *, undo_rejection: bool
) -> list[str]:
    """The ids of the work to approve.

    Raises PlatformError if a HIT of it is gone, or otherwise than planned and nobody accepted it.
    """
    with reading(at.engine) as session:
        work = _to_approve(session, at, assignments, undo_rejection)
        session.expunge_all()
    ids = {one.hit_id for one in work}
    look(at, [hit for hit in up(at.study, at.endpoint) if hit.id in ids])
    with reading(at.engine) as session:
        for one in work:
            if one.state == "rejected":  # what is decided cannot be taken in
                refuse_lost(session, at, one)
    refuse_gone_hits(at, "Nothing was approved.", ids)
    refuse_unaccepted(at, "Nothing was approved.", ids)
    return [one.external_id for one in work]


def reject_work(at: StudyAtPlatform, *, assignments: Collection[str], reason: str, category: str = "") -> int:
    """Reject the assignments named, with a reason that their workers read. Returns how many this call
    rejected.

    `category` is for platforms that need one of theirs.

    Nothing is rejected automatically: no rule, no timer, no page does it. Raises PlatformError for approved
    work.
    """
    refuse_by_file(at)
    reason = plain_words("reason", reason)
    if isinstance(at.platform, Prolific):  # before anything is intended
        check_rejection(reason, category)
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        chosen = _to_reject(session, at, assignments)
        ids, named = {one.hit_id for one in chosen}, [one.external_id for one in chosen]
    look(at, [hit for hit in up(at.study, at.endpoint) if hit.id in ids])
    refuse_gone_hits(at, "Nothing was rejected.", ids)
    work = _all_intended(
        at,
        REJECT,
        named,
        lambda session, some: _to_reject(session, at, some),
        {"reason": reason, "category": category},
    )

    def refuse(one: _Work) -> None:
        at.platform.reject(one.external_id, reason, category)

    def record(session: Session, one: _Work, _: None) -> None:
        assignment = session.get_one(AssignmentRow, one.assignment_id)
        assignment.state, assignment.reviewed_at = "rejected", now()
        rejection_done(session, assignment)
        free_if_reopened(session, at, assignment)

    return _each(at, "rejected", work, refuse, record)


def would_approve(
    at: StudyAtPlatform,
    assignments: Collection[str] | None = None,
    *,
    undo_rejection: bool = False,
) -> Pending:
    """Which of the assignments named, or of all, an approval would concern, and what it would cost.

    Makes no call to the platform: none is made before the sum is confirmed.
    """
    refuse_by_file(at)
    with reading(at.engine) as session:
        chosen = _to_approve(session, at, assignments, undo_rejection)
        hits = {one.hit_id: session.get_one(HitRow, one.hit_id) for one in chosen}
        each = {number: assignment_cost(session, at, hit) for number, hit in hits.items()}
        costs = [each[one.hit_id] for one in chosen]
        shown = tuple(shown_ids(session, at, chosen))
    zero = Decimal("0.00")
    cost = Cost(sum((one.rewards for one in costs), zero), sum((one.fees for one in costs), zero))
    return Pending(tuple(one.external_id for one in chosen), shown, cost)


def would_reject(at: StudyAtPlatform, assignments: Collection[str]) -> Pending:
    """Which of the assignments named a rejection would concern; it costs nothing."""
    refuse_by_file(at)
    refuse_elsewhere(at)
    with reading(at.engine) as session:
        chosen = _to_reject(session, at, assignments)
        shown = tuple(shown_ids(session, at, chosen))
    zero = Decimal("0.00")
    return Pending(tuple(one.external_id for one in chosen), shown, Cost(zero, zero))


def _to_approve(
    session: Session,
    at: StudyAtPlatform,
    assignments: Collection[str] | None,
    undo_rejection: bool,
) -> Sequence[AssignmentRow]:
    if assignments is None:
        return session.scalars(
            select(AssignmentRow)
            .where(
                AssignmentRow.study_id == at.id,
                AssignmentRow.endpoint == at.endpoint,
                AssignmentRow.state == "submitted",
                ~AssignmentRow.is_stray,  # a person decides on these, one by one
                AssignmentRow.id.not_in(_made_good(at)),  # as above
            )
            .order_by(AssignmentRow.id)
        ).all()
    found = [find_assignment(session, at, external_id) for external_id in assignments]
    rejected = [assignment for assignment in found if assignment.state == "rejected"]
    if rejected and not undo_rejection:
        ids = shown_ids(session, at, rejected)
        raise PlatformError(
            f"rejected work cannot be approved this way: {', '.join(ids)}",
            f"Nothing was approved. Leave it out, or take the rejection back within {UNDO_DAYS} days:"
            f" {command('approve', at.name, ids[0], '--to', at.endpoint, '--undo-rejection')}",
        )
    too_late = [
        one for one in rejected if one.submitted_at and one.submitted_at + timedelta(days=UNDO_DAYS) < now()
    ]
    if too_late:
        late = shown_ids(session, at, too_late)
        raise PlatformError(
            f"a rejection can be undone for {UNDO_DAYS} days after the submission: too late for"
            f" {', '.join(late)}",
            "Nothing was approved. Pay the worker instead:"
            f" {command('bonus', at.name, late[0], '--to', at.endpoint, *PAYING)}",
        )
    to_decide = [assignment for assignment in found if assignment.state in ("submitted", "rejected")]
    for assignment in to_decide:
        _refuse_made_good(session, at, assignment)
    return to_decide


def _made_good(at: StudyAtPlatform) -> Select[int]:
    """Work whose workers were compensated, or are about to be. By link, an approval may cost nothing."""
    free = not at.platform.cost(at.settings.hit.reward, 1).total
    # Not the payments alone: those of somebody who is forgotten have no work, and `not in` would find none.
    return (
        select(AssignmentRow.id)
        .join(PaymentRow, PaymentRow.assignment_id == AssignmentRow.id)
        .where(PaymentRow.study_id == at.id, PaymentRow.kind == COMPENSATION, literal(not free))
    )


def _refuse_made_good(session: Session, at: StudyAtPlatform, work: AssignmentRow) -> None:
    """Raise PlatformError if the worker of this work was compensated, or is about to be."""
    said = settled(session, at, work)
    if not said or not assignment_cost(session, at, work.hit).total:
        return
    (shown,) = shown_ids(session, at, [work])
    reject = command("reject", at.name, shown, "--to", at.endpoint, "--reason", "REASON")
    raise PlatformError(
        f"an approval of assignment {shown} would pay twice",
        f"{said} Nothing was approved."
        + (
            f" {at.endpoint} approves and pays it when auto_approval_days are over, unless it is rejected"
            f" before: {reject}"
            if work.state == "submitted"
            else ""
        ),
    )


def _to_reject(
    session: Session, at: StudyAtPlatform, assignments: Collection[str]
) -> Sequence[AssignmentRow]:
    found = [find_assignment(session, at, external_id) for external_id in assignments]
    approved = [assignment for assignment in found if assignment.state == "approved"]
    if approved:
        ids = ", ".join(shown_ids(session, at, approved))
        raise PlatformError(f"approved work cannot be rejected: {ids}", "It is paid. Nothing was rejected.")
    return [assignment for assignment in found if assignment.state == "submitted"]


def _all_intended(
    at: StudyAtPlatform,
    operation: str,
    named: Collection[str],
    choose: Callable[[Session, Collection[str]], Sequence[AssignmentRow]],
    request: dict[str, str],
) -> list[_Work]:
    """Intend a decision about the work named, as far as `choose` still agrees. No call is made before all of
    it is intended: what `choose` raises about any of it is true of all of it."""
    work: list[_Work] = []
    for some in in_turns(named, TOGETHER):
        with writing(at.engine) as session:
            hold_study(session, at.id)
            work += [_intended(session, at, operation, one, request) for one in choose(session, some)]
    return work


def _intended(
    session: Session, at: StudyAtPlatform, operation: str, assignment: AssignmentRow, request: dict[str, str]
) -> _Work:
    row = intend(
        session,
        study_id=at.id,
        endpoint=assignment.endpoint,
        operation=operation,
        subject=approval_subject(assignment),
        key=session.get_one(HitRow, assignment.hit_id).key,
        request=request,
    )
    row.request = request
    return _Work(intent_of(row), assignment.id, assignment.external_id)


def _each(
    at: StudyAtPlatform,
    word: str,
    work: Sequence[_Work],
    decide: Callable[[_Work], T],
    record: Callable[[Session, _Work, T], None],
    advance: Advance = lambda amount: None,
) -> int:
    """Decide about each. What the platform refuses keeps nothing after it from being decided."""
    of = {one.intent.id: one for one in work}

    def recorded(session: Session, intent: Intent, result: T) -> dict[str, str]:
        record(session, of[intent.id], result)
        return {"assignment": of[intent.id].external_id}

    left, done, refused = [one.intent for one in work], 0, list[PlatformError]()
    while left:
        before = done
        try:
            for _ in perform_each(at.engine, left, lambda intent: decide(of[intent.id]), recorded):
                done += 1
                advance(1)
            break
        except PlatformError as error:
            refused.append(error)
            advance(1)
            left = left[done - before + 1 :]
    if refused:
        raise PartialError(
            f"{done} {word}, {len(refused)} not: {refused[0].message}",
            "Run the command again to try the rest. Somebody else may have decided on them:"
            f" {command('collect', at.name, '--to', at.endpoint)}",
        )
    return done
