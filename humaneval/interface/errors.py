"""Errors as Python shows them: the hint stands below the message, and names arguments instead of options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from humaneval.domain import LEVELS
from humaneval.errors import HumanEvalError, UsageError

ARGUMENTS = {
    " (--control)": "",
    " (--human)": "",
    "--control NAME": 'control="NAME"',
    "--missed-control none": 'missed_control="none"',
    "--keep-incomplete": "keep_incomplete=True",
    "--tests": "tests=True",
    "Name yours with --database": "Give the path or the URL of yours",
    "Choose another database with --database": "Give another path or URL",
    "choose another with --database": "give another path",
    "Check --database; ": "Check the path or URL; ",
}
"""What the command line says, and what it is called here."""


@contextmanager
def in_python() -> Iterator[None]:
    """Errors raised inside name arguments, and carry their hint as a note, which every traceback shows."""
    try:
        yield
    except HumanEvalError as error:
        if not hasattr(error, "__notes__"):
            error.message, error.hint = _worded(error.message), _worded(error.hint)
            error.args = (error.message,)
            if error.hint:
                error.add_note(error.hint)
        raise


RESCORED = r"`humaneval export [^`]*`, then `humaneval score --responses responses\.csv ([^`]*)`"
"""How a study's answers are scored by another rule, on the command line."""


def _worded(text: str) -> str:
    text = re.sub(RESCORED, r"`humaneval.score(study.responses(), \1)`", text)
    for option, argument in ARGUMENTS.items():
        text = text.replace(option, argument)
    return text


def refuse_level(level: float) -> None:
    """Raise UsageError for a level of confidence that no interval has."""
    least, most = LEVELS
    if not least <= level <= most:
        raise UsageError(f"level={level!r} is not from {least} to {most}", "For example level=0.95.")
