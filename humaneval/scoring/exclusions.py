"""Exclusions: a rule that is declared beforehand and identified by its hash, and what each step excluded.

The flags of `humaneval.statistics.quality` exclude nobody by themselves. If a rule uses one, it says so.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from humaneval.domain import GUESS, Role
from humaneval.errors import InputError, UsageError
from humaneval.scoring.judgments import Judgments
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import Interval
from humaneval.statistics.quality import StraightLining, speed, straight_lining
from humaneval.statistics.score_intervals import score_intervals
from humaneval.statistics.spam import SpamPosterior, spam_posterior
from humaneval.text import every

Step = Literal[
    "collected",
    "tests",
    "duplicates",
    "incomplete",
    "missed control",
    "too fast",
    "straight-lining",
    "spam",
    "analysed",
]
HONEST_PASS = 0.95
"""How often an honest annotator notices a Control passage, if there are too few passages to estimate it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which answers count. The default is the published rule; `hash` identifies this rule in reports."""

    control: Literal["annotator", "row", "none"] = "annotator"
    """What a missed Control passage excludes: all answers of the annotator, those of the row (form), or
    nothing."""
    incomplete: bool = True
    """Exclude annotators who left a passage of a form unanswered; nobody if the table does not say what was
    shown."""
    duplicates: bool = True
    """Of several answers by one annotator to the same story and generator, only the first counts."""
    tests: Literal["leave out", "only"] = "leave out"
    """Tests and pilots are never pooled with the rest: they are excluded, or scored alone."""
    speed: float | None = None
    """Exclude annotators who read more words per second than this in most of their passages."""
    straight_lining: float | None = None
    """Exclude annotators who gave one answer so often that chance would do it with less than this
    probability."""
    spam: float | None = None
    """Exclude annotators whose probability of answering without reading, given their Control passages, is
    above this."""

    def __post_init__(self) -> None:
        for name, choices in {
            "control": ("annotator", "row", "none"),
            "tests": ("leave out", "only"),
        }.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"the exclusion rule has no {name} {getattr(self, name)!r}",
                    f"There are: {', '.join(choices)}.",
                )
        if self.speed is not None and not self.speed > 0:
            raise UsageError(f"{self.speed:g} words per second is not a limit", "Give for example 12.")
        for name, share in (("straight_lining", self.straight_lining), ("spam", self.spam)):
            if share is not None and not 0 < share < 1:
                raise UsageError(
                    f"{name}: {share:g} is not a probability",
                    "Give a number between 0 and 1.",
                )

    @property
    def hash(self) -> str:
        """SHA-256 of the rule's settings, in hex, without the checks that are off."""
        settings = {name: value for name, value in asdict(self).items() if value is not None}
        return hashlib.sha256(json.dumps({"version": 1, **settings}, sort_keys=True).encode()).hexdigest()

    def describe(self) -> str:
        """The rule in sentences for a reader."""
        sentences = [
            {
                "leave out": "Tests and pilots are excluded.",
                "only": "Only tests and pilots are scored.",
            }[self.tests]
        ]
        if self.duplicates:
            sentences.append(
                "Of several answers by one annotator to the same story and generator, only the first counts."
            )
        if self.incomplete:
            sentences.append("Annotators who did not judge every passage they were shown are excluded.")
        sentences.append(
            {
                "annotator": "Annotators who missed a Control passage are excluded with all their answers.",
                "row": (
                    "Forms with a missed Control passage are excluded; the annotator’s other forms stay."
                ),
                "none": "No annotator is excluded for missing a Control passage.",
            }[self.control]
        )
        if self.speed is not None:
            sentences.append(
                f"Annotators who read more than {self.speed:g} words per second in most of their passages are"
                " excluded."
            )
        if self.straight_lining is not None:
            sentences.append(
                "Annotators are excluded if chance would mark one position as often as they did with a"
                f" probability below {self.straight_lining:g}."
            )
        if self.spam is not None:
            sentences.append(
                "Annotators are excluded if they answer without reading with a probability above"
                f" {self.spam:g}, given their Control passages."
            )
        return " ".join(sentences)


