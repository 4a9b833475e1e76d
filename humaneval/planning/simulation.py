"""Power by simulation: studies drawn from a mixed model, each tested as the real one will be.

The annotators are simulated.

An annotator who reads overlooks the sentence of generator m with the probability expit(β_m + u + v): u of the
annotator, v of the story, both normal. β_m is such that the mean over both is the assumed score. An annotator
who does not read marks any sentence. Other answers are drawn from the same odds: which of two is preferred,
or how many steps of the scale an answer goes up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Literal, NamedTuple

import numpy as np

from humaneval.domain import CEILING
from humaneval.errors import UsageError
from humaneval.planning.gate import gate
from humaneval.planning.plan import Plan
from humaneval.planning.power import location
from humaneval.scoring.judgments import Entries
from humaneval.scoring.mean_differences import mean_differences
from humaneval.scoring.verdicts import decide, inner_level
from humaneval.statistics.arrays import Codes, Flags, Floats, NotEstimable
from humaneval.statistics.cells import cells
from humaneval.statistics.intervals import Interval
from humaneval.statistics.score_intervals import paired_differences
from humaneval.statistics.sign_flips import Alternative
from humaneval.statistics.sign_test import sign_test

Rows = Sequence[Sequence[tuple[str, int, str]]]
"""Forms: of each passage the story, the position and the generator, as `humaneval.design.rows` makes them."""

LOOKED_AT = 500
"""How many of the remaining forms are tried for a person who already has some."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which annotators judge which passages of two generators: one entry per response, codes from 0;
    `worker_of`
    has one per form."""

    forms: Codes
    stories: Codes
    generators: Codes
    """0 or 1."""
    worker_of: Codes

    @property
    def workers(self) -> Codes:
        """The worker of each response."""
        return self.worker_of[self.forms]


def layout(rows: Rows, forms_each: int, pair: tuple[str, str]) -> Layout:
    """The responses to the two generators of `pair` in `rows`, dealt to people who fill in at most
    `forms_each` forms.

    A person takes the first remaining form, and the next ones that show them no story again.
    """
    names = {story: code for code, story in enumerate(dict.fromkeys(cell[0] for row in rows for cell in row))}
    entries = [
        (form, names[story], pair.index(generator))
        for form, row in enumerate(rows)
        for story, _, generator in row
        if generator in pair
    ]
    forms, stories, generators = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    return Layout(forms, stories, generators, _people(rows, forms_each))


def _people(rows: Rows, forms_each: int) -> Codes:
    if forms_each == 1:
        return np.arange(len(rows))
    shown = [{cell[0] for cell in row} for row in rows]
    left = list(range(len(rows)))
    workers = np.zeros(len(rows), dtype=np.int64)
    person = 0
    while left:
        met: set[str] = set()
        mine: list[int] = []
        for form in left[:LOOKED_AT]:
            if met.isdisjoint(shown[form]):
                mine.append(form)
                met |= shown[form]
                if len(mine) == forms_each:
                    break
        workers[mine] = person
        taken = set(mine)
        left = [form for form in left if form not in taken]
        person += 1
    return workers


def odds_of(
    where: Layout,
    scores: tuple[float, float],
    worker_sd: float,
    story_sd: float,
    rng: np.random.Generator,
    spams: Flags | None = None,
    chance: float = CEILING,
) -> Floats:
    """The probability, in one simulated study, that each response overlooks the machine's sentence. `spams`
    says which workers do not read, and have the score of `chance`."""
    levels = np.array([location(score, hypot(worker_sd, story_sd)) for score in scores])
    logits = levels[where.generators]
    workers, stories = int(where.worker_of.max()) + 1, int(where.stories.max()) + 1
    logits = logits + rng.normal(0, worker_sd, workers)[where.workers] if worker_sd else logits
    logits = logits + rng.normal(0, story_sd, stories)[where.stories] if story_sd else logits
    odds = 1 / (1 + np.exp(-logits))
    if spams is not None:
        odds = np.where(spams[where.workers], chance, odds)
    return np.asarray(odds)


@dataclass(frozen=True, slots=True)
class Power:
    """A power found by simulation, alone and as the hardest of its family, with the number of studies
    behind it."""

    power: float
    power_in_family: float
    studies: int
    seed: int

    @property
    def error(self) -> float:
        """The standard error of `power`, √(p(1 − p)/studies)."""
        return sqrt(self.power * (1 - self.power) / self.studies)

    @property
    def error_in_family(self) -> float:
        """The standard error of `power_in_family`."""
        return sqrt(self.power_in_family * (1 - self.power_in_family) / self.studies)


def simulate(plan: Plan, rows: Rows, studies: int, pair: tuple[str, str], seed: int = 0) -> Power:
    """The share of simulated studies with the forms `rows` that tell apart the generators of `pair`.

    The one with the higher score comes first. Both are systems if the plan compares any, else a system and
    Human. They are tested as in reports, by `humaneval.statistics.score_intervals.paired_differences`, and
    decided as there, by p and interval: `humaneval.scoring.verdicts.decide`. Raises UsageError if nothing is
    compared.
    """
    if studies < 1:
        raise UsageError(f"the number of studies is {studies}", "Give 100 or more.")
    if not plan.comparisons and not plan.below_human:
        raise UsageError("nothing is compared in this study", "There is no power to simulate.")
    low, high = plan.expected_score, plan.expected_score + plan.smallest_effect
    if not plan.comparisons:
        # Where nothing is known of Human's score, it is the higher of the two.
        human = high if plan.foreseen.human is None else plan.foreseen.human
        low, high = human - plan.smallest_effect, human
    if low <= 0:
        raise UsageError(
            f"no score lies {plan.smallest_effect:g} below Human's {high:g}",
            "Give a smaller effect.",
        )
    where = layout(rows, plan.forms_each, pair)
    rng = np.random.default_rng([seed, studies])
    family = (plan.comparisons or plan.below_human) if plan.adjust != "none" else 1
    below = not plan.comparisons
    found = np.zeros(2, dtype=np.int64)
    for _ in range(studies):
        spams, counts = _crowd(plan, where, rng)
        outcomes = _outcomes(plan, where, (high, low), spams, rng)
        one = _tested(where, outcomes, counts[where.forms], plan)
        if one is not None:
            wanted: Literal["a_higher", "b_higher"] = "b_higher" if below else "a_higher"
            found += [
                decide(one.interval, one.interval, min(1.0, one.p * times), 0.0, plan.level, one_sided=below)
                == wanted
                for times in (1, family)
            ]
    alone, in_family = (int(number) / studies for number in found)
    return Power(alone, in_family, studies, seed)


class _Tested(NamedTuple):
    interval: Interval
    p: float


def _outcomes(
    plan: Plan, where: Layout, scores: tuple[float, float], spams: Flags, rng: np.random.Generator
) -> Floats:
    """What each response is worth to the higher of two generators if its passage has both: 1 or −1; else to
    its own: its place on the scale."""
    if plan.foreseen.pairwise:
        ahead = (1 + scores[0] - scores[1]) / 2
        scores = (ahead, ahead)
    odds = odds_of(where, scores, plan.worker_sd, plan.story_sd, rng, spams, plan.foreseen.chance)
    steps = 1 if plan.plain or plan.scale is None else round(plan.scale.width)
    alike = (plan.foreseen.dispersion * steps - 1) / (steps - 1) if steps > 1 else 0.0
    if plan.foreseen.pairwise:
        return np.where(rng.random(odds.size) < odds, 1.0, -1.0)
    if not 0.0 < alike < 1.0:
        return (rng.random(odds.size) < odds).astype(np.float64)
    # Steps of one answer are correlated: a beta-binomial number has the variance that the plan supposes.
    weight = 1.0 / alike - 1.0
    taken = rng.binomial(steps, rng.beta(weight * odds, weight * (1.0 - odds)))
    return np.asarray(taken / steps, dtype=np.float64)


def _tested(where: Layout, outcomes: Floats, kept: Flags, plan: Plan) -> _Tested | None:
    """The comparison of the two, as reports make it for this kind of answers."""
    decisive = (1 - plan.level, plan.error_of(plan.comparisons or plan.below_human))
    below = not plan.comparisons
    level = inner_level(plan.level) if below else plan.level
    alternative: Alternative = "less" if below else "two-sided"
    workers, stories, generators = (one[kept] for one in (where.workers, where.stories, where.generators))
    if plan.foreseen.pairwise:
        if not kept.any():
            return None
        signs = -outcomes[kept] if below else outcomes[kept]
        found = sign_test(
            signs, workers, stories, ties="half", level=level, alternative=alternative, decisive=decisive
        )
        if isinstance(found.interval, NotEstimable):
            return None
        return _Tested(Interval(*(2.0 * end - 1.0 for end in found.interval)), found.p)
    if np.unique(generators).size < 2:
        return None
    pairs, how = [(1, 0) if below else (0, 1)], (level, alternative, decisive)
    if plan.plain or plan.scale is None:
        table = cells(outcomes[kept], workers, stories, generators)
        one = paired_differences(table, pairs, *how)[0]
    else:
        worth = plan.scale.low + plan.scale.width * outcomes[kept]
        one = mean_differences(Entries(worth, workers, stories, generators), plan.scale, pairs, *how)[0]
    return _Tested(one.interval, one.p)


def _crowd(plan: Plan, where: Layout, rng: np.random.Generator) -> tuple[Flags, Flags]:
    """Which workers do not read, and which forms count."""
    forms = np.bincount(where.worker_of)
    deciding = plan.controls * (forms if plan.excluded == "annotator" else np.ones_like(forms))
    if plan.top_up:
        # Annotators who missed it are replaced until one does not.
        left = np.array(
            [
                gate(int(k), plan.spammers, plan.honest, plan.foreseen.guess).left
                for k in range(int(deciding.max()) + 1)
            ]
        )
        spams: Flags = rng.random(forms.size) < left[deciding]
        return spams, np.ones(where.worker_of.size, dtype=np.bool_)
    spams = rng.random(forms.size) < plan.spammers
    passes: Floats = np.where(
        spams,
        plan.foreseen.guess ** deciding.astype(np.float64),
        plan.honest ** deciding.astype(np.float64),
    )
    if plan.excluded == "row":
        return spams, rng.random(where.worker_of.size) < passes[where.worker_of]
    return spams, (rng.random(forms.size) < passes)[where.worker_of]
