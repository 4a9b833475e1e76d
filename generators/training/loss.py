"""The loss of a step: how much a token of an answer counts, and one of the text around it."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

from humaneval.errors import UsageError


class Mean(StrEnum):
    """How the loss is spelled on the command line; `answers=W` beside these."""

    TWO = "two-means"
    """The mean over the answers' tokens plus the mean over the context's: the paper's."""
    ONE = "one-mean"
    """One mean over all targets."""
    ANSWERS = "answers"
    """The mean over the answers' tokens alone."""


class Loss(NamedTuple):
    """A parsed loss."""

    each: bool
    """Whether answers and context have a mean each, which are added."""
    answers: float
    """The weight of an answer's token in the one mean; a context's token has 1."""
    context: bool
    """Whether the context counts at all."""


def read_loss(text: str) -> Loss:
    """The loss that `text` spells. Raises UsageError if it spells none.

    >>> read_loss("answers=2")
    Loss(each=False, answers=2.0, context=True)
    """
    if text == Mean.TWO:
        return Loss(each=True, answers=1.0, context=True)
    if text == Mean.ANSWERS:
        return Loss(each=False, answers=1.0, context=False)
    if text == Mean.ONE:
        return Loss(each=False, answers=1.0, context=True)
    name, _, weight = text.partition("=")
    try:
        value = float(weight)
    except ValueError:
        value = math.nan
    if name != Mean.ANSWERS or not 0 < value < math.inf:
        raise UsageError(
            f"there is no loss {text}",
            "Choose two-means, one-mean, answers, or a weight for the answers' tokens: answers=2.",
        )
    return Loss(each=False, answers=value, context=True)
