"""What review policies measure: known answers that were met, and the answer that most workers gave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from humaneval.market.protocol.answer_xml import answered_values
from humaneval.market.tables.assignments import Assignment

LONGEST_COMPARED = 256
"""Longer answers, in characters, take no part in agreement."""


class Agreed(NamedTuple):
    """The answer that most workers gave to a question, and the percentage of workers who gave it."""

    answer: tuple[str, ...]
    level: int


def known_answers_met(policy: Mapping[str, Any], assignment: Assignment) -> dict[str, bool]:
    given = answered_values(assignment.answer or "")
    return {
        question: _stripped(given.get(question, ())) == _stripped(values)
        for question, values in policy["answers"].items()
    }


def compared(assignment: Assignment, questions: Sequence[str]) -> dict[str, tuple[str, ...]]:
    given = answered_values(assignment.answer or "")
    return {
        question: (
            ()
            if any(len(value) > LONGEST_COMPARED for value in given.get(question, ()))
            else _stripped(given.get(question, ()))
        )
        for question in questions
    }


def plurality(answers: Sequence[tuple[str, ...]], threshold: int) -> Agreed | None:
    """The most frequent answer, if more than `threshold` per cent gave it and no other is as frequent."""
    (first, count), *rest = Counter(answers).most_common(2)
    level = percent(count, len(answers))
    tied = bool(rest) and rest[0][1] == count
    return None if not first or tied or level <= threshold else Agreed(first, level)


def _stripped(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(sorted(stripped for value in values if (stripped := value.strip())))


def percent(part: int, whole: int) -> int:
    return 100 * part // whole
