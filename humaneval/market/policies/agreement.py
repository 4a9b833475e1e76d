"""What review policies measure: known answers that were met, and the answer that most workers gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

LONGEST_COMPARED = 256
"""Longer answers, in characters, take no part in agreement."""

_NEXT_VOTE, _NEXT_VALUE = "\x1e", "\x1f"
"""What parts the votes of an answer, and the values of a vote. XML carries neither, so no value has them."""

Values = Mapping[str, Sequence[str]]
"""An answer: the texts and selections that were given to each question."""


class Agreed(NamedTuple):
    """The vote that most workers gave to a question, and the percentage of workers who gave it."""

    vote: str
    level: int

    @property
    def answer(self) -> str:
        """The values of the vote, as results show them."""
        return self.vote.replace(_NEXT_VALUE, "|")


class Agreement(NamedTuple):
    """The questions with an agreed answer, and who gave it.

    `marks` has a text for each worker, with 1 or 0 for each of these questions.
    """

    agreed: Mapping[str, Agreed]
    marks: Sequence[str]


def known_answers_met(policy: Mapping[str, Any], values: Values) -> dict[str, bool]:
    return {
        question: _stripped(values.get(question, ())) == _stripped(wanted)
        for question, wanted in policy["answers"].items()
    }


def known_score(met: Mapping[str, bool]) -> int:
    return percent(sum(met.values()), len(met))


def votes_of(values: Values, questions: Sequence[str]) -> str:
    """What an answer says to each question, as one text; nothing for a question without an answer.

    >>> votes_of({"A": [" b ", "a"], "C": ["x" * 257]}, ["A", "B", "C"])
    'a\\x1fb\\x1e\\x1e'
    """
    return _NEXT_VOTE.join(_vote(values.get(question, ())) for question in questions)


def agreement(votes: Sequence[str], questions: Sequence[str], threshold: int) -> Agreement:
    """What the workers with these votes agree on."""
    agreed, marks = dict[str, Agreed](), list[list[str]]()
    columns = zip(*(each.split(_NEXT_VOTE) for each in votes), strict=True)
    for question, column in zip(questions, columns, strict=True):
        if found := plurality(column, threshold):
            agreed[question] = found
            marks.append(["1" if vote == found.vote else "0" for vote in column])
    return Agreement(agreed, ["".join(mine) for mine in zip(*marks, strict=True)])


def plurality(votes: Sequence[str], threshold: int) -> Agreed | None:
    """The most frequent vote, if more than `threshold` per cent gave it and no other is as frequent."""
    (first, count), *rest = Counter(votes).most_common(2)
    level = percent(count, len(votes))
    tied = bool(rest) and rest[0][1] == count
    return None if not first or tied or level <= threshold else Agreed(first, level)


def percent(part: int, whole: int) -> int:
    return 100 * part // whole


def _vote(values: Sequence[str]) -> str:
    too_long = any(len(value) > LONGEST_COMPARED for value in values)
    return "" if too_long else _NEXT_VALUE.join(_stripped(values))


def _stripped(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(stripped for value in values if (stripped := value.strip())))
