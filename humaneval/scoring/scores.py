"""From responses to scores: exclusions, the share of each generator's passages that went unnoticed, its
interval.

The score of a generator is the share of its passages whose annotator did not mark the machine's sentence. For
Human there is none: the sentence at the held-out position stands for it, so chance alone gives 4/5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from humaneval.domain import CEILING, SENTENCES, Role
from humaneval.errors import InputError
from humaneval.scoring.comparisons import Comparison, Declared, compare
from humaneval.scoring.exclusions import ControlGate, ExclusionStep, Rule, Selection, select
from humaneval.scoring.judgments import Judgments, judgments
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.cells import Cells, cells
from humaneval.statistics.detection import chance_ceiling
from humaneval.statistics.headline import score_intervals
from humaneval.statistics.intervals import Interval

GATED: Mapping[str, str] = {
    "annotator": "0 by construction, as annotators who missed a Control passage are excluded.",
    "row": "0 by construction, as rows with a missed Control passage are excluded.",
    "none": "",
}
"""Why Control has no interval, by what happens to those who missed it."""


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
    interval: Interval | None
    """None for Control once those who missed it are excluded: `note` says why."""
    method: str
    """How the interval was made: "wilson", or "wilson, n / design effect" if workers or stories recur."""
    design_effect: float
    effective_n: float
    """Unrelated responses that would tell as much: the interval is Wilson's at this number."""
    picks: tuple[tuple[int, ...], ...]
    """`picks[i][j]` counts the passages with the machine's sentence at i + 1 whose annotator chose j + 1."""
    note: str = ""
    """What the interval cannot take into account, or why there is none; empty if there is nothing to say."""

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
    """How many annotators there were without tests, how many were excluded, how many count."""

    collected: int
    excluded: int
    analysed: int


@dataclass(frozen=True, slots=True)
class Chance:
    """The score that chance alone gives: 1 − Σ q_j·r_j.

    q_j is the share of Human passages whose annotator chose sentence j (picking bias where no machine wrote),
    r_j the share of passages by systems and Human with the machine's (held-out) sentence at j. `nominal` is
    for uniform positions; `achieved` uses the counts, and is None if no Human passage was judged.
    """

    nominal: float
    achieved: float | None
    picks: tuple[int, ...]
    positions: tuple[int, ...]

    @property
    def ceiling(self) -> float:
        """The achieved one, or the nominal one if no Human passage was judged."""
        return self.achieved or self.nominal


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """All scores of a study under one rule; rows in order Control, systems by ascending score, Human."""

    study: str
    rule: Rule
    level: float
    annotators: Annotators
    scores: tuple[GeneratorScore, ...]
    before_exclusions: tuple[GeneratorScore, ...]
    """The same without exclusions: all answers but tests and duplicates."""
    exclusions: tuple[ExclusionStep, ...]
    control: ControlGate | None
    chance: Chance
    comparisons: tuple[Comparison, ...] = ()
    """The declared comparisons: systems with each other, then each system with Human."""

    def to_json(self) -> dict[str, Any]:
        """The document of `score --json`; plain values only. Fields are added over time, never renamed."""
        checks = {key: value for key, value in asdict(self.rule).items() if value is not None}
        rule = {**checks, "hash": self.rule.hash, "description": self.rule.describe()}
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
            "comparisons": [one.to_json() for one in self.comparisons],
        }


def score(
    frame: pd.DataFrame,
    rule: Rule | None = None,
    *,
    control: str | None = None,
    human: str | None = None,
    level: float = 0.95,
    declared: Declared | None = None,
) -> ScoreTable:
    """Score the responses in `frame`, one line each, under `rule` (the published rule if None), and compare
    generators.

    Needs the columns worker, story, generator, position and choice (1–5); uses role, study, row, assignment,
    submitted_at and test if they are there. `control` and `human` name the generators of those roles, and
    override a column `role`. Without either, generators called control and human, in any case, have these
    roles. The frame is never changed.

    Raises InputError if columns are missing, a value is out of range, there are several studies, the rule
    needs a Control and there is none, or nothing is left to score. Raises UsageError if a named generator
    does not exist."""
    answers = judgments(frame, control=control, human=human)
    return score_selection(select(answers, rule or Rule(), level), level, declared)


