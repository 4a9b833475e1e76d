"""Plans of the other questions against studies that are drawn at random and scored."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.questions import DESIGNS, Case, prefer, rate, studies
from humaneval.planning.detectable import power_of
from humaneval.planning.plan import Plan

STUDIES = 150


def plan_of(case: Case, conditions_each: int) -> Plan:
    """96 people with a form each; the difference is that of a and c."""
    question, own = case.asked.question, case.asked.settings
    scale = question.scales(own, 5)[0]
    size = abs(case.truth.difference) / scale.width
    place = (case.truth.score - scale.low) / scale.width
    return Plan(
        annotators=96,
        passages_per_row=case.conditions,
        generators=case.conditions,
        stories=96,
        controls=0,
        spammers=0.0,
        expected_score=min(place, 0.98 - size),
        smallest_effect=size,
        question=question.name,
        scale=scale,
        foreseen=question.foreseen(own, 5),
        conditions_each=conditions_each,
    )


def planned(plan: Plan) -> float:
    low = plan.expected_score
    return power_of(plan, low, low + plan.smallest_effect, plan.responses, 0.05)


def found(case: Case) -> float:
    """The share of studies that tell a and c apart."""
    return sum(
        one.comparisons[1].verdict != "inconclusive" for one in studies(case, DESIGNS[0], STUDIES, 5)
    ) / (STUDIES)


def test_preferences_are_told_apart_as_often_as_planned() -> None:
    case = prefer("x", (0.0, 0.0, -0.47))
    plan = plan_of(case, conditions_each=4)
    assert plan.responses == 4 * 96
    assert planned(plan) == pytest.approx(found(case), abs=0.13)


def test_ratings_are_told_apart_at_least_as_often_as_planned() -> None:
    case = rate("x", (0.2, 0.2, 0.75))
    plan = plan_of(case, conditions_each=1)
    assert planned(plan) <= found(case) + 0.08
    # What they are taken to vary is more than they do here.
    less = replace(plan, foreseen=replace(plan.foreseen, dispersion=0.75 * plan.foreseen.dispersion))
    assert planned(less) == pytest.approx(found(case), abs=0.13)
