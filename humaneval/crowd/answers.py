"""One schema for answers, whether they arrive as form fields or in a platform's QuestionFormAnswers XML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.parsers import expat

from humaneval.domain import POSITIONS, Choice
from humaneval.errors import InputError

FORM = "form"
"""The field with the hash of what the form showed. It ties an answer to its row even if our server never saw
the answer."""
CONSENT = "consent"
COMMENT = "comment"
PRACTICE = "practice"
"""The field with the sentence that was marked in the practice story. It is no response."""
OBVIOUS = 3
"""Which sentence of the practice story does not fit."""
MAX_SECONDS = 24 * 3600.0


def choice_field(place: int) -> str:
    """The name of the radio buttons of the passage at `place` (from 1)."""
    return f"choice-{place}"


def seconds_field(place: int) -> str:
    """The name of the hidden field with the seconds that the passage at `place` was on screen."""
    return f"seconds-{place}"


@dataclass(frozen=True, slots=True)
class Answers:
    """What one form said: a choice per place that was answered, the consent given, a comment."""

    choices: tuple[Choice, ...]
    form: str
    consent: str
    comment: str
    practice: int | None = None
    """The sentence that was marked in the practice story. It counts nowhere."""

    @property
    def practised(self) -> str:
        """How the practice story went; empty if nobody answered it."""
        return "" if self.practice is None else "right" if self.practice == OBVIOUS else "wrong"

    def missing(self, places: int) -> list[int]:
        """The places from 1 to `places` that have no choice."""
        given = {choice.place for choice in self.choices}
        return [place for place in range(1, places + 1) if place not in given]


def read_answers(fields: Mapping[str, str]) -> Answers:
    """Answers from form fields. A choice outside 1–5 counts as not given; impossible times are dropped."""
    choices = []
    for name, value in fields.items():
        match = re.fullmatch(r"choice-([1-9][0-9]{0,2})", name)
        choice = _position(value)
        if match and choice:
            place = int(match[1])
            choices.append(Choice(place, choice, _seconds(fields.get(seconds_field(place), ""))))
    choices.sort(key=lambda choice: choice.place)
    return Answers(
        tuple(choices),
        fields.get(FORM, ""),
        fields.get(CONSENT, ""),
        fields.get(COMMENT, "")[:2000],
        _position(fields.get(PRACTICE, "")),
    )


def _position(text: str) -> int | None:
    return (
        int(text)
        if text.isascii() and text.isdecimal() and len(text) == 1 and int(text) in POSITIONS
        else None
    )


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return round(seconds, 3) if 0 <= seconds <= MAX_SECONDS else None


def fields_from_xml(xml: str) -> dict[str, str]:
    """The fields of a QuestionFormAnswers document; of a repeated field all values, separated by `|`.

    Raises InputError if it is not XML or defines entities of its own.
    """
    guard = expat.ParserCreate()
    guard.StartDoctypeDeclHandler = _refuse_doctype
    try:
        guard.Parse(xml, True)
        root = ElementTree.fromstring(xml)
    except (expat.ExpatError, ElementTree.ParseError, UnicodeEncodeError) as error:
        raise InputError(f"an answer is not XML: {error}") from None
    fields: dict[str, list[str]] = {}
    for answer in root.iter():
        if _local(answer.tag) != "Answer":
            continue
        parts = [(_local(child.tag), child.text or "") for child in answer]
        identifier = next((text for tag, text in parts if tag == "QuestionIdentifier"), "")
        fields.setdefault(identifier, []).extend(text for tag, text in parts if tag != "QuestionIdentifier")
    return {name: "|".join(values) for name, values in fields.items()}


def _refuse_doctype(*_: object) -> None:
    """A document type can define entities of any size, so it is refused before anything is expanded."""
    raise InputError(
        "an answer defines XML entities of its own", "The platform never sends these: look at the raw answer."
    )


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
