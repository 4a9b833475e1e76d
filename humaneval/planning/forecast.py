"""The forecast of a study before it is published: what it can find, how wide its intervals are, what it
costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from humaneval.fees import MANY_ASSIGNMENTS, reward_fee
from humaneval.planning.detectable import Chances, chances, fewest_annotators
from humaneval.planning.gate import Gate, controls_needed
from humaneval.planning.plan import Plan
from humaneval.planning.power import answers_correlation, half_width

SPAMMERS_BORNE = 0.01


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a `Plan` can find out."""

    responses: float
    """Responses to each generator that count."""
    correlation: float
    """The correlation of an annotator's answers to two generators in one form."""
    worker_icc: float
    """The correlation of an annotator's answers to one generator; `story_icc` that of answers to one
    story."""
    story_icc: float
    systems: Chances | None
    """None if no two systems are compared."""
    below_human: Chances | None
    """None if no system is compared with Human."""
    half_width: float
    """Half the interval of a score near the expected one, taking recurring workers and stories into
    account."""
    annotators_for_width: int | None
    """Counted as in the study file; None if no number reaches the width with the available stories."""
    gate: Gate
    controls_needed: int | None
    rewards: Decimal
    fees: Decimal
    hours: float
    """Working hours of all annotators together."""

    @property
    def decisive(self) -> Chances | None:
        """The family that decides whether the study is large enough: the systems, else the tests against
        Human."""
        return self.systems or self.below_human

    @property
    def power(self) -> float | None:
        """The power of the decisive family; None if nothing is compared, as for the following."""
        return self.decisive.power if self.decisive else None

    @property
    def power_in_family(self) -> float | None:
        return self.decisive.power_in_family if self.decisive else None

    @property
    def detectable(self) -> float | None:
        return self.decisive.detectable if self.decisive else None

    @property
    def detectable_in_family(self) -> float | None:
        return self.decisive.detectable_in_family if self.decisive else None

    @property
    def cost(self) -> Decimal:
        """Rewards and fees in dollars, if every form is approved."""
        return self.rewards + self.fees

    def to_json(self) -> dict[str, Any]:
        """Plain values; shares 0..1, money as text."""
        of_systems = asdict(self.systems) if self.systems else dict.fromkeys(Chances.__slots__)
        return {
            **asdict(self),
            **of_systems,
            "gate": self.gate._asdict(),
            "rewards": str(self.rewards),
            "fees": str(self.fees),
            "cost": str(self.cost),
        }


def outlook(plan: Plan) -> Outlook:
    """The forecast by formula; see `power_of`. If p-values are adjusted, the hardest comparison of a family
    is
    tested at alpha / comparisons."""
    low, high = plan.expected_score, plan.expected_score + plan.smallest_effect
    forms = plan.handed_out
    fee = reward_fee(plan.reward, MANY_ASSIGNMENTS - 1, masters=plan.masters)
    # Where nothing is known of Human's score, it is the higher of the two.
    human = high if plan.foreseen.human is None else plan.foreseen.human
    short = human - plan.smallest_effect
    return Outlook(
        responses=plan.responses,
        correlation=answers_correlation(plan.worker_sd, low, high) if plan.together else 0.0,
        worker_icc=answers_correlation(plan.worker_sd, low, low),
        story_icc=answers_correlation(plan.story_sd, low, low),
        systems=chances(plan, low, high, plan.comparisons) if plan.comparisons else None,
        below_human=(
            chances(plan, short, human, plan.below_human, one_sided=True)
            if plan.below_human and short > 0
            else None
        ),
        half_width=width_of(plan),
        annotators_for_width=fewest_annotators(plan, lambda wider: width_of(wider) <= plan.width),
        gate=plan.gate,
        controls_needed=controls_needed(plan.spammers, SPAMMERS_BORNE, plan.honest, plan.foreseen.guess),
        rewards=plan.reward * forms,
        fees=fee * forms,
        hours=forms * plan.expected_minutes / 60,
    )


def width_of(plan: Plan) -> float:
    """Half the interval of a score: Wilson's at n/DEFF, with what recurs by worker and by story."""
    n, score = plan.responses, plan.measured(plan.expected_score)
    effect = 1 + plan.again * answers_correlation(plan.worker_sd, score, score)
    effect += (plan.per_story(n) - 1) * answers_correlation(plan.story_sd, score, score)
    return half_width(score, n / effect / plan.foreseen.dispersion, plan.level)
