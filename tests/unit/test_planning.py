"""Power, widths, gates and costs before a study: against R's, Connor's and published figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from math import ceil, inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.errors import UsageError
from humaneval.planning.gate import controls_needed, gate
from humaneval.planning.outlook import Plan, outlook
from humaneval.planning.power import (
    answers_correlation,
    design_effect,
    detectable,
    power_paired,
    power_unpaired,
    responses_for_width,
    responses_paired,
    responses_unpaired,
)
from humaneval.planning.simulation import draw, layout, simulate, simulated_power

SHARE = st.floats(0.02, 0.98)


def test_unpaired_powers_are_those_of_power_prop_test() -> None:
    assert round(responses_unpaired(0.45, 0.41), 2) == 2403.52
    assert round(responses_unpaired(43 / 95, 39 / 95), 1) == 2171.0
    assert round(power_unpaired(0.45, 0.41, 95), 4) == 0.0801
    assert round(power_unpaired(0.45, 0.41, 1000), 4) == 0.4390
    needed = [ceil(responses_unpaired(0.45, other)) for other in (0.41, 0.39, 0.35, 0.29, 0.20)]
    assert needed == [2404, 1062, 376, 142, 54]
    assert round(responses_unpaired(0.45, 0.41, alpha=0.05 / 21)) == 4610


def test_paired_numbers_are_connors() -> None:
    found = [ceil(responses_paired(0.45, 0.41, correlation=rho)) for rho in (0, 0.1, 0.2, 0.3, 0.5)]
    assert found == [2407, 2167, 1927, 1687, 1206]


@pytest.mark.parametrize(("n", "points"), [(95, 20.19), (100, 19.7), (200, 14.0), (500, 8.8), (1000, 6.2)])
def test_detectable_differences_are_those_of_the_published_design(n: int, points: float) -> None:
    found = detectable(lambda other: power_unpaired(0.41, other, n), 0.41)
    assert found is not None
    assert found * 100 == pytest.approx(points, abs=0.06)


def test_nothing_can_be_detected_above_a_score_near_one() -> None:
    assert detectable(lambda other: power_unpaired(0.99, other, 10), 0.99) is None


def test_widths_are_those_of_the_simple_formula() -> None:
    assert [ceil(responses_for_width(width)) for width in (0.05, 0.10)] == [385, 97]


def test_a_crowd_behind_one_and_two_controls() -> None:
    one, two = gate(1, 0.0625), gate(2, 0.0625)
    assert (one.passed, round(one.left * 100, 1), round(two.left * 100, 1)) == (0.95, 1.3, 0.3)
    # ILM's 45.3 % with 1.25 of 95 guessing, who leave 4/5 unnoticed.
    assert round((43 - 1.25 * 0.8) / (95 - 1.25) * 100, 1) == 44.8
    assert controls_needed(0.0625) == 2
    assert controls_needed(0.0) == 0
    assert controls_needed(1.0) is None
    assert controls_needed(0.3, honest=0.2) is None


@given(st.floats(0.01, 0.95), st.floats(0.3, 1.0), st.floats(0.001, 0.2))
def test_the_controls_that_are_needed_are_the_fewest(spammers: float, honest: float, most: float) -> None:
    needed = controls_needed(spammers, most, honest)
    assert needed is not None
    assert gate(needed, spammers, honest).left <= most * (1 + 1e-6)
    assert needed == 0 or gate(needed - 1, spammers, honest).left > most * (1 - 1e-6)


@given(SHARE, SHARE, st.integers(2, 5000))
def test_powers_are_shares_and_grow_with_n(a: float, b: float, n: int) -> None:
    for power in (power_unpaired, power_paired):
        less, more = power(a, b, n), power(a, b, 2 * n)
        assert 0 <= less <= 1
        assert more >= less - 1e-9 or a == b


def test_the_number_that_is_needed_has_the_power_that_was_asked_for() -> None:
    n = responses_paired(0.5, 0.4, 0.9, 0.1)
    assert power_paired(0.5, 0.4, n, 0.1) == pytest.approx(0.9)
    n = responses_unpaired(0.5, 0.4, 0.9)
    assert power_unpaired(0.5, 0.4, n) == pytest.approx(0.9)
    assert responses_unpaired(0.4, 0.4) == responses_paired(0.4, 0.4) == inf


def test_an_annotators_level_makes_answers_alike() -> None:
    assert answers_correlation(0, 0.4, 0.5) == pytest.approx(0, abs=1e-12)
    assert round(answers_correlation(0.54, 0.45, 0.41), 3) == 0.063
    assert design_effect(5, 0.068) == pytest.approx(1.272)


def test_drawn_studies_have_the_scores_and_the_correlation_that_were_asked_for() -> None:
    where = layout(4000, 1, 4000, 2)
    drawn = draw(where, [0.3, 0.6], 1.0, 0.0, np.random.default_rng(3))
    first, second = drawn[where.generators == 0], drawn[where.generators == 1]
    assert first.mean() == pytest.approx(0.3, abs=0.025)
    assert second.mean() == pytest.approx(0.6, abs=0.025)
    seen = np.corrcoef(first, second)[0, 1]
    assert seen == pytest.approx(answers_correlation(1.0, 0.3, 0.6), abs=0.05)


def test_simulated_power_agrees_with_the_formula() -> None:
    where = layout(300, 1, 600, 2)
    found = simulated_power(where, [0.4, 0.55], story_sd=0.0, studies=400)
    formula = power_paired(0.4, 0.55, 300, answers_correlation(0.5, 0.4, 0.55))
    assert found.power == pytest.approx(formula, abs=4 * found.error + 0.02)
    assert found == simulated_power(where, [0.4, 0.55], story_sd=0.0, studies=400)


def test_the_published_design_could_not_tell_four_points() -> None:
    seen = outlook(Plan(100, expected_score=0.41, smallest_effect=0.04))
    assert seen.responses == pytest.approx(96)
    assert seen.power < 0.1
    assert seen.detectable is not None
    assert 0.18 <= seen.detectable <= 0.20
    assert seen.cost == Decimal("96.00")
    assert seen.hours == pytest.approx(100 * 4 / 60)


def test_more_rows_of_one_annotator_widen_a_score_less_than_they_promise() -> None:
    many, one = outlook(Plan(25, 4, spammers=0.0)), outlook(Plan(100, 1, spammers=0.0))
    assert many.responses == one.responses == 100
    assert many.half_width > one.half_width
    assert outlook(Plan(100, stories=20)).half_width > one.half_width
    assert many.power == pytest.approx(one.power)


def test_a_family_is_harder_than_one_comparison() -> None:
    seen = outlook(Plan(200))
    assert seen.power_in_family < seen.power
    assert seen.annotators_needed_in_family is not None
    assert seen.annotators_needed is not None
    assert seen.annotators_needed_in_family > seen.annotators_needed
    enough = outlook(replace(Plan(200), annotators=seen.annotators_needed))
    assert enough.power >= 0.8 > outlook(replace(Plan(200), annotators=seen.annotators_needed - 1)).power


@pytest.mark.parametrize(
    "wrong",
    [
        {"annotators": 0},
        {"annotators": 10, "expected_score": 0.95},
        {"annotators": 10, "expected_score": 0.0},
        {"annotators": 10, "spammers": 1.5},
        {"annotators": 10, "worker_sd": -1},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        outlook(Plan(**wrong))  # type: ignore[arg-type]  # numbers that are wrong


def test_answers_cannot_be_more_alike_than_their_scores_allow() -> None:
    with pytest.raises(UsageError, match="correlation"):
        power_paired(0.1, 0.9, 100, 0.9)


def test_rows_that_show_some_generators_give_each_fewer_responses_and_fewer_pairs() -> None:
    whole = Plan(annotators=140, always=1, spammers=0.0)
    assert (whole.responses, whole.pairs) == (140, 140)
    part = replace(whole, passages_per_row=4)  # the control and 3 of 7: Fano's plane 20 times
    assert (part.responses, part.pairs) == (60, 20)
    assert outlook(part).power < outlook(whole).power
    single = replace(whole, passages_per_row=2)
    assert not single.within_rows
    assert single.pairs == single.responses == 20
    assert outlook(single).correlation == 0


def test_a_plan_is_simulated_as_its_report_will_test() -> None:
    plan = Plan(200, passages_per_row=3, generators=3, smallest_effect=0.15, comparisons=1)
    found, formula = simulate(plan, 200), outlook(plan).power
    assert found.power == pytest.approx(formula, abs=4 * found.error + 0.05)
    assert simulate(plan, 200) == found
    with pytest.raises(UsageError, match="every generator"):
        simulate(replace(plan, passages_per_row=2), 200)
    with pytest.raises(UsageError, match="0 studies"):
        simulate(plan, 0)


def test_study_plan_simulates_where_it_is_asked_to(command: Callable[..., Any]) -> None:
    document = json.loads(command("study", "plan", "--simulate", "100", "--annotators", "30", "--json").out)
    assert document["simulated"]["studies"] == 100
    assert 0 <= document["simulated"]["power"] <= 1
    assert json.loads(command("study", "plan", "--json").out)["simulated"] is None
    assert (
        "of 100 simulated studies" in command("study", "plan", "--simulate", "100", "--annotators", "30").out
    )
