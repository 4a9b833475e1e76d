"""Rules beyond the control: speed, one place throughout, the probability of spamming; each declared, each
counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from humaneval.errors import InputError, UsageError
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import score

PUBLISHED_HASH = "269e7b838378"


def study(annotators: int = 30, forms: int = 1) -> pd.DataFrame:
    """Everybody judges Control, two systems and Human once a form, reads 40 words in 20 seconds, notices
    Control."""
    rows: list[dict[str, Any]] = []
    for annotator in range(annotators):
        for form in range(forms):
            for place, name in enumerate(("control", "x", "y", "human")):
                position = (annotator + form + place) % 5 + 1
                rows.append(
                    {
                        "worker": f"w{annotator}",
                        "story": f"s{annotator}-{form}-{place}",
                        "generator": name,
                        "position": position,
                        "choice": position if name == "control" else (position + annotator) % 5 + 1,
                        "words": 40,
                        "seconds": 20.0,
                    }
                )
    return pd.DataFrame(rows)


def out(frame: pd.DataFrame, rule: Rule) -> dict[str, int]:
    return {step.step: step.annotators_out for step in score(frame, rule).exclusions if step.annotators_out}


def test_C50_the_published_rule_has_the_hash_it_always_had_and_every_change_another() -> None:
    assert Rule().hash.startswith(PUBLISHED_HASH)
    assert len({Rule(speed=12).hash, Rule(speed=10).hash, Rule(spam=0.9).hash, Rule().hash}) == 4


def test_annotators_who_are_too_fast_in_most_passages_are_left_out() -> None:
    frame = study()
    fast = frame["worker"].isin(["w1", "w2"])
    frame.loc[fast, "seconds"] = 2.0
    frame.loc[(frame["worker"] == "w2") & frame["generator"].isin(["x", "y"]), "seconds"] = 30.0
    frame.loc[frame["worker"] == "w3", "seconds"] = np.nan
    assert out(frame, Rule(speed=12)) == {"too fast": 1}
    assert out(frame, Rule()) == {}


@pytest.mark.parametrize("missing", ["words", "seconds"])
def test_speed_needs_words_and_seconds(missing: str) -> None:
    with pytest.raises(InputError, match="the words and the seconds"):
        score(study().drop(columns=missing), Rule(speed=12))


def test_annotators_who_mark_one_place_throughout_are_left_out() -> None:
    frame = study(forms=3)
    frame.loc[frame["worker"] == "w4", "choice"] = 3
    assert out(frame, Rule(control="none", straight_lining=0.001)) == {"straight-lining": 1}


def test_annotators_who_likely_spam_are_left_out_and_those_who_slipped_once_stay() -> None:
    frame = study(forms=5)
    control = frame["generator"] == "control"
    spammer, slipped = control & (frame["worker"] == "w5"), control & (frame["worker"] == "w6")
    frame.loc[spammer, "choice"] = frame.loc[spammer, "position"] % 5 + 1
    first = frame.index[slipped][:1]
    frame.loc[first, "choice"] = frame.loc[first, "position"] % 5 + 1
    assert out(frame, Rule(control="none", spam=0.9)) == {"spam": 1}
    assert out(frame, Rule()) == {"missed control": 2}


def test_one_control_is_weak_evidence() -> None:
    frame = study()
    missed = (frame["generator"] == "control") & frame["worker"].isin(["w1", "w2", "w3"])
    frame.loc[missed, "choice"] = frame.loc[missed, "position"] % 5 + 1
    assert out(frame, Rule(control="none", spam=0.99)) == {}
    assert out(frame, Rule(control="none", spam=0.4)) == {"spam": 3}


def test_C59_a_rule_says_in_words_all_that_it_does_and_where_its_limits_are() -> None:
    words = Rule(speed=12, straight_lining=0.001, spam=0.9).describe()
    for piece in ("12 words per second", "below 0.001", "above 0.9", "missed a Control"):
        assert piece in words


@pytest.mark.parametrize("wrong", [{"speed": 0}, {"straight_lining": 1.0}, {"spam": -0.1}, {"control": "x"}])
def test_limits_without_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Rule(**wrong)


def test_a_rule_that_leaves_nobody_says_so() -> None:
    with pytest.raises(InputError, match="too fast"):
        score(study().assign(seconds=0.1), Rule(speed=12))


@pytest.mark.parametrize("column", ["seconds", "words", "order"])
def test_measures_that_are_no_numbers_are_refused(column: str) -> None:
    with pytest.raises(InputError, match=column):
        score(study().assign(**{column: "many"}))
