"""Comparisons in words. Every sentence about which generator scores higher comes from here, and says no more
than its verdict."""

from __future__ import annotations

from collections.abc import Sequence

from humaneval.report.phrases import percent
from humaneval.scoring.analysis.models import Omnibus
from humaneval.scoring.comparisons import Comparison
from humaneval.statistics.arrays import NotEstimable
from humaneval.statistics.headline import PAIRED, PAIRED_WIDENED

ADJUSTED = {"holm": "Holm", "benjamini-hochberg": "Benjamini–Hochberg", "none": "unadjusted"}
INTERVALS = {
    PAIRED: "Bonett and Price’s",
    PAIRED_WIDENED: "Bonett and Price’s at n divided by the design effect",
}
"""Methods of intervals, for a reader."""
MINUS = "\N{MINUS SIGN}"


def signed(share: float, digits: int = 1) -> str:
    """A difference of shares in points, with its sign.

    >>> signed(0.0421), signed(-0.2)
    ('+4.2', '−20.0')
    """
    text = percent(abs(share), digits)
    return text if float(text) == 0 else f"{'+' if share > 0 else MINUS}{text}"


def p_value(p: float) -> str:
    """A p-value with the digits that matter.

    >>> p_value(0.0341), p_value(0.00002), p_value(1.0)
    ('.034', '<.001', '1')
    """
    if p < 0.001:
        return "<.001"
    text = f"{p:.3f}" if p < 0.1 else f"{p:.2f}"
    return "1" if text == "1.00" else text.removeprefix("0")


def p_equals(p: float) -> str:
    """A p-value behind the letter p: `= .034`, `<.001`."""
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def outcome(one: Comparison) -> str:
    """The verdict in a few words, for a table's cell."""
    return {
        "a_higher": f"{one.a} higher",
        "b_higher": f"{one.b} higher",
        "equivalent": "equivalent",
        "inconclusive": "inconclusive",
    }[one.verdict]


def summary(comparisons: Sequence[Comparison]) -> str:
    """What a family of comparisons shows as a whole, in a sentence or two."""
    if not comparisons:
        return ""
    told = [one for one in comparisons if one.verdict in ("a_higher", "b_higher")]
    equal = [one for one in comparisons if one.verdict == "equivalent"]
    open_ = len(comparisons) - len(told) - len(equal)
    if comparisons[0].family == "below human":
        human = comparisons[0].b
        below = [one.a for one in told if one.verdict == "b_higher"]
        text = (
            f"Below {human}: {', '.join(below)}." if below else f"No system is shown to score below {human}."
        )
        return text + (f" Inconclusive: {open_} of {len(comparisons)}." if open_ and below else "")
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
        parts.append("Equivalent: " + "; ".join(f"{one.a} and {one.b}" for one in equal))
    if open_:
        number = "The pair" if len(comparisons) == 1 else f"{open_} of {len(comparisons)} pairs"
        parts.append(f"{number} cannot be told apart")
    return ". ".join(parts) + "."


def any_difference(found: Omnibus | NotEstimable, level: float) -> str:
    """Whether the systems differ at all, in a sentence that names no two of them."""
    if isinstance(found, NotEstimable):
        return f"Whether the systems differ at all is not estimable, because {found.because}."
    facts = (
        f"{found.test}, χ²({found.degrees}) = {found.statistic:.2f}, p\N{NO-BREAK SPACE}{p_equals(found.p)}"
    )
    if found.p <= 1 - level + 1e-12:
        return f"The systems do not all score alike ({facts}). The pairs below are tested one by one."
    return f"It is not shown that the systems differ at all ({facts})."


def method(comparisons: Sequence[Comparison]) -> str:
    """How differences were tested and what was adjusted, in sentences."""
    if not comparisons:
        return ""
    tests = " or ".join(dict.fromkeys(one.test for one in comparisons))
    methods = dict.fromkeys(one.interval_method for one in comparisons)
    intervals = (
        "Bonett and Price’s, at n divided by the design effect if annotators or stories recur"
        if {PAIRED, PAIRED_WIDENED}.issubset(methods)
        else " or ".join(INTERVALS.get(one, one) for one in methods)
    )
    adjust = comparisons[0].adjust
    how = (
        "p-values are not adjusted"
        if adjust == "none"
        else f"p-values are adjusted within each family by {ADJUSTED[adjust]}"
    )
    return (
        f"Differences are computed within annotators. Intervals: {intervals}. Tests: {tests};"
        f" {how}.{bounds(comparisons)}"
    )


def bounds(comparisons: Sequence[Comparison]) -> str:
    """What decides the one-sided verdicts, as a sentence after a space; empty if there are none."""
    for one in comparisons:
        if one.bound is not None:
            return (
                f" Whether a system scores below {one.b} is tested one-sided, and the one-sided bound (at"
                " most) decides the verdict."
            )
    return ""
