"""What a form promises to pay, in words, and how to promise something else."""

from __future__ import annotations

from pathlib import Path

from humaneval.fees import shown
from humaneval.study.hit_section import HitSection
from humaneval.text import command


def pay(hit: HitSection) -> str:
    """What the form promises, the hourly wage that this makes, and who pays it."""
    minutes = "1 minute" if hit.expected_minutes == 1 else f"{hit.expected_minutes:g} minutes"
    if not hit.reward:
        return f"The form promises no pay for about {minutes}."
    reward, hourly = shown(hit.reward, hit.sign), shown(hit.hourly, hit.sign)
    return (
        f"The form promises {reward} for about {minutes}, {hourly} per hour."
        " You pay people yourself, unless you publish with --live."
    )


def setting(names: str, section: str) -> str:
    """Where a person sets something of the next study that they make."""
    return (
        f"{names} under [{section}] in a study file. `{command('init')}` writes one; give it with --file"
        " study.toml."
    )


def made_anew(study: str, file: Path | None) -> str:
    """How a person who has just made `study` makes it with other settings than those of `file`."""
    first = f"edit {file}" if file else f"`{command('init')}`, edit study.toml"
    again = f"create it again with --file {file or 'study.toml'}"
    return f"To change that: {first}, `{command('study', 'delete', study)}`, and {again}."
