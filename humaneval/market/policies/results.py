"""The results of a review policy: as they are kept, in one piece, and as they are listed, line by line.

A HIT with hundreds of questions and workers has a line for each pair of them. Nobody can wait until so many
rows are written, and lines are listed by the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from humaneval.market.policies.agreement import Agreement, percent
from humaneval.market.protocol.identifiers import derived_entity_id, new_entity_id

Kept = dict[str, Any]
"""`questions`, and `groups` of lines: a subject, a value for each line about a question, and a score. The ids
of the lines follow from `ids`."""


class _Kind(NamedTuple):
    """The lines of a group: the type of their subject, the keys for each question, and that of the score."""

    subject: str
    keys: Sequence[str]
    score: str


_KNOWN = _Kind("Assignment", ["KnownAnswerCorrect"], "KnownAnswerScore")
_HIT = _Kind("HIT", ["PluralityAnswer", "PluralityLevel"], "HITAgreementScore")
_WORKER = _Kind("Assignment", ["AgreedWithPlurality"], "WorkerAgreementScore")


def of_known_answers(assignment_id: str, met: Mapping[str, bool], score: int) -> Kept:
    """The results of ScoreMyKnownAnswers."""
    values = "".join(f"{each:d}" for each in met.values())
    return {"ids": new_entity_id(), "questions": list(met), "groups": [[assignment_id, values, score]]}


def of_agreement(hit_id: str, found: Agreement, score: int, assignment_ids: Sequence[str]) -> Kept:
    """The results of SimplePlurality: of each assignment, if there is any agreement, and then of the HIT."""
    values = [value for each in found.agreed.values() for value in (each.answer, str(each.level))]
    of_workers = [
        [assignment_id, marks, worker_score(marks)]
        for assignment_id, marks in zip(assignment_ids, found.marks, strict=bool(found.agreed))
    ]
    groups = [*of_workers, [hit_id, values, score]]
    return {"ids": new_entity_id(), "questions": list(found.agreed), "groups": groups}


def worker_score(marks: str) -> int:
    """The percentage of questions with an agreed answer for which a worker gave that answer."""
    return percent(marks.count("1"), len(marks))


def count(kept: Kept) -> int:
    """How many lines there are."""
    return sum(len(values) + 1 for _, values, _ in kept["groups"])


def lines(level: str, kept: Kept, since: int, most: int) -> list[dict[str, str]]:
    """The lines of the policy of that level, from the place `since` on, as the protocol's results."""
    found = list[dict[str, str]]()
    first, last = 0, len(kept["groups"]) - 1
    for number, (subject, values, score) in enumerate(kept["groups"]):
        kind = _KNOWN if level == "Assignment" else _HIT if number == last else _WORKER
        for place in range(max(0, since - first), min(len(values) + 1, since + most - first)):
            line = {
                "ActionId": derived_entity_id(f"{kept['ids']} {first + place}"),
                "SubjectId": subject,
                "SubjectType": kind.subject,
            }
            if place < len(values):
                question, key = divmod(place, len(kind.keys))
                line["QuestionId"] = kept["questions"][question]
                line |= {"Key": kind.keys[key], "Value": values[place]}
            else:
                line |= {"Key": kind.score, "Value": str(score)}
            found.append(line)
        first += len(values) + 1
    return found
