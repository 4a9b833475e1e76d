"""What stands beside the scores: planted effects are found, what the data cannot tell is said, nothing
depends on order."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from humaneval.domain import SENTENCES
from humaneval.errors import InputError
from humaneval.scoring.analysis.analyse import NOBODY, OWN, Analysis, analyse
from humaneval.scoring.analysis.estimable import estimated, plain
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import score
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.mixed_model import MixedModel

SHARES = {"control": 0.0, "x": 0.3, "y": 0.4, "z": 0.65, "human": 0.8}


def study(
    annotators: int = 60,
    *,
    shares: dict[str, float] | None = None,
    forms: int = 1,
    stories: int = 40,
    seed: int = 1,
) -> pd.DataFrame:
    """Simulated annotators; a form holds every generator once, on different stories, in an order that
    turns."""
    shares = shares or SHARES
    rng = np.random.default_rng(seed)
    names = list(shares)
    rows: list[dict[str, Any]] = []
    for annotator in range(annotators):
        for form in range(forms):
            turn = (annotator + form) % len(names)
            for place, name in enumerate(names[turn:] + names[:turn]):
                position = (annotator + 2 * place + form) % SENTENCES + 1
                other = [one for one in range(1, SENTENCES + 1) if one != position]
                story = ((annotator * forms + form) * len(names) + place) % stories
                rows.append(
                    {
                        "worker": f"w{annotator}",
                        "story": f"s{story}",
                        "generator": name,
                        "position": position,
                        "choice": int(rng.choice(other)) if rng.random() < shares[name] else position,
                        "order": place + 1,
                        "seconds": float(rng.uniform(10, 30)),
                        "words": 45,
                    }
                )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def whole() -> Analysis:
    return analyse(study(), also={"fast readers out": Rule(speed=12)})


def test_the_scores_are_those_of_score(whole: Analysis) -> None:
    assert whole.table == score(study())
    document = whole.to_json()
    assert {key: value for key, value in document.items() if key != "details"} == whole.table.to_json()
    json.dumps(document, allow_nan=False)


def test_scores_stand_under_every_rule(whole: Analysis) -> None:
    assert [one.name for one in whole.rules] == [OWN, NOBODY, "fast readers out"]
    assert whole.rules[0].table is whole.table
    everybody = whole.rules[1].table
    assert not isinstance(everybody, NotEstimable)
    assert everybody.annotators.analysed == everybody.annotators.collected
    strict = analyse(study(), also={"nobody is that slow": Rule(speed=0.001)}).rules[2].table
    assert isinstance(strict, NotEstimable)
    assert "too fast" in str(strict)


def test_the_omnibus_test_is_cochrans_where_everybody_judged_each_system_once(whole: Analysis) -> None:
    assert not isinstance(whole.omnibus, NotEstimable)
    assert (whole.omnibus.test, whole.omnibus.degrees) == ("Cochran’s Q", 2)
    assert whole.omnibus.p < 0.01
    again = analyse(study(30, forms=3)).omnibus
    assert not isinstance(again, NotEstimable)
    assert again.test == "likelihood ratio of mixed models"
    alone = analyse(study(shares={"control": 0.0, "x": 0.3, "human": 0.8}))
    assert str(alone.omnibus) == "not estimable, because fewer than two systems were judged"
    assert isinstance(alone.standings, NotEstimable)


def test_other_intervals_stand_beside_the_headline(whole: Analysis) -> None:
    control, *scores = whole.table.scores
    assert (control.generator, control.interval) == ("control", None)
    assert [one.generator for one in whole.intervals] == [row.generator for row in scores]
    for row, others in zip(scores, whole.intervals, strict=True):
        assert others.naive == wilson(row.not_identified, row.n)
        assert others.exact.low <= others.naive.low + 0.02
        for interval in (others.by_workers, others.by_stories, others.by_both):
            assert isinstance(interval, Interval)
            assert interval.low <= row.score <= interval.high


def test_ranks_put_the_best_first_and_letters_follow_the_verdicts(whole: Analysis) -> None:
    assert not isinstance(whole.standings, NotEstimable)
    assert [one.generator for one in whole.standings] == ["z", "y", "x"]
    assert sum(one.best for one in whole.standings) == pytest.approx(1)
    assert [one.letters for one in whole.standings] in (
        list("abb"),
        list("abc"),
        list("aaa"),
        ["a", "ab", "b"],
    )
    assert whole.standings[0].best > 0.9


def test_luck_is_taken_off_against_the_achieved_ceiling(whole: Analysis) -> None:
    assert [one.generator for one in whole.luck_off] == ["x", "y", "z", "human"]
    for one in whole.luck_off:
        assert one.ceiling == whole.table.chance.achieved
        assert one.detection.normalised + one.detection.detected == pytest.approx(1)


def test_the_mixed_model_is_of_systems_and_human(whole: Analysis) -> None:
    fitted = analyse(study(30, forms=4)).model
    assert isinstance(fitted, MixedModel)
    assert set(fitted.names) == {"x", "y", "z", "human"}
    one = analyse(study(1, forms=6), Rule(control="none"))
    assert isinstance(one.model, NotEstimable)


def test_a_planted_place_is_found_and_an_even_one_is_not() -> None:
    frame = study(200)
    assert frame["order"].max() == len(SHARES)
    late = (frame["order"] > 2) & frame["generator"].isin(["x", "y", "z"])
    frame.loc[late, "choice"] = frame.loc[late, "position"]
    found = analyse(frame).effects
    assert not isinstance(found.learning, NotEstimable)
    assert found.learning.slope > 0
    assert found.learning.p < 0.001
    assert [one.place for one in found.by_order] == [1, 2, 3, 4, 5]
    assert found.by_order[4].detected == found.by_order[4].responses
    even = analyse(study(200)).effects.learning
    assert not isinstance(even, NotEstimable)
    assert even.p > 0.01


def test_picking_is_looked_at_on_human_passages_only() -> None:
    frame = study(100)
    human = frame["generator"] == "human"
    frame.loc[human, "choice"] = 2
    biased, fair = analyse(frame).effects.picking, analyse(study(100)).effects.picking
    assert not isinstance(biased, NotEstimable)
    assert not isinstance(fair, NotEstimable)
    assert biased.significance.p < 1e-6 < fair.significance.p
    without = analyse(study(shares={"control": 0.0, "x": 0.3, "y": 0.4})).effects.picking
    assert str(without) == "not estimable, because no Human passage was judged"


def test_agreement_needs_two_answers_to_a_passage(whole: Analysis) -> None:
    frame = study(20)
    second = frame.assign(worker="again-" + frame["worker"])
    both = analyse(pd.concat([frame, second])).effects.agreement
    assert not isinstance(both, NotEstimable)
    assert {one.name: one.value for one in both.coefficients}["Krippendorff’s α"] == pytest.approx(1.0)
    single = analyse(study(5, stories=1000)).effects.agreement
    assert str(single) == "not estimable, because no passage was judged by two annotators"


def test_annotators_are_listed_with_flags_that_leave_nobody_out() -> None:
    frame = study(30, forms=2)
    control = frame["generator"] == "control"
    frame.loc[control & (frame["worker"] == "w3"), "choice"] = (
        frame.loc[control & (frame["worker"] == "w3"), "position"] % SENTENCES + 1
    )
    frame.loc[frame["worker"] == "w4", ["choice", "seconds"]] = [2, 1.0]
    found = {one.worker: one for one in analyse(frame, Rule(control="none")).workers}
    assert len(found) == 30
    assert found["w3"].flags == ("missed a Control passage",)
    assert found["w3"].spam is not None
    assert found["w5"].spam is not None
    assert found["w3"].spam > found["w5"].spam
    assert set(found["w4"].flags) >= {"marked one position very often", "faster than anyone can read"}
    assert all(one.counted and one.responses == 10 for one in found.values())
    out = {one.worker: one.counted for one in analyse(frame).workers}
    assert not out["w3"]


def test_tables_without_times_or_places_say_so() -> None:
    bare = analyse(study(20).drop(columns=["order", "seconds", "words"]))
    assert "at which place" in str(bare.effects.learning)
    assert bare.effects.by_order == ()
    assert {(one.median_seconds, one.words_per_second) for one in bare.workers} == {(None, None)}


def test_the_order_of_lines_and_the_names_of_workers_change_nothing() -> None:
    frame = study(30)
    shuffled = frame.sample(frac=1, random_state=3)
    renamed = frame.assign(worker=frame["worker"].map(lambda name: f"someone {name}"))
    whole = analyse(frame)
    first = whole.table
    again = analyse(shuffled)
    assert again.to_json() == whole.to_json()
    assert analyse(renamed).table.to_json()["scores"] == first.to_json()["scores"]
    for other in (shuffled, renamed):
        for one, two in zip(first.comparisons, analyse(other).table.comparisons, strict=True):
            assert {one.a, one.b} == {two.a, two.b}
            assert (one.p, abs(one.difference)) == pytest.approx((two.p, abs(two.difference)))


def test_what_no_json_can_carry_becomes_null_or_a_reason() -> None:
    assert plain(
        {"a": float("nan"), "b": np.float64("inf"), "c": Interval(0.1, 0.2), "d": NotEstimable("none")}
    ) == {
        "a": None,
        "b": None,
        "c": [0.1, 0.2],
        "d": {"not_estimable": "none"},
    }

    def fails() -> int:
        raise InputError("One worker is too few")

    assert str(estimated(fails)) == "not estimable, because one worker is too few"


@pytest.mark.parametrize(
    "shares", [dict.fromkeys(SHARES, 0.0), {**dict.fromkeys(SHARES, 1.0), "control": 0.0}]
)
def test_all_right_and_all_wrong_have_statements_for_numbers(shares: dict[str, float]) -> None:
    found = analyse(study(12, shares=shares))
    json.dumps(found.to_json(), allow_nan=False)
    assert isinstance(found.model, NotEstimable)
    assert {one.verdict for one in found.table.comparisons if one.family == "systems"} == {"inconclusive"}
