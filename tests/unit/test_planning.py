"""Power, widths, gates and costs before a study: against R's, Connor's and published figures."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from math import comb, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from humaneval.errors import UsageError
from humaneval.planning.detectable import Chances
from humaneval.planning.forecast import outlook
from humaneval.planning.gate import controls_needed, gate
from humaneval.planning.plan import Plan
from humaneval.planning.power import (
    answers_correlation,
    detectable,
    half_width,
    power_exact,
    power_unpaired,
    sd_of_icc,
)
from tests.unit.mcnemar import bonett_price_low, mcnemar_exact, mcnemar_mid

SHARE = st.floats(0.02, 0.98)


def test_unpaired_powers_are_those_of_power_prop_test() -> None:
    assert power_unpaired(0.45, 0.41, 2403.52) == pytest.approx(0.8, abs=1e-6)
    assert power_unpaired(43 / 95, 39 / 95, 2171.0) == pytest.approx(0.8, abs=1e-5)
    assert round(power_unpaired(0.45, 0.41, 95), 4) == 0.0801
    assert round(power_unpaired(0.45, 0.41, 1000), 4) == 0.4390
    for other, needed in ((0.41, 2404), (0.39, 1062), (0.35, 376), (0.29, 142), (0.20, 54)):
        assert power_unpaired(0.45, other, needed - 1) < 0.8 <= power_unpaired(0.45, other, needed)
    assert power_unpaired(0.45, 0.41, 4610, alpha=0.05 / 21) == pytest.approx(0.8, abs=5e-5)


def discordance(a: float, b: float, correlation: float = 0.0) -> float:
    """The share of annotators who notice exactly one of two generators' sentences."""
    return a * (1 - b) + b * (1 - a) - 2 * correlation * sqrt(a * (1 - a) * b * (1 - b))


def connor(a: float, b: float, n: float, correlation: float = 0.0, alpha: float = 0.05) -> float:
    """Connor's (1987) approximate power of McNemar's test: Φ((√n·|Δ| − z·√π) / √(π − Δ²))."""
    share, difference = discordance(a, b, correlation), abs(a - b)
    critical = NormalDist().inv_cdf(1 - alpha / 2) * sqrt(share)
    return NormalDist().cdf((sqrt(n) * difference - critical) / sqrt(share - difference**2))


def test_connors_approximation_gives_the_published_numbers_and_nearly_the_exact_power() -> None:
    for rho, needed in ((0, 2407), (0.1, 2167), (0.2, 1927), (0.3, 1687), (0.5, 1206)):
        assert connor(0.45, 0.41, needed - 1, rho) < 0.8 <= connor(0.45, 0.41, needed, rho)
        exact = power_exact(discordance(0.45, 0.41, rho), 0.04, needed)
        assert exact == pytest.approx(connor(0.45, 0.41, needed, rho), abs=0.01)


@pytest.mark.parametrize(("n", "points"), [(95, 20.19), (100, 19.7), (200, 14.0), (500, 8.8), (1000, 6.2)])
def test_detectable_differences_are_those_of_the_published_design(n: int, points: float) -> None:
    found = detectable(lambda other: power_unpaired(0.41, other, n), 0.41)
    assert found is not None
    assert found * 100 == pytest.approx(points, abs=0.06)


def test_nothing_can_be_detected_above_a_score_near_one() -> None:
    assert detectable(lambda other: power_unpaired(0.99, other, 10), 0.99) is None


def test_widths_are_wilsons() -> None:
    # The headline's: 43 of 95 has .356328 to .552617.
    assert half_width(43 / 95, 95) == pytest.approx((0.552617 - 0.356328) / 2, abs=1e-6)
    # Wald's would be ± 98 points with one response.
    assert half_width(0.4, 1) < 0.5
    assert half_width(0.5, 381) < 0.05 < half_width(0.5, 380)


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
    less, more = power_unpaired(a, b, n), power_unpaired(a, b, 2 * n)
    assert 0 <= less <= 1
    assert more >= less - 1e-9 or a == b


def test_at_95_pairs_the_test_comes_near_its_level() -> None:
    # Two scores of 45 % without correlation: 1,000 simulated studies gave .051; the exact p, .034.
    assert round(2 * power_exact(discordance(0.45, 0.45), 0.0, 95), 3) == 0.049


