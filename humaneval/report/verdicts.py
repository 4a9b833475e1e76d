"""Comparisons in words. Every sentence about which generator scores higher comes from here, and says no more
than its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from humaneval.report.phrases import amount, confidence, percent
from humaneval.scoring.comparisons import Comparison
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.verdicts import inner_level
from humaneval.statistics.mean_intervals import BY_SCALE, BY_SCALE_CLUSTERED, CLUSTERED
from humaneval.statistics.mean_intervals import PLAIN as STUDENT
from humaneval.statistics.paired_tests import MCNEMAR, MCNEMAR_AND_STORY
from humaneval.statistics.score_intervals import PAIRED, PAIRED_WIDENED, PLAIN, WIDENED

ADJUSTED = {"holm": "Holm", "benjamini-hochberg": "Benjamini–Hochberg", "none": "unadjusted"}
INTERVALS = {
    STUDENT: "Student’s",
    CLUSTERED: "± t standard errors, clustered by annotator and by story",
    BY_SCALE: "Wilson’s, of the place on the scale",
    BY_SCALE_CLUSTERED: "Wilson’s, of the place on the scale, clustered by annotator and by story",
    PLAIN: "Wilson’s",
    WIDENED: "Wilson’s at n divided by the design effect",
    PAIRED: "Bonett and Price’s",
    PAIRED_WIDENED: "Bonett and Price’s at n divided by the design effect",
}
"""Methods of intervals, for a reader."""
LIMITS = (0.001, 0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.2)
"""Usual limits of p."""
MINUS = "\N{MINUS SIGN}"
TOLD = ("a_higher", "b_higher")
"""The verdicts that tell two generators apart."""
MOST_PAIRS = 3
"""With more pairs than this, they are counted."""


def signed(share: float, digits: int = 1) -> str:
    """A difference of shares in points, with its sign.

    >>> signed(0.0421), signed(-0.2)
    ('+4.2', '−20.0')
    """
    text = percent(abs(share), digits)
    while float(text) == 0 and abs(share) > 1e-8:  # an end beside 0 must not look as if it were 0
        digits += 1
        text = percent(abs(share), digits)
    return text if float(text) == 0 else f"{'+' if share > 0 else MINUS}{text}"


def gap(difference: float, scale: Scale | None = None) -> str:
    """A difference of scores with its sign: of shares in points of percent, else in the scale's points."""
    if scale is None or scale.share:
        return signed(difference)
    text = f"{abs(difference):.2f}"
    return text if float(text) == 0 else f"{'+' if difference > 0 else MINUS}{text}"


def p_value(p: float) -> str:
    """A p-value with the digits that matter. It is never rounded to a limit by which verdicts are given.

    >>> p_value(0.0341), p_value(0.0502), p_value(0.00002), p_value(1.0)
    ('.034', '.0502', '<.001', '1')
    """
    if p < 0.001:
        return "<.001"
    digits = 3 if p < 0.1 else 2
    while float(f"{p:.{digits}f}") in LIMITS and abs(p - float(f"{p:.{digits}f}")) > 1e-12 and digits < 12:
        digits += 1
    text = f"{p:.{digits}f}"
    return "1" if float(text) == 1 else text.removeprefix("0")


def p_equals(p: float) -> str:
    """A p-value behind the letter p: `= .034`, `<.001`."""
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def outcome(one: Comparison) -> str:
    """The verdict in a few words, for a table's cell. A one-sided test can only show that A is below B."""
    words = {
        "a_higher": f"{one.a} higher",
        "b_higher": f"{one.b} higher",
        "equivalent": f"equivalent within ±{amount(one.margin, one.scale)}",
        "inconclusive": "inconclusive",
    }[one.verdict]
    return f"below {one.b}" if one.bound is not None and one.verdict == "b_higher" else words


def at_odds(one: Comparison, level: float) -> str:
    """Why p and the interval of a comparison that is left open disagree, in a clause; empty if they agree.

    An interval that excludes 0 does not disagree with a p that is above the limit only for all pairs
    together: see `family_decides`.
    """
    if one.verdict != "inconclusive":
        return ""
    small, apart = _small(one.p_adjusted, level), _excludes_0(one)
    if small == apart or (apart and _small(one.p, level)):
        return ""
    end = "bound is not below 0" if one.bound is not None else "interval includes 0"
    other = "bound is below 0" if one.bound is not None else "interval excludes 0"
    return (
        f"p is {_limit(level)} or less, but the {end}"
        if small
        else f"the {other}, but p is above {_limit(level)}"
    )


def _small(p: float, level: float) -> bool:
    return p <= 1 - level + 1e-12


def _excludes_0(one: Comparison) -> bool:
    if one.bound is not None:
        return one.bound < 0
    return one.interval.low > 0 or one.interval.high < 0


def _limit(level: float) -> str:
    return f"{1 - level:.3f}".rstrip("0").removeprefix("0")


def left_open(comparisons: Sequence[Comparison], level: float) -> str:
    """A sentence about the pairs that are left open because p and the interval disagree; empty if none is."""
    why: dict[str, list[str]] = {}
    for one in comparisons:
        if reason := at_odds(one, level):
            why.setdefault(reason, []).append(f"{one.a} – {one.b}")
    return " ".join(
        f"Left open, because p and the {'bound' if 'bound' in reason else 'interval'} disagree:"
        f" {pairs_named(pairs)} ({reason})."
        for reason, pairs in why.items()
    ) + " A difference needs both." * bool(why)


