"""Beside the headline: an omnibus test, the mixed model, bootstraps, ranks, and scores corrected for
chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from humaneval.domain import Role
from humaneval.scoring.analysis.estimable import estimated
from humaneval.scoring.judgments import Judgments
from humaneval.scoring.scores import ScoreTable
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.bootstrap import bootstrap
from humaneval.statistics.detection import Detection, d_prime, detection
from humaneval.statistics.intervals import Interval, clopper_pearson, jeffreys, wilson
from humaneval.statistics.mixed_model import MixedModel, likelihood_ratio, mixed_model
from humaneval.statistics.paired import cochran_q
from humaneval.statistics.ranks import compact_letters, ranks

REPLICATES = 2000
MOST_LOST = 0.5
"""At most this share of replicates may have drawn no judgment of a system."""


@dataclass(frozen=True, slots=True)
class Omnibus:
    """Do the systems differ at all? `statistic` is χ² with `degrees` of freedom."""

    test: str
    statistic: float
    degrees: int
    p: float
    stories_ignored: bool = False
    """A story recurs within a system, and the test takes no account of that."""


@dataclass(frozen=True, slots=True)
class Others:
    """Other intervals of one score. The exact, Jeffreys and naive ones take responses as independent."""

    generator: str
    naive: Interval
    """Wilson's, as if no annotator and no story recurred."""
    exact: Interval
    """Clopper and Pearson's."""
    jeffreys: Interval
    by_workers: Interval | NotEstimable
    by_stories: Interval | NotEstimable
    by_both: Interval | NotEstimable
    """Two-way bootstrap: conservative."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The rank of a system over bootstrap replicates of workers. Rank 1 has the highest score."""

    generator: str
    best: float
    """How often it had the highest score, 0..1."""
    rank: float
    low: int
    high: int
    letters: str
    """Two systems that were told apart share no letter; the best has an a."""


@dataclass(frozen=True, slots=True)
class LuckOff:
    """A score against the chance ceiling, and the sensitivity d′ behind it."""

    generator: str
    ceiling: float
    detection: Detection
    d_prime: float | NotEstimable


def omnibus(answers: Judgments, kept: Flags) -> Omnibus | NotEstimable:
    """Over the systems: Cochran's Q if every worker judged each system once, else a likelihood ratio of mixed
    models."""
    mine = kept & answers.is_role(Role.SYSTEM)
    codes = np.unique(answers.generator[mine])
    if codes.size < 2:
        return NotEstimable("fewer than two systems were judged")
    workers = np.unique(answers.worker[mine])
    table = np.full((workers.size, codes.size), np.nan)
    at = np.searchsorted(workers, answers.worker[mine]), np.searchsorted(codes, answers.generator[mine])
    once = np.bincount(at[0] * codes.size + at[1], minlength=table.size)
    if (once == 1).all():
        table[at] = answers.outcomes[mine]
        found = estimated(lambda: cochran_q(table))
        if isinstance(found, NotEstimable):
            return found
        shown = np.unique(answers.generator[mine] * len(answers.stories) + answers.story[mine])
        recur = bool(shown.size < mine.sum())
        return Omnibus("Cochran’s Q", found.statistic, int(found.degrees), found.p, recur)

    def ratio() -> Omnibus:
        outcomes, workers, stories, names = _columns(answers, mine)
        full, same = (
            mixed_model(outcomes, workers, stories, labels)
            for labels in (names, np.zeros(names.size, dtype=np.int64))
        )
        one = likelihood_ratio(full, same)
        return Omnibus("likelihood ratio of mixed models", one.statistic, one.degrees, one.p)

    return estimated(ratio)


def fit(answers: Judgments, kept: Flags) -> MixedModel | NotEstimable:
    """The mixed model of systems and Human. It leaves out Control, which by the rule every remaining worker
    noticed."""
    mine = kept & ~answers.is_role(Role.CONTROL)
    if not mine.any():
        return NotEstimable("only Control was judged")
    found = estimated(lambda: mixed_model(*_columns(answers, mine)))
    if isinstance(found, MixedModel) and not found.converged:
        return NotEstimable(f"the fit of the mixed model did not converge: {found.statement}")
    return found


