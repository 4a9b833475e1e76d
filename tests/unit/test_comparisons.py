"""Verdicts: what is called higher, equivalent, inconclusive; families and their adjustment; words that claim
no more."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.errors import UsageError
from humaneval.report import verdicts
from humaneval.scoring import comparisons
from humaneval.scoring.comparisons import Comparison, Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import ScoreTable, score
from humaneval.scoring.verdicts import decide
from humaneval.statistics import sign_flips
from humaneval.statistics.intervals import Interval
from humaneval.statistics.multiplicity import Adjust, benjamini_hochberg, holm

BETTER = re.compile(r"\b(higher|lower|better|worse|above|below|outperform\w*|beats?)\b", re.I)


def study(shares: dict[str, float], annotators: int = 200, seed: int = 0) -> pd.DataFrame:
    """Annotators who each judge every generator once, on stories of their own; shares go unnoticed, drawn one
    by one."""
    rng = np.random.default_rng(seed)
    rows = []
    for annotator in range(annotators):
        for place, (name, share) in enumerate(shares.items()):
            position = (annotator + place) % 5 + 1
            choice = position % 5 + 1 if rng.random() < share else position
            rows.append((f"w{annotator}", f"s{annotator}-{place}", name, position, choice))
    return pd.DataFrame(rows, columns=["worker", "story", "generator", "position", "choice"])


def compared(shares: dict[str, float], declared: Declared | None = None, **options: Any) -> ScoreTable:
    return score(study(shares, **options), Rule(control="none"), declared=declared)


def found(table: ScoreTable, a: str, b: str) -> Comparison:
    (one,) = [one for one in table.comparisons if (one.a, one.b) == (a, b)]
    return one


def test_systems_are_one_family_and_below_human_another_and_control_is_in_none() -> None:
    shares = {"control": 0.0, "x": 0.3, "y": 0.6, "z": 0.6, "human": 0.8}
    table = compared(shares)
    assert [(one.a, one.b, one.family) for one in table.comparisons] == [
        ("x", "y", "systems"),
        ("x", "z", "systems"),
        ("y", "z", "systems"),
        ("x", "human", "below human"),
        ("y", "human", "below human"),
        ("z", "human", "below human"),
    ]
    first, second = table.comparisons[:3], table.comparisons[3:]
    assert [one.p_adjusted for one in first] == pytest.approx(list(holm([one.p for one in first])))
    assert [one.p_adjusted for one in second] == pytest.approx(list(holm([one.p for one in second])))
    assert found(table, "x", "y").verdict == "b_higher"
    assert found(table, "y", "z").verdict == "inconclusive"
    assert {one.verdict for one in second} == {"b_higher"}


def judged_by_some(systems: int) -> pd.DataFrame:
    """Each annotator judges some of the systems, each of them differently often: sums too many to list."""
    rng = np.random.default_rng(systems)
    rows = []
    for annotator in range(40):
        for name in rng.permutation(systems)[: rng.integers(2, 7)].tolist():
            for _ in range(rng.integers(1, 4)):
                choice = 1 if rng.random() < 0.75 - 0.05 * name else 2
                rows.append((f"w{annotator}", f"s{len(rows)}", f"system {name:02}", 1, choice))
    return pd.DataFrame(rows, columns=["worker", "story", "generator", "position", "choice"])


@pytest.mark.parametrize("adjust", ["holm", "benjamini-hochberg", "none"])
def test_verdicts_of_many_systems_are_those_of_close_p_values_for_a_fraction_of_the_work(
    adjust: Adjust, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, frequencies = judged_by_some(9), []
    monkeypatch.setattr(sign_flips, "QUICK", 0)  # or all sums of so few annotators would be listed
    whole = sign_flips._characteristic
    monkeypatch.setattr(
        sign_flips,
        "_characteristic",
        lambda found, angles: (frequencies.append(angles.size), whole(found, angles))[1],
    )

    def scored(each: int, level: float) -> tuple[Comparison, ...]:
        frequencies.clear()
        monkeypatch.setattr(comparisons, "EACH", each)
        return score(frame, Rule(control="none"), level=level, declared=Declared(adjust=adjust)).comparisons

    roughly, level = scored(28, 0.95), 0.95
    near = max((one for one in roughly if one.p < 0.4), key=lambda one: one.p_error / one.p)
    if adjust == "none":
        # A level at which a verdict hangs on a p that is roughly known.
        level = 1 - 1.004 * near.p
    found = scored(28, level)
    few = sum(frequencies)
    closely = scored(36, level)
    assert sum(frequencies) > 5 * few
    assert [one.verdict for one in found] == [one.verdict for one in closely]
    for one, same in zip(found, closely, strict=True):
        assert abs(one.p - same.p) <= one.p_error + same.p_error + 1e-12
    if adjust == "none":
        (again,) = [one for one in found if (one.a, one.b) == (near.a, near.b)]
        assert again.p_error < near.p_error


def test_only_declared_pairs_are_compared() -> None:
    declared = Declared(pairs=(("z", "x"),), below_human=False, adjust="benjamini-hochberg")
    table = compared({"x": 0.3, "y": 0.6, "z": 0.6, "human": 0.8}, declared)
    (only,) = table.comparisons
    assert (only.a, only.b, only.verdict, only.adjust) == ("z", "x", "a_higher", "benjamini-hochberg")
    assert only.difference == pytest.approx(
        {row.generator: row.score for row in table.scores}["z"]
        - {row.generator: row.score for row in table.scores}["x"]
    )
    with pytest.raises(UsageError, match="'nobody'"):
        compared({"x": 0.3, "y": 0.5}, Declared(pairs=(("x", "nobody"),)))


def test_adjustments_are_the_declared_ones() -> None:
    shares = {"a": 0.4, "b": 0.5, "c": 0.55, "d": 0.6}
    plain = [one.p for one in compared(shares).comparisons]
    for adjust, expected in (
        ("holm", holm(plain)),
        ("benjamini-hochberg", benjamini_hochberg(plain)),
        ("none", plain),
    ):
        adjusted = compared(shares, Declared(adjust=adjust)).comparisons
        assert [one.p_adjusted for one in adjusted] == pytest.approx(list(expected))


def test_equivalence_needs_a_margin_and_an_interval_within_it() -> None:
    shares = {"x": 0.5, "y": 0.5}
    assert found(compared(shares, annotators=2000), "x", "y").verdict == "inconclusive"
    assert found(compared(shares, Declared(margin=0.1), annotators=2000), "x", "y").verdict == "equivalent"
    assert found(compared(shares, Declared(margin=0.1), annotators=60), "x", "y").verdict == "inconclusive"
    with pytest.raises(UsageError, match="margin"):
        Declared(margin=1.5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=4), st.integers(2, 60), st.integers(0, 99))
def test_higher_is_never_said_of_an_interval_that_holds_zero(
    shares: list[float], annotators: int, seed: int
) -> None:
    named = {f"g{place}": share for place, share in enumerate(shares)} | {"human": 0.8}
    table = compared(named, Declared(margin=0.1), annotators=annotators, seed=seed)
    for one in table.comparisons:
        assert -1 <= one.interval.low <= one.interval.high <= 1
        assert 0 <= one.p <= one.p_adjusted <= 1
        told = one.verdict in ("a_higher", "b_higher")
        # Below Human the test is one-sided, and so is what the verdict goes by.
        assert not told or (
            not one.interval.low <= 0 <= one.interval.high if one.bound is None else one.bound < 0
        )
        if not told:
            assert not BETTER.search(verdicts.outcome(one))
    json.dumps(table.to_json(), allow_nan=False)


def test_a_one_sided_test_is_not_vetoed_by_a_two_sided_interval() -> None:
    two_sided, inner = Interval(-0.372, 0.003), Interval(-0.341, -0.029)
    assert decide(two_sided, inner, 0.027, 0.0, 0.95, one_sided=True) == "b_higher"
    assert decide(two_sided, inner, 0.027, 0.0, 0.95) == "inconclusive"
    # The test is of "below" alone, and its p still has to be small.
    assert decide(two_sided, inner, 0.06, 0.0, 0.95, one_sided=True) == "inconclusive"
    assert decide(Interval(0.1, 0.4), Interval(0.12, 0.3), 0.001, 0.0, 0.95, one_sided=True) == "inconclusive"
    for seed in range(40):
        for one in compared({"x": 0.6, "human": 0.8}, annotators=40, seed=seed).comparisons:
            assert one.bound is not None
            assert one.difference <= one.bound < one.interval.high
            assert (one.verdict == "b_higher") == (one.p_adjusted <= 0.05 and one.bound < 0)


def test_what_is_not_there_any_more_is_not_compared() -> None:
    frame = study({"control": 0.0, "x": 0.3, "human": 0.8})
    assert [one.family for one in score(frame).comparisons] == ["below human"]
    assert score(frame[frame["generator"] != "human"]).comparisons == ()


def test_sentences_say_what_the_verdict_says() -> None:
    table = compared({"x": 0.3, "y": 0.6, "z": 0.6, "human": 0.8}, Declared(margin=0.3))
    assert verdicts.outcome(found(table, "x", "y")) == "y higher"
    assert verdicts.outcome(found(table, "y", "z")) == "equivalent within ±30.0"
    assert (
        verdicts.summary(table.comparisons[:3], 0.95)
        == "Told apart: y above x; z above x. Equivalent within ±30.0 points: y and z."
    )
    assert verdicts.summary(table.comparisons[3:], 0.95) == "Below human: x, y, z."
    alone = compared({"x": 0.5, "y": 0.5})
    assert verdicts.summary(alone.comparisons, 0.95) == "This study shows no difference for the pair."
    assert verdicts.summary((), 0.95) == ""


def test_numbers_are_written_as_readers_expect_them() -> None:
    assert [verdicts.signed(share) for share in (0.04211, -0.2, 0.0, -0.0001)] == [
        "+4.2",
        "−20.0",
        "0.0",
        "−0.01",
    ]
    assert [verdicts.p_value(p) for p in (0.00001, 0.0341, 0.25, 0.999, 1.0)] == [
        "<.001",
        ".034",
        ".25",
        "1",
        "1",
    ]
