"""How many annotators who do not read get past the Control passages, and how many passages that takes."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

from humaneval.domain import SENTENCES
from humaneval.errors import UsageError
from humaneval.statistics.spam import spam_given_pass

GUESS = 1 / SENTENCES


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
    return Gate(controls, spammers, passed, left, 1 - honest**controls)


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
