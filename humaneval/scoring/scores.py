"""From responses to scores: exclusions, the mean outcome of each generator's responses, its interval.

What an outcome is belongs to the question. In `detect` it is 1 if the annotator did not mark the machine's
sentence, so that the score is the share of passages that went unnoticed. For Human there is no machine: the
sentence at the held-out position stands for it, so chance alone gives 4/5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from humaneval.domain import Role
from humaneval.errors import InputError
from humaneval.scoring.asked import TableQuestion
from humaneval.scoring.comparisons import Comparison, Declared, compare
from humaneval.scoring.counted import Counted
from humaneval.scoring.exclusions import ControlGate, ExclusionStep, Rule, Selection, select
from humaneval.scoring.judgments import Entries, Judgments, judgments
from humaneval.scoring.means import mean_on_scale
from humaneval.scoring.questions.judging import Words
from humaneval.scoring.questions.question import DETECT, Scale, load_question
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.detection import chance_ceiling
from humaneval.statistics.intervals import Interval, MeanOutcome
from humaneval.statistics.opponents import share_against
from humaneval.statistics.score_intervals import score_intervals

DETECTED = TableQuestion(load_question(DETECT), {})
"""What counts and older tables answer."""
DETECTION = DETECTED.question.scales({}, DETECTED.sentences)[0]
GATED: Mapping[str, str] = {
    "annotator": "0 by construction, as annotators who missed a Control passage are excluded.",
    "row": "0 by construction, as rows with a missed Control passage are excluded.",
    "none": "",
}
"""Why Control has no interval, by what happens to those who missed it."""


@dataclass(frozen=True, slots=True)
class GeneratorScore:
    """The score of one generator: the mean of `n` outcomes with its interval."""

    generator: str
    role: Role
    n: int
    total: float
    """The sum of the outcomes; of outcomes that are 0 or 1, how many are 1."""
    workers: int
    stories: int
    """How many different annotators judged how many different stories."""
    interval: Interval | None
    """None for Control once those who missed it are excluded: `note` says why."""
    method: str
    """How the interval was made: of shares "wilson", or "wilson, n / design effect" if workers or stories
    recur."""
    design_effect: float
    effective_n: float
    """Unrelated responses that would tell as much: of a share, the interval is Wilson's at this number."""
    picks: tuple[tuple[int, ...], ...] = ()
    """`picks[i][j]` counts the passages with the machine's sentence at i + 1 whose annotator chose j + 1. It
    is empty if the question does not ask which sentence is the machine's."""
    note: str = ""
    """What the interval cannot take into account, or why there is none; empty if there is nothing to say."""

    @property
    def score(self) -> float:
        """The mean outcome, in the unit of the scale."""
        return self.total / self.n

    @property
    def not_identified(self) -> int:
        """In `detect`: how many annotators did not mark the machine's sentence. Of shares: how many outcomes
        are 1."""
        return round(self.total)

    @property
    def positions(self) -> tuple[int, ...]:
        """How many passages had the machine's sentence at each position, from 1."""
        return tuple(sum(row) for row in self.picks)

    @property
    def choices(self) -> tuple[int, ...]:
        """How many annotators marked each sentence, from 1."""
        return tuple(sum(column) for column in zip(*self.picks, strict=True))


@dataclass(frozen=True, slots=True)
class Annotators:
    """How many annotators there were without tests, how many were excluded, how many count."""

    collected: int
    excluded: int
    analysed: int


