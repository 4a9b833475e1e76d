"""The account of the marketplace: its money in four pots, and the journal of what moved it.

The account keeps the sums of the journal's lines.

Money lies in four pots: available, on hold, paid to workers, paid in fees. A new HIT moves its price to the
hold. An approval pays out of the hold. Three things return to available: a rejection, a place that expired
unused, and work that ran out after its HIT did. A bonus and its fee leave available at once. A deposit is new
money.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Integer, bindparam, insert, select, update
from sqlalchemy.orm import Session

from humaneval.market.protocol.refusals import insufficient_funds
from humaneval.market.tables.account import Account, Entry
from humaneval.market.tables.assignments import Assignment
from humaneval.market.tables.database import Mode, Transaction
from humaneval.market.tables.hits import Hit
from humaneval.store.types import table


@dataclass(frozen=True, slots=True)
class Balance:
    """The money in the account's four pots, in cents."""

    available: int
    on_hold: int
    paid: int
    fees: int


def dollars(cents: int) -> Decimal:
    """Cents as dollars.

    >>> dollars(75)
    Decimal('0.75')
    """
    return Decimal(cents).scaleb(-2)


def balance(session: Session) -> Balance:
    """The account's pots: the sums of the journal's lines."""
    return Balance(*session.execute(select(*_POTS)).one())


def post(
    work: Transaction,
    kind: str,
    hit: Hit,
    assignment: Assignment | None = None,
    *,
    available: int = 0,
    on_hold: int = 0,
    paid: int = 0,
    fees: int = 0,
) -> None:
    """Write one line of the journal. Raises RefusedError if the account cannot pay; a sandbox always can."""
    if available < 0 and work.mode is Mode.LOCAL and balance(work.session).available + available < 0:
        raise insufficient_funds()
    _write(
        work,
        Entry(
            kind=kind,
            hit_number=hit.number,
            assignment_number=assignment.number if assignment else None,
            available=available,
            on_hold=on_hold,
            paid=paid,
            fees=fees,
            made_at=work.now,
        ),
    )


def deposit(work: Transaction, cents: int) -> None:
    """Add `cents`, which is more than 0, to the available money."""
    _write(work, Entry(kind="deposit", available=cents, on_hold=0, paid=0, fees=0, made_at=work.now))


def _write(work: Transaction, entry: Entry) -> None:
    """Add a line, and what it moves to the account's pots."""
    work.session.add(entry)
    work.session.flush()
    _move(work, {pot.key: getattr(entry, pot.key) for pot in _POTS})


def _move(work: Transaction, cents: Mapping[str, int]) -> None:
    """Add what was moved to the account's pots."""
    work.session.execute(
        _MOVED,
        {f"more_{pot.key}": cents.get(pot.key, 0) for pot in _POTS},
        execution_options={"synchronize_session": False},
    )


_POTS = (Account.available, Account.on_hold, Account.paid, Account.fees)
_MOVED = update(Account).values({pot: pot + bindparam(f"more_{pot.key}", type_=Integer) for pot in _POTS})


def pay_reward(work: Transaction, assignment: Assignment) -> None:
    """Pay an assignment's reward and its fee from the money held for its HIT."""
    pay_rewards(work, assignment.hit, [assignment])


def pay_rewards(work: Transaction, hit: Hit, assignments: Sequence[Assignment]) -> None:
    """Pay the rewards of assignments of one HIT and their fees, all at once."""
    moved = {"on_hold": -hit.price_cents, "paid": hit.hit_type.reward_cents, "fees": hit.fee_cents}
    line = {"kind": "reward", "hit_number": hit.number, "available": 0, "made_at": work.now, **moved}
    work.session.flush()
    work.connection.execute(
        insert(table(Entry)), [{**line, "assignment_number": each.number} for each in assignments]
    )
    _move(work, {pot: cents * len(assignments) for pot, cents in moved.items()})
