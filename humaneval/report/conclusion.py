"""The conclusion of a report: what the data show, what they cannot tell, how many people answered.

It is made from the verdicts alone, in at most three sentences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from humaneval.domain import Role
from humaneval.report.phrases import amount, confidence, excluded, percent, unit, within
from humaneval.report.verdicts import at_odds, gap
from humaneval.scoring.comparisons import Comparison
from humaneval.scoring.from_counts import Count, CountTable
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.scores import DETECTION, GeneratorScore, ScoreTable
from humaneval.text import counted

HIGHER = "Higher is better: fewer people noticed the machine’s sentence."
"""What stands at every table of counts, which answer `detect`."""
MOST_GROUPS = 3
"""With more groups of systems than this, the conclusion counts pairs."""
MOST_NAMES = 6
"""With more names than this in a row, the rest is counted."""


def conclusion(table: ScoreTable) -> tuple[str, ...]:
    """At most two sentences about a study for each of its scales, and one about its annotators."""
    found = [
        sentence
        for one in table.all_scales
        for sentence in _on(
            one, _findings(one.scores, one.comparisons, one.level, one.scale, one.words.aside)
        )
    ]
    return (*found, excluded(table))


def _on(table: ScoreTable, sentences: list[str]) -> list[str]:
    """Sentences about one of several scales say which."""
    name = table.scale.name.replace("_", " ")
    return [f"{name[:1].upper()}{name[1:]}: {within(one)}" for one in sentences] if name else sentences


def conclusion_from_counts(table: CountTable) -> tuple[str, ...]:
    """At most three sentences about scores of which only the counts are known."""
    numbers = sorted({row.n for row in table.scores})
    each = f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
    said = (
        f"Each score rests on {each} passages; counts alone do not say how many annotators judged them,"
        " so answers are not paired."
    )
    return (*_findings(table.scores, table.comparisons, table.level), said)


def _findings(
    scores: Sequence[GeneratorScore | Count],
    comparisons: Sequence[Comparison],
    level: float,
    scale: Scale | None = None,
    aside: str = "",
) -> list[str]:
    """What is shown, and what stays open: a sentence each, if there is something."""
    order = [row.generator for row in scores]
    pairs = [one for one in comparisons if one.family == "systems"]
    below = [one for one in comparisons if one.family == "below human"]
    shown = [*(f"{one}{aside}" for one in _told(pairs, order)), *_alike(pairs), *_under(below, order)]
    open_ = [*_untold(pairs, level), *_not_under(below, order)]
    if not comparisons:
        shown = _plain(scores, level, scale)
    # No sentence begins with a name: names keep their small letters.
    whose = "systems" if any(row.role is Role.SYSTEM for row in scores) else "generators"
    said = [f"Of the {whose}, {'; '.join(shown)}."] if shown else []
    words = "; ".join(open_)
    return [*said, *([f"{words[:1].upper()}{words[1:]}."] if words else [])]


def _told(pairs: Sequence[Comparison], order: Sequence[str]) -> list[str]:
    """Which systems score above which: those with the same betters are named together."""
    told = [one for one in pairs if one.verdict in ("a_higher", "b_higher")]
    better: dict[str, set[str]] = defaultdict(set)
    for one in told:
        above, below = (one.a, one.b) if one.verdict == "a_higher" else (one.b, one.a)
        better[below].add(above)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in order:
        if name in better:
            groups[tuple(other for other in reversed(order) if other in better[name])].append(name)
    if len(groups) > MOST_GROUPS:
        first = max(told, key=lambda one: abs(one.difference))
        above, below = (first.a, first.b) if first.verdict == "a_higher" else (first.b, first.a)
        return [
            f"{len(told)} of {len(pairs)} pairs were told apart, the widest by"
            f" {gap(abs(first.difference), first.scale).removeprefix('+')} points: {above} above {below}"
        ]
    return [
        f"{_names(above)} {'score' if len(above) > 1 else 'scores'} above {_names(below)}"
        for above, below in groups.items()
    ]


def _alike(pairs: Sequence[Comparison]) -> list[str]:
    equal = [one for one in pairs if one.verdict == "equivalent"]
    if not equal:
        return []
    margin = f"within ±{amount(equal[0].margin, equal[0].scale)} points"
    if len(equal) > MOST_GROUPS:
        return [f"{len(equal)} of {len(pairs)} pairs are equivalent {margin}"]
    return [f"{one.a} and {one.b} are equivalent {margin}" for one in equal]


def _under(below: Sequence[Comparison], order: Sequence[str]) -> list[str]:
    found = [one for one in below if one.verdict == "b_higher"]
    if not found:
        return []
    if len(found) == len(below) > 1:
        return [f"{'both' if len(found) == 2 else f'all {len(found)}'} score below {found[0].b}"]
    names = sorted((one.a for one in found), key=order.index)
    return [f"{_names(names)} {'score' if len(names) > 1 else 'scores'} below {found[0].b}"]


def _untold(pairs: Sequence[Comparison], level: float) -> list[str]:
    """Pairs about which the study says nothing, and that this is no proof of being alike; then those whose p
    and interval disagree."""
    odd = [one for one in pairs if at_odds(one, level)]
    open_ = [one for one in pairs if one.verdict == "inconclusive" and one not in odd]
    found = []
    if open_:
        found.append(
            f"this study shows no difference {_which(open_, pairs)}, which is no proof that they are alike"
        )
    if len(odd) == 1:
        found.append(
            f"whether {odd[0].a} and {odd[0].b} differ stays open, because p and the interval disagree and"
            " a difference needs both"
        )
    elif odd:
        found.append(
            f"{len(odd)} of {len(pairs)} pairs of systems stay open, because p and the interval disagree and"
            " a difference needs both"
        )
    return found


def _which(open_: Sequence[Comparison], pairs: Sequence[Comparison]) -> str:
    if len(open_) == 1:
        return f"between {open_[0].a} and {open_[0].b}"
    if len(open_) == len(pairs):
        return "between any two systems compared"
    return f"for {len(open_)} of {len(pairs)} pairs of systems"


def _not_under(below: Sequence[Comparison], order: Sequence[str]) -> list[str]:
    found = [one for one in below if one.verdict == "inconclusive"]
    if not found:
        return []
    names = sorted((one.a for one in found), key=order.index)
    every = len(found) == len(below) > 1
    who = "any system scores" if every else f"{_names(names)} {'score' if len(names) > 1 else 'scores'}"
    return [f"whether {who} below {found[0].b} stays open"]


def _plain(scores: Sequence[GeneratorScore | Count], level: float, scale: Scale | None = None) -> list[str]:
    """Nothing was compared: the scores themselves, of the systems or of what there is."""
    chosen = [row for row in scores if row.role is Role.SYSTEM] or list(scores)
    if scale is not None and scale.title != DETECTION.title:
        nbsp, sign = "\N{NO-BREAK SPACE}", unit(scale)
        said = [
            f"{row.generator} has {amount(row.score, scale)}{sign}, {scale.title}"
            + (
                f" ({confidence(level)}{nbsp}% interval {amount(row.interval.low, scale)} to"
                f" {amount(row.interval.high, scale)}{sign})"
                if row.interval
                else ""
            )
            for row in chosen[:MOST_GROUPS]
        ]
    else:
        said = [
            f"{row.generator} went unnoticed in {row.not_identified:,} of {counted(row.n, 'passage')}"
            f" ({percent(row.score)}\N{NO-BREAK SPACE}%"
            + (
                f", {confidence(level)}\N{NO-BREAK SPACE}% interval {percent(row.interval.low)} to"
                f" {percent(row.interval.high)}\N{NO-BREAK SPACE}%)"
                if row.interval
                else ")"
            )
            for row in chosen[:MOST_GROUPS]
        ]
    more = len(chosen) - len(said)
    return [*said, *([f"{more} more are in the table"] if more else [])]


def _names(names: Sequence[str]) -> str:
    """`a, b and c`; of many, the first ones and a number."""
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
