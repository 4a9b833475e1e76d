"""What people answered is read the same whichever way it came, and what makes no sense counts as not
given."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from werkzeug.datastructures import MultiDict

from humaneval.crowd.answers import Given, fields_from_xml, in_words, read_answers
from humaneval.errors import InputError
from humaneval.scoring.questions.question import Answer, load_question
from humaneval.study.asked import Asked
from humaneval.study.file import read_study_file
from humaneval.web.forms import known_fields

OVERRIDES: dict[str, dict[str, Any]] = {
    "detect": {},
    "prefer": {"question": "prefer"},
    "rate": {
        "question": "rate",
        "answers": {
            "scales": {"fluency": ["not fluent", "fluent"], "fit": ["does not fit", "fits"]},
            "points": 4,
        },
    },
    "boundary": {"question": "boundary"},
}
SCALES = {"fluency": ["not fluent", "fluent"], "fit": ["does not fit", "fits"]}


def test_fields_of_an_answer_document_are_read_whatever_kind_they_are() -> None:
    xml = (
        "<QuestionFormAnswers"
        ' xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"><Answer><QuestionIdentifier>a</QuestionIdentifier><FreeText/></Answer><Answer><QuestionIdentifier>b</QuestionIdentifier><SelectionIdentifier>1</SelectionIdentifier><SelectionIdentifier>2</SelectionIdentifier></Answer><Answer><QuestionIdentifier>c</QuestionIdentifier><FreeText><![CDATA[<!DOCTYPE'
        " html>]]></FreeText></Answer></QuestionFormAnswers>"
    )
    assert fields_from_xml(xml) == {"a": "", "b": "1|2", "c": "<!DOCTYPE html>"}
    for broken in ("", "<a>", "no xml", "<a>\ud800</a>", "<!DOCTYPE a><a/>"):
        with pytest.raises(InputError):
            fields_from_xml(broken)


DETECT = Asked(load_question("detect"), {})
RATE = Asked(load_question("rate"), load_question("rate").settings({"scales": SCALES, "points": 4}))
BOUNDARY = Asked(load_question("boundary"), {})


@pytest.mark.parametrize("choice", ["0", "6", "", "1|2", "²", "٣", "1.0", " 1", "-1", "on", "01", "10"])
def test_a_choice_that_is_not_one_of_the_five_counts_as_not_given(choice: str) -> None:
    fields = {"choice-1": choice, "choice-2": "5", "seconds-2": "nan", "choice-0": "1"}
    answers = read_answers(fields, DETECT, {1: 5, 2: 5})
    assert list(answers.given.values()) == [Given(2, {"choice": 5}, None)]
    assert answers.missing == (1,)


def test_an_answer_is_whole_if_every_field_of_it_is_given() -> None:
    fields = {"fluency-1": "4", "fit-1": "1", "fluency-2": "2", "fit-2": "5", "fit-3": "0"}
    answers = read_answers(fields, RATE, {1: 5, 2: 5, 3: 5})
    assert answers.given == {1: Given(1, {"fluency": 4, "fit": 1})}
    assert answers.chosen == {1: {"fluency": 4, "fit": 1}, 2: {"fluency": 2}, 3: {}}
    assert answers.missing == (2, 3)


def test_nobody_can_say_that_the_machine_wrote_the_first_sentence() -> None:
    fields = {"choice-1": "1", "choice-2": "2", "choice-3": "11", "choice-4": "12"}
    answers = read_answers(fields, BOUNDARY, dict.fromkeys(range(1, 5), 10))
    assert {place: given.answer for place, given in answers.given.items()} == {
        2: {"choice": 2},
        3: {"choice": 11},
    }


PREFER = Asked(load_question("prefer"), {"ties": False})
HONEST = {
    "detect": (DETECT, {"choice": "5"}),
    "prefer": (PREFER, {"choice": "2"}),
    "rate": (RATE, {"fluency": "4", "fit": "1"}),
    "boundary": (BOUNDARY, {"choice": "6"}),
}
NO_ANSWERS = ["", "0", "-1", "1|2", "1.0", " 1", "٣", "²", "on", "01", "99", "null", "[1]", "1e0", "8"]


@pytest.mark.parametrize("question", HONEST)
@pytest.mark.parametrize("value", [*NO_ANSWERS, None])
def test_a_tampered_value_of_any_question_is_no_answer_and_the_rest_is_kept(
    question: str, value: str | None
) -> None:
    asked, honest = HONEST[question]
    fields = {f"{name}-{place}": given for name, given in honest.items() for place in (1, 2)}
    for name in honest:
        changed = {key: given for key, given in fields.items() if key != f"{name}-2"}
        changed |= {} if value is None else {f"{name}-2": value}
        answers = read_answers(changed, asked, {1: 5, 2: 5})
        assert dict(answers.given) == {1: Given(1, {key: int(given) for key, given in honest.items()})}
        assert answers.missing == (2,)


@pytest.mark.parametrize("question", HONEST)
@pytest.mark.parametrize("other", HONEST)
def test_answers_of_another_question_or_of_a_place_that_is_not_there_are_not_taken(
    question: str, other: str
) -> None:
    asked, honest = HONEST[question]
    fields = {f"{name}-{place}": given for name, given in HONEST[other][1].items() for place in (0, 1, 2, 99)}
    answers = read_answers(fields, asked, {1: 5})
    fits = other == question or (honest.keys() == {"choice"} == HONEST[other][1].keys())
    assert answers.given.keys() <= ({1} if fits else set())
    for given in answers.given.values():
        assert asked.question.complete(given.answer, asked.settings, 5)


@pytest.mark.parametrize("question", HONEST)
def test_a_field_with_two_values_is_no_answer_whichever_way_it_came(question: str) -> None:
    asked, honest = HONEST[question]
    hit = SimpleNamespace(settings=read_study_file(None, overrides=OVERRIDES[question]).settings)
    work: Any = SimpleNamespace(hit=hit, sentences=5, passages=1, form_hash="f")
    posted = MultiDict({f"{name}-1": given for name, given in honest.items()})
    posted.add("choice-7", "1")
    posted.add("token", "x")
    alone = known_fields(posted, work)
    assert alone == {"form": "f", **{f"{name}-1": given for name, given in honest.items()}}
    assert list(read_answers(alone, asked, {1: 5}).given) == [1]
    name = next(iter(honest))
    posted.add(f"{name}-1", honest[name])
    assert known_fields(posted, work) == alone  # twice the same is once
    posted.add(f"{name}-1", "1" if honest[name] != "1" else "2")
    assert read_answers(known_fields(posted, work), asked, {1: 5}).missing == (1,)


@pytest.mark.parametrize(
    ("given", "practice", "went"),
    [
        ("3", {"choice": 3}, "right"),
        ("1", {"choice": 1}, "wrong"),
        ("6", {}, ""),
        ("", {}, ""),
        ("³", {}, ""),
        ("33", {}, ""),
    ],
)
def test_a_practice_choice_is_no_response(given: str, practice: Answer, went: str) -> None:
    answers = read_answers({"practice": given, "choice-1": "2"}, DETECT, {1: 5})
    assert list(answers.given) == [1]
    assert (answers.practice, answers.practised, answers.missing) == (practice, went, ())


@pytest.mark.parametrize(
    ("asked", "fields", "went"),
    [
        (RATE, {"practice-fluency": "1"}, "right"),
        (RATE, {"practice-fluency": "4", "practice-fit": "1"}, "wrong"),
        (RATE, {"practice-fit": "1"}, ""),
        (BOUNDARY, {"practice": "4"}, "right"),
        (BOUNDARY, {"practice": "6"}, "wrong"),
        (Asked(load_question("prefer"), {"ties": True}), {"practice": "1"}, "right"),
        (Asked(load_question("prefer"), {"ties": True}), {"practice": "3"}, "wrong"),
    ],
)
def test_the_practice_story_of_each_question_has_an_obvious_answer(
    asked: Asked, fields: dict[str, str], went: str
) -> None:
    assert read_answers(fields, asked, {}).practised == went


@pytest.mark.parametrize(
    ("asked", "answer", "columns", "told", "said"),
    [
        (DETECT, {"choice": 3}, {"choice": 3}, "3", "sentence 3"),
        (
            RATE,
            {"fluency": 4, "fit": 1},
            {"choice": 4, "answer": {"fluency": 4, "fit": 1}},
            "fluency 4, fit 1",
            "fluency 4 of 4, fit 1 of 4",
        ),
        (BOUNDARY, {"choice": 6}, {"choice": 6}, "6", "all by a person"),
    ],
)
def test_an_answer_is_stored_and_told_whole(
    asked: Asked, answer: Answer, columns: dict[str, object], told: str, said: str
) -> None:
    assert asked.stored(answer) == columns
    assert asked.answer(answer[next(iter(answer))], columns.get("answer"), 5) == answer
    assert in_words(Given(1, answer)) == told
    assert in_words(None) == "none"
    assert asked.said(answer, 5) == said