@dataclass(frozen=True, slots=True)
class Chance:
    """The score that chance alone gives, as the question says; of `detect` 1 − Σ q_j·r_j.

    q_j is the share of Human passages whose annotator chose sentence j: picking bias where no machine wrote.
    r_j is the share of passages by systems and Human that have the machine's (held-out) sentence at j.
    `nominal` is for uniform positions; `achieved` uses the counts, and is None if no Human passage was
    judged.
    """

    nominal: float
    achieved: float | None = None
    picks: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()

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
    chance: Chance | None
    """None if chance alone says nothing."""
    comparisons: tuple[Comparison, ...] = ()
    """The declared comparisons: systems with each other, then each system with Human."""
    asked: TableQuestion = DETECTED
    scale: Scale = DETECTION
    others: tuple[ScoreTable, ...] = ()
    """The same on the question's other scales."""

    @property
    def question(self) -> str:
        """The question's name."""
        return self.asked.question.name

    @property
    def detects(self) -> bool:
        """Whether an answer is the sentence taken for the machine's: only then are there picks."""
        return self.asked.question.marks_sentence

    @property
    def ceiling(self) -> float:
        """The score that chance gives here; the highest of the scale if chance says nothing."""
        return self.chance.ceiling if self.chance else self.scale.high

    @property
    def words(self) -> Words:
        """What reports say of these scores."""
        return self.asked.question.words(self.scale, self.asked.settings, self.asked.sentences)

    @property
    def all_scales(self) -> tuple[ScoreTable, ...]:
        """This table and those of the other scales."""
        return (self, *self.others)

    def to_json(self) -> dict[str, Any]:
        """The document of `score --json`; plain values only. Fields are added over time, never renamed."""
        checks = {key: value for key, value in asdict(self.rule).items() if value is not None}
        rule = {**checks, "hash": self.rule.hash, "description": self.rule.describe()}
        gate = self.control
        document = {
            "study": self.study or None,
            "question": self.question,
            "rule": rule,
            "annotators": asdict(self.annotators),
            "scores": self._rows(self.scores),
            "before_exclusions": self._rows(self.before_exclusions),
            "exclusions": [asdict(step) for step in self.exclusions],
            "control": gate and {"passed": gate.passed, "n": gate.n, "interval": list(gate.interval)},
            "chance": self._chance(),
            "comparisons": [one.to_json() for one in self.comparisons],
        }
        if not self.detects:
            document["scale"] = self._scale()
        if self.others:
            document["scales"] = [
                {
                    "scale": one._scale(),
                    "scores": one._rows(one.scores),
                    "before_exclusions": one._rows(one.before_exclusions),
                    "comparisons": [each.to_json() for each in one.comparisons],
                }
                for one in self.all_scales
            ]
        return document

    def _rows(self, rows: Iterable[GeneratorScore]) -> list[dict[str, Any]]:
        return [_score_json(row, self.level, detects=self.detects) for row in rows]

    def _chance(self) -> dict[str, Any] | None:
        if self.chance is None:
            return None
        found = {"nominal": self.chance.nominal, "achieved": self.chance.achieved}
        if not self.detects:
            return found
        return {**found, "picks": list(self.chance.picks), "positions": list(self.chance.positions)}

    def _scale(self) -> dict[str, Any]:
        scale = self.scale
        return {"name": scale.name, "title": scale.title, "low": scale.low, "high": scale.high}


def score(
    frame: pd.DataFrame,
    rule: Rule | None = None,
    *,
    control: str | None = None,
    human: str | None = None,
    level: float = 0.95,
    declared: Declared | None = None,
    told: TableQuestion | None = None,
) -> ScoreTable:
    """Score the responses in `frame`, one line each, under `rule` (the published rule if None), and compare
    generators.

    Needs the columns worker, story, generator, position and choice (1–5); `told` is what was asked, else the
    table says it, and `detect` is the default. Uses role, study, row, assignment,
    submitted_at and test if they are there. `control` and `human` name the generators of those roles, and
    override a column `role`. Without either, generators called control and human, in any case, have these
    roles. The frame is never changed.

    Raises InputError if columns are missing, a value is out of range, or there are several studies. Also if
    the rule needs a Control and there is none, or if nothing is left to score. Raises UsageError if a named
    generator does not exist."""
    answers = judgments(frame, control=control, human=human, told=told)
    return score_selection(select(answers, rule or Rule(), level), level, declared)


def score_selection(
    selection: Selection, level: float = 0.95, declared: Declared | None = None
) -> ScoreTable:
    """The scores of the responses that an exclusion rule kept, and the `declared` comparisons (all if
    None)."""
    declared = declared or Declared()
    first, *others = (
        _on_scale(replace(selection, answers=selection.answers.on(scale)), level, declared)
        for scale in selection.answers.scales
    )
    return replace(first, others=tuple(others))


def _on_scale(selection: Selection, level: float, declared: Declared) -> ScoreTable:
    answers, kept, before, steps = selection.answers, selection.kept, selection.before, selection.steps
    collected, analysed = steps[1].annotators, steps[-1].annotators
    counted = Counted(answers, kept)
    everybody = counted if (before == kept).all() else Counted(answers, before)
    gated = GATED[selection.rule.control]
    scores = _scores(counted, everybody, level, gated)
    before_exclusions = scores
    if gated or everybody is not counted:
        before_exclusions = _scores(everybody, everybody, level)
    return ScoreTable(
        study=answers.study,
        rule=selection.rule,
        level=level,
        annotators=Annotators(collected, collected - analysed, analysed),
        scores=scores,
        before_exclusions=before_exclusions,
        exclusions=steps,
        control=selection.gate,
        chance=_chance(answers, scores),
        comparisons=compare(counted, declared, level),
        asked=answers.asked,
        scale=answers.scale,
    )


