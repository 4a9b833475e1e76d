"""A table of responses as checked columns of numbers, for scoring and the statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd

from humaneval.domain import Role
from humaneval.errors import InputError
from humaneval.limits import check_systems
from humaneval.scoring.asked import TableQuestion, asked
from humaneval.scoring.columns import NO as NO
from humaneval.scoring.columns import REQUIRED as REQUIRED
from humaneval.scoring.columns import YES as YES
from humaneval.scoring.columns import (
    answered_order,
    flags,
    labelled,
    measured,
    of_ratings,
    passages_of,
    refuse,
    rows_of,
    study_of,
)
from humaneval.scoring.questions.question import Question, Scale, Settings
from humaneval.scoring.roles import roles_of, roles_of_pairs
from humaneval.scoring.worth import Makers, Worth, answers_of, worth_of
from humaneval.statistics.arrays import Codes, Flags, Floats, Labels, encoded
from humaneval.text import listed, repeated

GENERATORS = "generators in the column generator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgments:
    """Responses as arrays of one length: labels as codes from 0, `position` and `choice` from 1.

    `names` and `roles` belong to the generators' codes. The methods that take `kept` look at those responses
    only.
    """

    study: str
    names: tuple[str, ...]
    roles: tuple[Role, ...]
    worker: Codes
    story: Codes
    generator: Codes
    position: Codes
    choice: Codes
    """The first field of the answers."""
    test: Flags
    row: Codes | None
    """Which form of which worker; None if the table does not say."""
    answered: Codes
    """Rank in time, or the line in the table if it does not say."""
    passages: Codes | None = None
    """How many passages the answer's form showed (its worker was shown, if `row` is None); None if
    unknown."""
    seconds: Floats | None = None
    """In-page time of each answer, NaN if unknown; None if the table does not say."""
    words: Floats | None = None
    """Words of the passage; missing as in `seconds`."""
    order: Floats | None = None
    """Place of the passage in its row, from 1; missing as in `seconds`."""
    people: tuple[str, ...] = ()
    """The workers' labels, in the order of their codes."""
    stories: tuple[str, ...] = ()
    """The stories' labels, in the order of their codes."""
    worth: Worth
    """What the answers are worth on each scale, and which of them missed a Control passage."""
    fields: Mapping[str, Codes]
    """The answers by field."""
    asked: TableQuestion
    scale: Scale
    """On which `outcomes` are."""
    other: Codes | None = None
    """The second generator of each passage, if it has one."""

    @property
    def question(self) -> Question:
        return self.asked.question

    @property
    def settings(self) -> Settings:
        """The question's own."""
        return self.asked.settings

    @property
    def sentences(self) -> int:
        """How many sentences a passage has."""
        return self.asked.sentences

    @property
    def guess(self) -> float:
        """How often an annotator who does not look passes a Control passage."""
        return self.question.guess(self.settings, self.sentences)

    @property
    def scales(self) -> tuple[Scale, ...]:
        """All scales of the question, the main one first."""
        return self.question.scales(self.settings, self.sentences)

    def on(self, scale: Scale) -> Self:
        """The same answers, with their outcomes on another scale."""
        return replace(self, scale=scale)

    @property
    def outcomes(self) -> Floats:
        """What each answer is worth to its (first) generator."""
        return self.worth.outcomes[self.scale.name][:, 0]

    @property
    def failed(self) -> Flags:
        """Which answers to Control passages are not the obvious ones."""
        return self.worth.failed

    @property
    def size(self) -> int:
        """Number of responses."""
        return int(self.worker.size)

    @property
    def missed(self) -> Flags:
        """Which answers are not the position: in `detect`, the machine's sentence was not marked."""
        return np.not_equal(self.position, self.choice)

    def entries(self, kept: Flags) -> Entries:
        """The outcomes of the `kept` responses, one for each generator that a response says something of.

        A comparison with the Control says something about the Control alone: to beat it is no merit.
        """
        if self.other is None:
            at = np.flatnonzero(kept)
            return Entries(self.outcomes[at], self.worker[at], self.story[at], self.generator[at])
        control = np.array([role is Role.CONTROL for role in self.roles], dtype=np.bool_)
        gated = self.is_role(Role.CONTROL)
        parts = []
        pair = (self.generator, self.other)
        for place, (generator, opponent) in enumerate(zip(pair, reversed(pair), strict=True)):
            at = np.flatnonzero(kept & (control[generator] | ~gated))
            worth = self.worth.outcomes[self.scale.name][at, place]
            parts.append((worth, self.worker[at], self.story[at], generator[at], opponent[at]))
        return Entries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def in_order(self, kept: Flags) -> Codes:
        """Indices of the `kept` responses by generator, worker and story. The order of lines does not change
        it."""
        at = np.flatnonzero(kept)
        # A second answer to the same passage may differ in its time alone.
        times = [one[at] for one in (self.seconds, self.order) if one is not None]
        others = () if self.other is None else (self.other,)
        codes = (*others, self.choice, self.position, self.story, self.worker, self.generator)
        return at[np.lexsort((*times, *(one[at] for one in codes)))]

    def is_role(self, role: Role) -> Flags:
        """Which responses are to passages by generators of this role; of two, a Control decides, else the
        first."""
        of = np.array([one is role for one in self.roles], dtype=np.bool_)
        if self.other is None:
            return of[self.generator]
        control = np.array([one is Role.CONTROL for one in self.roles], dtype=np.bool_)
        gated = control[self.generator] | control[self.other]
        return gated if role is Role.CONTROL else of[self.generator] & ~gated

    def by_role(self, kept: Flags) -> tuple[int, ...]:
        """Codes of the first generators of the `kept` responses: Control, systems by their scores, Human."""
        order = (Role.CONTROL, Role.SYSTEM, Role.HUMAN)
        means = {
            code: float(self.outcomes[kept & (self.generator == code)].mean())
            for code in np.unique(self.generator[kept]).tolist()
        }
        return tuple(sorted(means, key=lambda code: (order.index(self.roles[code]), means[code], code)))

    def workers(self, kept: Flags) -> int:
        """Number of different workers."""
        return int(np.unique(self.worker[kept]).size)

    def repeated(self, kept: Flags) -> Flags:
        """A worker's answers to a story and generator that she had answered before."""
        key = self._passage_of(self.worker)
        in_time = np.argsort(self.answered, kind="stable")
        in_time = in_time[kept[in_time]]
        first = in_time[np.unique(key[in_time], return_index=True)[1]]
        repeats = kept.copy()
        repeats[first] = False
        return repeats

    def by_incomplete_workers(self, kept: Flags) -> Flags:
        """Answers of workers who left a passage of a form unanswered; none if the table does not say what was
        shown.

        A worker without an answer to some generator is not a sign of it: forms may show only some generators.
        """
        if self.passages is None:
            return np.zeros(self.size, dtype=np.bool_)
        return self._by_worker_with_gaps(kept, self.worker if self.row is None else self.row, self.passages)

    def _by_worker_with_gaps(self, kept: Flags, row: Codes, passages: Codes) -> Flags:
        # Once each, with second answers that another step excluded: they show that the passage was answered.
        first = np.unique(self._passage_of(row), return_index=True)[1]
        answered = np.bincount(row[first], minlength=int(row.max()) + 1)
        lacking = np.zeros(int(self.worker.max()) + 1, dtype=np.bool_)
        lacking[self.worker[kept & (answered[row] < passages)]] = True
        return lacking[self.worker]

    def _passage_of(self, group: Codes) -> Codes:
        """A code for each story and generators, within each group. Two generators are a pair in any order."""
        stories, generators = int(self.story.max()) + 1, len(self.names)
        key = (group * stories + self.story) * generators
        if self.other is None:
            return key + self.generator
        low, high = np.minimum(self.generator, self.other), np.maximum(self.generator, self.other)
        return (key + low) * generators + high

    def by_worker_who_missed(self, kept: Flags) -> Flags:
        """Answers of workers who missed any Control passage."""
        return self._sharing(self.worker, kept)

    def in_missed_row(self, kept: Flags) -> Flags:
        """Answers on forms on which a Control passage was missed; `row` must be known."""
        if self.row is None:
            raise ValueError("the responses do not say which row they belong to")
        return self._sharing(self.row, kept)

    def _sharing(self, groups: Codes, kept: Flags) -> Flags:
        failed = np.zeros(int(groups.max()) + 1, dtype=np.bool_)
        failed[groups[kept & self.failed]] = True
        return failed[groups]


