"""How many annotators who do not read get past the Control passages, and how many passages that takes."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

from humaneval.domain import GUESS
from humaneval.errors import UsageError
from humaneval.statistics.spam import spam_given_pass


class Gate(NamedTuple):
    """What so many Control passages do to a crowd, all as shares 0..1."""

    controls: int
    spammers: float
    """Of all annotators, before."""
    passed: float
    """Of all annotators."""
    left: float
    """Spammers among those who passed; see `humaneval.statistics.spam.spam_given_pass`."""
    lost: float
    """Honest annotators who are left out."""
    honest: float = 1.0
    """The odds with which an honest annotator notices a Control passage."""


def gate(controls: int, spammers: float, honest: float = 1.0) -> Gate:
    """`controls` passages for each annotator, of whom the share `spammers` guesses among five sentences, and the
    others notice the machine's with the odds `honest`.

    >>> round(gate(1, 0.0625).left, 4), round(gate(2, 0.0625).left, 4)
    (0.0132, 0.0027)
    """
    if controls < 0 or not 0 <= spammers <= 1 or not 0 < honest <= 1:
        raise UsageError(
            f"{controls} Control passages, {spammers:g} spammers and {honest:g} honest passes make no gate",
            "Shares lie between 0 and 1.",
        )
    passed = spammers * GUESS**controls + (1 - spammers) * honest**controls
    left = float(spam_given_pass(spammers, controls, honest, GUESS))
    return Gate(controls, spammers, passed, left, 1 - honest**controls, honest)


def controls_needed(spammers: float, most_left: float = 0.01, honest: float = 1.0) -> int | None:
    """How few Control passages leave at most `most_left` spammers among those who pass; None where none would do.

    >>> controls_needed(0.0625), controls_needed(0.3)
    (2, 3)
    """
    if not 0 < most_left < 1:
        raise UsageError(f"{most_left:g} is not a share of spammers to bear", "Give for example 0.01.")
    if gate(0, spammers, honest).left <= most_left:
        return 0
    if spammers == 1 or honest <= GUESS:
        return None
    odds = (1 - spammers) / spammers * most_left / (1 - most_left)
    return ceil(log(odds) / log(GUESS / honest) - 1e-12)


def describe(made: Gate, most_left: float = 0.01) -> str:
    """What the gate does, in sentences, and where more than `most_left` get through: how annotators can meet
    more Controls.

    A form shows one Control, so an annotator meets as many as they do forms.

    >>> describe(gate(1, 0.0625))
    'If 6.2% only click, 1.32% of those who pass their Control passage still do. A form has one of them: with rows_per_annotator = 2 each annotator meets 2, which leaves 0.27%.'
    """
    if not made.spammers:
        return ""
    told = f"If {_percent(made.spammers)} only click, "
    if not made.controls:
        return told + "all of them count: no Control passage leaves them out."
    which = "their Control passage" if made.controls == 1 else f"{made.controls} Control passages"
    told += f"{_percent(made.left)} of those who pass {which} still do."
    if made.lost > 0:
        told += f" {_percent(made.lost)} of the honest are left out with them."
    if made.left <= most_left:
        return told
    needed = controls_needed(made.spammers, most_left, made.honest)
    if needed is None:
        return f"{told} No number of them would bring that to {_percent(most_left)}."
    return (
        f"{told} A form has one of them: with rows_per_annotator = {needed} each annotator meets {needed}, "
        f"which leaves {_percent(gate(needed, made.spammers, made.honest).left)}."
    )


def _percent(share: float) -> str:
    """Fine enough that no share looks like a round one that it is not: 1.04% is more than 1%, 99.9% are
    not all."""
    for digits in range(3):
        if abs(round(share, digits + 2) - share) <= 0.01 * min(share, 1 - share):
            break
    return f"{share:.{digits}%}"
