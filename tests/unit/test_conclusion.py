"""The conclusion of a report: at most three sentences, and none says more than the verdicts."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import Literal

import pytest

from humaneval.domain import Role
from humaneval.report.conclusion import HIGHER, conclusion, conclusion_from_counts
from humaneval.report.contents import ReportData
from humaneval.report.page import render_report
from humaneval.report.phrases import excluded
from humaneval.scoring.comparisons import Comparison
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.from_counts import CountLine, score_counts
from humaneval.scoring.scores import ScoreTable, score
from humaneval.scoring.verdicts import Verdict
from humaneval.statistics.intervals import Interval
from tests.unit.test_report import prose, responses

OPEN = "which is no proof that they are alike"


@pytest.fixture(scope="module")
def table() -> ScoreTable:
    return score(responses(("Control", "sa", "lm", "ilm", "Human")))


def compared(
    a: str,
    b: str,
    verdict: Verdict,
    family: Literal["systems", "below human"] = "systems",
    difference: float = 0.1,
) -> Comparison:
    return Comparison(
        a,
        b,
        family,
        difference,
        Interval(-0.1, 0.2),
        "",
        "",
        0.01 if verdict != "inconclusive" else 0.2,
        0.02 if verdict != "inconclusive" else 0.4,
        "holm",
        verdict,
        40,
        margin=0.1,
        bound=0.1 if family == "below human" else None,
    )


def told(table: ScoreTable, *comparisons: Comparison) -> list[str]:
    """What the data show and cannot tell, without the sentence on annotators."""
    found = conclusion(replace(table, comparisons=comparisons))
    assert 1 <= len(found) <= 3
    assert all(len(re.findall(r"[.!?](?:\s|$)", sentence)) == 1 for sentence in found)
    assert found[-1] == excluded(table)
    return list(found[:-1])


def test_systems_with_the_same_betters_are_named_together(table: ScoreTable) -> None:
    found = told(
        table,
        compared("ilm", "sa", "a_higher"),
        compared("lm", "sa", "a_higher"),
        compared("ilm", "lm", "inconclusive"),
        *(compared(name, "Human", "b_higher", "below human") for name in ("ilm", "lm", "sa")),
    )
    names = [row.generator for row in table.scores if row.generator in ("ilm", "lm")][::-1]
    assert found == [
        f"Of the systems, {names[0]} and {names[1]} score above sa; all 3 score below Human.",
        f"This study shows no difference between ilm and lm, {OPEN}.",
    ]


def test_nothing_told_apart_is_said_first_and_is_no_proof_of_being_alike(table: ScoreTable) -> None:
    pairs = [compared(a, b, "inconclusive") for a, b in combinations(("ilm", "lm", "sa"), 2)]
    below = [compared(name, "Human", "inconclusive", "below human") for name in ("ilm", "lm", "sa")]
    assert told(table, *pairs, *below) == [
        f"This study shows no difference between any two systems compared, {OPEN};"
        " whether any system scores below Human stays open."
    ]


def test_a_pair_whose_p_and_interval_disagree_is_said_to_be_left_open(table: ScoreTable) -> None:
    odd = replace(compared("ilm", "sa", "inconclusive"), p=0.039, p_adjusted=0.039)
    why = "because p and the interval disagree and a difference needs both."
    said = f"hether ilm and sa differ stays open, {why}"
    assert told(table, odd) == [f"W{said}"]
    assert told(table, odd, compared("ilm", "lm", "inconclusive")) == [
        f"This study shows no difference between ilm and lm, {OPEN}; w{said}"
    ]
    assert told(table, odd, replace(odd, b="lm")) == [f"2 of 2 pairs of systems stay open, {why}"]


def test_equivalence_comes_with_its_margin(table: ScoreTable) -> None:
    (found,) = told(table, compared("ilm", "lm", "equivalent"))
    assert found == "Of the systems, ilm and lm are equivalent within ±10.0 points."


def test_one_system_below_human_and_one_open(table: ScoreTable) -> None:
    found = told(
        table,
        compared("sa", "Human", "b_higher", "below human"),
        compared("ilm", "Human", "inconclusive", "below human"),
    )
    assert found == ["Of the systems, sa scores below Human.", "Whether ilm scores below Human stays open."]


def test_many_groups_become_a_number_and_the_widest_pair() -> None:
    names = tuple(f"s{number}" for number in range(6))
    table = score(responses(names), Rule(control="none"))
    pairs = [compared(a, b, "b_higher", difference=-0.1) for a, b in combinations(names, 2)]
    pairs[3] = replace(pairs[3], difference=-0.42)
    (found,) = told(table, *pairs)
    assert found == (
        f"Of the systems, 15 of 15 pairs were told apart, the widest by 42.0 points:"
        f" {pairs[3].b} above {pairs[3].a}."
    )


@pytest.mark.parametrize("verdict", ["inconclusive", "equivalent"])
def test_no_verdict_no_claim(table: ScoreTable, verdict: Verdict) -> None:
    text = " ".join(told(table, compared("ilm", "lm", verdict)))
    assert not re.search(r"\b(above|below|higher|better)\b", text)


def test_without_comparisons_the_scores_are_the_conclusion() -> None:
    one = score(responses(("Control", "lm")))
    (found,) = told(one)
    row = one.scores[-1]
    assert found.startswith(f"Of the systems, lm went unnoticed in {row.not_identified} of {row.n} passages")
    alone = score(responses(("Human",)), Rule(control="none"))
    assert told(alone)[0].startswith("Of the generators, Human went unnoticed in")


def test_the_page_begins_with_the_conclusion_and_says_which_end_is_good(table: ScoreTable) -> None:
    text = prose(render_report(ReportData("Title", table)))
    said = " ".join(conclusion(table)).replace("\N{NO-BREAK SPACE}", " ")
    assert text.index("Title") < text.index(said) < text.index("annotators analysed") < text.index(HIGHER)
    assert "higher is better: fewer people noticed" in HIGHER.lower()


def test_the_papers_counts_have_a_conclusion_without_annotators() -> None:
    counts = {"BERT": 19, "SA": 28, "ILM scratch": 37, "LM scratch": 38, "LM": 39, "ILM": 43}
    lines = [CountLine(name, Role.SYSTEM, x, 95) for name, x in counts.items()]
    found = conclusion_from_counts(score_counts([*lines, CountLine("Human", Role.HUMAN, 74, 95)]))
    assert found == (
        "Of the systems, ILM, LM and LM scratch score above BERT; all 6 score below Human.",
        f"This study shows no difference for 12 of 15 pairs of systems, {OPEN}.",
        "Each score rests on 95 passages; counts alone do not say how many annotators judged them, so"
        " answers are not paired.",
    )
