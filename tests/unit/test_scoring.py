"""Scores: the published ones come out, exclusions are counted, and nothing depends on order or labels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from humaneval.domain import CEILING, Role
from humaneval.errors import InputError, UsageError
from humaneval.scoring.exclusions import Rule
from humaneval.scoring.scores import ScoreTable, score
from humaneval.statistics.intervals import wilson
from humaneval.statistics.score_intervals import PLAIN, WIDENED

PUBLISHED = {
    "Control": (0, 0),
    "BERT": (19, 20),
    "SA": (28, 29),
    "LM (scratch)": (38, 40),
    "LM": (39, 41),
    "ILM (scratch)": (37, 39),
    "ILM": (43, 45),
    "Human": (74, 78),
}
"""Counts of 95 that went unnoticed, and the percentages in print."""


def published() -> pd.DataFrame:
    """100 annotators with 8 stories each; the last five miss Control, the others answer by the published
    counts."""
    rows = []
    for place, (generator, (missed, _)) in enumerate(PUBLISHED.items()):
        for annotator in range(100):
            position = (annotator + place) % 5 + 1
            gone = annotator >= 95 or annotator < missed
            choice = position % 5 + 1 if gone else position
            story = f"story-{(annotator + 13 * place) % 100}"
            rows.append((f"worker-{annotator}", story, generator, position, choice))
    return pd.DataFrame(rows, columns=["worker", "story", "generator", "position", "choice"])


def small(**changes: Any) -> pd.DataFrame:
    """Three annotators, three generators; the third annotator misses Control."""
    columns: dict[str, Any] = {
        "worker": ["a", "a", "a", "b", "b", "b", "c", "c", "c"],
        "story": [1, 2, 3, 2, 3, 1, 3, 1, 2],
        "generator": ["control", "ilm", "human"] * 3,
        "position": [1, 2, 3, 4, 5, 1, 2, 3, 4],
        "choice": [1, 2, 4, 4, 1, 1, 3, 3, 4],
    }
    return pd.DataFrame(columns | changes)


def facts(table: ScoreTable) -> list[tuple[Any, ...]]:
    return [
        (row.generator, row.n, row.not_identified, row.interval, row.design_effect, row.picks)
        for row in table.scores
    ]


def by_name(table: ScoreTable) -> dict[str, Any]:
    return {row.generator: row for row in table.scores}


def test_the_published_scores_come_out() -> None:
    table = score(published())
    assert table.annotators.collected == 100
    assert table.annotators.excluded == 5
    assert table.annotators.analysed == 95
    assert {row.generator: (row.not_identified, round(100 * row.score)) for row in table.scores} == PUBLISHED
    assert {row.n for row in table.scores} == {95}
    ilm = by_name(table)["ILM"]
    assert (ilm.method, ilm.design_effect) == (PLAIN, 1.0)
    assert ilm.interval == pytest.approx((0.356328, 0.552617), abs=5e-7)
    assert [row.generator for row in table.scores] == [
        "Control",
        "BERT",
        "SA",
        "ILM (scratch)",
        "LM (scratch)",
        "LM",
        "ILM",
        "Human",
    ]
    assert table.control is not None
    assert (table.control.passed, table.control.n) == (95, 100)
    assert {row.n for row in table.before_exclusions} == {100}


def test_c50_every_exclusion_is_counted_and_the_rule_has_a_hash() -> None:
    frame = published()
    test_rows = frame.head(3).assign(worker="tester", test=True, row_passages=8)
    unfinished = frame.head(1).assign(worker="unfinished")
    frame = pd.concat([frame, frame.iloc[[7]], unfinished], ignore_index=True).assign(
        test=False, row_passages=8
    )
    table = score(pd.concat([frame, test_rows], ignore_index=True))
    assert [
        (s.step, s.annotators, s.responses, s.annotators_out, s.responses_out) for s in table.exclusions
    ] == [
        ("collected", 102, 805, 0, 0),
        ("tests", 101, 802, 1, 3),
        ("duplicates", 101, 801, 0, 1),
        ("incomplete", 100, 800, 1, 1),
        ("missed control", 95, 760, 5, 40),
        ("analysed", 95, 760, 0, 0),
    ]
    assert (table.annotators.collected, table.annotators.excluded, table.annotators.analysed) == (101, 6, 95)
    rule = table.to_json()["rule"]
    assert rule["hash"] == Rule().hash
    assert len(rule["hash"]) == 64
    different = [Rule(control="row"), Rule(control="none"), Rule(incomplete=False), Rule(tests="only")]
    assert len({Rule().hash, *(one.hash for one in different)}) == 5
    assert "missed a Control passage are excluded with all their answers" in Rule().describe()


def test_a_rule_with_words_that_it_does_not_know_is_an_error() -> None:
    with pytest.raises(UsageError, match="no control 'everyone'") as error:
        Rule(control="everyone")
    assert error.value.hint == "There are: annotator, row, none."


def test_the_hash_of_the_published_rule_never_changes() -> None:
    assert Rule().hash[:12] == "269e7b838378"


def test_c51_a_missed_control_costs_the_annotator_the_row_or_nothing_and_both_scores_are_shown() -> None:
    first = small(row=["r1"] * 3 + ["r2"] * 3 + ["r3"] * 3)
    second = small(worker=["a"] * 3 + ["b"] * 3 + ["c"] * 3, choice=[1, 1, 3, 4, 5, 1, 2, 3, 4]).assign(
        story=[4, 5, 6, 5, 6, 4, 6, 4, 5], row=["r4"] * 3 + ["r5"] * 3 + ["r6"] * 3
    )
    both = pd.concat([first, second], ignore_index=True)
    counts = {}
    for control in ("annotator", "row", "none"):
        table = score(both, Rule(control=control))
        assert {row.n for row in table.before_exclusions} == {6}
        counts[control] = (
            by_name(table)["ilm"].n,
            table.annotators.analysed,
            by_name(table)["control"].not_identified,
        )
    assert counts == {"annotator": (4, 2, 0), "row": (5, 3, 0), "none": (6, 3, 1)}


def test_c58_human_is_scored_by_the_held_out_position_against_a_chance_of_four_fifths() -> None:
    table = score(small())
    human = by_name(table)["human"]
    assert (human.role, human.not_identified, human.n) == (Role.HUMAN, 1, 2)
    assert pytest.approx(0.8) == CEILING
    assert table.chance.nominal == CEILING
    # Human picks 4 and 1; sentences of systems and Human at 2, 3, 5, 1: 1 − (½·¼ + ½·0)
    assert table.chance.picks == (1, 0, 0, 1, 0)
    assert table.chance.positions == (1, 1, 1, 0, 1)
    assert table.chance.achieved == pytest.approx(7 / 8)


def test_uniform_positions_make_chance_exactly_four_fifths_whatever_people_pick() -> None:
    frame = published().assign(choice=1)
    table = score(frame, Rule(control="none"))
    assert table.chance.achieved == pytest.approx(0.8)


def test_c59_the_table_given_is_never_changed() -> None:
    frame = published().assign(
        test="no",
        role=lambda f: f.generator.map(lambda g: g.lower() if g in ("Control", "Human") else "system"),
    )
    before = frame.copy(deep=True)
    score(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_the_document_has_the_fields_that_programs_read() -> None:
    document = json.loads(json.dumps(score(small(study="pilot-1")).to_json(), allow_nan=False))
    assert document["study"] == "pilot-1"
    assert document["annotators"] == {"collected": 3, "excluded": 1, "analysed": 2}
    assert document["scores"][1] | {"interval": None} == {
        "generator": "ilm",
        "role": "system",
        "n": 2,
        "not_identified": 1,
        "score": 0.5,
        "interval": None,
        "interval_method": "wilson",
        "level": 0.95,
        "design_effect": 1.0,
        "effective_n": 2.0,
        "workers": 2,
        "stories": 2,
        "note": "",
    }
    assert document["scores"][1]["interval"] == pytest.approx([0.094531, 0.905469], abs=1e-6)
    assert document["control"]["passed"] == 2
    assert {"before_exclusions", "exclusions", "chance", "rule"} <= document.keys()


@pytest.mark.parametrize(("rule", "reason"), [("annotator", "annotators who"), ("row", "rows with a")])
def test_X03_control_after_its_gate_has_no_interval_and_a_reason(rule: Any, reason: str) -> None:
    frame = small(row=["a1", "a1", "a1", "b1", "b1", "b1", "c1", "c1", "c1"])
    for answers, before in ((frame, 3), (frame[frame.worker != "c"], 2)):
        document = json.loads(json.dumps(score(answers, Rule(control=rule)).to_json(), allow_nan=False))
        control = document["scores"][0]
        assert (control["generator"], control["score"]) == ("control", 0.0)
        assert (control["interval"], control["interval_method"]) == (None, None)
        assert control["note"].startswith(f"0 by construction, as {reason}")
        assert [len(row["interval"]) for row in document["scores"][1:]] == [2, 2]
        # Before the exclusions it was no matter of course, whoever missed it.
        assert document["before_exclusions"][0]["n"] == before
        assert len(document["before_exclusions"][0]["interval"]) == 2
    kept = score(frame, Rule(control="none")).scores[0]
    assert kept.interval
    assert not kept.note


def test_X02_how_often_control_was_noticed_knows_that_annotators_recur() -> None:
    frame = small()
    again = pd.concat([frame.assign(story=frame["story"] + 3 * form) for form in range(4)])
    found = score(again).control
    assert found is not None
    assert (found.passed, found.n) == (8, 12)
    once = wilson(8, 12)
    assert found.interval.low < once.low < once.high < found.interval.high


def clustered(seed: int, workers: int = 12, stories: int = 6) -> pd.DataFrame:
    """Every worker judges each of four generators on three stories of six."""
    rng = np.random.default_rng(seed)
    rows = []
    for worker in range(workers):
        for code, generator in enumerate(("control", "lm", "ilm", "human")):
            for again in range(3):
                position = int(rng.integers(1, 6))
                choice = position if generator == "control" else int(rng.integers(1, 6))
                rows.append(
                    (f"w{worker}", f"s{(worker + code + 2 * again) % stories}", generator, position, choice)
                )
    return pd.DataFrame(rows, columns=["worker", "story", "generator", "position", "choice"])


def test_recurring_workers_or_stories_widen_the_interval_and_the_method_says_so() -> None:
    table = score(clustered(1))
    assert {row.method for row in table.scores} == {WIDENED}
    assert all(row.design_effect >= 1 for row in table.scores)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_permuting_responses_and_relabelling_workers_change_nothing(seed: int) -> None:
    frame = clustered(seed)
    shuffled = frame.sample(frac=1, random_state=seed)
    shuffled["worker"] = "renamed " + shuffled["worker"].str[::-1]
    one, two = score(frame), score(shuffled)
    assert [row[:3] + row[5:] for row in facts(one)] == [row[:3] + row[5:] for row in facts(two)]
    for a, b in zip(one.scores, two.scores, strict=True):
        assert a.interval == pytest.approx(b.interval)
    assert one.chance == two.chance


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_a_copy_of_every_worker_leaves_the_scores(seed: int) -> None:
    frame = clustered(seed)
    doubled = pd.concat([frame, frame.assign(worker="copy of " + frame["worker"])], ignore_index=True)
    one, two = score(frame), score(doubled)
    assert {r.generator: r.score for r in one.scores} == {r.generator: r.score for r in two.scores}
    assert all(row.n == 72 for row in two.scores)


def test_a_copy_of_every_worker_and_story_narrows_the_interval_by_root_two() -> None:
    frame = published()
    other = frame.assign(worker="copy of " + frame["worker"], story="copy of " + frame["story"])
    one, two = score(frame), score(pd.concat([frame, other]))
    for a, b in zip(one.scores[1:], two.scores[1:], strict=True):
        assert (a.interval.high - a.interval.low) / (b.interval.high - b.interval.low) == pytest.approx(
            2**0.5, rel=0.03
        )


def test_everybody_and_nobody_are_scores_too() -> None:
    frame = published()
    frame.loc[frame.generator == "ILM", "choice"] = frame["position"] % 5 + 1
    frame.loc[frame.generator == "BERT", "choice"] = frame["position"]
    rows = by_name(score(frame))
    assert (rows["ILM"].score, rows["ILM"].interval.high) == (1.0, 1.0)
    assert (rows["BERT"].score, rows["BERT"].interval.low) == (0.0, 0.0)


def test_one_annotator_counts_as_one_response_where_she_answered_often() -> None:
    frame = clustered(3, workers=1)
    assert {row.design_effect for row in score(frame).scores} == {3.0}


def test_of_two_answers_the_one_sent_first_counts() -> None:
    frame = small().assign(submitted_at="2026-03-01T10:00:00Z")
    later = frame.iloc[[1]].assign(choice=5, submitted_at="2026-03-01T11:00:00+00:00")
    earlier = frame.iloc[[1]].assign(choice=5, submitted_at="2026-03-01T09:00:00+00:00")
    assert by_name(score(pd.concat([later, frame])))["ilm"].not_identified == 1
    assert by_name(score(pd.concat([frame, earlier])))["ilm"].not_identified == 2


def test_tests_are_scored_alone_or_not_at_all() -> None:
    marked = pd.concat([small(test="false"), small(worker=list("xxxyyyzzz"), test="true")], ignore_index=True)
    assert facts(score(marked)) == facts(score(small()))
    assert facts(score(marked, Rule(tests="only"))) == facts(score(small()))
    with pytest.raises(InputError, match="all responses are tests"):
        score(small(test=True))
    with pytest.raises(InputError, match="no response is marked as a test"):
        score(small(), Rule(tests="only"))


@pytest.mark.parametrize("names", [("CONTROL", "Human"), (" control", "human ")])
def test_control_and_human_are_known_by_name_in_any_case(names: tuple[str, str]) -> None:
    table = score(small(generator=[names[0], "ilm", names[1]] * 3))
    assert [row.role for row in table.scores] == [Role.CONTROL, Role.SYSTEM, Role.HUMAN]


def test_other_names_are_given_as_options_or_in_a_column() -> None:
    named = score(small(generator=["bad", "ilm", "gold"] * 3), control="bad", human="gold")
    column = score(small(generator=["bad", "ilm", "gold"] * 3, role=["Control", "system", "human"] * 3))
    for table in (named, column):
        assert [row.role for row in table.scores] == [Role.CONTROL, Role.SYSTEM, Role.HUMAN]
    with pytest.raises(UsageError, match="there is no generator 'nobody'"):
        score(small(), control="nobody")
    with pytest.raises(UsageError, match="both Control and Human"):
        score(small(), control="ilm", human="ilm")
    with pytest.raises(InputError, match="control has two roles"):
        score(
            small(
                role=["control", "system", "human", "system", "system", "human", "control", "system", "human"]
            )
        )
    with pytest.raises(InputError, match=r"line 1 of the responses: role 'judge' is not a role"):
        score(small(role=["judge"] * 9))


def test_a_missing_control_is_an_error_only_where_the_rule_needs_one() -> None:
    frame = small(generator=["bert", "ilm", "human"] * 3)
    with pytest.raises(InputError, match="no generator is the Control") as error:
        score(frame)
    assert "--control NAME" in error.value.hint
    assert score(frame, Rule(control="none")).control is None


def test_missing_columns_are_listed_with_what_is_there() -> None:
    with pytest.raises(InputError, match="missing columns: generator, choice") as error:
        score(small().drop(columns=["generator", "choice"]))
    assert error.value.hint == "The table has: worker, story, position."


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("choice", 6, r"line 5 of the responses: choice 6.* is not a whole number from 1 to 5"),
        ("choice", 0, r"line 5 .* choice 0"),
        ("choice", 2.5, r"line 5 .* choice 2.5"),
        ("choice", "two", r"line 5 .* choice 'two'"),
        ("choice", None, r"line 5 .* choice"),
        ("position", 9, r"line 5 .* position 9"),
        ("worker", None, r"line 5 .* worker is empty"),
        ("story", "  ", r"line 5 .* story is empty"),
        ("test", "maybe", r"line 5 .* test 'maybe' is neither true nor false"),
    ],
)
def test_a_bad_value_is_named_with_its_line(column: str, value: Any, message: str) -> None:
    frame = small(test="no").astype({column: object})
    frame.loc[4, column] = value
    with pytest.raises(InputError, match=message):
        score(frame)


def test_what_leaves_nothing_to_score_is_a_clear_error() -> None:
    everybody = published()
    everybody.loc[everybody.generator == "Control", "choice"] = everybody["position"] % 5 + 1
    with pytest.raises(InputError, match="all 100 annotators missed a Control passage"):
        score(everybody)
    apart = small(worker=list("abcdefghi"), row_passages=3)
    with pytest.raises(InputError, match="no annotator answered every passage they were shown"):
        score(apart)
    with pytest.raises(InputError, match="no responses"):
        score(small().head(0))
    with pytest.raises(InputError, match="do not say which row"):
        score(small(), Rule(control="row"))
    with pytest.raises(InputError, match=r"2 studies \(one, two\)"):
        score(small(study=["one"] * 8 + ["two"]))
    alone = small(
        worker=["a", "a", "a", "b", "b", "b", "c", "d", "d"],
        generator=["control", "ilm", "human"] * 2 + ["control", "sa", "sa"],
    )
    with pytest.raises(InputError, match="no response to sa is left"):
        score(alone.assign(worker=["a"] * 3 + ["b"] * 3 + ["c"] * 3), Rule(incomplete=False))


def test_scores_come_from_whole_numbers_of_any_type() -> None:
    as_text = small().astype({"position": str, "choice": str})
    as_float = small().astype({"position": float, "choice": float})
    assert facts(score(as_text)) == facts(score(as_float)) == facts(score(small()))


def partly(**changes: Any) -> pd.DataFrame:
    """Three annotators who were shown the control and one of two systems; the third left the control
    unanswered."""
    columns: dict[str, Any] = {
        "worker": ["a", "a", "b", "b", "c"],
        "story": [1, 2, 3, 4, 5],
        "generator": ["control", "ilm", "control", "lm", "lm"],
        "position": [1, 2, 3, 4, 5],
        "choice": [1, 2, 3, 1, 1],
        "row": [1, 1, 2, 2, 3],
        "row_passages": [2] * 5,
    }
    return pd.DataFrame(columns | changes)


def test_incomplete_means_a_passage_of_ones_own_form_where_the_table_says_how_many_it_showed() -> None:
    table = score(partly())
    assert {row.generator: row.n for row in table.scores} == {"control": 2, "ilm": 1, "lm": 1}
    (step,) = [step for step in table.exclusions if step.step == "incomplete"]
    assert (step.annotators_out, step.responses_out) == (1, 1)


def test_without_it_nobody_is_incomplete_and_without_forms_it_counts_what_a_worker_was_shown() -> None:
    (step,) = [s for s in score(partly().drop(columns="row_passages")).exclusions if s.step == "incomplete"]
    assert (step.annotators_out, step.responses_out) == (0, 0)
    (step,) = [s for s in score(partly().drop(columns="row")).exclusions if s.step == "incomplete"]
    assert (step.annotators_out, step.responses_out) == (1, 1)
    with pytest.raises(
        InputError, match=r"line 2 of the responses: row_passages 1\.5 is not a whole number from 1"
    ):
        score(partly(row_passages=[2, 1.5, 2, 2, 2]))


def test_a_second_answer_that_does_not_count_leaves_no_gap_and_a_gap_in_one_form_costs_all() -> None:
    twice = partly(worker=["a"] * 5, story=[1, 2, 1, 4, 5], row=[1, 1, 2, 2, 2], row_passages=[2, 2, 3, 3, 3])
    assert score(twice).annotators.analysed == 1
    gap = partly(worker=["a", "a", "b", "b", "b"])
    with pytest.raises(InputError, match="no response to lm is left"):
        score(gap)


@pytest.mark.parametrize("control", [None, "Control"])
def test_X06_rows_of_control_in_two_spellings_are_refused(control: str | None) -> None:
    rows = [(f"w{n}", "s", name, 1, 1) for n, name in enumerate(("Control", "control", "a", "b"))]
    frame = pd.DataFrame(rows, columns=["worker", "story", "generator", "position", "choice"])
    with pytest.raises(InputError, match="the generators Control, control differ only in case"):
        score(frame, control=control)
