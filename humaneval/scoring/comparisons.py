"""Which generators score higher, and which were not told apart: the declared pairs, adjusted for their
number.

Systems are compared with each other in one family, two-sided. Whether each is below Human is a second family,
one-sided. Control is a gate and Human the upper end: neither competes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from humaneval.domain import Role
from humaneval.errors import UsageError
from humaneval.scoring.counted import Counted
from humaneval.scoring.mean_differences import mean_differences
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.verdicts import ROUNDING, Verdict, decide, inner_level
from humaneval.statistics.arrays import Floats
from humaneval.statistics.intervals import Interval
from humaneval.statistics.multiplicity import (
    Adjust,
    benjamini_hochberg,
    decisive_p_values,
    holm,
    turning_point,
)
from humaneval.statistics.score_intervals import PairedDifference, paired_differences
from humaneval.statistics.sign_flips import Alternative

Family = Literal["systems", "below human"]

EACH = 28
"""Comparisons in a small family: those of eight systems."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What is compared. The default is every pair of systems, and each system with Human, adjusted by
    Holm."""

    pairs: tuple[tuple[str, str], ...] | None = None
    """Pairs of systems; None for all."""
    below_human: bool = True
    adjust: Adjust = "holm"
    margin: float = 0.0
    """Scores are called equivalent if their difference is shown to lie within ± this share of their scale; 0:
    none are."""

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 1:
            raise UsageError(
                f"{self.margin:g} is not a margin of equivalence", "Give a share, for example 0.10."
            )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two generators: `difference` is score of `a` minus score of `b`, in the scale's unit: for shares in
    −1..1."""

    a: str
    b: str
    family: Family
    difference: float
    interval: Interval
    interval_method: str
    test: str
    p: float
    p_adjusted: float
    adjust: Adjust
    verdict: Verdict
    pairs: int
    """Pairs of answers by one annotator."""
    note: str = ""
    bound: float | None = None
    """Below Human: the one-sided upper bound at this level, which decides the verdict. None in the other
    family."""
    p_error: float = 0.0
    """How far `p` may be from the exact one, by proof."""
    margin: float = 0.0
    """Of equivalence, in the scale's unit; 0 if none was declared."""
    scale: Scale | None = None
    """None for shares of which only the counts are known."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, as an entry of `comparisons` in `score --json`."""
        return {
            "a": self.a,
            "b": self.b,
            "family": self.family,
            "difference": self.difference,
            "interval": list(self.interval),
            "interval_method": self.interval_method,
            "test": self.test,
            "p": self.p,
            "p_adjusted": self.p_adjusted,
            "adjust": self.adjust,
            "verdict": self.verdict,
            "pairs": self.pairs,
            "note": self.note,
            "bound": self.bound,
            "p_error": self.p_error,
            "margin": self.margin,
        }


def compare(counted: Counted, declared: Declared, level: float = 0.95) -> tuple[Comparison, ...]:
    """The declared comparisons of the responses that count. A generator without responses is not compared.

    "Higher" needs both an adjusted p of 1 − level or less and an interval that excludes 0. Below Human, the
    test is one-sided, and the upper end of the interval at 2·level − 1 counts: it is the one-sided bound at
    level. "Equivalent" needs the interval at level 2·level − 1 (two one-sided tests) within ± margin. Raises
    UsageError if a declared name is not that of a generator.
    """
    answers = counted.answers
    # Sorted: the order of a table's lines must not decide what is subtracted from what.
    systems = sorted(
        name for name, role in zip(answers.names, answers.roles, strict=True) if role is Role.SYSTEM
    )
    human = [name for name, role in zip(answers.names, answers.roles, strict=True) if role is Role.HUMAN]
    chosen = list(declared.pairs) if declared.pairs is not None else list(combinations(systems, 2))
    for name in dict.fromkeys(name for pair in chosen for name in pair):
        if name not in answers.names:
            raise UsageError(
                f"no generator is called {name!r}", f"There are: {', '.join(map(str, answers.names))}."
            )
    judged = {answers.names[code] for code in np.unique(counted.entries.generator).tolist()}
    pairs = [pair for pair in chosen if judged.issuperset(pair)]
    with_human = declared.below_human and answers.question.beside_human and human
    below = [(name, human[0]) for name in systems if with_human and judged >= {name, human[0]}]
    return (
        *_family(counted, "systems", pairs, declared, level),
        *_family(counted, "below human", below, declared, level),
    )


