"""QuestionForm: a form in MTurk's XML, for HITs and for qualification tests, read and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree import ElementTree

from humaneval.market.protocol.refusals import invalid
from humaneval.market.protocol.xml import Element
from humaneval.market.questions.form_content import Block, Picture, read_blocks, read_picture, read_xhtml
from humaneval.text import repeated

SCHEMA = re.compile(
    r"http://mechanicalturk\.amazonaws\.com/AWSMechanicalTurkDataSchemas/\d{4}-\d\d-\d\d/QuestionForm\.xsd"
)
"""The service had several dates in this name. All stood for the same elements."""

STYLES = ("radiobutton", "checkbox", "list", "dropdown", "combobox", "multichooser")
LONGEST_TEXT = 100_000


class Pattern(NamedTuple):
    """A regular expression that an answer must contain, and what to tell a worker whose answer does not."""

    expression: str
    error: str
    flags: int


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """An answer in the worker's own words, or a number."""

    lines: int
    default: str
    numeric: bool
    least: int | None
    most: int | None
    shortest: int
    longest: int
    patterns: tuple[Pattern, ...]

    @property
    def limits(self) -> str:
        """What the worker is told in advance; "" if any text is accepted."""
        number = f"A number{_span(self.least, self.most, of=' of')}." if self.numeric else ""
        longest = self.longest if self.longest < LONGEST_TEXT else None
        span = _span(self.shortest if self.shortest > 1 else None, longest)
        return " ".join(part for part in (number, f"Write{span} characters." if span else "") if part)


@dataclass(frozen=True, slots=True)
class Selection:
    """One of the choices: a text, checked XHTML, or a picture."""

    identifier: str
    text: str = ""
    xhtml: str = ""
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class SelectionAnswer:
    """A choice of `least` to `most` selections. `other` is a text that may be written instead."""

    style: str
    least: int
    most: int
    selections: tuple[Selection, ...]
    other: TextAnswer | None

    @property
    def single(self) -> bool:
        """Whether only one selection is allowed."""
        return self.most == 1


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """A file of `least` to `most` bytes."""

    least: int
    most: int

    @property
    def limits(self) -> str:
        """What the worker is told in advance."""
        return f"A file of{_span(self.least or None, self.most)} bytes."


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """One question of a form."""

    identifier: str
    name: str
    required: bool
    blocks: tuple[Block, ...]
    answer: TextAnswer | SelectionAnswer | FileAnswer


