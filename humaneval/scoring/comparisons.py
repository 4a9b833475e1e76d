"""Which generators score higher, and which were not told apart: the declared pairs, adjusted for their
number.

Systems are compared with each other in one family, two-sided. Whether each is below Human is a second family,
one-sided. Control is a gate and Human a ceiling: neither competes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from humaneval.domain import Role
from humaneval.errors import UsageError
from humaneval.scoring.judgments import Judgments
from humaneval.statistics.arrays import Floats
from humaneval.statistics.cells import Cells
from humaneval.statistics.equivalence import within_margin
from humaneval.statistics.headline import paired_differences
from humaneval.statistics.intervals import Interval
from humaneval.statistics.multiplicity import Adjust, benjamini_hochberg, decisive_p_values, holm

Family = Literal["systems", "below human"]
Verdict = Literal["a_higher", "b_higher", "equivalent", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What is compared. The default is every pair of systems, and each system with Human, adjusted by
    Holm."""

    pairs: tuple[tuple[str, str], ...] | None = None
    """Pairs of systems; None for all."""
    below_human: bool = True
    adjust: Adjust = "holm"
    margin: float = 0.0
    """Scores are called equivalent if their difference is shown to lie within ± this; 0: none are."""

    def __post_init__(self) -> None:
        if not 0 <= self.margin < 1:
            raise UsageError(
                f"{self.margin:g} is not a margin of equivalence", "Give a share, for example 0.10."
            )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two generators: `difference` is score of `a` minus score of `b`, in −1..1."""

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
    """Of equivalence, in shares; 0 if none was declared."""

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


def compare(
    answers: Judgments, sums: Cells, declared: Declared, level: float = 0.95
) -> tuple[Comparison, ...]:
    """The declared comparisons; `sums` are those of the responses that count, by the generators' codes in
    `answers`. A generator without responses is not compared.

    "Higher" needs both an adjusted p of 1 − level or less and an interval that excludes 0. Below Human, the
    test is one-sided, and the upper end of the interval at 2·level − 1 counts: it is the one-sided bound at
    level. "Equivalent" needs the interval at level 2·level − 1 (two one-sided tests) within ± margin. Raises
    UsageError if a declared name is not that of a generator.
    """
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
    judged = {answers.names[code] for code in sums.names}
    pairs = [pair for pair in chosen if judged.issuperset(pair)]
    below = [
        (name, human[0]) for name in systems if declared.below_human and human and judged >= {name, human[0]}
    ]
    if not pairs and not below:
        return ()
    return (
        *_family(answers.names, sums, "systems", pairs, declared, level),
        *_family(answers.names, sums, "below human", below, declared, level),
    )


def _family(
    names: Sequence[str],
    sums: Cells,
    family: Family,
    pairs: list[tuple[str, str]],
    declared: Declared,
    level: float,
) -> list[Comparison]:
    if not pairs:
        return []
    side: Literal["two-sided", "less"] = "less" if family == "below human" else "two-sided"
    codes = [(names.index(a), names.index(b)) for a, b in pairs]
    decisive = decisive_p_values(1 - level, len(codes), declared.adjust)
    found = paired_differences(sums, codes, level, side, decisive)
    one_sided = family == "below human"
    narrow = found
    if declared.margin or one_sided:
        narrow = paired_differences(sums, codes, inner_level(level), side, ())
    p_values = adjusted(np.array([one.p for one in found]), declared.adjust)
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
            decide(one.interval, inner.interval, float(p), declared.margin, level, one_sided=one_sided),
            one.pairs,
            one.note,
            inner.interval.high if one_sided else None,
            one.p_error,
            declared.margin,
        )
        for one, inner, p in zip(found, narrow, p_values, strict=True)
    ]


def adjusted(p: Floats, how: Adjust) -> Floats:
    """The p-values of a family, adjusted for their number."""
    if how == "none" or not p.size:
        return p
    return holm(p) if how == "holm" else benjamini_hochberg(p)


def inner_level(level: float) -> float:
    """The level of the two-sided interval whose ends are one-sided bounds at `level`: 0.90 for 0.95."""
    return max(2 * level - 1, 1e-6)


def decide(
    interval: Interval, narrow: Interval, p: float, margin: float, level: float, *, one_sided: bool = False
) -> Verdict:
    """The verdict of a difference with its interval, that at `inner_level`, and its adjusted p; see
    `compare`.

    `one_sided`: p is that of the test whether the difference is below 0.
    """
    if p <= 1 - level + 1e-12:
        if one_sided:
            return "b_higher" if narrow.high < 0 else _otherwise(narrow, margin)
        if interval.low > 0:
            return "a_higher"
        if interval.high < 0:
            return "b_higher"
    return _otherwise(narrow, margin)


def _otherwise(narrow: Interval, margin: float) -> Verdict:
    return "equivalent" if margin and within_margin(narrow, margin) else "inconclusive"