def family_decides(comparisons: Sequence[Comparison], level: float) -> str:
    """A sentence about the pairs that are left open although their own p and interval tell them apart; empty
    if there are none."""
    pairs = [
        f"{one.a} – {one.b}"
        for one in comparisons
        if one.verdict == "inconclusive" and _excludes_0(one) and _small(one.p, level)
    ]
    if not pairs:
        return ""
    ends = "bound" if comparisons[0].bound is not None else "interval"
    return (
        f"Left open, because p counts for all pairs together: {pairs_named(pairs)} (the {ends}, which is for"
        f" the pair alone, {'is below' if ends == 'bound' else 'excludes'} 0)."
    )


def pairs_named(pairs: Iterable[str]) -> str:
    """`a – b, c – d`; of many, their number."""
    names = list(pairs)
    return ", ".join(names) if len(names) <= MOST_PAIRS else f"{len(names)} pairs"


def summary(comparisons: Sequence[Comparison], level: float) -> str:
    """What a family of comparisons shows as a whole, in a sentence or two."""
    if not comparisons:
        return ""
    told = [one for one in comparisons if one.verdict in TOLD]
    equal = [one for one in comparisons if one.verdict == "equivalent"]
    odd = sum(bool(at_odds(one, level)) for one in comparisons)
    open_ = len(comparisons) - len(told) - len(equal) - odd
    if comparisons[0].family == "below human":
        human = comparisons[0].b
        below = [one.a for one in told if one.verdict == "b_higher"]
        text = (
            f"Below {human}: {', '.join(below)}." if below else f"No system is shown to score below {human}."
        )
        unsaid = [one.a for one in comparisons if one.verdict == "inconclusive"]
        return text + (f" Not shown for {', '.join(unsaid)}." if unsaid and below else "")
    parts = []
    if told:
        parts.append(
            "Told apart: "
            + "; ".join(
                f"{one.a if one.verdict == 'a_higher' else one.b} above"
                f" {one.b if one.verdict == 'a_higher' else one.a}"
                for one in told
            )
        )
    if equal:
        parts.append(
            f"Equivalent within ±{amount(equal[0].margin, equal[0].scale)} points: "
            + "; ".join(f"{one.a} and {one.b}" for one in equal)
        )

    def of_all(number: int) -> str:
        return "the pair" if len(comparisons) == 1 else f"{number} of {len(comparisons)} pairs"

    if open_:
        parts.append(f"This study shows no difference for {of_all(open_)}")
    if odd:
        parts.append(f"This study leaves {of_all(odd)} open, because p and the interval disagree")
    return ". ".join(parts) + "."


def method(comparisons: Sequence[Comparison], level: float, compared: str = "") -> str:
    """How differences were tested at `level` and what was adjusted, in sentences. `compared` says how they
    are computed, if they are not paired by annotator."""
    if not comparisons:
        return ""
    tests = " or ".join(dict.fromkeys(one.test for one in comparisons))
    methods = dict.fromkeys(one.interval_method for one in comparisons)
    intervals = (
        "Bonett and Price’s, at n divided by the design effect if annotators or stories recur"
        if {PAIRED, PAIRED_WIDENED}.issubset(methods)
        else " or ".join(INTERVALS.get(one, one) for one in methods)
    )
    whose = (
        "within annotators"
        if all(one.test in (MCNEMAR, MCNEMAR_AND_STORY) for one in comparisons)
        else "of the scores, whose annotators differ in part or answered several times"
    )
    first = compared or f"Differences are computed {whose}."
    return (
        f"{first} Intervals: {intervals}. Tests: {tests};"
        f" {adjustment(comparisons)}.{alone(comparisons)}{bounds(comparisons)}{margins(comparisons, level)}"
    )


def adjustment(comparisons: Sequence[Comparison]) -> str:
    """How the p-values of `comparisons` were adjusted, as a clause."""
    adjust = comparisons[0].adjust
    if adjust == "none":
        return "p-values are not adjusted"
    return f"p-values are adjusted within each family by {ADJUSTED[adjust]}"


def margins(comparisons: Sequence[Comparison], level: float) -> str:
    """When two generators are called equivalent, as a sentence after a space; empty without a margin."""
    widest = max(comparisons, key=lambda one: one.margin, default=None)
    if widest is None or not widest.margin:
        return ""
    margin = amount(widest.margin, widest.scale)
    return (
        f" Two generators are called equivalent if the {confidence(inner_level(level))}\N{NO-BREAK SPACE}%"
        f" interval of their difference lies within ± {margin} points (two one-sided tests)."
    )


def alone(comparisons: Sequence[Comparison]) -> str:
    """That intervals are for one pair each, where p is for the family, as a sentence after a space."""
    if all(one.adjust == "none" for one in comparisons):
        return ""
    sizes = Counter(one.family for one in comparisons)
    if max(sizes.values(), default=0) < 2:
        return ""
    return (
        " Each interval is for its pair alone, and p for its whole family: an interval can exclude 0 where"
        " the verdict is inconclusive."
    )


def bounds(comparisons: Sequence[Comparison]) -> str:
    """What decides the one-sided verdicts, as a sentence after a space; empty if there are none."""
    for one in comparisons:
        if one.bound is not None:
            return (
                f" Whether a system scores below {one.b} is tested one-sided, and the one-sided bound (at"
                " most) decides the verdict, not the two-sided interval."
            )
    return ""
