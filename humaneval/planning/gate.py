"""How many annotators who do not read get past the Control passages, and how many passages that takes."""

from __future__ import annotations

from math import ceil, log
from typing import NamedTuple

from humaneval.domain import GUESS
from humaneval.errors import UsageError
from humaneval.statistics.spam import spam_given_pass


class Gate(NamedTuple):
    """The effect of a number of Control passages on a crowd; all shares 0..1."""

    controls: int
    spammers: float
    """Their share of all annotators, before the Control passages."""
    passed: float
    """Share of all annotators who pass."""
    left: float
    """Share of spammers among the annotators who passed; see `humaneval.statistics.spam.spam_given_pass`."""
    lost: float
    """Share of honest annotators who are excluded."""
    honest: float = 1.0
    """The probability that an honest annotator notices a Control passage."""
    guess: float = GUESS
    """The same for one who does not look."""


def gate(controls: int, spammers: float, honest: float = 1.0, guess: float = GUESS) -> Gate:
    """The gate of `controls` passages for each annotator. The share `spammers` of annotators guess, and pass
    one with the probability `guess`, among five sentences one fifth; the others pass with `honest`.

    >>> round(gate(1, 0.0625).left, 4), round(gate(2, 0.0625).left, 4)
    (0.0132, 0.0027)
    """
    if controls < 0 or not 0 <= spammers <= 1 or not 0 < honest <= 1:
        raise UsageError(
            f"{controls} Control passages, {spammers:g} spammers and {honest:g} honest passes do not define"
            " a gate",
            "Shares lie between 0 and 1.",
        )
    passed = spammers * guess**controls + (1 - spammers) * honest**controls
    left = float(spam_given_pass(spammers, controls, honest, guess))
    return Gate(controls, spammers, passed, left, 1 - honest**controls, honest, guess)


def controls_needed(
    spammers: float, most_left: float = 0.01, honest: float = 1.0, guess: float = GUESS
) -> int | None:
    """The fewest Control passages that leave a share of at most `most_left` spammers among those who pass.

    None if no number does.

    >>> controls_needed(0.0625), controls_needed(0.3)
    (2, 3)
    """
    if not 0 < most_left < 1:
        raise UsageError(f"{most_left:g} is not a share of spammers", "Give for example 0.01.")
    if gate(0, spammers, honest, guess).left <= most_left:
        return 0
    if spammers == 1 or honest <= guess:
        return None
    odds = (1 - spammers) / spammers * most_left / (1 - most_left)
    return ceil(log(odds) / log(guess / honest) - 1e-12)


def describe(made: Gate, most_left: float = 0.01, each: int = 1) -> str:
    """The effect of the gate in sentences and, if more than `most_left` get through, how annotators can meet
    more Control passages: a form shows `each` of them.

    >>> print(describe(gate(1, 0.0625)).partition(". ")[0])
    If 6.2% of annotators only click, they are 1.32% of those who pass their Control passage
    """
    if not made.spammers:
        return ""
    told = f"If {_percent(made.spammers)} of annotators only click, "
    if not made.controls:
        return told + "all of them count, because no Control passage excludes them."
    which = "their Control passage" if made.controls == 1 else f"{made.controls} Control passages"
    told += f"they are {_percent(made.left)} of those who pass {which}."
    if made.lost > 0:
        told += f" {_percent(made.lost)} of the honest annotators are excluded with them."
    if made.left <= most_left:
        return told
    needed = controls_needed(made.spammers, most_left, made.honest, made.guess)
    if needed is None:
        return f"{told} No number of Control passages would bring that to {_percent(most_left)}."
    forms = ceil(needed / each)
    needed = forms * each
    shows = "one Control passage" if each == 1 else f"{each} Control passages"
    return (
        f"{told} A form has {shows}; with rows_per_annotator = {forms} each annotator meets"
        f" {needed}, "
        f"which leaves {_percent(gate(needed, made.spammers, made.honest, made.guess).left)}."
    )


def _percent(share: float) -> str:
    """With enough digits not to look round: 1.04% is more than 1%, 99.9% is not all."""
    for digits in range(3):
        if abs(round(share, digits + 2) - share) <= 0.01 * min(share, 1 - share):
            break
    return f"{share:.{digits}%}"
