"""What the comparisons of a plan can find out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt

from scipy.special import ndtri, stdtrit

from humaneval.planning.plan import Plan
from humaneval.planning.power import (
    COUNTABLE,
    NORMAL,
    answers_correlation,
    answers_covariance,
    detectable,
    power_exact,
    power_unpaired,
)

MOST = 100_000
"""The most annotators of a study."""


@dataclass(frozen=True, slots=True)
class Chances:
    """What a family of comparisons can find out: one alone, and the hardest of its family."""

    comparisons: int
    low: float
    high: float
    """The two scores."""
    power: float
    power_in_family: float
    detectable: float | None
    detectable_in_family: float | None
    """The smallest difference found with the wanted power; None if there is none."""
    annotators_needed: int | None
    annotators_needed_in_family: int | None
    """Counted as in the study file."""
    power_unpaired: float
    detectable_unpaired: float | None
    """If different people judged the two."""


def power_of(
    plan: Plan,
    low: float,
    high: float,
    n: float,
    error: float,
    *,
    one_sided: bool = False,
    paired: bool = True,
) -> float:
    """The probability that n responses to each tell scores of `low` and `high` apart, at p of `error` or
    less.

    The variance of the difference is that of the model: (a(1−a) + b(1−b) − 2cλ)/n, with c the covariance of
    an annotator's answers and λ the share of forms with both generators. Several forms of a person and
    several responses to a story add to it, which makes n smaller. If every form shows both generators, the
    power is that of McNemar's mid-p test, else that of the permutation test by its normal approximation.
    The interval must exclude 0 too. Spammers who pass the gate answer by chance. `paired=False`: different
    annotators judge the two.

    Scores on another scale are its parts, whose variances are smaller by `dispersion`. Where pairs are
    compared by their own answers, see `power_of_pair`."""
    if plan.foreseen.pairwise:
        return power_of_pair(plan, high - low, n * plan.in_pairs, error, one_sided=one_sided)
    a, b, honest = plan.measured(low), plan.measured(high), 1 - plan.gate.left
    by_worker, by_story = (_covariances(sd, low, high, honest) for sd in (plan.worker_sd, plan.story_sd))
    again, less = plan.again, plan.foreseen.dispersion
    if not paired:
        added = 1 + (again * by_worker.alike + (plan.per_story(n) - 1) * by_story.alike) / (
            a * (1 - a) + b * (1 - b)
        )
        return power_unpaired(a, b, n / added / less, error * 2 if one_sided else error)
    shared = min(by_worker.across, min(a, b) - a * b)
    spread = a * (1 - a) + b * (1 - b) - 2 * plan.together * shared
    added = again * by_worker.difference + (plan.per_story(n) - 1) * by_story.difference
    effective = n / (1 + max(added, 0.0) / spread) / less
    difference = abs(a - b)
    reach = _reach(plan, n, one_sided=one_sided)
    if plan.plain and plan.together == 1 and effective <= COUNTABLE:
        return power_exact(
            spread + difference**2, difference, effective, error, one_sided=one_sided, reach=reach
        )
    mean = (a + b) / 2
    null = plan.together * (spread + difference**2) + (1 - plan.together) * 2 * mean * (1 - mean)
    z = -NORMAL.inv_cdf(error if one_sided else error / 2)
    critical = max(z * sqrt(null), reach * sqrt(spread))
    return NORMAL.cdf((sqrt(effective) * difference - critical) / sqrt(spread))


def power_of_pair(plan: Plan, difference: float, n: float, error: float, *, one_sided: bool = False) -> float:
    """The probability that n comparisons of two find the one that is preferred by `difference` more of them.

    That of a sign test. Its n is smaller by what several answers of a person, and to a story, have in common.
    Spammers who pass the gate prefer either."""
    honest = 1 - plan.gate.left
    mine = max(2 * plan.forms_each * plan.share_of_forms - 1, 0.0)
    effect = 1 + honest * mine * answers_correlation(plan.worker_sd, 0.5, 0.5)
    effect += (plan.per_story(n) - 1) * answers_correlation(plan.story_sd, 0.5, 0.5)
    reach = _reach(plan, n / 2, one_sided=one_sided)
    return power_exact(1.0, honest * difference, n / effect, error, one_sided=one_sided, reach=reach)


def fewest_annotators(plan: Plan, enough: Callable[[Plan], bool]) -> int | None:
    """The smallest number of annotators, a multiple of the responses to a passage, that is `enough`."""
    unit = plan.responses_per_passage

    def fits(times: int) -> bool:
        return enough(replace(plan, annotators=times * unit))

    most = 1
    while not fits(most):
        most *= 2
        if most * unit > 2 * MOST:
            return None
    less = most // 2
    while most - less > 1:
        middle = (less + most) // 2
        less, most = (less, middle) if fits(middle) else (middle, most)
    return most * unit if most * unit <= MOST else None


@dataclass(frozen=True, slots=True)
class _Covariances:
    """Covariances of answers by one annotator, or to one story."""

    across: float
    """Of answers to two generators."""
    alike: float
    """Of answers to the same generator, summed over both."""

    @property
    def difference(self) -> float:
        """Of the differences of two pairs of answers."""
        return self.alike - 2 * self.across


def _covariances(sd: float, low: float, high: float, honest: float) -> _Covariances:
    alike = answers_covariance(sd, low, low) + answers_covariance(sd, high, high)
    return _Covariances(honest * answers_covariance(sd, low, high), honest * alike)


def chances(plan: Plan, low: float, high: float, comparisons: int, *, one_sided: bool = False) -> Chances:
    """Chances of so many comparisons of two scores; `one_sided`: the test is whether the lower one is below
    the
    higher one, which is fixed."""

    def found(other: Plan, error: float) -> float:
        return power_of(other, low, high, other.responses, error, one_sided=one_sided)

    def smallest(error: float, *, paired: bool = True) -> float | None:
        # Below Human the higher score is the one that is fixed: then all is seen from above, 1 − score.
        def at(other: float) -> float:
            a, b = (1 - other, high) if one_sided else (low, other)
            return power_of(plan, a, b, plan.responses, error, one_sided=one_sided, paired=paired)

        return detectable(at, 1 - high if one_sided else low, plan.power)

    def needed(error: float) -> int | None:
        return fewest_annotators(plan, lambda other: found(other, error) >= plan.power)

    alone, family = 1 - plan.level, plan.error_of(comparisons)
    return Chances(
        comparisons,
        low,
        high,
        power=found(plan, alone),
        power_in_family=found(plan, family),
        detectable=smallest(alone),
        detectable_in_family=smallest(family),
        annotators_needed=needed(alone),
        annotators_needed_in_family=needed(family),
        power_unpaired=power_of(plan, low, high, plan.responses, alone, one_sided=one_sided, paired=False),
        detectable_unpaired=smallest(alone, paired=False),
    )


def _reach(plan: Plan, n: float, *, one_sided: bool) -> float:
    """Standard errors to the end of a difference's interval, or to its one-sided bound: t with as many
    degrees of freedom as there are clusters, less one."""
    people = n / plan.share_of_forms / plan.forms_each
    fewest = min(people, float(plan.stories or n))
    half = plan.level if one_sided else (1 + plan.level) / 2
    return float(stdtrit(fewest - 1, half)) if fewest > 2 else float(ndtri(half)) * 3