@dataclass(frozen=True, slots=True)
class Entries:
    """Outcomes with the worker, the story and the generator that each of them is about."""

    outcomes: Floats
    worker: Codes
    story: Codes
    generator: Codes
    opponent: Codes | None = None
    """The other generator of the passage, if it has one."""

    def at(self, places: Codes) -> Entries:
        """Those at these places."""
        opponent = None if self.opponent is None else self.opponent[places]
        columns = self.worker[places], self.story[places], self.generator[places]
        return Entries(self.outcomes[places], *columns, opponent)


def judgments(
    frame: pd.DataFrame,
    *,
    control: str | None = None,
    human: str | None = None,
    told: TableQuestion | None = None,
) -> Judgments:
    """Check a table of responses and turn it into arrays; the frame is not changed.

    Columns and the ways to say which generators are Control and Human: see `humaneval.scoring.scores.score`.
    `told` is what was asked; None reads it off the table. Lines are counted from 1 in error messages. Raises
    InputError and UsageError as described there.
    """
    _refuse_columns(frame)
    told = told or asked(frame)
    first, workers, stories = (labelled(frame[name]) for name in ("generator", "worker", "story"))
    makers = _makers(frame, first, control, human)
    _refuse_pairs(frame, told, makers)
    answers = answers_of(frame, told)
    worker = workers.codes
    return Judgments(
        study=study_of(frame),
        names=makers.names,
        roles=makers.roles,
        worker=worker,
        story=stories.codes,
        generator=makers.first,
        position=answers.position,
        choice=next(iter(answers.fields.values())),
        test=flags(frame["test"]) if "test" in frame.columns else np.zeros(len(frame), dtype=np.bool_),
        row=rows_of(frame, worker),
        answered=answered_order(frame),
        seconds=measured(frame, "seconds"),
        words=measured(frame, "words"),
        order=measured(frame, "order"),
        passages=passages_of(frame),
        people=tuple(map(str, workers.names)),
        stories=tuple(map(str, stories.names)),
        worth=worth_of(frame, told, makers, answers),
        fields=answers.fields,
        asked=told,
        scale=told.question.scales(told.settings, told.sentences)[0],
        other=makers.second,
    )


