"""The reason for a rejection says in the question's words what was obvious, and what was answered."""

from __future__ import annotations

from typing import Any

import pytest

from humaneval.crowd.prolific.evidence import _controls, _Place
from humaneval.domain import Role
from humaneval.scoring.questions.question import Answer, Truth, load_question
from humaneval.study.asked import Asked

TWO = {"scales": {"fluency": ["bad", "good"], "fit": ["bad", "good"]}}


@pytest.mark.parametrize(
    ("question", "settings", "generators", "answer", "told"),
    [
        ("detect", {}, ("control",), {"choice": 1}, "it is sentence 3, and the answer was sentence 1"),
        ("prefer", {}, ("control", "human"), {"choice": 1}, "it is B, and the answer was A"),
        (
            "rate",
            TWO,
            ("control",),
            {"fluency": 4, "fit": 1},
            "it is fluency 1 of 5 or fluency 2 of 5, and the answer was fluency 4 of 5, fit 1 of 5",
        ),
        (
            "boundary",
            {},
            ("control",),
            {"choice": 6},
            "it is machine from sentence 3, and the answer was all by a person",
        ),
    ],
)
def test_a_failed_check_names_the_obvious_answer_and_the_one_that_was_given(
    question: str, settings: dict[str, Any], generators: tuple[str, ...], answer: Answer, told: str
) -> None:
    found = load_question(question)
    asked = Asked(found, found.settings(settings))
    truth = Truth(generators, Role.CONTROL, 3, 5, "control")
    (evidence,) = _controls([_Place(2, truth, answer)], asked, minutes=4)
    assert evidence.category == "FAILED_CHECK"
    assert evidence.reason == (
        f"In 1 of 1 stories with an obvious answer, another answer was given: in story 2 {told}."
    )
    passed = {name: values[0] for name, values in found.obvious(truth, asked.settings).items()}
    assert _controls([_Place(2, truth, {**answer, **passed})], asked, minutes=4) == []
