"""One schema for answers, whether they arrive as form fields or in a platform's QuestionFormAnswers XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from xml.etree import ElementTree
from xml.parsers import expat

from humaneval.errors import InputError
from humaneval.scoring.questions.question import CHOICE, Answer
from humaneval.study.asked import Asked
from humaneval.text import without_refused

FORM = "form"
"""The field with the hash of what the form showed. It ties an answer to its row even if our server never saw
the answer."""
CONSENT = "consent"
COMMENT = "comment"
PRACTICE = "practice"
"""The field with the answer to the practice story. It is no response."""
LONGEST = 2000
"""Characters of a field that are kept. A form takes no more, but anybody may send more to a platform."""
MAX_SECONDS = 24 * 3600.0
_NUMBER = re.compile("[1-9][0-9]?")


def answer_field(name: str, place: int) -> str:
    """The name of the radio buttons for the field `name` of the passage at `place` (from 1).

    >>> answer_field("choice", 3)
    'choice-3'
    """
    return f"{name}-{place}"


def unscored_field(name: str, story: str) -> str:
    """The same for the practice story or the example.

    >>> unscored_field("choice", "practice"), unscored_field("fluency", "practice")
    ('practice', 'practice-fluency')
    """
    return story if name == CHOICE else f"{story}-{name}"


def seconds_field(place: int) -> str:
    """The name of the hidden field with the seconds that the passage at `place` was on screen."""
    return f"seconds-{place}"


@dataclass(frozen=True, slots=True)
class Given:
    """The whole answer to the passage at `place` (from 1) of a form.

    `seconds` is how long the passage was on screen before it was answered; None if the browser did not say.
    """

    place: int
    answer: Answer
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """What one form said: an answer for each place that was answered, the consent given, a comment."""

    given: Mapping[int, Given]
    """By place."""
    chosen: Mapping[int, Answer]
    """What was chosen at each place, also where something is missing."""
    form: str
    consent: str
    comment: str
    practice: Answer
    """What was chosen in the practice story. It counts nowhere."""
    practised: str
    """How the practice story went: right or wrong; empty if nobody answered it."""

    missing: tuple[int, ...]
    """The places that have no answer, or not a whole one."""


def read_answers(fields: Mapping[str, str], asked: Asked, sentences: Mapping[int, int]) -> Answers:
    """Answers from form fields. A number that is no answer counts as not given; impossible times are dropped.

    `sentences`: how many the passage at each place has.
    """
    given, chosen = {}, {}
    for place, count in sentences.items():
        answer = chosen[place] = _chosen(fields, asked, count, partial(answer_field, place=place))
        if asked.question.complete(answer, asked.settings, count):
            given[place] = Given(place, answer, _seconds(fields.get(seconds_field(place), "")))
    example = asked.question.example
    practice = _chosen(fields, asked, example.sentences, partial(unscored_field, story=PRACTICE))
    told = practice.keys() >= asked.question.obvious(example, asked.settings).keys()
    passed = asked.question.passed(example, practice, asked.settings)
    return Answers(
        given,
        chosen,
        fields.get(FORM, ""),
        fields.get(CONSENT, ""),
        fields.get(COMMENT, "")[:LONGEST],
        practice,
        ("right" if passed else "wrong") if told else "",
        tuple(place for place in sentences if place not in given),
    )


def _chosen(fields: Mapping[str, str], asked: Asked, sentences: int, name_of: Callable[[str], str]) -> Answer:
    """What was chosen of each field, where it is one of its numbers."""
    found = {}
    for field in asked.question.fields(asked.settings, sentences):
        text = fields.get(name_of(field.name), "")
        if _NUMBER.fullmatch(text) and int(text) <= field.values:
            found[field.name] = int(text)
    return found


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return round(seconds, 3) if 0 <= seconds <= MAX_SECONDS else None


def seconds_of(
    ours: Mapping[int, Given], theirs: Mapping[int, Given], opened: datetime | None, answered: datetime | None
) -> dict[int, float | None]:
    """The seconds of each answer of theirs: those of our copy if it has them. Anybody may send others, so all
    together are at most for how long the form was open by our own clock, if we know.

    >>> at = datetime(2026, 12, 1)
    >>> ours, theirs = {1: Given(1, {}, 6.0)}, {1: Given(1, {}), 2: Given(2, {}, 2.0), 3: Given(3, {})}
    >>> seconds_of(ours, theirs, at, at.replace(second=4))
    {1: 3.0, 2: 1.0, 3: None}
    """
    found = {}
    for place, given in theirs.items():
        copy = ours.get(place, given)
        found[place] = given.seconds if copy.seconds is None else copy.seconds
    whole = sum(each or 0.0 for each in found.values())
    really = (answered - opened).total_seconds() if opened and answered else whole
    share = really / whole if 0 <= really < whole else 1.0
    return {place: None if each is None else round(each * share, 3) for place, each in found.items()}


def in_words(given: Given | None) -> str:
    """An answer in a few words."""
    if given is None:
        return "none"
    numbers = given.answer.items()
    return ", ".join(str(number) if len(numbers) == 1 else f"{name} {number}" for name, number in numbers)


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
    return {name: without_refused("|".join(values)) for name, values in fields.items()}


def _refuse_doctype(*_: object) -> None:
    """A document type can define entities of any size, so it is refused before anything is expanded."""
    raise InputError(
        "an answer defines XML entities of its own", "The platform never sends these: look at the raw answer."
    )


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
