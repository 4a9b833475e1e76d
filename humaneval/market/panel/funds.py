"""Adding money to the account of a marketplace in local mode, also while it is served."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import Engine

from humaneval.errors import UsageError
from humaneval.fees import money
from humaneval.market.account import balance, deposit, dollars
from humaneval.market.tables.database import Clock, Mode, known_account, transaction
from humaneval.store.engine import store_errors
from humaneval.store.types import now


def add_funds(engine: Engine, amount: Decimal, clock: Clock = now) -> Decimal:
    """Add `amount` dollars, in whole cents. Returns the available money, in dollars.

    Raises UsageError for an amount of 0.00 or less, and for a sandbox.
    """
    cents = int(money(amount) * 100)
    if cents <= 0:
        raise UsageError(f"${amount} cannot be added", "Give a sum of 0.01 or more.")
    with store_errors(engine):
        mode = Mode(known_account(engine).mode)
        if mode is Mode.SANDBOX:
            raise UsageError("this marketplace is a sandbox: its balance never falls", "Nothing was added.")
        with transaction(engine, mode, clock, writes=True) as work:
            deposit(work, cents)
            return dollars(balance(work.session).available)
