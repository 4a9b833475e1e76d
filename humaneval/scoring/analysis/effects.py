"""What else affects the answers: position, order, and whether annotators agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humaneval.domain import Role
from humaneval.scoring.analysis.estimable import estimated
from humaneval.scoring.judgments import Judgments
from humaneval.statistics.agreement import (
    AgreementInterval,
    Coefficient,
    Tally,
    bootstrap_agreement,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percentage_agreement,
    tally,
)
from humaneval.statistics.arrays import Flags, NotEstimable
from humaneval.statistics.intervals import Interval
from humaneval.statistics.position_effects import (
    Learning,
    PickingBias,
    PositionEffect,
    learning,
    picking_bias,
    position_effect,
)


@dataclass(frozen=True, slots=True)
class AgreementFigure:
    """A coefficient of agreement and its interval."""

    name: str
    value: float | NotEstimable
    interval: Interval | NotEstimable


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether several annotators mark the same sentence of a passage."""

    passages: int
    """Passages with at least two answers."""
    coefficients: tuple[AgreementFigure, ...]


@dataclass(frozen=True, slots=True)
class ByOrder:
    """Detection of the systems' sentences at each place of a form, from 1."""

    place: int
    responses: int
    detected: int


@dataclass(frozen=True, slots=True)
class Effects:
    """Position, order and agreement."""

    picking: PickingBias | NotEstimable
    """On Human passages."""
    position: PositionEffect | NotEstimable
    """On the systems' passages, within generators."""
    learning: Learning | NotEstimable
    """On the systems' passages, within generators: from place to place in a form."""
    by_order: tuple[ByOrder, ...]
    agreement: Agreement | NotEstimable


def effects(answers: Judgments, kept: Flags, level: float, seed: int) -> Effects:
    """All effects over the `kept` responses."""
    human, system = kept & answers.is_role(Role.HUMAN), kept & answers.is_role(Role.SYSTEM)
    detected = 1.0 - answers.outcomes
    # In one order: otherwise the last digit of a sum would depend on that of the lines.
    machines = answers.in_order(system)

    def trend() -> Learning | NotEstimable:
        if answers.order is None:
            return NotEstimable("the responses do not say at which place of a form a passage was shown")
        known = answers.in_order(system & ~np.isnan(answers.order))
        return learning(
            detected[known], answers.order[known], answers.worker[known], answers.generator[known], level
        )

    return Effects(
        picking=(
            estimated(lambda: picking_bias(answers.choice[human], answers.sentences))
            if human.any()
            else NotEstimable("no Human passage was judged")
        ),
        position=estimated(
            lambda: position_effect(
                detected[machines], answers.position[machines], answers.generator[machines]
            )
        ),
        learning=estimated(trend),
        by_order=_by_order(answers, system),
        agreement=estimated(lambda: _agreement(answers, kept, level, seed)),
    )


def _by_order(answers: Judgments, system: Flags) -> tuple[ByOrder, ...]:
    if answers.order is None:
        return ()
    known = system & ~np.isnan(answers.order)
    place = answers.order[known].astype(np.int64)
    found = ~answers.missed[known]
    return tuple(
        ByOrder(int(at), int((place == at).sum()), int(found[place == at].sum())) for at in np.unique(place)
    )


def _agreement(answers: Judgments, kept: Flags, level: float, seed: int) -> Agreement | NotEstimable:
    mine = kept & ~answers.is_role(Role.CONTROL)
    generators, places = len(answers.names), answers.sentences + 1
    passage = (answers.story * generators + answers.generator) * places + answers.position
    scale = range(1, answers.sentences + 1)
    counts = tally(passage[mine], answers.choice[mine], answers.worker[mine], scale=scale)
    if not counts.rated_twice:
        return NotEstimable("no passage was judged by two annotators")
    coefficients = {
        "agreeing pairs": percentage_agreement,
        "Krippendorff’s α": krippendorff_alpha,
        "Fleiss’ κ": fleiss_kappa,
        "Gwet’s AC1": gwet_ac1,
    }
    return Agreement(
        counts.rated_twice,
        tuple(
            AgreementFigure(name, of(counts), _interval(counts, of, level, seed))
            for name, of in coefficients.items()
        ),
    )


def _interval(counts: Tally, coefficient: Coefficient, level: float, seed: int) -> Interval | NotEstimable:
    found: AgreementInterval | NotEstimable = estimated(
        lambda: bootstrap_agreement(counts, coefficient, seed=seed, level=level)
    )
    return found if isinstance(found, NotEstimable) else found.interval