def score_selection(
    selection: Selection, level: float = 0.95, declared: Declared | None = None
) -> ScoreTable:
    """The scores of the responses that an exclusion rule kept, and the `declared` comparisons (all if
    None)."""
    answers, kept, before, steps = selection.answers, selection.kept, selection.before, selection.steps
    collected, analysed = steps[1].annotators, steps[-1].annotators
    sums = sums_of(answers, kept)
    without = sums if (before == kept).all() else sums_of(answers, before)
    scores = _scores(answers, kept, before, sums, level, GATED[selection.rule.control])
    return ScoreTable(
        study=answers.study,
        rule=selection.rule,
        level=level,
        annotators=Annotators(collected, collected - analysed, analysed),
        scores=scores,
        before_exclusions=_scores(answers, before, before, without, level),
        exclusions=steps,
        control=selection.gate,
        chance=_chance(scores),
        comparisons=compare(answers, sums, declared or Declared(), level),
    )


def _scores(
    answers: Judgments, kept: Flags, shown: Flags, sums: Cells, level: float, gated: str = ""
) -> tuple[GeneratorScore, ...]:
    """One score per generator; `sums` are those of the `kept` responses. Control has no interval if it is
    `gated`, the reason."""
    gone = np.setdiff1d(answers.generator[shown], sums.names)
    if gone.size:
        raise InputError(
            f"no response to {answers.names[gone[0]]} is left after the exclusions",
            "Look at the exclusions one by one, or choose another rule.",
        )
    size = (len(answers.names), SENTENCES, SENTENCES)
    cell = np.ravel_multi_index(
        (answers.generator[kept], answers.position[kept] - 1, answers.choice[kept] - 1), size
    )
    picks = np.bincount(cell, minlength=int(np.prod(size))).reshape(size).tolist()
    rows = []
    for code, one in zip(sums.names, score_intervals(sums, level), strict=True):
        reason = gated if answers.roles[code] is Role.CONTROL else ""
        rows.append(
            GeneratorScore(
                answers.names[code],
                answers.roles[code],
                one.n,
                one.x,
                one.workers,
                one.stories,
                None if reason else one.interval,
                one.method,
                one.design_effect,
                one.effective,
                tuple(map(tuple, picks[code])),
                reason or one.note,
            )
        )
    order = {Role.CONTROL: 0, Role.SYSTEM: 1, Role.HUMAN: 2}
    return tuple(sorted(rows, key=lambda row: (order[row.role], row.score, row.generator)))


def sums_of(answers: Judgments, kept: Flags) -> Cells:
    """The `kept` responses added up for scores and comparisons; the names are the codes of the generators."""
    return cells(answers.outcomes[kept], answers.worker[kept], answers.story[kept], answers.generator[kept])


def _chance(scores: Iterable[GeneratorScore]) -> Chance:
    judged = [row for row in scores if row.role is not Role.CONTROL]
    nobody = np.zeros(SENTENCES, dtype=np.int64)
    positions = sum((np.array(row.positions) for row in judged), nobody)
    picks = sum((np.array(row.picks).sum(axis=0) for row in judged if row.role is Role.HUMAN), nobody)
    found = chance_ceiling(picks, positions)
    achieved = None if isinstance(found, NotEstimable) else found
    return Chance(CEILING, achieved, tuple(map(int, picks)), tuple(map(int, positions)))


def _score_json(row: GeneratorScore, level: float) -> dict[str, Any]:
    return {
        "generator": row.generator,
        "role": str(row.role),
        "n": row.n,
        "not_identified": row.not_identified,
        "score": row.score,
        "interval": row.interval and list(row.interval),
        "interval_method": row.method if row.interval else None,
        "level": level,
        "design_effect": row.design_effect,
        "effective_n": row.effective_n,
        "workers": row.workers,
        "stories": row.stories,
        "note": row.note,
    }
