"""A worker's answer: the fields of the submitted form as MTurk's QuestionFormAnswers XML."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from humaneval.market.characters import forbidden_character

ANSWERS_SCHEMA = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
)
MOST_BYTES = 1_000_000


class Field(NamedTuple):
    """One field of a form as it was sent."""

    name: str
    value: str


class UnusableAnswerError(ValueError):
    """An answer that cannot be stored; the message is for the person who sent it."""


def answer_xml(fields: Iterable[Field]) -> str:
    """The answer document: one Answer a field, in the form's order, a repeated field as often as it was sent.

    Line ends become single newlines, as XML keeps no others. Raises UnusableAnswerError.
    """
    root = ElementTree.Element("QuestionFormAnswers", xmlns=ANSWERS_SCHEMA)
    for field in fields:
        answer = ElementTree.SubElement(root, "Answer")
        ElementTree.SubElement(answer, "QuestionIdentifier").text = _carried(field.name, "name")
        ElementTree.SubElement(answer, "FreeText").text = _carried(field.value, f"value of {field.name!r}")
    document = '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")
    if len(document.encode()) > MOST_BYTES:
        raise UnusableAnswerError("The answer is larger than a million bytes.")
    return document


def _carried(text: str, what: str) -> str:
    bad = forbidden_character(text)
    if bad:
        raise UnusableAnswerError(
            f"The {what} holds a character that cannot be stored ({bad}). Go back, take it out, and send again."
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
