"""What people answered is read the same whichever way it came, and what makes no sense counts as not
given."""

from __future__ import annotations

import pytest

from humaneval.crowd.answers import Given, fields_from_xml, read_answers
from humaneval.crowd.submissions import _told
from humaneval.errors import InputError
from humaneval.scoring.questions.question import Answer, load_question
from humaneval.study.asked import Asked

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
    assert _told(Given(1, answer)) == told
    assert _told(None) == "none"
    assert asked.said(answer, 5) == said
