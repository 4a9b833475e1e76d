"""What each worker earned. The marketplace moves no money: the people who run it pay by this list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from sqlalchemy import Engine, and_, case, func, select

from humaneval.market.account import dollars
from humaneval.market.operations import Market
from humaneval.market.tables.account import Entry
from humaneval.market.tables.assignments import Assignment, State
from humaneval.market.tables.database import Clock, Mode, known_account
from humaneval.market.tables.hits import Hit, HitType
from humaneval.market.tables.workers import Worker
from humaneval.store.engine import store_errors
from humaneval.store.types import now


@dataclass(frozen=True, slots=True)
class Earnings:
    """One worker's money, in dollars without fees. `waiting` is for submitted work, not reviewed yet."""

    name: str
    worker: str
    approved: int
    rewards: Decimal
    bonuses: Decimal
    waiting: Decimal

    @property
    def earned(self) -> Decimal:
        """The sum of rewards and bonuses."""
        return self.rewards + self.bonuses


def earnings_of_all(
    engine: Engine, *, since: datetime | None = None, before: datetime | None = None, clock: Clock = now
) -> list[Earnings]:
    """Every worker in the order of registration, with what was paid from `since` until `before`.

    `before` itself is not counted. What waits for review is everything that waits now.
    """
    counted = [Entry.paid > 0]
    if since is not None:
        counted.append(Entry.made_at >= since)
    if before is not None:
        counted.append(Entry.made_at < before)
    reward = Entry.kind == "reward"
    paid = (
        select(
            Assignment.worker_number,
            func.count(case((reward, 1))).label("approved"),
            func.sum(case((reward, Entry.paid), else_=0)).label("rewards"),
            func.sum(case((reward, 0), else_=Entry.paid)).label("bonuses"),
        )
        .join(Entry, and_(Entry.assignment_number == Assignment.number, *counted))
        .group_by(Assignment.worker_number)
        .subquery()
    )
    waiting = (
        select(Assignment.worker_number, func.sum(HitType.reward_cents).label("waiting"))
        .join(Hit, Hit.number == Assignment.hit_number)
        .join(HitType, HitType.number == Hit.hit_type_number)
        .where(Assignment.state == State.SUBMITTED)
        .group_by(Assignment.worker_number)
        .subquery()
    )
    rows = (
        select(Worker.name, Worker.id, paid.c.approved, paid.c.rewards, paid.c.bonuses, waiting.c.waiting)
        .outerjoin(paid, paid.c.worker_number == Worker.number)
        .outerjoin(waiting, waiting.c.worker_number == Worker.number)
        .order_by(Worker.number)
    )
    with store_errors(engine), Market(engine, Mode(known_account(engine).mode), clock).reading() as work:
        return [
            Earnings(name, worker, approved or 0, *(dollars(cents or 0) for cents in sums))
            for name, worker, approved, *sums in work.session.execute(rows)
        ]
