"""What seems to contradict a verdict, and why the verdict holds: the test of all systems together, ranks, and
the mixed model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from humaneval.report.verdicts import TOLD, p_equals, pairs_named
from humaneval.scoring.analysis.models import Omnibus, Standing
from humaneval.scoring.comparisons import Comparison
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.contrasts import Contrast


def any_difference(found: Omnibus | NotEstimable, comparisons: Sequence[Comparison], level: float) -> str:
    """Whether the systems differ at all, in words that do not deny a verdict of theirs.

    With two systems there is nothing to say: that is the pair's own test.
    """
    pairs = [one for one in comparisons if one.family == "systems"]
    if isinstance(found, NotEstimable):
        return f"Whether the systems differ at all is not estimable, because {found.because}."
    if found.degrees < 2 and pairs:
        return ""
    facts = (
        f"{found.test}, χ²({found.degrees}) = {found.statistic:.2f}, p\N{NO-BREAK SPACE}{p_equals(found.p)}"
    )
    told = any(one.verdict in TOLD for one in pairs)
    if found.p <= 1 - level + 1e-12:
        words = (
            f"The systems do not all score alike ({facts}). Each pair has a test of its own, below."
            if told or not pairs
            else f"At least two systems differ ({facts}), but no single pair can be named."
        )
    elif told:
        words = (
            f"A test of all systems together does not show that they differ ({facts}). Those told apart"
            " have tests of their own, below."
        )
    else:
        words = f"It is not shown that the systems differ at all ({facts})."
    recur = " Stories recur, and Cochran’s Q does not allow for that." if found.stories_ignored else ""
    return words + recur


def beside_ranks(standings: Sequence[Standing], comparisons: Sequence[Comparison]) -> str:
    """A sentence if the ranks set systems apart whose pair is left open; empty if they do not."""
    ranks = {one.generator: one for one in standings}
    open_ = [
        one
        for one in _open(comparisons)
        if one.a in ranks
        and one.b in ranks
        and (ranks[one.a].high < ranks[one.b].low or ranks[one.b].high < ranks[one.a].low)
    ]
    if not open_:
        return ""
    which = pairs_named(f"{one.a} – {one.b}" for one in open_)
    return (
        f"The ranks order {which}, which the comparisons leave open. The comparisons decide, as ranks are no"
        " test."
    )


def beside_model(contrasts: Sequence[Contrast], comparisons: Sequence[Comparison], level: float) -> str:
    """A sentence if the model's p is on the other side of the limit than a verdict; empty if it is not."""
    verdicts = {frozenset((one.a, one.b)): one for one in comparisons}
    found, lost = [], []
    for one in contrasts:
        compared = verdicts.get(frozenset((str(one.a), str(one.b))))
        if compared is None:
            continue
        small = one.p <= 1 - level + 1e-12
        pair = f"{compared.a} – {compared.b}"
        if small and compared.verdict == "inconclusive":
            found.append(pair)
        elif not small and compared.verdict in TOLD:
            lost.append(pair)
    parts = [
        *([f"has a small p for {pairs_named(found)}, which the comparisons leave open"] if found else []),
        *([f"has no small p for {pairs_named(lost)}, which the comparisons tell apart"] if lost else []),
    ]
    if not parts:
        return ""
    return f"The model {'; it '.join(parts)}. The comparisons decide; the model is a check."


def _open(comparisons: Iterable[Comparison]) -> list[Comparison]:
    return [one for one in comparisons if one.family == "systems" and one.verdict == "inconclusive"]
