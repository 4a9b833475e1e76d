"""Everything that a report says besides scores and comparisons, from the same responses under the same
rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from humaneval.scoring.analysis.annotators import WorkerLine, mean_seconds, worker_lines
from humaneval.scoring.analysis.effects import Effects, effects
from humaneval.scoring.analysis.estimable import estimated, plain
from humaneval.scoring.analysis.models import (
    LuckOff,
    Omnibus,
    Others,
    Standing,
    fit,
    luck_off,
    omnibus,
    other_intervals,
    standings,
    story_deviations,
)
from humaneval.scoring.asked import TableQuestion
from humaneval.scoring.comparisons import Declared
from humaneval.scoring.exclusions import Rule, select
from humaneval.scoring.judgments import Judgments, judgments
from humaneval.scoring.questions.judging import Detail
from humaneval.scoring.scores import ScoreTable, score_selection
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.mixed_model import MixedModel

OWN = "this study’s rule"
NOBODY = "nobody excluded"
ANOTHER = NotEstimable("annotators were not asked which sentence is the machine’s")
NO_EFFECTS = Effects(ANOTHER, ANOTHER, ANOTHER, (), ANOTHER)


@dataclass(frozen=True, slots=True)
class UnderRule:
    """The scores under another rule than the study's own."""

    name: str
    rule: Rule
    table: ScoreTable | NotEstimable


@dataclass(frozen=True, slots=True)
class Analysis:
    """A score table and all analyses beside it."""

    table: ScoreTable
    rules: tuple[UnderRule, ...]
    """The study's own rule, then nobody excluded, then the other declared rules."""
    omnibus: Omnibus | NotEstimable
    intervals: tuple[Others, ...]
    standings: tuple[Standing, ...] | NotEstimable
    luck_off: tuple[LuckOff, ...]
    model: MixedModel | NotEstimable
    effects: Effects
    workers: tuple[WorkerLine, ...]
    seconds: Mapping[str, float]
    """Mean in-page seconds per passage, by generator; without generators whose times are unknown."""
    stories: tuple[str, ...]
    """The stories' names, by the model's codes for them."""
    seed: int
    story_deviations: tuple[float, ...] = ()
    """Conditional standard deviations of the model's story modes, in their order; empty without a model."""
    beside: tuple[Detail, ...] = ()
    """What the question itself computes beside the scores."""

    def to_json(self) -> dict[str, Any]:
        """The document of `score --json --details`: that of `score --json` with a field `details`. Plain
        values only."""
        model: Any = plain(self.model)
        if isinstance(self.model, MixedModel):
            model = {
                "worker_sd": self.model.worker_sd,
                "story_sd": self.model.story_sd,
                "log_likelihood": self.model.log_likelihood,
                "converged": self.model.converged,
                "statement": self.model.statement,
                "marginals": plain(self.model.marginals(self.table.level)),
                "contrasts": plain(self.model.contrasts(self.table.level)),
            }
        marks = {
            "omnibus": plain(self.omnibus),
            "intervals": plain(self.intervals),
            "standings": plain(self.standings),
            "luck_off": plain(self.luck_off),
            "mixed_model": model,
            "effects": plain(self.effects),
        }
        details = {
            "seed": self.seed,
            **(marks if self.table.detects else {"tables": plain(self.beside)}),
            "workers": plain(self.workers),
            "mean_seconds": plain(dict(self.seconds)),
            "rules": [
                {
                    "name": one.name,
                    "hash": one.rule.hash,
                    "description": one.rule.describe(),
                    "scores": (
                        plain(one.table)
                        if isinstance(one.table, NotEstimable)
                        else one.table.to_json()["scores"]
                    ),
                }
                for one in self.rules
            ],
        }
        return {**self.table.to_json(), "details": details}


def analyse(
    frame: pd.DataFrame,
    rule: Rule | None = None,
    *,
    also: Mapping[str, Rule] | None = None,
    declared: Declared | None = None,
    control: str | None = None,
    human: str | None = None,
    level: float = 0.95,
    seed: int = 0,
    told: TableQuestion | None = None,
) -> Analysis:
    """Score the responses in `frame` as `humaneval.scoring.scores.score` does, and compute all else that a
    report shows.

    `also` are rules, by name, whose scores are shown beside those of `rule`. The same frame and seed give the
    same figures. What the data cannot tell is a NotEstimable. Raises the errors of `score`.
    """
    answers = judgments(frame, control=control, human=human, told=told)
    return analyse_judged(answers, rule, also=also, declared=declared, level=level, seed=seed)


def analyse_judged(
    answers: Judgments,
    rule: Rule | None = None,
    *,
    also: Mapping[str, Rule] | None = None,
    declared: Declared | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Analysis:
    """The same of a table that was checked, and need not be held any more."""
    rule = rule or Rule()
    selection = select(answers, rule, level)
    table = score_selection(selection, level, declared)
    kept = selection.kept
    nobody = Rule(control="none", incomplete=False, duplicates=rule.duplicates, tests=rule.tests)
    others = {NOBODY: nobody, **(also or {})}
    marks = answers.question.marks_sentence
    model = fit(answers, kept) if marks else ANOTHER
    return Analysis(
        table=table,
        rules=(
            UnderRule(OWN, rule, table),
            *(UnderRule(name, one, _under(answers, one, level)) for name, one in others.items()),
        ),
        omnibus=omnibus(answers, kept) if marks else ANOTHER,
        intervals=other_intervals(answers, kept, table, seed) if marks else (),
        standings=standings(answers, kept, table, seed) if marks else ANOTHER,
        luck_off=luck_off(table) if marks else (),
        model=model,
        effects=effects(answers, kept, level, seed) if marks else NO_EFFECTS,
        workers=worker_lines(selection),
        seconds=mean_seconds(answers, kept),
        stories=answers.stories,
        seed=seed,
        story_deviations=story_deviations(answers, kept, model) if isinstance(model, MixedModel) else (),
        beside=answers.question.details(answers, kept, level, seed),
    )


def _under(answers: Judgments, rule: Rule, level: float) -> ScoreTable | NotEstimable:
    nothing = Declared(pairs=(), below_human=False)
    return estimated(lambda: score_selection(select(answers, rule, level), level, nothing))


__all__ = ["NOBODY", "OWN", "Analysis", "UnderRule", "analyse", "analyse_judged"]
