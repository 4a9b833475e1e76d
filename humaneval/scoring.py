"""From responses to scores: who is left out, what share of each generator's passages went unnoticed, how sure that is.

The score of a generator is the share of its passages whose annotator did not mark the machine's sentence. For Human
there is none: the sentence at the held-out position stands for it, so chance alone gives 4/5.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from humaneval.domain import SENTENCES, Role
from humaneval.errors import InputError, UsageError
from humaneval.judgments import Flags, Judgments, judgments
from humaneval.statistics.headline import PLAIN as PLAIN
from humaneval.statistics.headline import WIDENED as WIDENED
from humaneval.statistics.headline import score_interval
from humaneval.statistics.intervals import Interval, wilson

CHANCE = 1 - 1 / SENTENCES
"""The score of somebody who marks any sentence with equal odds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Which answers count. The default is the published rule; `hash` names exactly this rule in reports."""

    control: Literal["annotator", "row", "none"] = "annotator"
    """What a missed Control passage costs: all answers of the annotator, those of the row (form), or nothing."""
    incomplete: bool = True
    """Annotators who did not judge every generator that the study shows are left out."""
    duplicates: bool = True
    """Of several answers by one annotator to one story and generator only the first counts."""
    tests: Literal["leave out", "only"] = "leave out"
    """Tests and pilots are never pooled with the rest: they are left out, or scored alone."""

    def __post_init__(self) -> None:
        for name, choices in {
            "control": ("annotator", "row", "none"),
            "tests": ("leave out", "only"),
        }.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"The exclusion rule has no {name} {getattr(self, name)!r}",
                    f"There are: {', '.join(choices)}.",
                )

    @property
    def hash(self) -> str:
        """SHA-256 of the rule's settings, in hex."""
        settings = json.dumps({"version": 1, **asdict(self)}, sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()

    def describe(self) -> str:
        """The rule in sentences for a reader."""
        sentences = {
            "leave out": "Tests and pilots are left out.",
            "only": "Only tests and pilots are scored.",
        }[self.tests]
        if self.duplicates:
            sentences += " Of several answers by one annotator to one story and generator, the first counts."
        if self.incomplete:
            sentences += " Annotators who did not judge every generator are left out."
        return (
            sentences
            + {
                "annotator": " Annotators who missed a Control passage are left out with all their answers.",
                "row": " Rows with a missed Control passage are left out; other rows of the same annotator stay.",
                "none": " Nobody is left out for missing a Control passage.",
            }[self.control]
        )


@dataclass(frozen=True, slots=True)
class GeneratorScore:
    """The score of one generator: `not_identified` of `n` passages, as a share in 0..1 with its interval."""

    generator: str
    role: Role
    n: int
    not_identified: int
    workers: int
    stories: int
    """How many different annotators judged how many different stories."""
    interval: Interval
    method: str
    """How the interval was made: "wilson", or "wilson, n / design effect" where workers or stories recur."""
    design_effect: float
    picks: tuple[tuple[int, ...], ...]
    """`picks[i][j]` counts the passages with the machine's sentence at i + 1 whose annotator chose j + 1."""

    @property
    def score(self) -> float:
        """Share of passages whose annotator did not mark the machine's sentence, 0..1."""
        return self.not_identified / self.n

    @property
    def positions(self) -> tuple[int, ...]:
        """How many passages had the machine's sentence at position 1, 2, … 5."""
        return tuple(sum(row) for row in self.picks)

    @property
    def choices(self) -> tuple[int, ...]:
        """How many annotators marked sentence 1, 2, … 5."""
        return tuple(sum(column) for column in zip(*self.picks, strict=True))


@dataclass(frozen=True, slots=True)
class Annotators:
    """How many annotators there were (tests aside), how many an exclusion took, how many count."""

    collected: int
    excluded: int
    analysed: int


@dataclass(frozen=True, slots=True)
class ExclusionStep:
    """What one step left, and what it took. Steps come in the order in which they were done."""

    step: Literal["collected", "tests", "duplicates", "incomplete", "missed control", "analysed"]
    annotators: int
    responses: int
    annotators_out: int = 0
    responses_out: int = 0


@dataclass(frozen=True, slots=True)
class ControlGate:
    """Control passages just before annotators are left out for missing them: `passed` of `n` were noticed."""

    passed: int
    n: int
    interval: Interval


@dataclass(frozen=True, slots=True)
class Chance:
    """The score that chance alone gives: 1 − Σ q_j·r_j.

    q_j is the share of Human passages whose annotator chose sentence j (picking bias where no machine wrote), r_j
    the share of passages by systems and Human with the machine's (held-out) sentence at j. `nominal` is for
    uniform positions; `achieved` uses the counts, and is None where no Human passage was judged.
    """

    nominal: float
    achieved: float | None
    picks: tuple[int, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """All scores of a study under one rule; rows in order Control, systems by ascending score, Human."""

    study: str
    rule: Rule
    level: float
    annotators: Annotators
    scores: tuple[GeneratorScore, ...]
    before_exclusions: tuple[GeneratorScore, ...]
    """The same without leaving annotators out: after tests and duplicates are gone, all answers counted."""
    exclusions: tuple[ExclusionStep, ...]
    control: ControlGate | None
    chance: Chance

    def to_json(self) -> dict[str, Any]:
        """The document of `score --json`; plain values only. Fields are added over time, never renamed."""
        rule = {**asdict(self.rule), "hash": self.rule.hash, "description": self.rule.describe()}
        gate = self.control
        return {
            "study": self.study or None,
            "rule": rule,
            "annotators": asdict(self.annotators),
            "scores": [_score_json(row, self.level) for row in self.scores],
            "before_exclusions": [_score_json(row, self.level) for row in self.before_exclusions],
            "exclusions": [asdict(step) for step in self.exclusions],
            "control": gate and {"passed": gate.passed, "n": gate.n, "interval": list(gate.interval)},
            "chance": {
                "nominal": self.chance.nominal,
                "achieved": self.chance.achieved,
                "picks": list(self.chance.picks),
                "positions": list(self.chance.positions),
            },
        }


def score(
    frame: pd.DataFrame,
    rule: Rule | None = None,
    *,
    control: str | None = None,
    human: str | None = None,
    level: float = 0.95,
) -> ScoreTable:
    """Score the responses in `frame`, one line each, under `rule` (the published one if None).

    Needs the columns worker, story, generator, position and choice (1–5); uses role, study, row, assignment,
    submitted_at and test where they are there. `control` and `human` name the generators of those roles, and count
    for more than a column `role`; without either, generators called control and human in any case have them.
    The frame is never changed.

    Raises InputError where columns are missing, a value is out of range, there are several studies, no Control is
    found though the rule needs one, or nothing is left to score; UsageError where a named generator is not there.
    """
    rule = rule or Rule()
    answers = judgments(frame, control=control, human=human)
    if rule.control != "none" and Role.CONTROL not in answers.roles:
        raise InputError(
            f"No generator is the Control, and the rule leaves out who missed it. There are: {', '.join(answers.names)}",
            "Name it with --control NAME, or leave nobody out: --missed-control none.",
        )
    if rule.control == "row" and answers.row is None:
        raise InputError(
            "To leave out single rows the responses must say which row they belong to",
            "Give a column row (or assignment), or choose the rule by annotator.",
        )

    kept = np.ones(answers.size, dtype=np.bool_)
    steps = [ExclusionStep("collected", answers.workers(kept), answers.size)]

    def leave_out(step: Any, gone: Callable[[Judgments, Flags], Flags]) -> None:
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
        _refuse_all_incomplete(answers, kept)
    gate = _gate(answers, kept, level)
    if rule.control != "none":
        leave_out(
            "missed control",
            Judgments.by_worker_who_missed if rule.control == "annotator" else Judgments.in_missed_row,
        )
        _refuse_all_missed(steps[-1], rule)
    steps.append(ExclusionStep("analysed", steps[-1].annotators, steps[-1].responses))

    collected, analysed = steps[1].annotators, steps[-1].annotators
    scores = _scores(answers, kept, before, level)
    return ScoreTable(
        study=answers.study,
        rule=rule,
        level=level,
        annotators=Annotators(collected, collected - analysed, analysed),
        scores=scores,
        before_exclusions=_scores(answers, before, before, level),
        exclusions=tuple(steps),
        control=gate,
        chance=_chance(scores),
    )


def _scores(answers: Judgments, kept: Flags, shown: Flags, level: float) -> tuple[GeneratorScore, ...]:
    rows = []
    for code, (name, role) in enumerate(zip(answers.names, answers.roles, strict=True)):
        mine = np.flatnonzero(kept & (answers.generator == code))
        if mine.size:
            rows.append(_one_score(answers, mine, name, role, level))
        elif (shown & (answers.generator == code)).any():
            raise InputError(
                f"No response to {name} is left after the exclusions",
                "Look at the exclusions one by one, or choose another rule.",
            )
    order = {Role.CONTROL: 0, Role.SYSTEM: 1, Role.HUMAN: 2}
    return tuple(sorted(rows, key=lambda row: (order[row.role], row.score, row.generator)))


def _one_score(
    answers: Judgments, mine: NDArray[np.intp], name: str, role: Role, level: float
) -> GeneratorScore:
    position, choice = answers.position[mine], answers.choice[mine]
    missed = position != choice
    headline = score_interval(missed, answers.worker[mine], answers.story[mine], level)
    grid = np.bincount((position - 1) * SENTENCES + choice - 1, minlength=SENTENCES**2).reshape(
        SENTENCES, SENTENCES
    )
    picks = tuple(tuple(int(count) for count in row) for row in grid)
    return GeneratorScore(
        name,
        role,
        headline.n,
        headline.x,
        headline.workers,
        headline.stories,
        headline.interval,
        headline.method,
        headline.design_effect,
        picks,
    )


def _gate(answers: Judgments, kept: Flags, level: float) -> ControlGate | None:
    shown = kept & answers.is_role(Role.CONTROL)
    n, passed = int(shown.sum()), int((shown & ~answers.missed).sum())
    return ControlGate(passed, n, wilson(passed, n, level)) if n else None


def _chance(scores: Iterable[GeneratorScore]) -> Chance:
    judged = [row for row in scores if row.role is not Role.CONTROL]
    nobody = np.zeros(SENTENCES, dtype=np.int64)
    positions = sum((np.array(row.positions) for row in judged), nobody)
    picks = sum((np.array(row.picks).sum(axis=0) for row in judged if row.role is Role.HUMAN), nobody)
    achieved = None
    if picks.sum():
        achieved = 1 - float(picks @ positions) / (float(picks.sum()) * float(positions.sum()))
    return Chance(CHANCE, achieved, tuple(map(int, picks)), tuple(map(int, positions)))


def _score_json(row: GeneratorScore, level: float) -> dict[str, Any]:
    return {
        "generator": row.generator,
        "role": str(row.role),
        "n": row.n,
        "not_identified": row.not_identified,
        "score": row.score,
        "interval": list(row.interval),
        "interval_method": row.method,
        "level": level,
        "design_effect": row.design_effect,
        "workers": row.workers,
        "stories": row.stories,
    }


def _refuse_nothing(kept: Flags, rule: Rule) -> None:
    if not kept.any() and rule.tests == "leave out":
        raise InputError(
            "All responses are tests or pilots, and these are left out", "Score them alone (tests: only)."
        )
    if not kept.any():
        raise InputError(
            "No response is marked as a test or pilot", "Score the study itself (tests: leave out)."
        )


def _refuse_all_incomplete(answers: Judgments, kept: Flags) -> None:
    if not kept.any():
        raise InputError(
            f"No annotator judged all {len(answers.names)} generators: {', '.join(answers.names)}",
            "If the study shows each annotator only some of them, choose the rule with incomplete: false.",
        )


def _refuse_all_missed(step: ExclusionStep, rule: Rule) -> None:
    if not step.responses:
        raise InputError(
            f"All {step.annotators_out} annotators missed a Control passage: nothing is left to score",
            "See whether the Control passages and the column position are right; "
            "--missed-control none scores all answers.",
        )
