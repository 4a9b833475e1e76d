"""Bonuses in two steps: a set-up, which pays nothing, and a call to pay it. Each such call pays."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import select

from humaneval.market.prolific_standin.database import Work, new_id
from humaneval.market.prolific_standin.money import pay_bonus, pots
from humaneval.market.prolific_standin.refusals import NotFound, Refusal
from humaneval.market.prolific_standin.studies import find_study, later
from humaneval.market.prolific_standin.submissions import find_submission
from humaneval.market.prolific_standin.tables import Bonus, BonusBatch, Study, Submission
from humaneval.market.prolific_standin.terms import Cost

MOST = 10**9
"""Minor units: a larger amount is a typing error."""


def set_up(work: Work, study_id: object, csv_bonuses: object) -> BonusBatch:
    """Write down whom to pay how much. Raises Refusal, which names an id that never took part."""
    study = find_study(work, str(study_id))
    if not isinstance(csv_bonuses, str) or not csv_bonuses.strip():
        raise Refusal({"csv_bonuses": ["This field is required."]})
    lines = [_line(work, study, line.strip()) for line in csv_bonuses.splitlines() if line.strip()]
    batch = BonusBatch(id=new_id(), study_number=study.number, lines=lines, made_at=work.now)
    work.session.add(batch)
    return batch


def cost_of(work: Work, batch: BonusBatch) -> Cost:
    """What a set-up costs when it is paid once."""
    each = [work.terms.cost(amount) for _, amount in batch.lines]
    return Cost(*(sum(part) for part in zip(*each, strict=True)))


def pay(work: Work, batch_id: str) -> None:
    """Take in that a set-up is to be paid. A second call pays it again."""
    batch = work.session.get(BonusBatch, batch_id)
    if batch is None:
        raise NotFound("Bulk bonus payment")
    if cost_of(work, batch).total > pots(work).available:
        raise Refusal("There is not enough balance to pay these bonuses.")
    later(work, "bonus", work.now + work.terms.delay, batch=batch.id)


def pay_when_due(work: Work, batch_id: str) -> None:
    """Pay a set-up. If the money is gone by then, nobody gets any."""
    batch = work.session.get(BonusBatch, batch_id)
    if batch is None or cost_of(work, batch).total > pots(work).available:
        return
    for submission_id, amount in batch.lines:
        pay_bonus(work, find_submission(work, submission_id), batch.id, amount)


def paid_to(work: Work, submission: Submission) -> list[int]:
    """The bonuses of a submission, in minor units, oldest first."""
    query = select(Bonus.amount).where(Bonus.submission_number == submission.number).order_by(Bonus.number)
    return list(work.session.scalars(query))


def _line(work: Work, study: Study, line: str) -> list[object]:
    who, _, amount = (part.strip() for part in line.partition(","))
    query = select(Submission).where(
        Submission.study_number == study.number,
        (Submission.id == who) | (Submission.participant_id == who),
    )
    # Of several by one participant, which of them gets the bonus is unverified.
    submission = work.session.scalars(query.order_by(Submission.number.desc())).first()
    if submission is None:
        raise Refusal(f"The following ids have never taken part in this study: {who}")
    return [submission.id, _minor(amount, line)]


def _minor(amount: str, line: str) -> int:
    """An amount in major units, as minor units."""
    try:
        minor = Decimal(amount) * 100
        whole = int(minor) if abs(minor) < MOST else 0
    except (ArithmeticError, ValueError):
        raise Refusal(f"This line has no amount: {line}") from None
    if whole != minor or whole <= 0:
        raise Refusal(f"An amount has at most two decimals, and is above 0: {line}")
    return whole
