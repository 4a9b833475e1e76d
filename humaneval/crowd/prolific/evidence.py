"""Makes the reason for a rejection from what a person did. A person reads it before it is sent.

Prolific takes a rejection for failed checks, for missing answers, and for exceptional haste: faster than the
mean by three standard deviations. One failed check is enough in a study of less than five minutes, otherwise
two are.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import mean, stdev
from typing import NamedTuple

from sqlalchemy import select

from humaneval.crowd.controls import passages_of
from humaneval.crowd.find_assignment import find_assignment
from humaneval.crowd.study_at import StudyAtPlatform
from humaneval.domain import Role
from humaneval.errors import UsageError
from humaneval.scoring.questions.question import Answer, Truth
from humaneval.store.engine import reading
from humaneval.store.tables import AssignmentRow, ResponseRow
from humaneval.study.asked import Asked, asked_by
from humaneval.text import command

SHORT_MINUTES = 5
ENOUGH = 5
"""The fewest other forms of which a mean time is taken."""
DEVIATIONS = 3


class Evidence(NamedTuple):
    """A reason, and the category of Prolific's that it is for."""

    category: str
    reason: str


class _Place(NamedTuple):
    number: int
    truth: Truth
    answer: Answer | None


def evidence_for(at: StudyAtPlatform, assignment: str) -> Evidence:
    """The reason for rejecting a submission. Raises UsageError if Prolific would call none valid."""
    with reading(at.engine) as session:
        work = find_assignment(session, at, assignment)
        asked = asked_by(at.settings)
        given = {
            line.place: line
            for line in session.execute(
                select(ResponseRow.place, ResponseRow.choice, ResponseRow.answer).where(
                    ResponseRow.assignment_id == work.id
                )
            )
        }
        places = [
            _Place(each.place, each.truth, asked.answer(line.choice, line.answer, each.truth.sentences))
            if (line := given.get(each.place))
            else _Place(each.place, each.truth, None)
            for each in passages_of(session.connection(), at.settings, work.row_id)
        ]
        times: dict[int, float] = defaultdict(float)
        for work_id, seconds in session.execute(
            select(ResponseRow.assignment_id, ResponseRow.seconds)
            .join(AssignmentRow, AssignmentRow.id == ResponseRow.assignment_id)
            .where(AssignmentRow.study_id == at.id, AssignmentRow.endpoint == at.endpoint)
        ):
            times[work_id] += seconds or 0.0
        found = [
            *_gaps(places),
            *_haste(times, work.id),
            *_controls(places, asked, at.settings.hit.expected_minutes),
        ]
    if not found:
        raise UsageError(
            f"nothing that Prolific accepts as a reason was found in {assignment}",
            "Approve it, or ask for a return:"
            f" {command('ask-return', at.name, assignment, '--reason', 'REASON')}",
        )
    facts = " ".join(each.reason for each in found)
    task = f"Each story was followed by the question: {at.settings.page.question}"
    return Evidence(found[0].category, f"We are sorry that we cannot accept this submission. {task} {facts}")


def _controls(places: list[_Place], asked: Asked, minutes: float) -> list[Evidence]:
    """Failed checks, if there are as many as Prolific asks for."""
    controls = [each for each in places if each.truth.role is Role.CONTROL and each.answer is not None]
    missed = [each for each in controls if not asked.passed(each.truth, each.answer or {})]
    if len(missed) < (1 if minutes < SHORT_MINUTES else 2):
        return []
    told = "; ".join(
        f"in story {each.number} it is {asked.obvious(each.truth)}, and the answer was"
        f" {asked.said(each.answer or {}, each.truth.sentences)}"
        for each in missed
    )
    return [
        Evidence(
            "FAILED_CHECK",
            f"In {len(missed)} of {len(controls)} stories with an obvious answer, another answer was given:"
            f" {told}.",
        )
    ]


def _gaps(places: list[_Place]) -> list[Evidence]:
    answered = sum(each.answer is not None for each in places)
    if answered == len(places):
        return []
    if not answered:
        return [Evidence("NO_DATA", f"None of the {len(places)} stories was answered on our form.")]
    return [Evidence("LOW_EFFORT", f"Only {answered} of {len(places)} stories were answered.")]


def _haste(times: dict[int, float], mine: int) -> list[Evidence]:
    others = [seconds for work, seconds in times.items() if work != mine and seconds]
    own = times.get(mine, 0.0)
    if len(others) < ENOUGH or not own or own >= mean(others) - DEVIATIONS * stdev(others):
        return []
    return [
        Evidence(
            "TOO_QUICKLY",
            f"All stories together were read in {own:.0f} seconds. The mean of {len(others)} other people is"
            f" {mean(others):.0f} seconds, with a standard deviation of {stdev(others):.0f}.",
        )
    ]
