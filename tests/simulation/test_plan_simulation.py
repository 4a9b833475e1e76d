"""Power by simulation: laid out as the study will be, decided as the report will decide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from humaneval.errors import UsageError
from humaneval.planning.forecast import outlook
from humaneval.planning.plan import Plan
from humaneval.planning.power import answers_correlation
from humaneval.planning.simulation import Layout, layout, odds_of, simulate
from humaneval.scoring.questions.question import question_names
from humaneval.statistics.intervals import Interval
from humaneval.study.file import read_study_file
from humaneval.study.plan import draft, plan_of


def unrelated(workers: int) -> Layout:
    """Everybody judges both generators once; no story recurs."""
    rows = [((f"a{form}", 1, "a"), (f"b{form}", 1, "b")) for form in range(workers)]
    return layout(rows, 1, ("a", "b"))


def test_drawn_studies_have_the_scores_and_the_correlation_that_were_asked_for() -> None:
    where = unrelated(4000)
    rng = np.random.default_rng(3)
    odds = odds_of(where, (0.3, 0.6), 1.0, 0.0, rng)
    drawn = rng.random(odds.size) < odds
    first, second = drawn[where.generators == 0], drawn[where.generators == 1]
    assert first.mean() == pytest.approx(0.3, abs=0.025)
    assert second.mean() == pytest.approx(0.6, abs=0.025)
    seen = np.corrcoef(first, second)[0, 1]
    assert seen == pytest.approx(answers_correlation(1.0, 0.3, 0.6), abs=0.05)


def test_who_does_not_read_scores_by_chance() -> None:
    where = unrelated(4000)
    odds = odds_of(where, (0.1, 0.2), 0.5, 0.7, np.random.default_rng(3), np.ones(4000, dtype=np.bool_))
    assert odds.tolist() == [0.8] * odds.size


@pytest.mark.parametrize(
    "plan",
    [
        Plan(100, generators=3, passages_per_row=3, always=1, smallest_effect=0.2, comparisons=1, stories=40),
        Plan(60, generators=4, passages_per_row=3, always=1, smallest_effect=0.3, comparisons=3, stories=40),
        Plan(
            100,
            3,
            generators=4,
            passages_per_row=4,
            always=1,
            smallest_effect=0.2,
            comparisons=1,
            below_human=2,
            stories=40,
        ),
        Plan(
            90,
            responses_per_passage=3,
            generators=3,
            passages_per_row=3,
            always=1,
            smallest_effect=0.2,
            stories=40,
        ),
        Plan(
            90,
            generators=3,
            passages_per_row=3,
            always=1,
            smallest_effect=0.18,
            comparisons=0,
            below_human=1,
            stories=40,
        ),
        Plan(60, generators=4, passages_per_row=4, always=1, smallest_effect=0.25, controls=0, spammers=0.2),
        Plan(60, generators=4, passages_per_row=4, always=1, smallest_effect=0.25, top_up=True, spammers=0.3),
    ],
    ids=["whole", "partial", "forms", "responses", "human", "no gate", "top-up"],
)
def test_simulated_power_agrees_with_the_formula(plan: Plan) -> None:
    rows, pair = draft(plan)
    found, formula = simulate(plan, rows, 80, pair), outlook(plan)
    assert found.power == pytest.approx(formula.power, abs=3 * found.error + 0.04)
    assert found.power_in_family == pytest.approx(
        formula.power_in_family, abs=3 * found.error_in_family + 0.06
    )


def test_each_story_is_simulated_under_all_generators() -> None:
    # Eight generators and forty stories: dealt in turn, each generator would have its own eighth of the
    # stories.
    rows, pair = draft(Plan(40, always=1, below_human=6, stories=40))
    where = layout(rows, 1, pair)
    seen = [set(where.stories[where.generators == code].tolist()) for code in (0, 1)]
    assert seen[0] == seen[1]
    assert len(seen[0]) == 40


def test_simulated_people_meet_no_story_twice() -> None:
    plan = Plan(80, 4, always=1, stories=80)
    rows, pair = draft(plan)
    where = layout(rows, plan.forms_each, pair)
    assert max(np.bincount(where.worker_of)) <= 4
    for worker in range(int(where.worker_of.max()) + 1):
        shown = [cell[0] for form in np.flatnonzero(where.worker_of == worker) for cell in rows[form]]
        assert len(set(shown)) == len(shown)


def test_a_simulation_repeats_itself_and_refuses_what_it_cannot_do() -> None:
    plan = Plan(30, generators=3, passages_per_row=3, comparisons=1)
    rows, pair = draft(plan)
    assert simulate(plan, rows, 20, pair) == simulate(plan, rows, 20, pair)
    with pytest.raises(UsageError, match="number of studies is 0"):
        simulate(plan, rows, 0, pair)
    with pytest.raises(UsageError, match="nothing is compared"):
        simulate(replace(plan, comparisons=0), rows, 20, pair)


def test_a_simulated_verdict_needs_the_interval_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(30, generators=3, passages_per_row=3, comparisons=1, smallest_effect=0.5)
    rows, pair = draft(plan)
    assert simulate(plan, rows, 20, pair).power > 0.5
    monkeypatch.setattr("humaneval.planning.simulation.paired_differences", lambda *_: [Wide])
    assert simulate(plan, rows, 20, pair).power == 0


class Wide:
    """A difference with a small p, whose interval holds 0."""

    p = 0.0001
    interval = Interval(-0.1, 0.5)


def of_question(question: str, **more: Any) -> Plan:
    names = ["control", "a", "b", "human"]
    design = {"generators": names, "annotators": 120}
    answers = {"points": 7} if question == "rate" else {}
    overrides = {"question": question, "answers": answers, "design": design, "analysis": more}
    return plan_of(read_study_file(None, overrides=overrides).settings, stories=200)


@pytest.mark.parametrize("question", question_names())
def test_simulated_studies_of_each_question_find_about_what_the_formula_says(question: str) -> None:
    plan = of_question(question, smallest_effect=0.15)
    rows, pair = draft(plan)
    power = outlook(plan).power
    assert power is not None
    assert simulate(plan, rows, 100, pair).power == pytest.approx(power, abs=0.2)
    nothing = of_question(question, smallest_effect=1e-6)
    assert simulate(nothing, rows, 120, pair).power <= 0.06  # one side of 5 %


@pytest.mark.parametrize("question", question_names())
def test_simulated_systems_below_human_are_found_on_one_side(question: str) -> None:
    plan = replace(of_question(question, smallest_effect=0.25), comparisons=0, below_human=2)
    rows, pair = draft(plan)
    found = simulate(plan, rows, 100, pair).power
    assert found > 0.5
