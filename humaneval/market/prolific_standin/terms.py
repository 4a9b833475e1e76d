"""What Prolific's documents leave open, or what differs between accounts, as values that tests can set."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple


class Cost(NamedTuple):
    """What something costs, in minor units."""

    reward: int
    fees: int
    tax: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.reward + self.fees + self.tax

    def times(self, places: int) -> Cost:
        """The cost of so many of them."""
        return Cost(self.reward * places, self.fees * places, self.tax * places)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one account. None of these figures is verified."""

    currency: str = "GBP"
    opening: int = 1_000_000
    """The balance of a new account, in minor units."""
    fee_percent: Decimal = Decimal("33.3")
    tax_percent: Decimal = Decimal("20")
    """VAT, on the fee alone."""
    floor_per_hour: int = 600
    advised_per_hour: int = 900
    reserved: timedelta = timedelta(minutes=10)
    auto_approve: timedelta = timedelta(days=21)
    publishing: timedelta = timedelta()
    """How long a study is PUBLISHING before it is ACTIVE."""
    delay: timedelta = timedelta(seconds=1)
    """After this, what happens asynchronously is there to be read."""
    longest_minutes: int = 1439
    """`maximum_allowed_time` of a study that names none."""
    most_on_a_page: int = 100
    """A larger page_size is cut to this, without a word."""
    tries: int = 12
    """How often an event is sent at most, within a day."""

    def cost(self, reward: int) -> Cost:
        """What one payment of `reward` minor units costs, rounded for each.

        >>> Terms().cost(150)
        Cost(reward=150, fees=50, tax=10)
        """
        fees = _rounded(reward * self.fee_percent / 100)
        return Cost(reward, fees, _rounded(fees * self.tax_percent / 100))


def _rounded(amount: Decimal) -> int:
    return int(amount.quantize(Decimal(1), ROUND_HALF_UP))
