"""AnswerKey: the score of a qualification test, computed from the worker's choices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from humaneval.market.protocol.refusals import invalid
from humaneval.market.protocol.xml import Element, parse
from humaneval.market.questions.question_form import QuestionForm, SelectionAnswer

MOST_BYTES = 65_535
LARGEST_VALUE = 2**31 - 1
SCHEMA = re.compile(
    r"http://mechanicalturk\.amazonaws\.com/AWSMechanicalTurkDataSchemas/\d{4}-\d\d-\d\d/AnswerKey\.xsd"
)


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """The score of each set of selections of one question, and of any other answer."""

    identifier: str
    scores: Mapping[frozenset[str], int]
    otherwise: int


@dataclass(frozen=True, slots=True)
class Range:
    """The qualification's value for all sums from `least` to `most`."""

    least: int
    most: int
    value: int


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """A whole key. At most one of `percent_of`, `times` and `ranges` is used; else the sum is the value."""

    questions: tuple[KeyQuestion, ...]
    percent_of: int | None = None
    times: Decimal | None = None
    ranges: tuple[Range, ...] = ()
    out_of_range: int = 0

    def value(self, chosen: Mapping[str, Sequence[str]]) -> int:
        """The qualification's value for the selections that a worker chose, by question."""
        return self._mapped(
            sum(
                question.scores.get(frozenset(chosen.get(question.identifier, ())), question.otherwise)
                for question in self.questions
            )
        )

    def largest(self) -> int:
        """The largest absolute value that answers can give."""
        worths = [(*question.scores.values(), question.otherwise) for question in self.questions]
        highest, lowest = sum(map(max, worths)), sum(map(min, worths))
        return max(abs(self._mapped(highest)), abs(self._mapped(lowest)))

    def _mapped(self, total: int) -> int:
        if self.percent_of is not None:
            return _rounded(Decimal(100 * total) / self.percent_of)
        if self.times is not None:
            return _rounded(total * self.times)
        if self.ranges:
            inside = (each.value for each in self.ranges if each.least <= total <= each.most)
            return next(inside, self.out_of_range)
        return total


def read_answer_key(xml: str, test: QuestionForm) -> AnswerKey:
    """The key in `xml` to `test`. Raises RefusedError, which says what is wrong with it."""
    size = len(xml.encode())
    if size > MOST_BYTES:
        raise invalid(
            f"The AnswerKey is {size} bytes in UTF-8; it must not be larger than {MOST_BYTES} bytes."
        )
    root = parse(xml, what="answer key")
    namespace, _, name = root.tag.lstrip("{").partition("}")
    if name != "AnswerKey" or not SCHEMA.fullmatch(namespace):
        raise invalid(
            "The AnswerKey must be an AnswerKey element in the namespace …/2005-10-01/AnswerKey.xsd."
        )
    choices = {
        question.identifier: {each.identifier for each in question.answer.selections}
        for question in test.questions
        if isinstance(question.answer, SelectionAnswer)
    }
    questions: list[KeyQuestion] = []
    mapping: dict[str, Element] = {}
    for child in Element(root).children():
        if child.name == "Question":
            questions.append(_question(child, choices))
        elif child.name == "QualificationValueMapping" and not mapping:
            one = child.only_child("PercentageMapping", "ScaleMapping", "RangeMapping")
            mapping[one.name] = one
        else:
            raise invalid(f"{child.name} is not allowed in an AnswerKey, or not more than once.")
    if not questions:
        raise invalid("An AnswerKey must have at least one Question.")
    if len({question.identifier for question in questions}) < len(questions):
        raise invalid("An AnswerKey must not have two Questions with the same QuestionIdentifier.")
    key = _with_mapping(tuple(questions), mapping)
    if key.largest() > LARGEST_VALUE:
        raise invalid(
            f"This AnswerKey can give a value beyond {LARGEST_VALUE}, which is too large for a Qualification."
        )
    return key


def _question(element: Element, choices: Mapping[str, set[str]]) -> KeyQuestion:
    identifier, otherwise = "", 0
    scores: dict[frozenset[str], int] = {}
    for child in element.children():
        if child.name == "QuestionIdentifier":
            identifier = child.text
        elif child.name == "DefaultScore":
            otherwise = child.whole(-1_000_000, 1_000_000)
        elif child.name == "AnswerOption":
            chosen = [each.text for each in child.children() if each.name == "SelectionIdentifier"]
            score = [each for each in child.children() if each.name == "AnswerScore"]
            if len(score) != 1 or len(chosen) + 1 != len(list(child.children())):
                raise invalid("An AnswerOption must contain SelectionIdentifiers and one AnswerScore.")
            if frozenset(chosen) in scores:
                raise invalid(f"AnswerKey: two AnswerOptions of {identifier!r} have the same selections.")
            scores[frozenset(chosen)] = score[0].whole(-1_000_000, 1_000_000)
        else:
            raise invalid(f"{child.name} is not allowed in a Question of an AnswerKey.")
    if identifier not in choices:
        raise invalid(f"AnswerKey: the test has no question {identifier!r} with a SelectionAnswer.")
    unknown = sorted(set().union(*scores) - choices[identifier])
    if unknown:
        raise invalid(f"AnswerKey: the question {identifier!r} has no selection {unknown[0]!r}.")
    return KeyQuestion(identifier, scores, otherwise)


def _with_mapping(questions: tuple[KeyQuestion, ...], mapping: Mapping[str, Element]) -> AnswerKey:
    if "PercentageMapping" in mapping:
        whole = mapping["PercentageMapping"].only_child("MaximumSummedScore").whole(1, 1_000_000)
        return AnswerKey(questions, percent_of=whole)
    if "ScaleMapping" in mapping:
        factor = mapping["ScaleMapping"].only_child("SummedScoreMultiplier").text.strip()
        if not re.fullmatch(r"-?[0-9]{1,6}(\.[0-9]{1,6})?", factor):
            raise invalid("SummedScoreMultiplier must be a number.")
        return AnswerKey(questions, times=Decimal(factor))
    if "RangeMapping" not in mapping:
        return AnswerKey(questions)
    ranges: list[Range] = []
    out_of_range: int | None = None
    for child in mapping["RangeMapping"].children():
        if child.name == "OutOfRangeQualificationValue":
            out_of_range = child.whole(-1_000_000, 1_000_000)
            continue
        names = ("InclusiveLowerBound", "InclusiveUpperBound", "QualificationValue")
        found = child.fields(*names)
        if child.name != "SummedScoreRange" or len(found) != len(names):
            raise invalid(f"A RangeMapping must contain SummedScoreRanges, each with {', '.join(names)}.")
        ranges.append(Range(*(found[name].whole(-1_000_000, 1_000_000) for name in names)))
    if not ranges or out_of_range is None:
        raise invalid("A RangeMapping must contain a SummedScoreRange and an OutOfRangeQualificationValue.")
    return AnswerKey(questions, ranges=tuple(ranges), out_of_range=out_of_range)


def _rounded(number: Decimal) -> int:
    return int(number.quantize(Decimal(1), ROUND_HALF_UP))