@dataclass(frozen=True, slots=True)
class ExclusionStep:
    """What one step left, and what it excluded. Steps are in the order in which they were applied."""

    step: Step
    annotators: int
    responses: int
    annotators_out: int = 0
    responses_out: int = 0


@dataclass(frozen=True, slots=True)
class ControlGate:
    """Control passages just before annotators are excluded for missing one: `passed` of `n` were noticed. The
    interval is that of scores, because one annotator may have judged several."""

    passed: int
    n: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class Selection:
    """Responses, and which of them count under a rule."""

    answers: Judgments
    rule: Rule
    kept: Flags
    before: Flags
    """What counts if no annotator is excluded: all but tests and second answers."""
    steps: tuple[ExclusionStep, ...]
    gate: ControlGate | None


def select(answers: Judgments, rule: Rule, level: float = 0.95) -> Selection:
    """Apply `rule` to `answers`, step by step.

    Raises InputError if the rule needs a Control and there is none, if it needs a column that is missing, or
    if nothing is left."""
    _refuse_impossible(answers, rule)
    kept = np.ones(answers.size, dtype=np.bool_)
    steps = [ExclusionStep("collected", answers.workers(kept), answers.size)]

    def leave_out(step: Step, gone: Callable[[Judgments, Flags], Flags]) -> None:
        nonlocal kept
        left = kept & ~gone(answers, kept)
        workers, size = answers.workers(left), int(left.sum())
        steps.append(
            ExclusionStep(step, workers, size, steps[-1].annotators - workers, steps[-1].responses - size)
        )
        kept = left

    leave_out("tests", lambda a, _: a.test if rule.tests == "leave out" else ~a.test)
    _refuse_nothing(kept, rule)
    if rule.duplicates:
        leave_out("duplicates", Judgments.repeated)
    before = kept
    if rule.incomplete:
        leave_out("incomplete", Judgments.by_incomplete_workers)
        _refuse_all_incomplete(kept)
    gate = _gate(answers, kept, level)
    if rule.control != "none":
        leave_out(
            "missed control",
            Judgments.by_worker_who_missed if rule.control == "annotator" else Judgments.in_missed_row,
        )
        _refuse_all_missed(steps[-1], rule)
    for step, flagged in _flags(rule).items():
        leave_out(step, flagged)
        if not steps[-1].responses:
            raise InputError(
                f"the rule excludes {every(steps[-1].annotators_out, 'annotator')}: {step}",
                "Look at the flags one by one, or choose another limit.",
            )
    steps.append(ExclusionStep("analysed", steps[-1].annotators, steps[-1].responses))
    return Selection(answers, rule, kept, before, tuple(steps), gate)


def _flags(rule: Rule) -> dict[Step, Callable[[Judgments, Flags], Flags]]:
    """The checks of workers that `rule` makes, in their order."""
    checks: dict[Step, tuple[float | None, Callable[[Judgments, Flags, float], set[int]]]] = {
        "too fast": (rule.speed, _too_fast),
        "straight-lining": (rule.straight_lining, _straight_lining),
        "spam": (rule.spam, _spamming),
    }

    def of(
        check: Callable[[Judgments, Flags, float], set[int]], limit: float
    ) -> Callable[[Judgments, Flags], Flags]:
        return lambda answers, kept: np.isin(answers.worker, list(check(answers, kept, limit)))

    return {step: of(check, limit) for step, (limit, check) in checks.items() if limit is not None}


def _too_fast(answers: Judgments, kept: Flags, limit: float) -> set[int]:
    assert answers.seconds is not None
    assert answers.words is not None
    found = speed(answers.words[kept], answers.seconds[kept], limit)
    known = pd.DataFrame({"worker": answers.worker[kept], "fast": found.too_fast})[~found.unknown]
    share = known.groupby("worker")["fast"].mean()
    return set(share.index[share > 0.5])


def _straight_lining(answers: Judgments, kept: Flags, limit: float) -> set[int]:
    found = straight_lines(answers, kept)
    return {worker for worker, odd in zip(found.workers, found.flags(limit), strict=True) if odd}


