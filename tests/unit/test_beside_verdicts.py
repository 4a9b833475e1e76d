"""Whatever stands beside a verdict does not deny it, or says why the verdict holds."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from humaneval.report.contradictions import any_difference, beside_model, beside_ranks
from humaneval.report.score_tables import comparison_tables
from humaneval.report.terminal.scores import render_table
from humaneval.report.verdicts import family_decides, left_open, summary
from humaneval.scoring.analysis.models import Omnibus, Standing
from humaneval.scoring.comparisons import Comparison
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import score
from humaneval.statistics.contrasts import wald
from humaneval.statistics.intervals import Interval
from tests.unit.test_report import responses

PAIR = Comparison(
    "a", "b", "systems", 0.35, Interval(-0.003, 0.637), "", "", 0.039, 0.039, "holm", "inconclusive", 20
)
APART = replace(PAIR, interval=Interval(0.1, 0.6), p=0.01, p_adjusted=0.01, verdict="a_higher")
OPEN = replace(PAIR, p=0.2, p_adjusted=0.4)
BELOW = replace(PAIR, b="human", family="below human", bound=0.02)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (PAIR, "p and the interval disagree: a – b (p is .05 or less, but the interval includes 0)."),
        (
            replace(APART, p=0.06, p_adjusted=0.06, verdict="inconclusive"),
            "p and the interval disagree: a – b (the interval excludes 0, but p is above .05).",
        ),
        (BELOW, "p and the bound disagree: a – human (p is .05 or less, but the bound is not below 0)."),
        (
            replace(BELOW, bound=-0.1, p=0.06, p_adjusted=0.06),
            "p and the bound disagree: a – human (the bound is below 0, but p is above .05).",
        ),
        (replace(APART, p_adjusted=0.06, verdict="inconclusive"), ""),
        (APART, ""),
        (OPEN, ""),
        (replace(PAIR, verdict="equivalent"), ""),
    ],
)
def test_a_pair_is_left_open_with_the_reason_if_p_and_interval_disagree(one: Comparison, said: str) -> None:
    assert left_open([one], 0.95) == (f"Left open, because {said} A difference needs both." if said else "")
    assert ("disagree" in summary([one], 0.95)) == (bool(said) and one.bound is None)


def test_many_pairs_are_counted() -> None:
    many = [replace(PAIR, b=name) for name in "bcde"]
    assert ": a – b, a – c, a – d (" in left_open(many[:3], 0.95)
    assert ": 4 pairs (" in left_open(many, 0.95)
    assert "(p is .1 or less" in left_open(many, 0.9)


def test_a_pair_that_only_the_family_leaves_open_is_no_contradiction() -> None:
    one = replace(APART, p_adjusted=0.06, verdict="inconclusive")
    assert family_decides([one, OPEN], 0.95) == (
        "Left open, because p counts for all pairs together: a – b (the interval, which is for the pair"
        " alone, excludes 0)."
    )
    assert summary([one, OPEN], 0.95) == "This study shows no difference for 2 of 2 pairs."
    assert family_decides([PAIR, APART, OPEN], 0.95) == ""


def test_the_reason_stands_beside_the_table_in_the_terminal_and_in_the_report() -> None:
    table = replace(score(responses(("a", "b")), Rule(control="none")), comparisons=(PAIR,))
    printed = io.StringIO()
    render_table(table, Console(file=printed, width=100))
    assert "(p is .05 or less, but the interval includes 0)" in " ".join(printed.getvalue().split())
    assert "(p is .05 or less, but the interval includes 0)" in comparison_tables(table, "")[0].note


def test_a_test_of_all_systems_does_not_deny_a_verdict() -> None:
    found, lost = (Omnibus("Q", 9.0, 2, p) for p in (0.012, 0.2))
    three = [PAIR, replace(OPEN, b="c"), replace(OPEN, a="b", b="c")]
    told = [APART, *three[1:]]
    assert any_difference(found, three, 0.95) == (
        "At least two systems differ (Q, χ²(2) = 9.00, p\N{NO-BREAK SPACE}= .012), but no single pair can be"
        " named."
    )
    assert any_difference(found, told, 0.95).startswith("The systems do not all score alike (")
    assert any_difference(lost, three, 0.95).startswith("It is not shown that the systems differ at all (")
    assert any_difference(lost, told, 0.95).endswith("Those told apart have tests of their own, below.")
    assert any_difference(Omnibus("Q", 4.45, 1, 0.035), [PAIR], 0.95) == ""


def test_ranks_and_the_model_say_that_the_comparisons_decide() -> None:
    first, second = Standing("a", 0.99, 1.0, 1, 1, "a"), Standing("b", 0.01, 2.0, 2, 2, "a")
    assert beside_ranks([first, second], [PAIR]) == (
        "The ranks order a – b, which the comparisons leave open. The comparisons decide, as ranks are no"
        " test."
    )
    assert beside_ranks([first, second], [APART]) == ""
    assert beside_ranks([replace(first, high=2), second], [PAIR]) == ""
    small, large = wald("b", "a", -1.0, 0.4, 0.95), wald("b", "a", -1.0, 2.0, 0.95)
    assert beside_model([small], [PAIR], 0.95).startswith(
        "The model has a small p for a – b, which the comparisons leave open. The comparisons decide"
    )
    assert "has no small p for a – b, which the comparisons tell apart" in beside_model(
        [large], [APART], 0.95
    )
    assert beside_model([small], [APART], 0.95) == beside_model([large], [PAIR], 0.95) == ""
