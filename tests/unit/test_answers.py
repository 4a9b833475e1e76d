"""What people answered is read the same whichever way it came, and what makes no sense counts as not
given."""

from __future__ import annotations

import pytest

from humaneval.crowd.answers import fields_from_xml, read_answers
from humaneval.errors import InputError


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


@pytest.mark.parametrize("choice", ["0", "6", "", "1|2", "²", "٣", "1.0", " 1", "-1", "on"])
def test_a_choice_that_is_not_one_of_the_five_counts_as_not_given(choice: str) -> None:
    answers = read_answers({"choice-1": choice, "choice-2": "5", "seconds-2": "nan", "choice-0": "1"})
    assert [(given.place, given.choice, given.seconds) for given in answers.choices] == [(2, 5, None)]
    assert answers.missing(2) == [1]


@pytest.mark.parametrize(
    ("given", "practice", "went"),
    [
        ("3", 3, "right"),
        ("1", 1, "wrong"),
        ("6", None, ""),
        ("", None, ""),
        ("³", None, ""),
        ("33", None, ""),
    ],
)
def test_a_practice_choice_is_no_response(given: str, practice: int | None, went: str) -> None:
    answers = read_answers({"practice": given, "choice-1": "2"})
    assert [choice.place for choice in answers.choices] == [1]
    assert (answers.practice, answers.practised, answers.missing(1)) == (practice, went, [])
