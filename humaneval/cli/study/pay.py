"""What a form promises to pay, in words."""

from __future__ import annotations

from humaneval.fees import dollars
from humaneval.study.file import HitSection


def pay(hit: HitSection) -> str:
    """What the form promises, the hourly wage that this makes, and that nothing is charged yet."""
    minutes = "1 minute" if hit.expected_minutes == 1 else f"{hit.expected_minutes:g} minutes"
    return (
        f"The form promises {dollars(hit.reward)} for about {minutes}, {dollars(hit.hourly)} an hour. Nothing"
        " is charged before you publish with --live: the local marketplace moves no real money."
    )