def story_deviations(answers: Judgments, kept: Flags, model: MixedModel) -> tuple[float, ...]:
    """Conditional standard deviations of the stories' modes, on the log odds, in the order of
    `model.stories`.

    It is 1/√(1/σ² + Σ p(1 − p)) over a story's responses. That is the curvature of the likelihood and of the
    spread of stories at the mode. Everything else in the model is taken as known.
    """
    _, workers, stories, names = _columns(answers, kept & ~answers.is_role(Role.CONTROL))
    parts = []
    for labels, order, values in (
        (names, model.names, model.effects),
        (workers, model.workers, model.worker_modes),
        (stories, model.stories, model.story_modes),
    ):
        at = {label: place for place, label in enumerate(order)}
        parts.append(np.asarray(values)[[at[label] for label in labels]])
    p = special.expit(sum(parts))
    place = {label: at for at, label in enumerate(model.stories)}
    information = np.bincount(
        [place[label] for label in stories], weights=p * (1 - p), minlength=len(model.stories)
    )
    if not model.story_sd:
        return (0.0,) * len(model.stories)
    return tuple((1.0 / np.sqrt(1.0 / model.story_sd**2 + information)).tolist())


def other_intervals(answers: Judgments, kept: Flags, table: ScoreTable, seed: int) -> tuple[Others, ...]:
    """The other intervals of every score that has one, in the table's order."""
    drawn = {
        by: estimated(partial(bootstrap, *_columns(answers, kept), by, replicates=REPLICATES, seed=seed))
        for by in ("workers", "stories", "both")
    }

    def percentiles(by: str, name: str) -> Interval | NotEstimable:
        replicates = drawn[by]
        if isinstance(replicates, NotEstimable):
            return replicates
        return estimated(lambda: replicates.interval(name, table.level))

    rows = []
    for row in table.scores:
        if not row.interval:
            continue
        x, n, level = row.not_identified, row.n, table.level
        boots = (percentiles(by, row.generator) for by in ("workers", "stories", "both"))
        rows.append(
            Others(
                row.generator,
                wilson(x, n, level),
                clopper_pearson(x, n, level),
                jeffreys(x, n, level),
                *boots,
            )
        )
    return tuple(rows)


def standings(
    answers: Judgments, kept: Flags, table: ScoreTable, seed: int
) -> tuple[Standing, ...] | NotEstimable:
    """Ranks of the systems from a bootstrap of workers, best score first; letters from the verdicts."""
    systems = sorted((row for row in table.scores if row.role is Role.SYSTEM), key=lambda row: -row.score)
    if len(systems) < 2:
        return NotEstimable("there are fewer than two systems to rank")
    mine = kept & answers.is_role(Role.SYSTEM)
    drawn = estimated(
        lambda: bootstrap(*_columns(answers, mine), "workers", replicates=REPLICATES, seed=seed)
    )
    if isinstance(drawn, NotEstimable):
        return drawn
    names = [row.generator for row in systems]
    replicates = drawn.scores[:, [drawn.names.index(name) for name in names]]
    whole = replicates[~np.isnan(replicates).any(axis=1)]
    # What a replicate lacks by its odds, not by what was drawn: no other seed may find the opposite.
    workers = len(np.unique(answers.worker[mine]))
    judged = np.array([row.workers for row in systems])
    if ((1.0 - judged / workers) ** workers).sum() > MOST_LOST or not len(whole):
        return NotEstimable("some systems were judged by too few annotators")
    told = np.zeros((len(names), len(names)), dtype=np.bool_)
    for one in table.comparisons:
        if one.family == "systems" and one.verdict in ("a_higher", "b_higher"):
            a, b = names.index(one.a), names.index(one.b)
            told[a, b] = told[b, a] = True
    letters = compact_letters([row.score for row in systems], told)
    return tuple(
        Standing(name, rank.best, rank.mean, rank.low, rank.high, letters[place])
        for place, (name, rank) in enumerate(zip(names, ranks(whole, table.level), strict=True))
    )


def luck_off(table: ScoreTable) -> tuple[LuckOff, ...]:
    """Systems and Human against the achieved ceiling, or the nominal one if no Human passage was judged."""
    if table.chance is None:
        return ()
    ceiling, sentences = table.chance.ceiling, table.asked.sentences
    return tuple(
        LuckOff(
            row.generator,
            ceiling,
            detection(row.score, row.interval, ceiling),
            d_prime(1 - row.score, sentences),
        )
        for row in table.scores
        if row.role is not Role.CONTROL and row.interval
    )


def _columns(answers: Judgments, mine: Flags) -> tuple[Any, Any, Any, Any]:
    """Outcomes, workers, stories and generator names, in an order that the order of lines does not change."""
    at = answers.in_order(mine)
    names = np.array(answers.names, dtype=object)
    return answers.outcomes[at], answers.worker[at], answers.story[at], names[answers.generator[at]]
