"""What a worker sent from a QuestionForm: checked against what the form asks for, in words for the worker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from werkzeug.datastructures import FileStorage, MultiDict

from humaneval.market.protocol.answer_xml import Answered, with_plain_line_ends
from humaneval.market.protocol.characters import forbidden_character
from humaneval.market.protocol.identifiers import new_entity_id
from humaneval.market.questions.patterns import Patterns
from humaneval.market.questions.question_form import (
    FileAnswer,
    FormQuestion,
    QuestionForm,
    SelectionAnswer,
    TextAnswer,
)

LONGEST_FILENAME = 200

OTHER = "other"
"""What a form's radio button, box or option sends for something written instead of a selection."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file that came with a form; `key` stands for it in the answer."""

    question: str
    key: str
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Filled:
    """A form as it was sent. `faults` has, by the question's place, what the worker must mend; none: it can
    be kept."""

    answers: list[Answered] = field(default_factory=list)
    files: list[SentFile] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)


def field_name(place: int) -> str:
    """The name of the fields of the question at `place`, counted from 0; `-other` behind it is the text's."""
    return f"q{place}"


def field_names(form: QuestionForm) -> set[str]:
    """The names of all fields that a form can send."""
    names = {field_name(place) for place in range(len(form.questions))}
    return names | {f"{name}-{OTHER}" for name in names}


def read_filled(
    form: QuestionForm, posted: MultiDict[str, str], files: Mapping[str, FileStorage] = MappingProxyType({})
) -> Filled:
    """The answers in a posted form, in the form's order; a question left empty has an Answer without
    content."""
    filled, patterns = Filled(), Patterns()
    for place, question in enumerate(form.questions):
        name = field_name(place)
        if isinstance(question.answer, FileAnswer):
            parts, fault = _file(question, question.answer, files.get(name), filled.files)
        else:
            parts, fault = _parts(question, posted, name, patterns)
        filled.answers.append(Answered(question.identifier, tuple(parts)))
        if fault:
            filled.faults[place] = fault
    return filled


def _parts(
    question: FormQuestion, posted: MultiDict[str, str], name: str, patterns: Patterns
) -> tuple[list[tuple[str, str]], str]:
    if isinstance(question.answer, SelectionAnswer):
        return _chosen(question, question.answer, posted, name, patterns)
    assert isinstance(question.answer, TextAnswer)
    written = posted.get(name, "")
    if not written.strip():
        return [("FreeText", "")], "Write an answer." if question.required else ""
    return [("FreeText", written)], _text_fault(question.answer, written, patterns)


def _file(
    question: FormQuestion, answer: FileAnswer, sent: FileStorage | None, kept: list[SentFile]
) -> tuple[list[tuple[str, str]], str]:
    if sent is None or not sent.filename:
        return [], "Choose a file." if question.required else ""
    content = sent.read()
    if not answer.least <= len(content) <= answer.most:
        return (
            [],
            f"The file must have from {answer.least:,} to {answer.most:,} bytes; it has {len(content):,}.",
        )
    file = SentFile(question.identifier, new_entity_id(), _harmless(sent.filename), content)
    kept.append(file)
    return [("UploadedFileKey", file.key), ("UploadedFileSizeInBytes", str(len(content)))], ""


def _harmless(filename: str) -> str:
    """A file's name as a download may bear it: it goes into a header, where a line end would be an error."""
    return "".join(sign for sign in filename if sign.isprintable())[-LONGEST_FILENAME:] or "file"


def _chosen(
    question: FormQuestion,
    answer: SelectionAnswer,
    posted: MultiDict[str, str],
    name: str,
    patterns: Patterns,
) -> tuple[list[tuple[str, str]], str]:
    sent = set(posted.getlist(name))
    places = {str(place): each.identifier for place, each in enumerate(answer.selections)}
    chosen = [identifier for place, identifier in places.items() if place in sent]
    written = posted.get(f"{name}-{OTHER}", "").strip() if answer.other else ""
    # What the form itself had put there is no choice beside others, unless its box is ticked.
    if answer.other and chosen and OTHER not in sent and written == answer.other.default.strip():
        written = ""
    parts = [("SelectionIdentifier", identifier) for identifier in chosen]
    # A single choice counts, not a text that was left beside it.
    with_other = bool(written) and not (answer.single and chosen)
    if with_other:
        parts.append(("OtherSelectionText", written))
    count = len(chosen) + with_other
    if OTHER in sent and not written:
        return parts, "Write what the other answer is."
    if count == 0 and not question.required:
        return parts, ""
    least = max(answer.least, 1) if question.required else answer.least
    if not least <= count <= answer.most:
        return parts, _count_fault(least, answer.most)
    return parts, _text_fault(answer.other, written, patterns) if with_other and answer.other else ""


def _count_fault(least: int, most: int) -> str:
    if least == most:
        return "Choose one." if most == 1 else f"Choose {most}."
    return f"Choose up to {most}." if least == 0 else f"Choose from {least} to {most}."


def _text_fault(answer: TextAnswer, written: str, patterns: Patterns) -> str:
    return next(_text_faults(answer, written, patterns), "")


def _text_faults(answer: TextAnswer, written: str, patterns: Patterns) -> Iterator[str]:
    bad = forbidden_character(written)
    if bad:
        yield f"Take out the character {bad}: it cannot be stored."
    if answer.numeric:
        if not re.fullmatch(r"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?", written.strip()):
            yield "Write a number, for example 12 or 0.5."
            return
        number = float(written)
        if answer.least is not None and number < answer.least:
            yield f"The number must be at least {answer.least}."
        if answer.most is not None and number > answer.most:
            yield f"The number must be at most {answer.most}."
    # As it is stored: browsers send another line end than people write.
    written = with_plain_line_ends(written)
    length = len(written)
    if length < answer.shortest:
        yield f"Write at least {answer.shortest} characters; you have {length}."
    if length > answer.longest:
        yield f"Write at most {answer.longest} characters; you have {length}."
    for pattern in answer.patterns:
        if not patterns.found(pattern.expression, pattern.flags, written):
            yield pattern.error or "This is not in the form that was asked for."
