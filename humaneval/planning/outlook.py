"""Everything that can be said of a study before it is published: what it can find, how wide its intervals, what it costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from math import ceil, inf, sqrt
from statistics import NormalDist
from typing import Any

from humaneval.errors import UsageError
from humaneval.fees import MANY_ASSIGNMENTS, reward_fee
from humaneval.planning.gate import Gate, controls_needed, gate
from humaneval.planning.power import (
    answers_correlation,
    design_effect,
    detectable,
    power_paired,
    power_unpaired,
    responses_for_width,
    responses_paired,
)

HALF_WIDTH = 0.05
"""Of the interval that `annotators_for_width` is about: ± 5 points."""
SPAMMERS_BORNE = 0.01


@dataclass(frozen=True, slots=True)
class Plan:
    """What a study means to do, in numbers. Shares are 0..1, standard deviations on the logit scale."""

    annotators: int
    rows_per_annotator: int = 1
    passages_per_row: int = 8
    stories: int = 0
    """How many the passages are drawn from; 0 where that is not known: then none is thought to recur."""
    generators: int = 8
    controls: int = 1
    """Control passages of a row."""
    always: int = 0
    """How many of the generators are in every row, where rows do not show all: the Control."""
    comparisons: int = 15
    """In the family whose p-values are adjusted together."""
    expected_score: float = 0.4
    smallest_effect: float = 0.1
    power: float = 0.8
    level: float = 0.95
    worker_sd: float = 0.5
    story_sd: float = 0.7
    spammers: float = 0.05
    reward: Decimal = Decimal("0.80")
    expected_minutes: float = 4.0
    masters: bool = False

    def __post_init__(self) -> None:
        if self.annotators < 1 or self.rows_per_annotator < 1 or self.generators < 2 or self.comparisons < 0:
            raise UsageError(
                "a plan needs an annotator, a row and two generators", "Give numbers of 1 and more."
            )
        if not 0 < self.expected_score < self.expected_score + self.smallest_effect < 1:
            raise UsageError(
                f"a score of {self.expected_score:g} and one {self.smallest_effect:g} above it are not both shares",
                "expected_score and smallest_effect are shares: 0.40 and 0.10, for example.",
            )

    @property
    def responses(self) -> float:
        """Responses to each generator, of annotators who pass the gate, on average."""
        rows = self.annotators * self.rows_per_annotator
        return rows * self._drawn / max(self.generators - self.always, 1) * self.gate.passed

    @property
    def _drawn(self) -> int:
        """Passages of a row for generators that are not in every row."""
        return max(self.passages_per_row - self.always, 1)

    @property
    def within_rows(self) -> bool:
        """Whether generators are compared within rows."""
        return self._drawn > 1

    @property
    def pairs(self) -> float:
        """Rows, of annotators who pass the gate, that show both of two generators; all responses where no row does."""
        if not self.within_rows:
            return self.responses
        return self.responses * (self._drawn - 1) / max(self.generators - self.always - 1, 1)

    @property
    def gate(self) -> Gate:
        """What the Control passages of an annotator do to the spammers that are expected."""
        return gate(self.controls * self.rows_per_annotator, self.spammers)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a `Plan` can find out. Powers are of one comparison, first alone, then as the hardest of its family."""

    responses: float
    """To each generator, behind the gate."""
    correlation: float
    """Of an annotator's answers to two generators."""
    power: float
    power_in_family: float
    power_unpaired: float
    detectable: float | None
    detectable_in_family: float | None
    """The smallest difference found with the wanted power; None where none below 1 is."""
    annotators_needed: int | None
    annotators_needed_in_family: int | None
    half_width: float
    """Of a score's interval, near the expected score, with what recurs taken into account."""
    annotators_for_width: int
    gate: Gate
    controls_needed: int | None
    rewards: Decimal
    fees: Decimal
    hours: float
    """Of all annotators together."""

    @property
    def cost(self) -> Decimal:
        """Rewards and fees in dollars, if every row is approved."""
        return self.rewards + self.fees

    def to_json(self) -> dict[str, Any]:
        """Plain values; shares 0..1, money as text."""
        return {**asdict(self), "gate": self.gate._asdict(), "rewards": str(self.rewards), "fees": str(self.fees), "cost": str(self.cost)}  # fmt: skip


def outlook(plan: Plan) -> Outlook:
    """By formula: see `humaneval.planning.power`. The family's hardest comparison is tested at alpha / comparisons.

    Comparisons are within annotators, whose own level then cancels, so several rows of one annotator count in full;
    for the interval of a single score they do not, nor do stories that recur.
    """
    low, high = plan.expected_score, plan.expected_score + plan.smallest_effect
    alpha = 1 - plan.level
    family = alpha / max(plan.comparisons, 1)
    correlation = answers_correlation(plan.worker_sd, low, high) if plan.within_rows else 0.0
    n, pairs = plan.responses, plan.pairs

    def found(other: float, error: float) -> float:
        return power_paired(low, other, pairs, _possible(correlation, low, other), error)

    needed = [responses_paired(low, high, plan.power, correlation, error) for error in (alpha, family)]
    each = n / plan.annotators
    effect = design_effect(n / plan.annotators, answers_correlation(plan.worker_sd, low, low))
    if plan.stories:
        per_story = max(1.0, n / plan.stories)
        effect += design_effect(per_story, answers_correlation(plan.story_sd, low, low)) - 1
    effect = max(1.0, effect)
    rows = plan.annotators * plan.rows_per_annotator
    fee = reward_fee(plan.reward, MANY_ASSIGNMENTS - 1, masters=plan.masters)
    return Outlook(
        responses=n,
        correlation=correlation,
        power=found(high, alpha),
        power_in_family=found(high, family),
        power_unpaired=power_unpaired(low, high, n, alpha),
        detectable=detectable(partial(found, error=alpha), low, plan.power),
        detectable_in_family=detectable(partial(found, error=family), low, plan.power),
        annotators_needed=_annotators(needed[0], pairs / plan.annotators),
        annotators_needed_in_family=_annotators(needed[1], pairs / plan.annotators),
        half_width=NormalDist().inv_cdf((1 + plan.level) / 2) * sqrt(low * (1 - low) * effect / n),
        annotators_for_width=ceil(responses_for_width(HALF_WIDTH, low, plan.level) * effect / each),
        gate=plan.gate,
        controls_needed=controls_needed(plan.spammers, SPAMMERS_BORNE),
        rewards=plan.reward * rows,
        fees=fee * rows,
        hours=rows * plan.expected_minutes / 60,
    )


def _possible(correlation: float, a: float, b: float) -> float:
    """`correlation`, or as much of it as two answers with such scores can have."""
    low, high = min(a, b), max(a, b)
    most = sqrt(low * (1 - high) / (high * (1 - low)))
    return min(correlation, most)


def _annotators(responses: float, each: float) -> int | None:
    return None if responses == inf else ceil(responses / each - 1e-9)
