"""A worker's answers to a QuestionForm, checked against the form. Faults are worded for the worker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from werkzeug.datastructures import FileStorage, MultiDict

from humaneval.market.protocol.answer_xml import Answered, Part, with_plain_line_ends
from humaneval.market.protocol.characters import forbidden_character
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.questions.question_form import (
    FileAnswer,
    FormQuestion,
    QuestionForm,
    SelectionAnswer,
    TextAnswer,
)
from humaneval.patterns import Patterns

LONGEST_FILENAME = 200

OTHER = "other"
"""What a radio button, box or option sends if the worker writes a text instead of a selection."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that was sent with a form. The answer names it by `key`."""

    question: str
    key: str
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Filled:
    """A form as it was sent. `faults` says, by the question's place, what the worker must change.

    Without faults the answers can be kept.
    """

    answers: list[Answered] = field(default_factory=list)
    files: list[SentFile] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)


def field_name(place: int) -> str:
    """The name of the fields of the question at `place`, from 0. With `-other` it is the name of the text."""
    return f"q{place}"


def field_names(form: QuestionForm) -> set[str]:
    """The names of all fields that a form can send."""
    names = {field_name(place) for place in range(len(form.questions))}
    return names | {f"{name}-{OTHER}" for name in names}


def read_filled(
    form: QuestionForm, posted: MultiDict[str, str], files: Mapping[str, FileStorage] = MappingProxyType({})
) -> Filled:
    """The answers in a posted form, in its order. An unanswered question has an Answer without content."""
    filled, patterns = Filled(), Patterns()
    for place, question in enumerate(form.questions):
        name = field_name(place)
        if isinstance(question.answer, FileAnswer):
            read = _file(question, question.answer, files.get(name), filled.files)
        else:
            read = _parts(question, posted, name, patterns)
        filled.answers.append(Answered(question.identifier, tuple(read.parts)))
        if read.fault:
            filled.faults[place] = read.fault
    return filled


class _Read(NamedTuple):
    """The answer to one question, and what the worker must change in it; "" if nothing."""

    parts: list[Part]
    fault: str


def _parts(question: FormQuestion, posted: MultiDict[str, str], name: str, patterns: Patterns) -> _Read:
    if isinstance(question.answer, SelectionAnswer):
        return _chosen(question, question.answer, posted, name, patterns)
    assert isinstance(question.answer, TextAnswer)
    written = posted.get(name, "")
    if not written.strip():
        return _Read([Part("FreeText", "")], "Write an answer." if question.required else "")
    return _Read([Part("FreeText", written)], _text_fault(question.answer, written, patterns))


def _file(
    question: FormQuestion, answer: FileAnswer, sent: FileStorage | None, kept: list[SentFile]
) -> _Read:
    if sent is None or not sent.filename:
        return _Read([], "Choose a file." if question.required else "")
    content = sent.read()
    if not answer.least <= len(content) <= answer.most:
        return _Read(
            [],
            f"The file must have from {answer.least:,} to {answer.most:,} bytes; it has {len(content):,}.",
        )
    file = SentFile(question.identifier, new_entity_id(), _harmless(sent.filename), content)
    kept.append(file)
    return _Read([Part("UploadedFileKey", file.key), Part("UploadedFileSizeInBytes", str(len(content)))], "")


def _harmless(filename: str) -> str:
    """A file's name that is safe in the header of a download, where a line end would be an error."""
    return "".join(sign for sign in filename if sign.isprintable())[-LONGEST_FILENAME:] or "file"


def _chosen(
    question: FormQuestion,
    answer: SelectionAnswer,
    posted: MultiDict[str, str],
    name: str,
    patterns: Patterns,
) -> _Read:
    sent = set(posted.getlist(name))
    places = {str(place): each.identifier for place, each in enumerate(answer.selections)}
    chosen = [identifier for place, identifier in places.items() if place in sent]
    written = posted.get(f"{name}-{OTHER}", "").strip() if answer.other else ""
    # The text that the form itself put there is not a choice beside others, unless its box is ticked.
    if answer.other and chosen and OTHER not in sent and written == answer.other.default.strip():
        written = ""
    parts = [Part("SelectionIdentifier", identifier) for identifier in chosen]
    # If only one choice is allowed, the selection counts, not a text that was left beside it.
    with_other = bool(written) and not (answer.single and chosen)
    if with_other:
        parts.append(Part("OtherSelectionText", written))
    count = len(chosen) + with_other
    if OTHER in sent and not written:
        return _Read(parts, "Write your other answer.")
    if count == 0 and not question.required:
        return _Read(parts, "")
    least = max(answer.least, 1) if question.required else answer.least
    if not least <= count <= answer.most:
        return _Read(parts, _count_fault(least, answer.most))
    fault = _text_fault(answer.other, written, patterns) if with_other and answer.other else ""
    return _Read(parts, fault)


def _count_fault(least: int, most: int) -> str:
    if least == most:
        return "Choose one." if most == 1 else f"Choose {most}."
    return f"Choose up to {most}." if least == 0 else f"Choose from {least} to {most}."


def _text_fault(answer: TextAnswer, written: str, patterns: Patterns) -> str:
    return next(_text_faults(answer, written, patterns), "")


def _text_faults(answer: TextAnswer, written: str, patterns: Patterns) -> Iterator[str]:
    bad = forbidden_character(written)
    if bad:
        yield f"Remove the character {bad}. It cannot be stored."
    if answer.numeric:
        if not re.fullmatch(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?", written.strip()):
            yield "Write a number, for example 12 or 0.5."
            return
        number = float(written)
        if answer.least is not None and number < answer.least:
            yield f"The number must be at least {answer.least}."
        if answer.most is not None and number > answer.most:
            yield f"The number must be at most {answer.most}."
    # Count as it is stored: browsers send two characters for each line end.
    written = with_plain_line_ends(written)
    length = len(written)
    if length < answer.shortest:
        yield f"Write at least {answer.shortest} characters; you have {length}."
    if length > answer.longest:
        yield f"Write at most {answer.longest} characters; you have {length}."
    for pattern in answer.patterns:
        if patterns.found(pattern.expression, pattern.flags, written) is False:
            yield pattern.error or "This does not have the required format."