def test_an_annotators_level_makes_answers_alike() -> None:
    assert answers_correlation(0, 0.4, 0.5) == pytest.approx(0, abs=1e-12)
    assert round(answers_correlation(0.54, 0.45, 0.41), 3) == 0.063
    assert abs(answers_correlation(0.5, 1e-300, 1e-300)) < 1


def counted(share: float, difference: float, n: int, alpha: float) -> float:
    """The power of McNemar's test, by going through all tables: the mid-p, with few annotators the exact."""
    p = mcnemar_mid if n >= 12 else mcnemar_exact
    up, total = (share + difference) / 2, 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if b > c and p(b, c) <= alpha and bonett_price_low(b, c, n) > 0:
                odds = comb(n, b) * comb(n - b, c) * up**b * (share - up) ** c * (1 - share) ** (n - b - c)
                total += odds
    return total


@pytest.mark.parametrize(("n", "alpha"), [(5, 0.05), (24, 0.05), (38, 0.05), (38, 0.2), (30, 0.05 / 15)])
def test_exact_powers_are_those_of_all_tables_added_up(n: int, alpha: float) -> None:
    share = discordance(0.4, 0.5, 0.05)
    found = power_exact(share, 0.1, n, alpha, reach=1.959964)
    assert found == pytest.approx(counted(share, 0.1, n, alpha), abs=1e-9)


def test_the_exact_test_finds_less_than_connors_formula_promises() -> None:
    share = discordance(0.4, 0.5, answers_correlation(0.5, 0.4, 0.5))
    assert round(power_exact(share, 0.1, 38), 3) == 0.135
    assert round(connor(0.4, 0.5, 38, answers_correlation(0.5, 0.4, 0.5)), 3) == 0.141
    between = power_exact(share, 0.1, 38.5)
    assert power_exact(share, 0.1, 38) < between < power_exact(share, 0.1, 39)
    assert power_exact(share, 0.1, 38, one_sided=True) > power_exact(share, 0.1, 38)
    assert power_exact(share, 0.1, 0) == 0
    with pytest.raises(UsageError, match="is impossible"):
        power_exact(0.1, 0.2, 38)


def test_an_icc_stands_for_a_spread() -> None:
    assert sd_of_icc(0, 0.4) == 0
    assert sd_of_icc(answers_correlation(0.7, 0.4, 0.4), 0.4) == pytest.approx(0.7)
    with pytest.raises(UsageError, match="correlation"):
        sd_of_icc(0.99, 0.4)


def test_the_published_design_could_not_tell_four_points() -> None:
    seen = outlook(Plan(100, expected_score=0.41, smallest_effect=0.04))
    assert seen.responses == pytest.approx(96)
    assert seen.power is not None
    assert seen.power < 0.1
    assert seen.detectable is not None
    assert 0.18 <= seen.detectable <= 0.22
    assert seen.cost == Decimal("96.00")
    assert seen.hours == pytest.approx(100 * 4 / 60)


def test_more_forms_of_one_annotator_widen_a_score_less_than_they_promise() -> None:
    many, one = outlook(Plan(100, 4, spammers=0.0)), outlook(Plan(100, 1, spammers=0.0))
    assert many.responses == one.responses == 100
    assert many.half_width > one.half_width
    assert outlook(Plan(100, stories=20)).half_width > one.half_width
    # The interval must exclude 0 too, and that of 25 people is a little wider.
    assert one.power - 0.03 < many.power < one.power


def test_a_family_is_harder_than_one_comparison() -> None:
    seen = outlook(Plan(200)).systems
    assert seen is not None
    assert seen.power_in_family < seen.power
    assert seen.annotators_needed_in_family is not None
    assert seen.annotators_needed is not None
    assert seen.annotators_needed_in_family > seen.annotators_needed


def chances(plan: Plan) -> Chances:
    seen = outlook(plan).systems
    assert seen is not None
    return seen


@pytest.mark.parametrize(
    "plan",
    [
        Plan(20, stories=300),
        Plan(80, 4, stories=80),
        Plan(40, passages_per_row=4, always=1, stories=300),
        Plan(60, responses_per_passage=3, stories=300),
    ],
)
def test_with_as_many_annotators_as_are_asked_for_as_many_are_asked_for(plan: Plan) -> None:
    seen, unit = chances(plan), plan.responses_per_passage
    needed, wide = seen.annotators_needed_in_family, outlook(plan).annotators_for_width
    assert needed is not None
    assert wide is not None
    assert needed % unit == wide % unit == 0
    again, fewer = (chances(replace(plan, annotators=n)) for n in (needed, needed - unit))
    assert again.annotators_needed_in_family == needed
    assert again.power_in_family >= 0.8 > fewer.power_in_family
    widths = [outlook(replace(plan, annotators=n)) for n in (wide, wide - unit)]
    assert widths[0].annotators_for_width == wide
    assert widths[0].half_width <= 0.05 < widths[1].half_width