def _scores(counted: Counted, shown: Counted, level: float, gated: str = "") -> tuple[GeneratorScore, ...]:
    """One score per generator of the responses that count. Control has no interval if it is `gated`, the
    reason."""
    answers = counted.answers
    gone = np.setdiff1d(shown.entries.generator, counted.entries.generator)
    if gone.size:
        raise InputError(
            f"no response to {answers.names[gone[0]]} is left after the exclusions",
            "Look at the exclusions one by one, or choose another rule.",
        )
    picks = _picks(answers, counted.kept) if answers.question.marks_sentence else {}
    rows = []
    for code, one in _estimates(counted, level):
        reason = _reason(answers, code, one, gated)
        rows.append(
            GeneratorScore(
                answers.names[code],
                answers.roles[code],
                one.n,
                one.total,
                one.workers,
                one.stories,
                None if reason else one.interval,
                one.method,
                one.design_effect,
                one.effective,
                picks.get(code, ()),
                reason or one.note,
            )
        )
    order = {Role.CONTROL: 0, Role.SYSTEM: 1, Role.HUMAN: 2}
    return tuple(sorted(rows, key=lambda row: (order[row.role], row.score, row.generator)))


def _reason(answers: Judgments, code: int, one: MeanOutcome, gated: str) -> str:
    """Why Control has no interval: those who missed it are excluded, which decides its score."""
    if answers.roles[code] is not Role.CONTROL or not gated:
        return ""
    if one.total == 0:
        return gated
    reason = gated.removeprefix("0 by construction, as ")
    return f"{reason[:1].upper()}{reason[1:]}"


def _estimates(counted: Counted, level: float) -> Iterator[tuple[int, MeanOutcome]]:
    """The score of each generator, by its code: a share, a mean on a scale, or a mean over opponents."""
    entries, scale = counted.entries, counted.answers.scale
    of: Iterable[tuple[int, MeanOutcome]]
    if scale.binary:
        of = zip(counted.sums.names, score_intervals(counted.sums, level), strict=True)
    else:
        of = _means(entries, Interval(scale.low, scale.high), level)
    for code, one in of:
        at = np.flatnonzero(entries.generator == code) if entries.opponent is not None else None
        if entries.opponent is None or np.unique(entries.opponent[at]).size == 1:
            yield code, one
        else:
            by = entries.worker[at], entries.story[at]
            yield code, share_against(entries.outcomes[at], *by, entries.opponent[at], level)


def _means(entries: Entries, scale: Interval, level: float) -> Iterator[tuple[int, MeanOutcome]]:
    for code in pd.unique(entries.generator).tolist():
        mine = entries.generator == code
        by = entries.worker[mine], entries.story[mine]
        yield code, mean_on_scale(entries.outcomes[mine], *by, scale, level)


def _picks(answers: Judgments, kept: Flags) -> dict[int, tuple[tuple[int, ...], ...]]:
    """By generator: how often each sentence was marked, for each position of the machine's."""
    size = (len(answers.names), answers.sentences, answers.sentences)
    cell = np.ravel_multi_index(
        (answers.generator[kept], answers.position[kept] - 1, answers.choice[kept] - 1), size
    )
    counts = np.bincount(cell, minlength=int(np.prod(size))).reshape(size).tolist()
    return {code: tuple(map(tuple, rows)) for code, rows in enumerate(counts)}


def _chance(answers: Judgments, scores: Iterable[GeneratorScore]) -> Chance | None:
    nominal = answers.question.chance(answers.settings, answers.sentences, answers.scale.name)
    if nominal is None:
        return None
    if not answers.question.marks_sentence:
        return Chance(nominal.value)
    judged = [row for row in scores if row.role is not Role.CONTROL]
    nobody = np.zeros(answers.sentences, dtype=np.int64)
    positions = sum((np.array(row.positions) for row in judged), nobody)
    picks = sum((np.array(row.picks).sum(axis=0) for row in judged if row.role is Role.HUMAN), nobody)
    found = chance_ceiling(picks, positions)
    achieved = None if isinstance(found, NotEstimable) else found
    return Chance(nominal.value, achieved, tuple(map(int, picks)), tuple(map(int, positions)))


def _score_json(row: GeneratorScore, level: float, *, detects: bool) -> dict[str, Any]:
    return {
        "generator": row.generator,
        "role": str(row.role),
        "n": row.n,
        **({"not_identified": row.not_identified} if detects else {}),
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
