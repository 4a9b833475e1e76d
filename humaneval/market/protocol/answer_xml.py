"""A worker's answers as MTurk's QuestionFormAnswers XML: writing and reading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

from humaneval.market.protocol.characters import forbidden_character
from humaneval.market.protocol.refusals import NotPossibleError

ANSWERS_SCHEMA = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd"
)
MOST_BYTES = 1_000_000


class Field(NamedTuple):
    """One field of a form, as it was sent."""

    name: str
    value: str


class Part(NamedTuple):
    """One element of an answer, FreeText or SelectionIdentifier for example, and its text."""

    element: str
    text: str


class Answered(NamedTuple):
    """The answer to one question."""

    question: str
    parts: Sequence[Part]


class UnusableAnswerError(NotPossibleError):
    """An answer that cannot be stored."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 400)


def answer_xml(fields: Iterable[Field]) -> str:
    """The answer document of a requester's own form: every field is a free text, in the form's order.

    A repeated field is there as often as it was sent. Raises UnusableAnswerError.
    """
    return answers_xml(Answered(field.name, [Part("FreeText", field.value)]) for field in fields)


def answers_xml(answers: Iterable[Answered]) -> str:
    """The answer document, with one Answer each. Line ends become single newlines, as XML keeps no others.

    Raises UnusableAnswerError.
    """
    root = ElementTree.Element("QuestionFormAnswers", xmlns=ANSWERS_SCHEMA)
    for answered in answers:
        answer = ElementTree.SubElement(root, "Answer")
        ElementTree.SubElement(answer, "QuestionIdentifier").text = _carried(answered.question, "name")
        for part in answered.parts:
            text = _carried(part.text, f"value of {answered.question!r}")
            ElementTree.SubElement(answer, part.element).text = text
    document = '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")
    if len(document.encode()) > MOST_BYTES:
        raise UnusableAnswerError("The answer is larger than a million bytes.")
    return document


def answered_values(document: str, only: str = "") -> dict[str, list[str]]:
    """The texts and selections, by question, of a document that this module wrote.

    `only`: read only elements of this name, SelectionIdentifier for example.
    """
    found: dict[str, list[str]] = {}
    for answer in ElementTree.fromstring(document):
        identifier, *parts = list(answer)
        texts = [part.text or "" for part in parts if not only or part.tag == f"{{{ANSWERS_SCHEMA}}}{only}"]
        found.setdefault(identifier.text or "", []).extend(texts)
    return found


def with_plain_line_ends(text: str) -> str:
    """`text` with single newlines, since XML keeps no other line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _carried(text: str, what: str) -> str:
    bad = forbidden_character(text)
    if bad:
        raise UnusableAnswerError(
            f"The {what} contains a character that cannot be stored ({bad}). Go back, remove it, and send"
            " again."
        )
    return with_plain_line_ends(text)
