"""Bradley and Terry's model against R (see tests/r_oracles.R), and what answers of pairs cannot tell."""

from __future__ import annotations

from math import inf, log, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.statistics.bradley_terry import BradleyTerry, TiesAs, bradley_terry
from tests.made_up_answers import preferences, uneven_preferences
from tests.r_oracles import VALUES

SYSTEMS = ("human", "ilm", "lm", "sa")


def fitted(answers: pd.DataFrame, ties: TiesAs = "davidson") -> BradleyTerry:
    return bradley_terry(
        answers["first"], answers["second"], answers.outcome, answers.worker, answers.story, ties=ties
    )


def pairs(*bouts: tuple[str, str, int], workers: Any = None, ties: TiesAs = "davidson") -> BradleyTerry:
    first, second, outcome = zip(*bouts, strict=True)
    labels = np.arange(len(bouts))
    return bradley_terry(first, second, outcome, labels if workers is None else workers, labels, ties=ties)


@pytest.mark.parametrize(("ties", "name"), [("left out", "plain"), ("davidson", "davidson")])
def test_strengths_and_errors_are_those_of_r(ties: TiesAs, name: str) -> None:
    found = fitted(preferences(), ties)
    against = [found.contrast(system, "bert") for system in SYSTEMS]
    assert [one.estimate for one in against] == pytest.approx(VALUES[f"{name} strengths"][:4], rel=1e-5)
    for covariance, what in ((found.independent, "errors"), (found.covariance, "clustered errors")):
        at = [found.names.index(system) for system in (*SYSTEMS, "bert")]
        of_pairs = [
            sqrt(covariance[one, one] + covariance[at[4], at[4]] - 2 * covariance[one, at[4]])
            for one in at[:4]
        ]
        assert of_pairs == pytest.approx(VALUES[f"{name} {what}"][:4], rel=1e-5)
    assert found.log_likelihood == pytest.approx(VALUES[f"{name} log likelihood"][0], abs=1e-6)
    if ties == "davidson":
        assert log(found.tie) == pytest.approx(VALUES["davidson strengths"][4], rel=1e-5)


def test_without_ties_and_with_one_that_always_wins_the_others_are_those_of_r() -> None:
    found = fitted(uneven_preferences())
    assert [one.name for one in found.apart] == ["human"]
    assert found.tie == 0.0
    against = [found.contrast(system, "bert") for system in ("ilm", "lm", "sa")]
    assert [one.estimate for one in against] == pytest.approx(VALUES["uneven strengths"], rel=1e-5)
    at = [found.names.index(system) for system in ("ilm", "lm", "sa", "bert")]
    plain = found.independent
    errors = [sqrt(plain[one, one] + plain[at[3], at[3]] - 2 * plain[one, at[3]]) for one in at[:3]]
    assert errors == pytest.approx(VALUES["uneven errors"], rel=1e-5)
    assert found.log_likelihood == pytest.approx(VALUES["uneven log likelihood"][0], abs=1e-6)


def test_no_error_is_below_that_of_unrelated_answers_and_few_workers_take_t() -> None:
    found = fitted(preferences(), "left out")
    sa = found.contrast("sa", "bert")
    assert sa.standard_error == pytest.approx(VALUES["plain errors"][3], rel=1e-5)  # clustered: .2569
    human = found.contrast("human", "bert")
    assert human.standard_error == pytest.approx(VALUES["plain clustered errors"][0], rel=1e-5)
    assert 20 < found.freedom < 23
    assert human.interval.high - human.estimate > 2.07 * human.standard_error


def test_stiglers_citations() -> None:
    counts = {
        ("Biometrika", "Comm Statist"): (730, 33),
        ("Biometrika", "JASA"): (498, 320),
        ("Biometrika", "JRSS-B"): (221, 284),
        ("Comm Statist", "JASA"): (68, 813),
        ("Comm Statist", "JRSS-B"): (17, 276),
        ("JASA", "JRSS-B"): (142, 325),
    }
    rows = [
        (*pair, sign)
        for pair, both in counts.items()
        for sign, n in zip((1, -1), both, strict=True)
        for _ in range(n)
    ]
    found = pairs(*rows)
    against = found.against("Biometrika")
    assert [one.a for one in against] == ["Comm Statist", "JASA", "JRSS-B"]
    assert [one.estimate for one in against] == pytest.approx(VALUES["citations strengths"], rel=1e-6)
    assert [one.standard_error for one in against] == pytest.approx(VALUES["citations errors"], rel=1e-5)
    assert found.freedom == inf
    assert [(one.name, one.low, one.high) for one in found.ranks()] == [
        ("JRSS-B", 1, 1),
        ("Biometrika", 2, 2),
        ("JASA", 3, 3),
        ("Comm Statist", 4, 4),
    ]


