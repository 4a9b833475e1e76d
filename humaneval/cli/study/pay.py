"""What a form promises to pay, in words."""

from __future__ import annotations

from humaneval.fees import shown
from humaneval.study.hit_section import HitSection


def pay(hit: HitSection) -> str:
    """What the form promises and the hourly wage that this makes; where both are set, and that nothing is
    charged yet."""
    minutes = "1 minute" if hit.expected_minutes == 1 else f"{hit.expected_minutes:g} minutes"
    if not hit.reward:
        return f"The form promises no pay for about {minutes}: reward under [hit] in a study file sets one."
    reward, hourly = shown(hit.reward, hit.sign), shown(hit.hourly, hit.sign)
    return (
        f"The form promises {reward} for about {minutes}, {hourly} an hour."
        " You pay people yourself; only publishing with --live charges you. To set other amounts: reward and"
        " expected_minutes under [hit] in a study file."
    )