@dataclass(frozen=True, slots=True)
class Overview:
    """Content between questions."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """A whole form, in order."""

    parts: tuple[Overview | FormQuestion, ...]

    @property
    def questions(self) -> tuple[FormQuestion, ...]:
        """Only the questions."""
        return tuple(part for part in self.parts if isinstance(part, FormQuestion))

    @property
    def asks_for_files(self) -> bool:
        """Whether it asks for any file."""
        return any(isinstance(question.answer, FileAnswer) for question in self.questions)


def _span(least: int | None, most: int | None, of: str = "") -> str:
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    if least is not None:
        return f"{of} at least {least:,}"
    return "" if most is None else f"{of} at most {most:,}"


def is_question_form(root: ElementTree.Element) -> bool:
    """Whether a document is a QuestionForm in one of its namespaces."""
    namespace, _, name = root.tag.lstrip("{").partition("}")
    return name == "QuestionForm" and bool(SCHEMA.fullmatch(namespace))


def read_form(root: ElementTree.Element) -> QuestionForm:
    """The form in a parsed document. Raises RefusedError, which says what is wrong with it."""
    parts: list[Overview | FormQuestion] = []
    for child in Element(root).children():
        if child.name == "Overview":
            parts.append(Overview(read_blocks(child)))
        elif child.name == "Question":
            parts.append(_question(child))
        else:
            raise invalid(f"{child.name} is not allowed in a QuestionForm.")
    form = QuestionForm(tuple(parts))
    names = [question.identifier for question in form.questions]
    if not names:
        raise invalid("A QuestionForm must have at least one Question.")
    if twice := sorted(repeated(names)):
        raise invalid(f"The QuestionIdentifier {twice[0]!r} is used more than once.")
    return form


def _question(element: Element) -> FormQuestion:
    found = element.fields(
        "QuestionIdentifier", "DisplayName", "IsRequired", "QuestionContent", "AnswerSpecification"
    )
    for name in ("QuestionIdentifier", "QuestionContent", "AnswerSpecification"):
        if name not in found:
            raise invalid(f"A Question has no {name}.")
    identifier = found["QuestionIdentifier"].text
    if not 1 <= len(identifier) <= 255:
        raise invalid("A QuestionIdentifier must have from 1 to 255 characters.")
    return FormQuestion(
        identifier,
        found["DisplayName"].text if "DisplayName" in found else "",
        "IsRequired" in found and found["IsRequired"].truth(),
        read_blocks(found["QuestionContent"]),
        _answer(found["AnswerSpecification"]),
    )


def _answer(element: Element) -> TextAnswer | SelectionAnswer | FileAnswer:
    asked = element.only_child("FreeTextAnswer", "SelectionAnswer", "FileUploadAnswer")
    if asked.name == "FreeTextAnswer":
        return read_text_answer(asked)
    return _selection_answer(asked) if asked.name == "SelectionAnswer" else _file_answer(asked)


def read_text_answer(element: Element) -> TextAnswer:
    """A FreeTextAnswer, or the content of an OtherSelection. Raises RefusedError."""
    found = element.fields("Constraints", "DefaultText", "NumberOfLinesSuggestion")
    numeric, least, most = False, None, None
    shortest, longest = 0, LONGEST_TEXT
    patterns: list[Pattern] = []
    for constraint in found["Constraints"].children() if "Constraints" in found else ():
        if constraint.name == "IsNumeric":
            numeric = True
            least, most = constraint.number("minValue"), constraint.number("maxValue")
        elif constraint.name == "Length":
            shortest = constraint.number("minLength", least=0) or 0
            longest = min(constraint.number("maxLength", least=1) or LONGEST_TEXT, LONGEST_TEXT)
        elif constraint.name == "AnswerFormatRegex":
            patterns.append(_pattern(constraint))
        else:
            raise invalid(f"{constraint.name} is not a constraint of a FreeTextAnswer.")
    if shortest > longest or (least is not None and most is not None and least > most):
        raise invalid("A constraint's minimum is more than its maximum, so no answer can meet it.")
    lines = found["NumberOfLinesSuggestion"].whole(1, 200) if "NumberOfLinesSuggestion" in found else 1
    default = found["DefaultText"].text if "DefaultText" in found else ""
    return TextAnswer(lines, default, numeric, least, most, shortest, longest, tuple(patterns))


def _pattern(element: Element) -> Pattern:
    expression = element.attribute("regex")
    flags = re.IGNORECASE if "i" in element.attribute("flags") else 0
    try:
        re.compile(expression, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise invalid(
            f"AnswerFormatRegex {expression!r} is not a valid regular expression: {error}."
        ) from None
    if not expression:
        raise invalid("AnswerFormatRegex has no regex.")
    return Pattern(expression, element.attribute("errorText"), flags)


def _selection_answer(element: Element) -> SelectionAnswer:
    found = element.fields("MinSelectionCount", "MaxSelectionCount", "StyleSuggestion", "Selections")
    if "Selections" not in found:
        raise invalid("A SelectionAnswer has no Selections.")
    selections: list[Selection] = []
    other: TextAnswer | None = None
    for child in found["Selections"].children():
        if child.name == "Selection" and other is None:
            selections.append(_selection(child))
        elif child.name == "OtherSelection" and other is None:
            other = read_text_answer(child)
        else:
            raise invalid(f"{child.name} is not allowed here among the Selections.")
    names = [each.identifier for each in selections]
    if not names or len(set(names)) < len(names):
        raise invalid("Selections must contain at least one Selection, each with a different identifier.")
    least = found["MinSelectionCount"].whole(0, len(names)) if "MinSelectionCount" in found else None
    most = found["MaxSelectionCount"].whole(1, len(names) + 1) if "MaxSelectionCount" in found else None
    style = found["StyleSuggestion"].text.strip() if "StyleSuggestion" in found else ""
    if style and style not in STYLES:
        raise invalid(f"StyleSuggestion must be one of {', '.join(STYLES)}.")
    least, most = 1 if least is None else least, 1 if most is None else most
    if least > most:
        raise invalid("MinSelectionCount is more than MaxSelectionCount.")
    fallback = "radiobutton" if most == 1 else "checkbox"
    return SelectionAnswer(style or fallback, least, most, tuple(selections), other)


def _selection(element: Element) -> Selection:
    found = element.fields("SelectionIdentifier", "Text", "FormattedContent", "Binary")
    if "SelectionIdentifier" not in found or len(found) != 2:
        raise invalid(
            "A Selection must have a SelectionIdentifier and one of Text, FormattedContent, Binary."
        )
    identifier = found["SelectionIdentifier"].text
    if not 1 <= len(identifier) <= 255:
        raise invalid("A SelectionIdentifier must have from 1 to 255 characters.")
    if "Text" in found:
        return Selection(identifier, text=found["Text"].text)
    if "Binary" in found:
        return Selection(identifier, picture=read_picture(found["Binary"]))
    return Selection(identifier, xhtml=read_xhtml(found["FormattedContent"].text))


def _file_answer(element: Element) -> FileAnswer:
    found = element.fields("MinFileSizeInBytes", "MaxFileSizeInBytes")
    least = found["MinFileSizeInBytes"].whole(0, 2_000_000_000) if "MinFileSizeInBytes" in found else 0
    most = found["MaxFileSizeInBytes"].whole(1, 2_000_000_000) if "MaxFileSizeInBytes" in found else 2_000_000
    if least > most:
        raise invalid("MinFileSizeInBytes is more than MaxFileSizeInBytes.")
    return FileAnswer(least, most)