def _family(
    counted: Counted, family: Family, pairs: list[tuple[str, str]], declared: Declared, level: float
) -> list[Comparison]:
    names, scale = counted.answers.names, counted.answers.scale
    codes = [(names.index(a), names.index(b)) for a, b in pairs]
    if counted.answers.other is not None:
        met = counted.met()
        codes = [pair for pair in codes if pair in met]
    if not codes:
        return []
    side: Alternative = "less" if family == "below human" else "two-sided"
    found = _tested(counted, codes, level, side, declared.adjust)
    one_sided = family == "below human"
    narrow: Sequence[PairedDifference] = found
    if declared.margin or one_sided:
        narrow = _differences(counted, codes, inner_level(level), side, ())
    p_values = adjusted(np.array([one.p for one in found]), declared.adjust)
    margin = declared.margin * scale.width
    return [
        Comparison(
            names[one.a],
            names[one.b],
            family,
            one.difference,
            one.interval,
            one.method,
            one.test,
            one.p,
            float(p),
            declared.adjust,
            decide(
                one.interval,
                inner.interval,
                float(p),
                margin,
                level,
                one_sided=one_sided,
                width=scale.width,
            ),
            one.pairs,
            one.note,
            inner.interval.high if one_sided else None,
            one.p_error,
            margin,
            scale,
        )
        for one, inner, p in zip(found, narrow, p_values, strict=True)
    ]


def _tested(
    counted: Counted, codes: list[tuple[int, int]], level: float, side: Alternative, adjust: Adjust
) -> list[PairedDifference]:
    """With p-values so close to the exact ones that no verdict hangs on the rest.

    In a small family each is told from every p-value that can decide. In a larger one these stand so close
    that this would take minutes. There, all are first found with the digits that reports show. Then those
    are found more closely that lie where the verdicts turn, until none does. Where that cannot be told, the
    upper bound counts.
    """
    if len(codes) <= EACH:
        decisive = decisive_p_values(1 - level, len(codes), adjust)
        return list(_differences(counted, codes, level, side, decisive))
    found = list(_differences(counted, codes, level, side, ()))
    p, error = np.array([one.p for one in found]), np.array([one.p_error for one in found])
    while True:
        low, high = np.maximum(p - error, 0.0), np.minimum(p + error, 1.0)
        turn = turning_point(low, high, 1 - level + ROUNDING, adjust)
        near = np.flatnonzero((low <= turn) & (turn < high)).tolist()
        if not near:
            return found
        closer = _differences(counted, [codes[at] for at in near], level, side, (turn,))
        for at, one in zip(near, closer, strict=True):
            found[at], p[at] = one, one.p
            untold = one.p - one.p_error <= turn < one.p + one.p_error
            error[at] = 0.0 if untold else one.p_error


def _differences(
    counted: Counted,
    codes: Sequence[tuple[int, int]],
    level: float,
    side: Alternative,
    decisive: Sequence[float],
) -> Sequence[PairedDifference]:
    """By the question's own method, or paired by worker."""
    answers = counted.answers
    found = answers.question.differences(answers, counted.kept, codes, level, side, decisive)
    if found is not None:
        return found
    if answers.scale.binary:
        return paired_differences(counted.sums, codes, level, side, decisive)
    return mean_differences(counted.entries, answers.scale, codes, level, side, decisive)


def adjusted(p: Floats, how: Adjust) -> Floats:
    """The p-values of a family, adjusted for their number."""
    if how == "none" or not p.size:
        return p
    return holm(p) if how == "holm" else benjamini_hochberg(p)
