"""A worker's answers as MTurk's QuestionFormAnswers XML: written, and read again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from humaneval.market.protocol.characters import forbidden_character

ANSWERS_SCHEMA = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
)
MOST_BYTES = 1_000_000


class Field(NamedTuple):
    """One field of a form as it was sent."""

    name: str
    value: str


class Answered(NamedTuple):
    """The answer to one question: elements of the document, FreeText or SelectionIdentifier for example, with
    texts."""

    question: str
    parts: Sequence[tuple[str, str]]


class UnusableAnswerError(ValueError):
    """An answer that cannot be stored; the message is for the person who sent it."""


def answer_xml(fields: Iterable[Field]) -> str:
    """The answer document of a form of the requester's own: every field is a free text, in the form's order, a
    repeated field as often as it was sent. Raises UnusableAnswerError.
    """
    return answers_xml(Answered(field.name, [("FreeText", field.value)]) for field in fields)


def answers_xml(answers: Iterable[Answered]) -> str:
    """The answer document: one Answer each. Line ends become single newlines, as XML keeps no others.

    Raises UnusableAnswerError.
    """
    root = ElementTree.Element("QuestionFormAnswers", xmlns=ANSWERS_SCHEMA)
    for answered in answers:
        answer = ElementTree.SubElement(root, "Answer")
        ElementTree.SubElement(answer, "QuestionIdentifier").text = _carried(answered.question, "name")
        for name, value in answered.parts:
            ElementTree.SubElement(answer, name).text = _carried(value, f"value of {answered.question!r}")
    document = '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")
    if len(document.encode()) > MOST_BYTES:
        raise UnusableAnswerError("The answer is larger than a million bytes.")
    return document


def answered_values(document: str, only: str = "") -> dict[str, list[str]]:
    """What was answered, by question: the texts and selections of a document that this module wrote.

    `only`: of elements of this name alone, SelectionIdentifier for example.
    """
    found: dict[str, list[str]] = {}
    for answer in ElementTree.fromstring(document):
        identifier, *parts = list(answer)
        texts = [part.text or "" for part in parts if not only or part.tag == f"{{{ANSWERS_SCHEMA}}}{only}"]
        found.setdefault(identifier.text or "", []).extend(texts)
    return found


def with_plain_line_ends(text: str) -> str:
    """`text` with single newlines; XML keeps no other line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _carried(text: str, what: str) -> str:
    bad = forbidden_character(text)
    if bad:
        raise UnusableAnswerError(
            f"The {what} holds a character that cannot be stored ({bad}). Go back, take it out, and send"
            " again."
        )
    return with_plain_line_ends(text)
