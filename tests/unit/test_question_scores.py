"""Scores of each question: what an answer is worth, who is compared with whom, and what a table must say."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import humaneval as he
from humaneval.domain import Role
from humaneval.errors import InputError, SettingsError, UsageError
from humaneval.report.conclusion import conclusion
from humaneval.report.contents import ReportData
from humaneval.report.page import render_report
from humaneval.report.terminal.scores import render_table
from humaneval.scoring.analysis.analyse import Analysis, analyse
from humaneval.scoring.asked import asked
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.judgments import Entries
from humaneval.scoring.mean_differences import mean_differences
from humaneval.scoring.means import mean_on_scale
from humaneval.scoring.questions.question import Scale, Truth, load_question
from humaneval.scoring.scores import GeneratorScore, ScoreTable, score
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import Interval, wilson
from humaneval.statistics.opponents import CLUSTERED as APART
from humaneval.statistics.paired_tests import ALL_THREE, paired_test
from humaneval.statistics.sign_test import sign_test

EVERYBODY = Rule(control="none", incomplete=False)
SKILLS = {"control": 1.0, "poor": 0.8, "good": 0.3, "human": 0.0}


def answers(
    question: str, people: int = 24, sentences: int = 5, seed: int = 3, **settings: Any
) -> pd.DataFrame:
    """A table of simulated answers, a passage of every condition by each person."""
    asked_for, rng = load_question(question), Random(seed)
    own = asked_for.settings(settings)
    rows = []
    conditions = asked_for.conditions(list(SKILLS), "control", "human", own)
    for person in range(people):
        for place, one in enumerate(conditions):
            at = rng.choice(asked_for.positions(sentences))
            at = sentences + 1 if asked_for.rest and one.role is Role.HUMAN else at
            truth = Truth(one.generators, one.role, at, sentences, "control")
            given = asked_for.simulate(rng, truth, [SKILLS[name] for name in one.generators], False, own)
            line = {
                "worker": f"w{person}",
                "story": f"s{(person + 5 * place) % 30}",
                "generator": one.generators[0],
                "position": at,
                "choice": next(iter(given.values())),
                "question": question,
            }
            line |= {"other": one.generators[1]} if len(one.generators) > 1 else {}
            line |= {"sentences": sentences} if sentences != 5 else {}
            rows.append(line | (dict(given) if "choice" not in given else {}))
    return pd.DataFrame(rows)


def by_name(table: ScoreTable) -> dict[str, GeneratorScore]:
    return {row.generator: row for row in table.scores}


def comparison(table: ScoreTable, a: str, b: str) -> Any:
    return next(one for one in table.comparisons if (one.a, one.b) == (a, b))


def pairs(rows: list[tuple[str, str, str, int]], **more: Any) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["worker", "generator", "other", "choice"])
    stories = [f"s{at}" for at in range(len(frame))]
    return frame.assign(**({"story": stories, "position": 1, "question": "prefer"} | more))


def test_a_preference_counts_for_one_and_against_the_other_and_a_tie_half_for_each() -> None:
    frame = pairs([("a", "x", "y", 1), ("b", "y", "x", 2), ("c", "x", "y", 3), ("d", "y", "x", 1)])
    table = score(frame, EVERYBODY)
    found = by_name(table)
    assert (found["x"].total, found["y"].total) == (2.5, 1.5)
    assert {row.n for row in table.scores} == {4}
    assert comparison(table, "x", "y").difference == pytest.approx(0.25)
    assert table.exclusions[0].responses == 4


def test_who_beats_the_control_gets_no_point_for_it() -> None:
    frame = pairs(
        [
            ("a", "control", "human", 2),
            ("a", "human", "lm", 2),
            ("b", "human", "control", 1),
            ("b", "lm", "human", 1),
        ],
    )
    found = by_name(score(frame, Rule(incomplete=False)))
    assert (found["human"].n, found["human"].total) == (2, 0)
    assert (found["control"].n, found["control"].total) == (2, 0)
    assert found["control"].interval is None
    missed = pairs([*map(tuple, frame[["worker", "generator", "other", "choice"]].to_numpy().tolist())])
    missed.loc[0, "choice"] = 1
    assert score(missed, Rule(incomplete=False)).annotators.analysed == 1


def test_the_control_of_pairs_is_the_one_that_is_in_every_passage_of_its_role() -> None:
    rows = [
        ("a", "bad", "person", 2),
        ("a", "lm", "person", 1),
        ("b", "person", "bad", 1),
        ("b", "person", "lm", 1),
    ]
    frame = pairs(rows, role=["control", "system", "control", "human"])
    assert {row.generator: row.role for row in score(frame, EVERYBODY).scores} == {
        "bad": Role.CONTROL,
        "lm": Role.SYSTEM,
        "person": Role.SYSTEM,
    }
    named = score(frame, EVERYBODY, human="person")
    assert by_name(named)["person"].role is Role.HUMAN


def test_a_pair_is_compared_by_the_answers_about_the_two_alone() -> None:
    """x beats z always, which says nothing of x against y: they are even."""
    rows = [(f"w{at}", "x", "y", 1 + at % 2) for at in range(40)]
    rows += [(f"w{at}", "x", "z", 1) for at in range(40)]
    table = score(pairs(rows), EVERYBODY)
    assert comparison(table, "x", "y").difference == 0
    assert comparison(table, "x", "y").pairs == 40
    assert comparison(table, "x", "z").verdict == "a_higher"
    assert by_name(table)["x"].score == 0.75
    assert all({one.a, one.b} != {"y", "z"} for one in table.comparisons), "they never met"


def test_a_study_and_a_table_of_the_same_preferences_have_the_same_test() -> None:
    rng = np.random.default_rng(2)
    worker, story = np.repeat(np.arange(12), 8), np.tile(np.arange(8), 12)
    signs = np.where(rng.normal(0.3, 1.0, 12)[worker] + rng.normal(0.0, 1.0, 96) > 0, 1, -1)
    rows = [(str(one), "lm", "sa", 1 if sign > 0 else 2) for one, sign in zip(worker, signs, strict=True)]
    (found,) = score(pairs(rows, story=story), EVERYBODY).comparisons
    table = sign_test(signs, worker, story)
    assert (found.test, found.interval_method) == (table.test, table.method)
    assert found.p == pytest.approx(table.p, rel=1e-12)
    assert isinstance(table.interval, Interval)
    assert found.interval == pytest.approx([2 * end - 1 for end in table.interval])


def test_the_score_against_several_opponents_holds_them_apart() -> None:
    rows = [(f"w{at}", *pair, 1) for at in range(30) for pair in (("lm", "sa"), ("ilm", "lm"), ("ilm", "sa"))]
    scores = by_name(score(pairs(rows), EVERYBODY))
    lm, ilm = scores["lm"], scores["ilm"]
    assert lm.method == APART
    # lm always beats one and never the other: half, and surer than a half of sixty answers.
    assert (lm.score, lm.n, ilm.score) == (0.5, 60, 1.0)
    assert lm.interval is not None
    assert 60 < lm.effective_n < 400
    assert wilson(30, 60).low < lm.interval.low < 0.46


def test_preferences_are_ranked_and_the_effect_of_the_order_is_shown() -> None:
    found = {one.key: one for one in analyse(answers("prefer", people=40)).beside}
    assert [row[0] for row in found["ranking"].rows] == ["human", "good", "poor"]
    assert {row[0] for row in found["pairs"].rows} == {"good – human", "good – poor", "human – poor"}
    ((_, first, second, ties, _, _, p),) = found["shown_first"].rows
    assert (first + second, ties) == (240, 0)
    assert 0 < p <= 1


def test_a_rating_has_a_mean_on_each_scale_and_each_scale_its_comparisons() -> None:
    frame = answers("rate", scales={"fluency": ["bad", "good"], "fit": ["no", "yes"]})
    table = score(frame)
    assert [one.scale.name for one in table.all_scales] == ["fluency", "fit"]
    fit = by_name(table.others[0])
    mine = frame[frame["generator"] == "good"]
    assert fit["good"].score == pytest.approx(mine["fit"].mean())
    assert by_name(table)["good"].score == pytest.approx(mine["fluency"].mean())
    assert comparison(table.others[0], "good", "poor").verdict == "a_higher"
    document = json.loads(json.dumps(table.to_json()))
    assert document["question"] == "rate"
    assert [one["scale"]["name"] for one in document["scales"]] == ["fluency", "fit"]
    assert document["scales"][0]["scores"] == document["scores"]
    assert document["chance"] is None
    assert "not_identified" not in document["scores"][0]


def test_where_both_recur_ratings_take_the_t_test_if_its_p_is_larger() -> None:
    rng = np.random.default_rng(4)
    worker, story = np.repeat(np.arange(12), 12), np.tile(np.arange(12), 12)
    tastes = rng.normal(0.3, 1.0, 12)[worker] + rng.normal(0.0, 1.0, 12)[story]
    apart = np.rint(np.clip(tastes, -2, 2)).astype(int)
    frame = pd.DataFrame(
        {
            "worker": np.tile(worker, 2),
            "story": np.tile(story, 2),
            "generator": np.repeat(["lm", "sa"], 144),
            "position": 1,
            "choice": np.append(3 + apart, np.full(144, 3)),
            "question": "rate",
        }
    )
    (found,) = score(frame.assign(quality=frame["choice"]), EVERYBODY).comparisons
    assert found.test == ALL_THREE
    ordered = frame.sort_values(["generator", "worker", "story"])
    columns = ordered["choice"], ordered["worker"], ordered["story"], ordered["generator"]
    flips = paired_test(cells(*columns, binary=False), 0, 1, "two-sided")
    assert found.p > flips.p
    assert (found.p <= 0.05) == (not found.interval.low <= 0 <= found.interval.high)


def test_a_table_of_ratings_shows_its_scales_and_points() -> None:
    frame = answers("rate", scales={"fluency": ["bad", "good"]}, points=7)
    found = asked(frame)
    assert list(found.settings["scales"]) == ["fluency"]
    assert found.settings["points"] == 7
    assert asked(frame.drop(columns="fluency")).settings["points"] == 7
    assert asked(answers("rate")).settings["points"] == 5


def test_the_details_of_ratings_have_shares_of_each_point_a_model_and_agreement() -> None:
    frame = answers("rate", people=30)
    frame = frame[frame["generator"] != "human"]  # whose ratings are all the best
    found = {one.key: one for one in analyse(frame).beside}
    assert list(found) == ["ratings_quality", "ordinal_quality", "agreement_quality"]
    for row in found["ratings_quality"].rows:
        assert sum(row[3:]) == pytest.approx(1.0)
    contrasts = {row[0]: row[1] for row in found["ordinal_quality"].rows}
    assert contrasts["good – poor"] > 0
    alone = analyse(frame.assign(story=[f"s{at}" for at in range(len(frame))]))
    assert "no passage was judged twice" in alone.beside[2].note


def test_points_of_a_boundary_are_given_at_or_after_it() -> None:
    rows = [(4, 4, 5), (4, 6, 3), (4, 3, 0), (2, 9, 0), (11, 11, 5), (11, 10, 0)]
    frame = pd.DataFrame(
        [
            {
                "worker": f"w{at}",
                "story": f"s{at}",
                "generator": "human" if position == 11 else "lm",
                "position": position,
                "choice": choice,
                "question": "boundary",
                "sentences": 10,
            }
            for at, (position, choice, _) in enumerate(rows)
        ]
    )
    table = score(frame, EVERYBODY)
    assert by_name(table)["lm"].total == 8
    assert by_name(table)["human"].total == 5
    assert table.comparisons == ()
    exact, distance = analyse(frame, EVERYBODY).beside
    assert {row[0]: row[2] for row in exact.rows} == {"lm": 0.25, "human": 0.5}
    assert "10.0 %" in exact.note
    ((name, off, _, late, _),) = distance.rows
    assert (name, off, late) == ("lm", 2.5, 2.0)


def test_no_system_is_compared_with_human_where_humans_points_mean_something_else() -> None:
    table = score(answers("boundary", people=90))
    assert {one.family for one in table.comparisons} == {"systems"}
    assert "where lower is better" in " ".join(conclusion(table))


@pytest.mark.parametrize(
    ("question", "change", "said"),
    [
        ("boundary", {"choice": 1}, "choice 1 is no answer to the question boundary"),
        ("boundary", {"choice": 7}, "choice 7 is not a whole number from 1 to 6"),
        ("prefer", {"choice": 4}, "choice 4 is not a whole number from 1 to 2"),
        ("rate", {"quality": 0}, "quality 0 is not a whole number from 1 to 5"),
        ("detect", {"choice": 6}, "choice 6 is not a whole number from 1 to 5"),
    ],
)
def test_an_answer_that_the_question_does_not_have_is_named_with_its_line(
    question: str, change: dict[str, int], said: str
) -> None:
    frame = answers(question)
    told = asked(frame)
    for name, value in change.items():
        frame.loc[2, name] = value
    with pytest.raises(InputError, match=f"line 3 of the responses: {said}"):
        score(frame, told=told)


def test_a_table_that_answers_two_questions_or_another_is_refused() -> None:
    both = pd.concat([answers("detect"), answers("boundary")])
    with pytest.raises(InputError, match="the column question has 2 values"):
        score(both)
    with pytest.raises(UsageError, match="answers the question 'rate', not 'prefer'"):
        asked(answers("rate"), "prefer")
    assert asked(answers("prefer").drop(columns="question"), "prefer").question.name == "prefer"


@pytest.mark.parametrize("sentences", [3, 8, 20])
def test_detect_takes_stories_of_any_length_and_chance_is_of_that_length(sentences: int) -> None:
    table = score(answers("detect", sentences=sentences))
    assert table.chance is not None
    assert table.chance.nominal == 1 - 1 / sentences
    assert len(by_name(table)["good"].picks) == sentences


@pytest.mark.parametrize("question", ["detect", "prefer", "rate", "boundary"])
def test_the_order_of_lines_changes_nothing(question: str) -> None:
    frame = answers(question)
    shuffled = frame.sample(frac=1, random_state=5)
    first, second = (plain(analyse(one)) for one in (frame, shuffled))
    assert first == second


def plain(found: Analysis) -> dict[str, Any]:
    document = json.loads(json.dumps(found.to_json(), default=str))
    del document["details"]["workers"]
    return document


@pytest.mark.parametrize("question", ["detect", "prefer", "rate", "boundary"])
def test_nobody_is_scored_who_gave_another_answer_than_the_obvious_one(question: str) -> None:
    frame = answers(question)
    own = asked(frame)
    control = frame.index[frame["generator"] == "control"][0]
    for wrong in range(1, 7):
        changed = frame.copy()
        for name in [name for name in ("choice", "quality") if name in frame]:
            changed.loc[control, name] = wrong
        try:
            table = score(changed, told=own)
        except InputError:
            continue
        if table.annotators.excluded:
            assert table.annotators.excluded == 1
            return
    pytest.fail("no answer is wrong")


@pytest.mark.parametrize("question", ["prefer", "rate", "boundary"])
def test_the_words_of_a_question_stand_at_its_scores(
    question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = score(answers(question))
    for width in (40, 80, 120):
        render_table(table, Console(width=width, color_system=None))
        said = capsys.readouterr().out
        assert max(map(len, said.splitlines())) <= width
        assert "marked" not in said.replace("not marked", "")
        assert "machine’s sentence" not in said
    assert table.words.caption in said


def test_the_interval_of_a_mean_at_both_ends_of_its_scale_is_that_of_a_share() -> None:
    outcomes = np.array([5.0] * 30 + [0.0] * 10)
    found = mean_on_scale(outcomes, np.arange(40), np.arange(40), Interval(0, 5))
    # s²/n with n − 1, as of a mean, where a share has n.
    assert found.effective == pytest.approx(39)
    expected = wilson(0.75 * 39, 39)
    assert found.interval == pytest.approx((5 * expected.low, 5 * expected.high))


def test_a_mean_that_nothing_varies_around_is_still_not_certain() -> None:
    ones = np.full(20, 4.0)
    found = mean_on_scale(ones, np.arange(20), np.arange(20), Interval(1, 5))
    assert found.interval.low < 4 < found.interval.high
    alone = mean_on_scale(ones, np.zeros(20), np.arange(20), Interval(1, 5))
    assert alone.interval == (1, 5)
    assert "single worker" in alone.note


def test_a_margin_is_a_share_of_the_scale() -> None:
    frame = answers("rate", people=60)
    same = frame[frame["generator"] == "good"].assign(generator="same")
    table = score(pd.concat([frame, same], ignore_index=True), declared=Declared(margin=0.15))
    assert comparison(table, "good", "same").verdict == "equivalent"
    assert comparison(table, "good", "same").margin == pytest.approx(0.6)


def test_frames_of_python_have_a_column_of_scales_if_there_are_several() -> None:
    found = he.score(answers("rate", scales={"fluency": ["bad", "good"], "fit": ["no", "yes"]}))
    assert found.frame["scale"].tolist() == ["fluency"] * 4 + ["fit"] * 4
    assert set(found.comparisons["scale"]) == {"fluency", "fit"}
    assert "Fit: of the systems" in found.conclusion
    alone = he.score(answers("prefer").drop(columns="question"), question="prefer")
    assert list(alone.frame.columns[:4]) == ["generator", "role", "n", "score"]
    with pytest.raises(UsageError, match="no scale 'beauty'"):
        found.plot("beauty")


def test_one_answer_again_and_again_is_odd_by_the_answers_that_there_are() -> None:
    """Of six numbers for five sentences, nobody answers 1."""
    frame = answers("boundary").query("worker == 'w0'").assign(choice=6)
    (line,) = analyse(frame, EVERYBODY).workers
    assert line.straight == pytest.approx(0.2 ** (len(frame) - 1))
    assert all(one.straight == 1 for one in analyse(answers("rate")).workers)


def test_the_guess_of_a_careless_annotator_belongs_to_the_question() -> None:
    guesses = {
        name: load_question(name).guess(load_question(name).settings({}), 5)
        for name in ("detect", "prefer", "rate", "boundary")
    }
    assert guesses == pytest.approx({"detect": 0.2, "prefer": 0.5, "rate": 0.4, "boundary": 0.2})


def test_what_ratings_cannot_tell_is_said() -> None:
    frame = answers("rate").assign(quality=3, choice=3)
    found = analyse(frame, EVERYBODY)
    notes = {one.key: one for one in found.beside}
    assert "Not estimable" in notes["ordinal_quality"].note
    assert all(row.interval for row in found.table.scores)
    assert not isinstance(found.table.comparisons[0].interval, NotEstimable)


def test_pairs_need_a_second_generator_that_is_another_and_other_questions_have_none() -> None:
    frame = pairs([("a", "x", "y", 1), ("b", "y", "x", 2)])
    with pytest.raises(InputError, match="missing column: other"):
        score(frame.drop(columns="other"), EVERYBODY)
    with pytest.raises(InputError, match="line 2 of the responses: other 'y' is also the first generator"):
        score(frame.assign(other=["y", "y"]), EVERYBODY)
    with pytest.raises(InputError, match="the column other names a second generator, and detect shows one"):
        score(frame.assign(question="detect"), EVERYBODY)


@pytest.mark.parametrize("cell", [0, 8, 1.5, "1;2", "x", None])
def test_a_scale_with_a_cell_that_is_no_rating_is_not_left_out_in_silence(cell: object) -> None:
    frame = answers("rate", scales={"fluency": ("low", "high"), "fit": ("low", "high")})
    cells = [*frame["fluency"].tolist()[:2], cell, *frame["fluency"].tolist()[3:]]
    frame = frame.assign(fluency=pd.Series(cells, dtype=object))
    with pytest.raises(InputError, match="line 3 of the responses: fluency "):
        asked(frame)


SCALES = {"fluency": ("low", "high"), "fit": ("low", "high")}


@pytest.mark.parametrize(
    ("column", "cell", "said"),
    [
        ("question", None, "line 3 of the responses: question is empty"),
        ("question", " ", "line 3 of the responses: question is empty"),
        ("sentences", None, "line 3 of the responses: sentences is empty"),
        ("sentences", "six", "the column sentences has 2 values, which are not pooled: 5, six"),
        ("settings", None, "line 3 of the responses: settings is empty"),
    ],
)
def test_a_cell_that_does_not_say_what_was_asked_is_not_taken_for_the_others(
    column: str, cell: str | None, said: str
) -> None:
    whole = {"question": "rate", "sentences": "5", "settings": '{"points": 5}'}
    frame = answers("rate").assign(**whole)
    frame[column] = [cell if at == 2 else whole[column] for at in range(len(frame))]
    with pytest.raises(InputError) as caught:
        asked(frame)
    assert said in caught.value.message
    assert caught.value.hint
    with pytest.raises(InputError, match="line 1 of the responses: question is empty"):
        asked(answers("rate").assign(question=""))
    # Whoever names the question has said what the cells do not.
    assert asked(answers("rate").assign(question=""), "rate").question.name == "rate"


def test_points_that_a_table_does_not_say_are_said_to_be_supposed() -> None:
    frame = answers("rate", scales=SCALES)
    frame.loc[4, "fit"] = 6
    (note,) = asked(frame).notes
    assert note.startswith("1 rating is above 5, of 192, so scales are taken to have 6 points")
    assert he.score(frame).json()["notes"] == [note]
    assert not asked(answers("rate", scales=SCALES)).notes
    assert "notes" not in he.score(answers("rate", scales=SCALES)).json()
    told = frame.assign(settings='{"points": 5}')
    assert not asked(told).notes
    with pytest.raises(InputError, match="line 5 of the responses: fit 6 is not a whole number from 1 to 5"):
        score(told)
    assert asked(frame.assign(settings='{"points": 7}')).settings["points"] == 7


def test_ties_and_lengths_that_a_table_does_not_say_are_said_to_be_supposed() -> None:
    tied = answers("prefer", ties=True)
    assert "so people are taken to have been allowed to see no difference" in asked(tied).notes[0]
    assert not asked(tied.assign(settings='{"ties": true}')).notes
    with pytest.raises(InputError, match="choice 3 is not a whole number from 1 to 2"):
        score(tied.assign(settings='{"ties": false}'))
    late = answers("boundary")
    late.loc[4, "choice"] = 9
    assert asked(late).notes == (
        "the highest position or choice is 9, so passages are taken to have 8 sentences. A column sentences"
        " would say it",
    )
    with pytest.raises(InputError, match="choice 9 is not a whole number from 1 to 6"):
        score(late.assign(sentences=5))


@pytest.mark.parametrize("name", ["Fluency", "fits the context", "7th", "größe", "next", "warning"])
def test_a_scale_whose_name_cannot_be_one_is_not_left_out_in_silence(name: str) -> None:
    frame = answers("rate", scales=SCALES).rename(columns={"fit": name})
    with pytest.raises(InputError, match=f"the column '{name}' has ratings, and a scale cannot have"):
        asked(frame)


def test_a_table_with_more_scales_than_can_be_scored_names_them() -> None:
    frame = answers("rate", scales=SCALES)
    more = frame.assign(sense=frame["fit"], style=frame["fit"], batch=1)
    with pytest.raises(InputError, match=r"5 columns of ratings \(fluency, fit, sense, style, batch\)"):
        asked(more)


def test_settings_without_a_question_are_not_taken_for_detect(tmp_path: Path) -> None:
    frame = answers("detect").drop(columns="question").assign(settings='{"points": 7}')
    with pytest.raises(InputError, match="does not say of which"):
        asked(frame)
    frame.to_csv(tmp_path / "r.csv", index=False)
    with pytest.raises(InputError, match="does not say of which"):
        he.score(tmp_path / "r.csv")
    assert asked(frame.assign(settings="fast")).question.name == "detect"
    with pytest.raises(SettingsError, match=r"answers.points is 7\.5"):
        asked(answers("rate").assign(settings='{"points": 7.5}'))
    assert asked(answers("rate").assign(settings='{"points": 7.0}')).settings["points"] == 7


def test_a_frame_may_have_settings_as_they_are_and_no_texts_as_a_length() -> None:
    frame = answers("rate")
    frame = frame.assign(settings=pd.Series([{"points": 7}] * len(frame), dtype=object))
    assert asked(frame).settings["points"] == 7
    texts = pd.Series([["A cat.", f"It ran {at}."] for at in range(len(frame))], dtype=object)
    frame = frame.assign(sentences=texts)
    with pytest.raises(InputError, match="the column sentences has 96 values") as caught:
        he.score(frame)
    assert "needs another name" in caught.value.hint


@pytest.mark.parametrize("cell", ["seven", "[7]", '{"points": 7'])
def test_settings_that_are_none_are_refused(cell: str) -> None:
    with pytest.raises(InputError, match="the column settings is no JSON object"):
        asked(answers("rate").assign(settings=cell))


def test_a_table_of_ratings_without_a_choice_is_told_which_scale_it_is() -> None:
    with pytest.raises(InputError) as caught:
        he.score(answers("rate").drop(columns="choice"))
    assert "the choice is that on the first scale" in str(caught.value.hint)


def test_a_boundary_is_not_before_the_second_sentence() -> None:
    frame = answers("boundary").assign(position=lambda found: [1, *found["position"][1:]])
    with pytest.raises(InputError, match="line 1 of the responses: position 1 is none that boundary"):
        score(frame, EVERYBODY)


def test_a_persons_whole_story_has_no_boundary_before_its_end() -> None:
    frame = answers("boundary")
    human = frame["generator"] == "human"
    with pytest.raises(InputError, match=r"position 4 is not 6, as a person wrote all of Human's story"):
        score(frame.assign(position=frame["position"].mask(human, 4)))


def test_no_scale_has_a_name_that_r_cannot_read() -> None:
    for name in ("if", "next", "warning", "choice"):
        with pytest.raises(SettingsError, match=f"'{name}' cannot be the name of a scale"):
            load_question("rate").settings({"scales": {name: ["low", "high"]}})


def test_the_answer_all_by_a_person_tells_how_long_stories_are() -> None:
    frame = pd.DataFrame({"position": [3, 8], "choice": [9, 11], "question": "boundary"})
    assert asked(frame).sentences == 10


@pytest.mark.parametrize("length", ["ten", 2, 21, 5.5, float("inf"), -3])
def test_a_number_of_sentences_that_no_story_has_is_refused(length: object) -> None:
    with pytest.raises(InputError, match="sentences cannot be scored"):
        asked(answers("detect").assign(sentences=length))


@pytest.mark.parametrize("question", ["prefer", "rate", "boundary"])
def test_a_report_has_no_table_of_marked_sentences_if_none_was_marked(question: str) -> None:
    page = render_report(ReportData("Scores", score(answers(question), EVERYBODY)))
    assert "Design audit" not in page
    assert "Sentence that annotators marked" not in page


def test_a_reports_tables_of_positions_have_as_many_columns_as_stories_have_sentences() -> None:
    page = render_report(ReportData("Scores", score(answers("detect", sentences=7), EVERYBODY)))
    audit = page[page.index("Position of the machine’s sentence") :]
    assert '<th scope="col" class="n">7</th><th scope="col" class="n">All</th>' in audit


def test_a_mean_is_compared_from_the_lines_of_its_pair_alone() -> None:
    looked_at = []

    class Workers(np.ndarray):
        def __getitem__(self, key: Any) -> Any:
            looked_at.append(np.size(key))
            return super().__getitem__(key)

    lines, systems = 400, 10
    rng = np.random.default_rng(4)
    worker, story, system = (rng.integers(0, many, lines) for many in (20, 30, systems))
    entries = Entries(rng.integers(1, 6, lines).astype(float), worker.view(Workers), story, system)
    pairs = list(combinations(range(systems), 2))
    mean_differences(entries, Scale("", 1, 5, "", "", binary=False), pairs, 0.95, "two-sided", ())
    assert sum(looked_at) == lines * (systems - 1)
