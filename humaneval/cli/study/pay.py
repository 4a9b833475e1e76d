"""What a form pays, in words."""

from __future__ import annotations

from humaneval.fees import dollars
from humaneval.study.file import HitSection


def pay(hit: HitSection) -> str:
    """What a form pays, and the hourly wage that this makes."""
    minutes = "1 minute" if hit.expected_minutes == 1 else f"{hit.expected_minutes:g} minutes"
    return f"Pay: {dollars(hit.reward)} for about {minutes}, {dollars(hit.hourly)} an hour."
