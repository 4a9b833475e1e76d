"""What a platform charges on top of what workers are paid: pure functions in exact cents.

Mechanical Turk's published prices: 20 % of rewards and bonuses, at least $0.01 for each. For HITs with ten
or more assignments it is 40 % of rewards. Masters cost another 5 % of rewards.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from humaneval.errors import UsageError

CENT = Decimal("0.01")
MOST = 10_000_000
"""Dollars: a larger amount is a typing error."""

MANY_ASSIGNMENTS = 10
"""HITs with this many assignments or more pay the 40 % fee on rewards."""


def money(value: str | int | Decimal) -> Decimal:
    """`value` as dollars in whole cents. Raises UsageError for parts of a cent, such as 0.30000000000000004.

    >>> money("0.3")
    Decimal('0.30')
    """
    try:
        amount = Decimal(value)
        # Python reads 5_0 as 50; it is rather a slip for 5.0.
        if "_" in str(value) or not amount.is_finite() or abs(amount) > MOST:
            raise ArithmeticError
        exact = amount.quantize(CENT)
    except ArithmeticError:
        raise UsageError(
            f"{value!r} is not an amount of money",
            f"Write dollars and cents, for example 0.75; at most {MOST:,}.",
        ) from None
    if exact != amount:
        raise UsageError(f"{value} is finer than a cent", "Use whole cents, for example 0.75.")
    return exact


NO_FEES = ("local", "link", "csv")
"""Where nobody takes fees. The marketplace of one's own writes those of Mechanical Turk into its books."""

BY_RULE = ("sandbox", "production")
"""Where fees follow Mechanical Turk's published prices. Prolific says its own when it is asked."""

SIGNS = {"USD": "$", "GBP": "£", "EUR": "€"}


def sign_of(currency: str) -> str:
    """What stands before an amount.

    >>> sign_of("GBP"), sign_of("CHF")
    ('£', 'CHF ')
    """
    return SIGNS.get(currency) or (f"{currency} " if currency else "")


def shown(amount: Decimal, sign: str = "$") -> str:
    """An amount for display.

    >>> shown(Decimal("96089.28")), shown(Decimal("0.8"), "£")
    ('$96,089.28', '£0.80')
    """
    return f"{sign}{amount:,.2f}"


def reward_fee(reward: Decimal, assignments: int, *, masters: bool = False) -> Decimal:
    """The fee on the reward of one assignment, for a HIT with `assignments` of them.

    >>> reward_fee(Decimal("0.50"), 9), reward_fee(Decimal("0.50"), 10), reward_fee(Decimal("0.01"), 1)
    (Decimal('0.10'), Decimal('0.20'), Decimal('0.01'))
    """
    rate = Decimal("0.40") if assignments >= MANY_ASSIGNMENTS else Decimal("0.20")
    if masters:
        rate += Decimal("0.05")
    return _at_least_a_cent(reward * rate, reward)


def bonus_fee(bonus: Decimal) -> Decimal:
    """The fee on one bonus.

    >>> bonus_fee(Decimal("0.03")), bonus_fee(Decimal("1.25"))
    (Decimal('0.01'), Decimal('0.25'))
    """
    return _at_least_a_cent(bonus * Decimal("0.20"), bonus)


def _at_least_a_cent(fee: Decimal, paid: Decimal) -> Decimal:
    if paid == 0:
        return Decimal("0.00")
    return max(CENT, fee.quantize(CENT, ROUND_HALF_UP))