def test_strengths_average_zero_and_names_of_sides_change_nothing() -> None:
    answers = preferences()
    one = fitted(answers)
    turned = answers.rename(columns={"first": "second", "second": "first"}).assign(outcome=-answers.outcome)
    other = fitted(turned.sample(frac=1, random_state=1))
    assert one.strengths.sum() == pytest.approx(0)
    for name in one.names:
        assert other.strength(name).estimate == pytest.approx(one.strength(name).estimate)
        assert other.strength(name).standard_error == pytest.approx(one.strength(name).standard_error)
    assert other.tie == pytest.approx(one.tie)


def test_ties_may_count_half() -> None:
    half = pairs(*[("a", "b", 1)] * 6, *[("a", "b", -1)] * 2, *[("a", "b", 0)] * 4, ties="half")
    assert half.contrast("a", "b").estimate == pytest.approx(log(8 / 4))
    davidson = pairs(*[("a", "b", 1)] * 6, *[("a", "b", -1)] * 2, *[("a", "b", 0)] * 4)
    assert davidson.contrast("a", "b").estimate == pytest.approx(log(3))
    # Ties are ν·√3 against 1 + 3: a third of the answers.
    assert davidson.tie * sqrt(3) / (4 + davidson.tie * sqrt(3)) == pytest.approx(1 / 3)
    with pytest.raises(UsageError, match="no rule of ties"):
        pairs(("a", "b", 1), ties="third")


CYCLE = [("a", "b", 1), ("b", "c", 1), ("c", "a", 1)]


def test_one_that_never_wins_is_apart_and_the_others_keep_their_strengths() -> None:
    alone = pairs(*CYCLE, ("a", "b", 1))
    found = pairs(*CYCLE, ("a", "b", 1), ("a", "control", 1), ("control", "b", -1), ("human", "c", 1))
    assert found.names == ("a", "b", "c")
    assert found.strengths == pytest.approx(alone.strengths)
    assert found.comparisons == 4
    assert [one.because for one in found.apart] == [
        "control never wins, so that its strength has no lower end.",
        "human always wins, so that its strength has no upper end.",
    ]
    assert [one.side for one in found.apart] == ["below", "above"]


def test_what_is_not_connected_is_named() -> None:
    with pytest.raises(InputError, match=r"do not connect all generators: a, b, c \| d, e"):
        pairs(*CYCLE, ("d", "e", 1), ("e", "d", 1))


@pytest.mark.parametrize(
    ("bouts", "why"),
    [
        ([("a", "b", 1), ("b", "c", 1), ("a", "c", 1)], "no answer contradicts one order: a > b > c"),
        ([("a", "b", 1), ("a", "b", 0)], "no answer contradicts one order: a > b"),
        ([("a", "b", 0), ("b", "c", 0)], "all answers are ties"),
    ],
)
def test_strengths_without_end_are_said(bouts: Any, why: str) -> None:
    with pytest.raises(InputError, match=f"not estimable.*because {why}"):
        pairs(*bouts)
    if ("a", "b", 0) in bouts:
        assert np.isfinite(pairs(*bouts, ties="half").strengths).all()


def test_a_tie_may_close_a_circle() -> None:
    found = pairs(("a", "b", 1), ("b", "c", 0), ("c", "a", 1))
    assert np.isfinite(found.strengths).all()
    assert found.strengths == pytest.approx([0, found.strengths[1], -found.strengths[1]])


def test_a_single_worker_tells_strengths_but_no_errors() -> None:
    found = pairs(*CYCLE, ("a", "b", 1), workers=["ann"] * 4)
    assert np.isnan(found.contrast("a", "b").standard_error)
    assert found.note == "There is a single worker, so that the errors are not estimable."
    assert {(one.low, one.high) for one in found.ranks()} == {(1, 3)}


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(InputError, match="a is compared with itself"):
        pairs(("a", "a", 1))
    with pytest.raises(InputError, match="must be 1, 0 or -1"):
        pairs(("a", "b", 2))
    with pytest.raises(InputError, match="do not belong together"):
        bradley_terry(["a"], ["b"], [1, 1], [1, 1], [1, 1])
    with pytest.raises(UsageError, match="no generator is called 'z'"):
        pairs(*CYCLE).contrast("a", "z")