def straight_lines(answers: Judgments, kept: Flags) -> StraightLining:
    """How often each worker gave one answer to the first field; p is 1 if the question makes nothing of
    it."""
    fields = answers.question.fields(answers.settings, answers.sentences)
    whole = {field.name: field.values for field in fields}
    places = np.zeros(fields[0].values + 1, dtype=np.int64)
    for value in range(1, places.size):
        given = whole | {fields[0].name: value}
        # Nobody answers what the question does not take: such a value is no option.
        places[value] = answers.question.complete(given, answers.settings, answers.sentences)
    options = int(places.sum())
    found = straight_lining(answers.worker[kept], np.cumsum(places)[answers.choice[kept]], options)
    return found if answers.question.straight_lines else replace(found, p=np.ones_like(found.p))


def _spamming(answers: Judgments, kept: Flags, limit: float) -> set[int]:
    shown = kept & answers.is_role(Role.CONTROL)
    workers = int(answers.worker.max()) + 1
    controls = np.bincount(answers.worker[shown], minlength=workers)
    noticed = np.bincount(answers.worker[shown & ~answers.failed], minlength=workers)
    # Annotators who are excluded already say nothing about the others.
    there = np.unique(answers.worker[kept])
    found = spam_odds(noticed[there], controls[there], answers.guess)
    if isinstance(found, NotEstimable):
        raise InputError(
            f"which annotators answer without reading is not estimable, because {found.because}",
            "Leave `spam` out of the rule.",
        )
    return set(there[found.probability > limit].tolist())


def spam_odds(noticed: ArrayLike, controls: ArrayLike, chance: float = GUESS) -> SpamPosterior | NotEstimable:
    """`spam_posterior` of each annotator, with HONEST_PASS if there are too few Control passages to estimate
    it."""
    found = spam_posterior(noticed, controls, chance=chance)
    return (
        spam_posterior(noticed, controls, honest_pass=HONEST_PASS, chance=chance)
        if isinstance(found, NotEstimable)
        else found
    )


def _gate(answers: Judgments, kept: Flags, level: float) -> ControlGate | None:
    shown = kept & answers.is_role(Role.CONTROL)
    if not shown.any():
        return None
    noticed = ~answers.failed[shown]
    table = cells(noticed, answers.worker[shown], answers.story[shown], np.zeros(noticed.size))
    (found,) = score_intervals(table, level)
    return ControlGate(int(found.total), found.n, found.interval)


def _refuse_impossible(answers: Judgments, rule: Rule) -> None:
    if rule.control != "none" and Role.CONTROL not in answers.roles:
        raise InputError(
            "the rule excludes annotators who missed the Control, and no generator is the Control. There are:"
            f" {', '.join(answers.names)}",
            "Name it with --control NAME, or exclude nobody: --missed-control none.",
        )
    if rule.control == "row" and answers.row is None:
        raise InputError(
            "the rule excludes single rows, and the responses do not say which row they belong to",
            "Add a column row (or assignment), or exclude by annotator.",
        )
    if rule.speed is not None and (answers.seconds is None or answers.words is None):
        raise InputError(
            "the rule excludes annotators who were too fast, and the responses do not have the words and the"
            " seconds of each passage",
            "Add the columns words and seconds, or leave `speed` out of the rule.",
        )


def _refuse_nothing(kept: Flags, rule: Rule) -> None:
    if not kept.any() and rule.tests == "leave out":
        raise InputError(
            "all responses are tests or pilots, and these are excluded", "Score them alone: --tests."
        )
    if not kept.any():
        raise InputError("no response is marked as a test or pilot", "Score the others: leave out --tests.")


def _refuse_all_incomplete(kept: Flags) -> None:
    if not kept.any():
        raise InputError(
            "no annotator answered every passage they were shown",
            "If lines were taken out of the table, say so: --keep-incomplete counts these annotators.",
        )


def _refuse_all_missed(step: ExclusionStep, rule: Rule) -> None:
    if not step.responses:
        who = every(step.annotators_out, "annotator")
        raise InputError(
            f"{who} missed a Control passage, so nothing is left to score",
            "Check the Control passages and the column position; --missed-control none scores all answers.",
        )
