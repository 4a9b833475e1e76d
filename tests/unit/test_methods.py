"""The methods paragraph says what a study was, and nothing that it was not."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from humaneval.report.contents import DesignFacts, MoneyFacts, RepeatFacts, ReportData
from humaneval.report.latex_text import latex_escaped
from humaneval.report.methods import methods_paragraph
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import ScoreTable, score

SYSTEMS = ("lm", "ilm")


def responses(
    annotators: int, generators: tuple[str, ...] = ("control", *SYSTEMS, "human"), *, test: bool = False
) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    lines = [
        {
            "worker": f"w{worker}",
            "story": f"s{(worker * 3 + place) % 11}",
            "generator": generator,
            "position": 1 + worker % 5,
            "choice": 1 + worker % 5 if generator == "control" else int(rng.integers(1, 6)),
            "test": test,
        }
        for worker in range(annotators)
        for place, generator in enumerate(generators)
    ]
    return pd.DataFrame(lines)


def told(table: ScoreTable, **facts: object) -> str:
    return methods_paragraph(replace(ReportData("t", table), **facts))


def test_a_whole_study_is_told_with_its_counts_methods_and_hashes() -> None:
    frame = responses(12)
    frame.loc[0, "choice"] = frame.loc[0, "position"] % 5 + 1  # w0 misses the Control
    table = score(frame)
    text = told(
        table,
        design=DesignFacts(
            "Which one?", 11, (1, 2, 3, 4, 5), 12, 4, 12, 1, "Williams square", seed=7, hash="d" * 64
        ),
        money=MoneyFacts(
            reward=Decimal("0.80"),
            median_seconds=120.0,
            median_hourly=Decimal("24.00"),
            time_source="from opening the form to sending it",
        ),
        repeat=RepeatFacts(
            study_hash="a" * 64,
            responses_hash="b" * 64,
            endpoint="production",
            software={"humaneval-toolkit": "9.9", "numpy": "2.2"},
        ),
    )
    for part in (
        "from 11 stories",
        "2 systems (",
        "a form showed 4 passages",
        "seed 7",
        "“Which one?”",
        "Amazon Mechanical Turk",
        "$0.80 per form",
        "2.0 minutes",
        "$24.00 per hour",
        "fixed before the first answer",
        "1 of 12 annotators was excluded",
        "noticed 11 of 12 Control passages",
        "(11 responses to each generator)",
        "Chance alone gives",
        "1 pair of systems was compared, two-sided",
        "it was tested, one-sided, whether 2 systems score below human",
        "Holm",
        "adjusted p is .05 or less",
        "humaneval-toolkit 9.9 (numpy 2.2)",
        (
            f"study file {'a' * 12}, design {'d' * 12}, exclusion rule {table.rule.hash[:12]}, responses"
            f" {'b' * 12}."
        ),
    ):
        assert part.casefold() in text.casefold(), part
    assert "simulated" not in text
    assert "pilot" not in text.replace("Tests and pilots", "").replace("tests and pilots", "")


def test_simulated_annotators_are_called_so_wherever_they_are_named_and_earn_nothing() -> None:
    money = MoneyFacts(reward=Decimal("0.80"))
    text = told(score(responses(12)), simulated=12, money=money)
    assert text.startswith("All annotators are simulated")
    assert "12 simulated annotators" in text
    assert "$" not in text


def test_a_pilot_is_called_a_pilot() -> None:
    table = score(responses(6, test=True), Rule(tests="only"))
    assert told(table).startswith("These are the answers of a pilot or test")
    assert "fixed before" not in told(table, repeat=RepeatFacts(study_hash="a"))


def test_one_annotator_and_one_response_stand_in_the_singular() -> None:
    text = told(
        score(responses(1)),
        design=DesignFacts(rows_per_annotator=1, rows=1, passages_per_row=4, stories=1, positions=(2,)),
    )
    for part in (
        "Answers were collected from 1 annotator with one form",
        "(1 response to each generator)",
        "1 form was drawn",
        "from 1 story",
        "replacing sentence 2",
        "noticed 1 of 1 Control passage",
    ):
        assert part in text, part
    assert not re.search(r"\b1 (annotators|responses|stories|forms|passages|pairs|systems)\b", text)


def test_nothing_is_said_of_a_control_that_was_not_there() -> None:
    table = score(responses(8, (*SYSTEMS, "human")), Rule(control="none"))
    text = told(table, design=DesignFacts(stories=11, positions=(1, 2)))
    said = " No annotator is excluded for missing a Control passage."
    assert re.findall(r"[^.]*Control[^.]*\.", text) == [said]
    assert "replacing sentence 1 or 2" in text


def test_nothing_is_said_of_a_human_that_was_not_there() -> None:
    text = told(score(responses(8, ("control", *SYSTEMS))), design=DesignFacts(stories=11))
    assert "uman" not in text
    assert "by this habit alone" not in text


def test_a_single_system_is_compared_with_nobody() -> None:
    text = told(score(responses(8, ("control", "lm"))))
    assert "Generators were not compared with each other." in text
    assert "p-values" not in text


def test_unadjusted_values_are_not_called_adjusted_and_a_margin_is_named() -> None:
    table = score(responses(12), declared=Declared(adjust="none", margin=0.1), level=0.9)
    text = methods_paragraph(ReportData("t", table))
    assert "not adjusted" in text
    assert "if the p is .1 or less" in text
    assert "the 80\N{NO-BREAK SPACE}% interval of their difference lies within ± 10.0 points" in text


def test_the_latex_paragraph_has_no_bare_special_character() -> None:
    table = score(responses(12, ("control", "lm_1", "50%&{}#~^\\", "human")))
    text = methods_paragraph(
        ReportData("t", table, design=DesignFacts("Is it $5 “or” <6>?", stories=11)), latex=True
    )
    bare = re.sub(r"\\(text\w+\{\}|ldots\{\}|[%&#_{}$])|\$(-|\\\w+|\^2|')\$", "", text)
    assert not re.search(r"[\\{}$&#%_^<>|\"“”’\N{NO-BREAK SPACE}\N{MINUS SIGN}]", bare), bare


@pytest.mark.parametrize(
    ("text", "escaped"), [("a_b", r"a\_b"), ("5 %", r"5 \%"), ("x\\y", r"x\textbackslash{}y"), ("é", "é")]
)
def test_what_means_something_to_latex_is_escaped(text: str, escaped: str) -> None:
    assert latex_escaped(text) == escaped
