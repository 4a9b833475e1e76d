"""What each answer is worth, on every scale of its question, and which answers missed the Control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from humaneval.domain import Role
from humaneval.errors import InputError
from humaneval.scoring.asked import TableQuestion
from humaneval.scoring.columns import numbered, refuse
from humaneval.scoring.questions.question import Truth
from humaneval.statistics.arrays import Codes, Flags, Floats, encoded


@dataclass(frozen=True, slots=True)
class Worth:
    """Outcomes by the scale's name, answers × generators of a passage, and the answers that missed."""

    outcomes: Mapping[str, Floats]
    failed: Flags
    """Not the obvious answer, to a Control passage."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The positions, and the answers by field, from 1."""

    position: Codes
    fields: Mapping[str, Codes]


def answers_of(frame: pd.DataFrame, told: TableQuestion) -> Answers:
    """The positions and answers in a table. The first field may stand in the column `choice`.

    Raises InputError for a number that is no answer to the question.
    """
    # A person's whole story has its boundary after the end.
    position = numbered(frame["position"], told.sentences + told.question.rest)
    after = [told.sentences + 1] if told.question.rest else []
    allowed = [*told.question.positions(told.sentences), *after]
    refuse(frame["position"], ~np.isin(position, allowed), f"is none that {told.question.name} asks about")
    fields = {}
    for at, one in enumerate(told.question.fields(told.settings, told.sentences)):
        if one.name not in frame.columns and at:
            raise InputError(f"missing column: {one.name}", f"{told.question.name} asks for it.")
        fields[one.name] = numbered(frame[one.name if one.name in frame.columns else "choice"], one.values)
    return Answers(position, fields)


@dataclass(frozen=True, slots=True)
class Makers:
    """The generators of a table, and which of them each answer is about."""

    names: tuple[str, ...]
    roles: tuple[Role, ...]
    first: Codes
    second: Codes | None = None
    """None if passages have one generator."""

    @property
    def control(self) -> str:
        """The Control's name; empty without one."""
        return next(
            (name for name, role in zip(self.names, self.roles, strict=True) if role is Role.CONTROL), ""
        )


def worth_of(frame: pd.DataFrame, told: TableQuestion, makers: Makers, answers: Answers) -> Worth:
    """Ask the question what the answers are worth: each kind of passage and answer once.

    Raises InputError for an answer that the question does not take.
    """
    question, settings, sentences = told.question, told.settings, told.sentences
    if question.rest:
        _whole_to_the_end(frame, makers, answers, sentences)
    whose = [makers.first] if makers.second is None else [makers.first, makers.second]
    columns = [*whose, answers.position, *answers.fields.values()]
    kind, first = _kinds(columns)
    scales = question.scales(settings, sentences)
    outcomes = {scale.name: np.zeros((first.size, len(whose))) for scale in scales}
    failed, wrong = np.zeros((2, first.size), dtype=np.bool_)
    for number, at in enumerate(first.tolist()):
        truth = _truth(makers, [int(codes[at]) for codes in whose], int(answers.position[at]), sentences)
        answer = {name: int(codes[at]) for name, codes in answers.fields.items()}
        if not question.complete(answer, settings, sentences):
            wrong[number] = True
            continue
        failed[number] = truth.role is Role.CONTROL and not question.passed(truth, answer, settings)
        for scale in scales:
            outcomes[scale.name][number] = question.outcomes(truth, answer, scale.name, settings)
    refuse(frame[_column(frame, answers)], wrong[kind], f"is no answer to the question {question.name}")
    return Worth({name: worth[kind] for name, worth in outcomes.items()}, failed[kind])


def _whole_to_the_end(frame: pd.DataFrame, makers: Makers, answers: Answers, sentences: int) -> None:
    """Raise InputError if a person's whole story has its boundary before the end."""
    human = np.array([role is Role.HUMAN for role in makers.roles])[makers.first]
    early = human & (answers.position != sentences + 1)
    refuse(frame["position"], early, f"is not {sentences + 1}, as a person wrote all of Human's story")


def _column(frame: pd.DataFrame, answers: Answers) -> str:
    return next((name for name in answers.fields if name in frame.columns), "choice")


def _truth(makers: Makers, codes: Sequence[int], position: int, sentences: int) -> Truth:
    roles = [makers.roles[code] for code in codes]
    role = Role.CONTROL if Role.CONTROL in roles else roles[0]
    return Truth(tuple(makers.names[code] for code in codes), role, position, sentences, makers.control)


def _kinds(columns: Sequence[Codes]) -> tuple[Codes, Codes]:
    """Of each line the number of its kind, and of each kind its first line."""
    key = np.zeros(columns[0].size, dtype=np.int64)
    for codes in columns:
        key = key * (int(codes.max()) + 1) + codes
    kinds = encoded(key)
    first = np.zeros(kinds.number, dtype=np.int64)
    first[kinds.codes[::-1]] = np.arange(key.size, dtype=np.int64)[::-1]
    return kinds.codes, first
