"""The HEDS datasheet of a study, filled in as far as the store knows: as JSON of the web form, and as
Markdown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from humaneval.report.dossier import Dossier
from humaneval.report.heds_answers import Answer, answers
from humaneval.report.heds_questions import CRITERION, QUESTIONS, Question
from humaneval.report.markdown import markdown_text

TO_FILL_IN = "to fill in"


class Line(NamedTuple):
    """A question and its answer; None if only the researcher knows it."""

    question: Question
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Datasheet:
    """Every question, with its answer."""

    study: str
    version: str
    lines: tuple[Line, ...]

    @property
    def filled(self) -> int:
        """How many questions are answered."""
        return sum(answer is not None for _, answer in self.lines)

    @property
    def open(self) -> tuple[Question, ...]:
        """The questions to fill in."""
        return tuple(question for question, answer in self.lines if answer is None)

    def to_json(self) -> dict[str, Any]:
        """As the web form exports it: key → data by criterion, control, text."""
        document: dict[str, Any] = {
            "heds-criteria-criterion": {"data": {}, "control": {CRITERION: True}, "text": {}}
        }
        for question, answer in self.lines:
            of = CRITERION if question.criterion else ""
            said = answer or Answer("")
            for number, meaning in question.options.items():
                ticked = number in said.ticks
                document[f"heds-{question.key}-{number}"] = {
                    "data": {of: ticked},
                    "control": {},
                    "text": {of: f"{number}. {meaning}" if ticked else ""},
                }
            field = question.words if question.options else question.key
            if field:
                document[f"heds-{field}"] = {"data": {of: said.text}, "control": {}}
        return document

    def json_text(self) -> str:
        """The same as text."""
        return json.dumps(self.to_json(), ensure_ascii=False, indent=2) + "\n"

    def markdown(self) -> str:
        """With the numbers of HEDS 2 and our own labels; the questions to fill in come first."""
        lines = [
            f"# Human evaluation datasheet: {markdown_text(self.study)}",
            "",
            (
                "This datasheet follows HEDS (Shimorina and Belz 2022,"
                " <https://aclanthology.org/2022.humeval-1.6>), by question number. humaneval-toolkit"
                f" {self.version} wrote it from what it knows of the study: {self.filled} of"
                f" {len(self.lines)} questions are answered."
            ),
            "",
            "## To fill in",
            "",
            *(f"- Q{question.number} {question.label}" for question in self.open),
            "",
            "## Answers",
            "",
        ]
        for question, answer in self.lines:
            if answer is None:
                lines += [f"**Q{question.number} {question.label}:** *{TO_FILL_IN}*", ""]
                continue
            ticked = "; ".join(question.options[number] for number in sorted(answer.ticks))
            first, *more = [
                part for part in (ticked, *map(markdown_text, answer.text.splitlines())) if part.strip()
            ]
            lines += [f"**Q{question.number} {question.label}:** {first}", ""]
            for part in more:
                lines += [part, ""]
        return "\n".join(lines).rstrip() + "\n"


def datasheet(known: Dossier) -> Datasheet:
    """The datasheet of a study."""
    said = answers(known)
    unknown = set(said) - {question.key for question in QUESTIONS}
    assert not unknown, unknown
    version = known.data.repeat.software.get("humaneval-toolkit", "")
    return Datasheet(
        known.name, version, tuple(Line(question, said.get(question.key)) for question in QUESTIONS)
    )
