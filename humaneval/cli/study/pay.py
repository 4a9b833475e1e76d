"""What a form promises to pay, in words, and how to promise something else."""

from __future__ import annotations

from humaneval.fees import shown
from humaneval.study.hit_section import HitSection
from humaneval.text import command


def pay(hit: HitSection) -> str:
    """What the form promises and the hourly wage that this makes; where both are set, and that nothing is
    charged yet."""
    minutes = "1 minute" if hit.expected_minutes == 1 else f"{hit.expected_minutes:g} minutes"
    if not hit.reward:
        return f"The form promises no pay for about {minutes}. To set one: {setting('reward', 'hit')}"
    reward, hourly = shown(hit.reward, hit.sign), shown(hit.hourly, hit.sign)
    return (
        f"The form promises {reward} for about {minutes}, {hourly} an hour."
        " You pay people yourself; only publishing with --live charges you. To set other amounts:"
        f" {setting('reward and expected_minutes', 'hit')}"
    )


def setting(names: str, section: str) -> str:
    """Where a person sets something of the next study that they make."""
    return (
        f"{names} under [{section}] in a study file. `{command('init')}` writes one; give it with --file"
        " study.toml."
    )