def test_few_stories_bound_the_width_that_can_be_had() -> None:
    assert outlook(Plan(100, stories=9)).annotators_for_width is None
    assert outlook(Plan(100, stories=9, width=0.2)).annotators_for_width is not None


def test_nobody_is_planned_to_meet_a_story_twice() -> None:
    assert Plan(80, rows_per_annotator=100, stories=80).forms_each == 10
    assert Plan(80, rows_per_annotator=100, stories=80).people == 8
    assert Plan(80, rows_per_annotator=4, stories=9).forms_each == 1
    assert Plan(2, rows_per_annotator=4).people == 1


def test_the_declared_adjustment_is_planned() -> None:
    none = chances(Plan(200, adjust="none"))
    assert none.power_in_family == none.power
    assert none.annotators_needed_in_family == none.annotators_needed
    assert chances(Plan(200, adjust="benjamini-hochberg")).power_in_family < none.power


def test_who_does_not_read_makes_differences_smaller_unless_a_gate_is_there() -> None:
    gated, open_to_all = chances(Plan(200)), chances(Plan(200, controls=0))
    assert Plan(200, controls=0).responses == 200
    assert open_to_all.power < gated.power < chances(Plan(200, spammers=0.0)).power


def test_forms_that_do_not_count_are_handed_out_again_and_paid() -> None:
    once, again = Plan(40), Plan(40, top_up=True)
    assert (once.responses, once.handed_out) == (pytest.approx(38.4), 40)
    assert (again.responses, again.handed_out) == (40, 42)
    assert outlook(again).cost > outlook(once).cost


def test_a_gate_by_form_has_one_control_passage() -> None:
    assert Plan(80, 4).gate.controls == 4
    assert Plan(80, 4, excluded="row").gate.controls == 1


def test_what_is_not_compared_is_not_planned() -> None:
    seen = outlook(Plan(40, comparisons=0))
    assert (seen.systems, seen.below_human, seen.power, seen.detectable) == (None, None, None, None)
    assert seen.to_json()["power"] is None


def test_below_human_is_a_family_of_its_own_and_one_sided() -> None:
    seen = outlook(Plan(300, comparisons=0, below_human=1)).below_human
    assert seen is not None
    assert (seen.low, seen.high) == (pytest.approx(0.7), 0.8)
    assert seen.annotators_needed == seen.annotators_needed_in_family
    two = outlook(Plan(300, comparisons=0, below_human=2)).below_human
    assert two is not None
    # By the one-sided bound, as the report decides: alone it finds more than at half the error.
    assert seen.power - 0.15 < two.power_in_family < seen.power - 0.04
    assert seen.detectable is not None
    short = outlook(Plan(300, comparisons=0, below_human=1, smallest_effect=seen.detectable)).below_human
    assert short is not None
    assert short.power == pytest.approx(0.8, abs=1e-3)
    assert outlook(Plan(300, below_human=1, expected_score=0.1, smallest_effect=0.85)).below_human is None


@pytest.mark.parametrize("power", [0.001, 0.01, 0.02, 0.03, 0.999])
def test_any_power_may_be_wanted(power: float) -> None:
    outlook(Plan(53, power=power, below_human=2))


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
        outlook(Plan(**wrong))


def test_forms_that_show_some_generators_give_each_fewer_responses_and_fewer_pairs() -> None:
    whole = Plan(annotators=140, always=1, spammers=0.0)
    assert (whole.responses, whole.responses * whole.together) == (140, 140)
    part = replace(whole, passages_per_row=4)  # the control and 3 of 7: Fano's plane 20 times
    assert (part.responses, part.responses * part.together) == (60, 20)
    assert chances(part).power < chances(whole).power
    single = replace(whole, passages_per_row=2)
    assert (single.responses, single.responses * single.together) == (20, 0)
    assert outlook(single).correlation == 0
    # All responses are compared, as the analysis does it: not only those by the same annotator.
    assert chances(replace(part, annotators=1400)).power > connor(0.4, 0.5, 200) + 0.2
