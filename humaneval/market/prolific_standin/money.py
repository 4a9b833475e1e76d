"""The account's money: available, locked for studies that run, paid, and the fees and tax on it.

What a study locks is always computed from its places and submissions. `settle` moves the difference.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import func, select

from humaneval.market.prolific_standin.completion_codes import screen_out_of
from humaneval.market.prolific_standin.database import Work
from humaneval.market.prolific_standin.refusals import Refusal
from humaneval.market.prolific_standin.tables import Bonus, Entry, Status, Study, StudyStatus, Submission
from humaneval.market.prolific_standin.terms import Cost

OPEN = (Status.RESERVED, Status.ACTIVE, Status.AWAITING_REVIEW)
"""Submissions that may still be paid, and hold their place."""
PAID = (Status.APPROVED, Status.PARTIALLY_APPROVED)
LIVE = (StudyStatus.PUBLISHING, StudyStatus.ACTIVE, StudyStatus.PAUSED, StudyStatus.AWAITING_REVIEW)
NO_MONEY = "There is not enough balance to pay for this. Top up your account."


class Pots(NamedTuple):
    """Where the money of the account is, in minor units."""

    available: int
    locked: int
    paid: int
    fees: int
    tax: int


def pots(work: Work) -> Pots:
    """The sums of all lines of the journal."""
    names = (Entry.available, Entry.locked, Entry.paid, Entry.fees, Entry.tax)
    row = work.session.execute(select(*(func.coalesce(func.sum(name), 0) for name in names))).one()
    return Pots._make(row)


def counts(work: Work, study: Study) -> dict[str, int]:
    """How many submissions a study has of each status."""
    query = select(Submission.status, func.count().label("many")).where(
        Submission.study_number == study.number
    )
    found = work.session.execute(query.group_by(Submission.status))
    return {row.status: row.many for row in found}


def settle(work: Work, study: Study) -> None:
    """Lock what the study may still cost, or release what it cannot. Raises Refusal without the money."""
    work.session.flush()
    held = select(func.coalesce(func.sum(Entry.locked), 0)).where(Entry.study_number == study.number)
    missing = _to_lock(work, study) - (work.session.scalar(held) or 0)
    if missing > pots(work).available:
        raise Refusal(NO_MONEY)
    if missing:
        _move(work, "lock", study, available=-missing, locked=missing)


def pay_submission(work: Work, submission: Submission, reward: int) -> None:
    """Pay a submission's reward, or a part of it, from what its study locked."""
    cost = work.terms.cost(0 if submission.study.is_test else reward)
    submission.reward = cost.reward
    _move(work, "reward", submission.study, locked=-cost.total, **_to(cost))


def pay_bonus(work: Work, submission: Submission, batch_id: str, amount: int) -> None:
    """Pay a bonus from the available balance."""
    cost = work.terms.cost(amount)
    work.session.add(
        Bonus(submission_number=submission.number, batch_id=batch_id, amount=amount, made_at=work.now)
    )
    _move(work, "bonus", submission.study, available=-cost.total, **_to(cost))


def study_cost(work: Work, study: Study) -> Cost:
    """What all places of a study cost."""
    return work.terms.cost(study.body["reward"]).times(study.body["total_available_places"])


def bonus_cost(work: Work, study: Study) -> Cost:
    """What the bonuses of a study have cost."""
    query = select(Bonus.amount).join(Submission).where(Submission.study_number == study.number)
    each = [work.terms.cost(amount) for amount in work.session.scalars(query)]
    return Cost(*(sum(part) for part in zip(*each, strict=True))) if each else Cost(0, 0, 0)


def _to_lock(work: Work, study: Study) -> int:
    if study.is_test:
        return 0
    by_status = counts(work, study)
    unpaid = sum(by_status.get(status, 0) for status in OPEN)
    if study.status in LIVE:
        paid = sum(by_status.get(status, 0) for status in PAID)
        unpaid = max(unpaid, study.body["total_available_places"] - paid)
    locked = unpaid * work.terms.cost(study.body["reward"]).total
    screen_out = screen_out_of(study.body)
    if screen_out is not None and study.status in LIVE:
        left = max(0, screen_out["slots"] - by_status.get(Status.SCREENED_OUT, 0))
        locked += left * work.terms.cost(screen_out["fixed_screen_out_reward"]).total
    return locked


def _to(cost: Cost) -> dict[str, int]:
    return {"paid": cost.reward, "fees": cost.fees, "tax": cost.tax}


def _move(work: Work, kind: str, study: Study, **amounts: int) -> None:
    work.session.add(Entry(kind=kind, study_number=study.number, made_at=work.now, **amounts))
