"""What Prolific says of money before a study is published: currency, balance, and pay by the hour."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from humaneval.crowd.platform import Platform
from humaneval.crowd.prolific.platform import Prolific


def account_lines(platform: Platform, hourly: Decimal, sign: str) -> Iterator[str]:
    """Lines about the account, for a study that pays so much by the hour; none for other platforms."""
    if not isinstance(platform, Prolific):
        return
    advice, balance = platform.account.pay_advice(), platform.balance()
    if balance is not None:
        played = platform.endpoint.is_stand_in
        yield (
            f"Balance at the stand-in: {sign}{balance} of play money."
            if played
            else f"Balance at Prolific: {sign}{balance}."
        )
    if advice.least is not None and hourly < advice.least:
        yield (
            f"{sign}{hourly} an hour is below the {sign}{advice.least} that Prolific asks for at least."
            " It counts the time that people really take."
        )
    elif advice.recommended is not None and hourly < advice.recommended:
        yield f"Prolific recommends {sign}{advice.recommended} an hour."
