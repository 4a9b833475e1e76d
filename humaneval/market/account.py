"""The account of the marketplace: its money in four pots, and the journal of what moved it.

The account keeps the sums of the journal's lines.

Money lies in four pots: available, on hold, paid to workers, paid in fees. A new HIT moves its price to the
hold. An approval pays out of the hold. Three things return to available: a rejection, a place that expired
unused, and work that ran out after its HIT did. A bonus and its fee leave available at once. A deposit is new
money.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Integer, bindparam, select, update
from sqlalchemy.orm import Session

from humaneval.market.protocol.refusals import insufficient_funds
from humaneval.market.tables.account import Account, Entry
from humaneval.market.tables.assignments import Assignment
from humaneval.market.tables.database import Mode, Transaction
from humaneval.market.tables.hits import Hit


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
    work.session.execute(
        _MOVED,
        {f"more_{pot.key}": getattr(entry, pot.key) for pot in _POTS},
        execution_options={"synchronize_session": False},
    )


_POTS = (Account.available, Account.on_hold, Account.paid, Account.fees)
_MOVED = update(Account).values({pot: pot + bindparam(f"more_{pot.key}", type_=Integer) for pot in _POTS})


def pay_reward(work: Transaction, assignment: Assignment) -> None:
    """Pay an assignment's reward and its fee from the money held for its HIT."""
    hit = assignment.hit
    price, reward, fee = hit.price_cents, hit.hit_type.reward_cents, hit.fee_cents
    post(work, "reward", hit, assignment, on_hold=-price, paid=reward, fees=fee)
