"""The sums of each HIT, as they are kept and as all of its assignments and lines give them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, case, func, select

from humaneval.market.tables.account import Entry
from humaneval.market.tables.assignments import TAKEN, Assignment
from humaneval.market.tables.hits import Hit, HitSums
from humaneval.store.types import table

DONE, LINES, SUMS, HITS = table(Assignment), table(Entry), table(HitSums), table(Hit)


def kept_sums(connection: Connection) -> list[Any]:
    """The sums as they are kept."""
    stages = [SUMS.c[stage.value] for stage in TAKEN]
    return [*connection.execute(select(SUMS.c.hit_number, SUMS.c.held, *stages).order_by(SUMS.c.hit_number))]


def counted_sums(connection: Connection) -> list[Any]:
    """The same sums of all lines and assignments."""
    held = select(func.coalesce(func.sum(LINES.c.on_hold), 0)).where(LINES.c.hit_number == HITS.c.number)
    stages = [
        select(func.count(case((DONE.c.state == stage, 1))))
        .where(DONE.c.hit_number == HITS.c.number)
        .scalar_subquery()
        for stage in TAKEN
    ]
    found = select(HITS.c.number, held.scalar_subquery(), *stages)
    return [*connection.execute(found.order_by(HITS.c.number))]
