"""The four questions: what each row shows, what an answer is worth, and which answer is obvious."""

from __future__ import annotations

from random import Random

import pytest

from humaneval.domain import Role
from humaneval.errors import SettingsError, UsageError
from humaneval.scoring.questions.question import CHOICE, Truth, load_question, question_names

STORY = ("a.", "b.", "c.", "d.", "e.")


def truth(position: int = 3, *generators: str, role: Role = Role.SYSTEM) -> Truth:
    return Truth(generators or ("ilm",), role, position, 5, "control")


def test_the_four_questions_are_found_by_name() -> None:
    assert question_names()[:4] == ("detect", "prefer", "rate", "boundary")
    assert [load_question(name).name for name in question_names()[:4]] == list(question_names()[:4])
    with pytest.raises(UsageError, match="there is no question 'rank'"):
        load_question("rank")


def test_prefer_shows_every_pair_in_both_orders_and_the_control_with_the_human_only() -> None:
    prefer = load_question("prefer")
    made = prefer.conditions(["control", "lm", "ilm", "human"], "control", "human", {"ties": False})
    assert [one.name for one in made if one.role is Role.CONTROL] == ["control | human", "human | control"]
    assert sorted(one.name for one in made if one.role is Role.SYSTEM) == [
        "human | ilm",
        "human | lm",
        "ilm | human",
        "ilm | lm",
        "lm | human",
        "lm | ilm",
    ]
    alone = prefer.conditions(["control", "lm"], "control", "human", {"ties": False})
    assert [one.name for one in alone] == ["control | lm", "lm | control"]


def test_the_obvious_answer_to_a_control_passage_belongs_to_the_question() -> None:
    prefer, rate, boundary = map(load_question, ("prefer", "rate", "boundary"))
    no_ties, scales = (
        prefer.settings({}),
        rate.settings({"scales": {"fit": ["bad", "good"], "fun": ["a", "b"]}}),
    )
    first = truth(3, "control", "human", role=Role.CONTROL)
    assert [prefer.passed(first, {CHOICE: one}, no_ties) for one in (1, 2)] == [False, True]
    control = truth(3, "control", role=Role.CONTROL)
    assert [rate.passed(control, {"fit": one, "fun": 5}, scales) for one in (1, 2, 3)] == [True, True, False]
    assert [boundary.passed(control, {CHOICE: one}, {}) for one in (2, 3, 4)] == [False, True, False]


def test_what_an_answer_is_worth() -> None:
    detect, prefer, rate, boundary = map(load_question, question_names()[:4])
    assert [detect.outcomes(truth(3), {CHOICE: one}, "", {}) for one in (3, 4)] == [(0.0,), (1.0,)]
    worth = [prefer.outcomes(truth(), {CHOICE: one}, "", {"ties": True}) for one in (1, 2, 3)]
    assert worth == [(1.0, 0.0), (0.0, 1.0), (0.5, 0.5)]
    assert rate.outcomes(truth(), {"quality": 4}, "quality", rate.settings({})) == (4.0,)
    assert [boundary.outcomes(truth(3), {CHOICE: one}, "", {}) for one in (2, 3, 6)] == [
        (0.0,),
        (5.0,),
        (2.0,),
    ]


def test_a_passage_is_shown_as_its_question_says() -> None:
    detect, prefer, _, boundary = map(load_question, question_names()[:4])
    assert detect.show(STORY, 3, ("x.",), Role.SYSTEM).sentences == ("a.", "b.", "x.", "d.", "e.")
    two = prefer.show(STORY, 3, ("x.", "y."), Role.SYSTEM)
    assert (two.sentences[2], two.alternative, two.position) == ("x.", "y.", 3)
    rest = boundary.show(STORY, 4, ("x.\ny.",), Role.SYSTEM)
    assert (rest.sentences, rest.position) == (("a.", "b.", "c.", "x.", "y."), 4)
    whole = boundary.show(STORY, 4, ("d.\ne.",), Role.HUMAN)
    assert (whole.sentences, whole.position) == (STORY, 6)


@pytest.mark.parametrize("name", ["detect", "prefer", "rate", "boundary"])
def test_simulated_answers_are_complete(name: str) -> None:
    question, rng = load_question(name), Random(1)
    settings = question.settings({})
    for careless in (False, True):
        for _ in range(50):
            answer = question.simulate(rng, truth(3, "a", "b"), (0.3, 0.6), careless, settings)
            assert question.complete(answer, settings, 5)


@pytest.mark.parametrize(
    ("name", "values", "named"),
    [
        ("detect", {"points": 5}, "answers.points"),
        ("prefer", {"ties": "yes"}, "answers.ties"),
        ("rate", {"points": 9}, "answers.points"),
        ("rate", {"points": True}, "answers.points"),
        ("rate", {"scales": {}}, "answers.scales"),
        ("rate", {"scales": {"worker": ["a", "b"]}}, "worker"),
        ("rate", {"scales": {"fit": ["a", "b", "c"]}}, "answers.scales.fit"),
        ("rate", {"control": "fit"}, "answers.control"),
    ],
)
def test_wrong_settings_of_a_question_are_named(name: str, values: dict, named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        load_question(name).settings(values)


@pytest.mark.parametrize("sentences", [5, 10])
def test_simulated_readers_of_whole_stories_get_the_points_that_are_said(sentences: int) -> None:
    question, rng = load_question("boundary"), Random(2)
    truth = Truth(("human",), Role.HUMAN, sentences + 1, sentences, "control")
    answers = (question.simulate(rng, truth, [0.3], False, {}) for _ in range(4000))
    found = [question.outcomes(truth, answer, "", {})[0] for answer in answers]
    said = question.true_score_of_human("human", {"human": 0.3}, {}, sentences)
    assert said is not None
    assert sum(found) / len(found) == pytest.approx(said, abs=0.12)