def _refuse_columns(frame: pd.DataFrame) -> None:
    missing = [name for name in REQUIRED if name not in frame.columns]
    if missing:
        there = listed([*frame.columns], 40) or "none"
        raise InputError(
            f"missing columns: {', '.join(missing)}", f"The table has: {there}.{of_ratings(missing)}"
        )
    if doubled := repeated(map(str, frame.columns)):
        raise InputError(f"duplicate columns: {listed(doubled)}")
    if frame.empty:
        raise InputError("there are no responses to score")


def _refuse_pairs(frame: pd.DataFrame, told: TableQuestion, makers: Makers) -> None:
    """Raise InputError for a table without pairs if the question shows two generators, and for one with pairs
    if it shows one."""
    question = told.question
    paired = any(len(one.generators) > 1 for one in question.conditions("ab", "", "", told.settings))
    if paired and makers.second is None:
        raise InputError(
            "missing column: other", f"{question.name} asks for it: it names the generator shown second."
        )
    if makers.second is None:
        return
    if not paired:
        raise InputError(
            f"the column other names a second generator, and {question.name} shows one",
            "Say what was asked in a column question, or leave out the column other.",
        )
    refuse(frame["other"], makers.first == makers.second, "is also the first generator")


def _makers(frame: pd.DataFrame, first: Labels, control: str | None, human: str | None) -> Makers:
    """All generators with their roles, and the codes of the first and, if there are any, the second ones."""
    if "other" not in frame.columns or frame["other"].isna().all():
        names = tuple(map(str, first.names))
        check_systems(len(names), GENERATORS)
        return Makers(names, roles_of(frame, first.codes, names, control, human), first.codes)
    second = labelled(frame["other"])
    both = encoded(np.array([*first.names, *second.names], dtype=object), ordered=True)
    names = tuple(map(str, both.names))
    check_systems(len(names), GENERATORS)
    codes = both.codes[: first.number][first.codes], both.codes[first.number :][second.codes]
    return Makers(names, roles_of_pairs(frame, codes, names, control, human), *codes)
