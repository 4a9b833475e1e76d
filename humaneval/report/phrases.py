"""The words for the numbers and facts of a score table that terminal, plots and page share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from humaneval.report.figures.drawing import shortened
from humaneval.scoring.exclusions import ExclusionStep
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.scores import Chance, GeneratorScore, ScoreTable
from humaneval.statistics.intervals import Interval
from humaneval.statistics.mean_intervals import BY_SCALE
from humaneval.statistics.opponents import CLUSTERED as APART_WIDENED
from humaneval.statistics.opponents import PLAIN as APART
from humaneval.statistics.score_intervals import FEWEST, PLAIN, WIDENED
from humaneval.text import Answerers, counted

STEPS = {
    "collected": "Collected",
    "tests": "Tests and pilots left out",
    "duplicates": "Second answers to the same story and generator",
    "incomplete": "Annotators who did not judge every passage they were shown",
    "missed control": "Missed a Control passage",
    "too fast": "Read faster than the rule allows",
    "straight-lining": "Marked one position more often than the rule allows",
    "spam": "Probably did not read, judging by their Control passages",
    "analysed": "Analysed",
}

ROUGH = 25
"""With fewer picks on Human passages (five per position) the achieved ceiling is rough."""

ROLES = {"control": "Control", "system": "System", "human": "Human"}


class Chanced(Protocol):
    """A table of scores with what chance alone gives."""

    @property
    def chance(self) -> Chance | None: ...

    @property
    def scale(self) -> Scale: ...


def lost(forms: int) -> str:
    """That forms count which the platform no longer has.

    >>> lost(1)
    '1 form was accepted although the platform no longer has it: the answers are those that our server kept.'
    """
    was, it = ("was", "it") if forms == 1 else ("were", "them")
    return (
        f"{counted(forms, 'form')} {was} accepted although the platform no longer has {it}: the answers are"
        " those that our server kept."
    )


def deleted(forms: int, responses: int) -> str:
    """That answers were deleted because people asked for it.

    >>> deleted(2, 9)
    '2 forms with 9 responses were deleted because their annotators asked for it: they count nowhere.'
    """
    was, their = ("was", "its annotator") if forms == 1 else ("were", "their annotators")
    return (
        f"{counted(forms, 'form')} with {counted(responses, 'response')} {was} deleted because {their} asked"
        f" for it: {'it counts' if forms == 1 else 'they count'} nowhere."
    )


def simulated(who: Answerers) -> str:
    """That programs answered, and what follows.

    >>> simulated(Answerers(40, 0))
    '40 annotators in this study are programs. The scores say nothing about what people can tell.'
    """
    number = counted(who.programs, "annotator")
    are = "is a program" if who.programs == 1 else "are programs"
    told = f"{number} in this study {are}" if who.only_programs else str(who)
    return f"{told}. The scores say nothing about what people can tell."


def early(forms: int, planned: int, closed: bool = False) -> str:
    """That people are still answering, or no longer can; empty if all forms of the design are in.

    >>> early(20, 20)
    ''
    """
    if forms >= planned:
        return ""
    so_far = f"{forms:,} of {counted(planned, 'form')} of the design {'is' if forms == 1 else 'are'} in."
    if closed:
        return f"{so_far} The study is closed, and gets no more: a paper says so, and why it ended early."
    return (
        f"{so_far} Those who stop as soon as scores look good find differences that are not there: wait for"
        " all."
    )


def warned(who: Answerers, *, tests: bool) -> str:
    """What nobody may overlook who sees a table or a conclusion by itself: programs answered, or it was a
    test. Empty if neither is so.

    >>> warned(Answerers(0, 40), tests=True)
    'These are tests or pilots, not results.'
    """
    parts = (
        simulated(who) if who.programs else "",
        "These are tests or pilots, not results." if tests else "",
    )
    return " ".join(filter(None, parts))


def mark(who: Answerers, *, tests: bool) -> str:
    """The same in one line, for a plot.

    >>> mark(Answerers(40, 2), tests=True)
    '40 of 42 annotators are simulated, not people; pilot'
    """
    programs = (
        f"{who.programs:,} of {counted(sum(who), 'annotator')} {'is' if sum(who) == 1 else 'are'} simulated"
    )
    parts = (f"{programs}, not people" if who.programs else "", "pilot" if tests else "")
    return "; ".join(filter(None, parts))


def percent(share: float, digits: int = 1) -> str:
    """`share` of 0..1 in percent, without the sign.

    >>> percent(43 / 95), percent(1.0)
    ('45.3', '100.0')
    """
    return f"{100 * share:.{digits}f}"


def confidence(level: float) -> str:
    """A level of confidence in percent, with as many digits as it has: 99.9 is not 100.

    >>> confidence(0.95), confidence(0.999), confidence(2 * 0.95 - 1)
    ('95', '99.9', '90')
    """
    return f"{100 * level:.6g}"


def between(interval: Interval | None, scale: Scale | None = None) -> str:
    """An interval of shares in percent: `35.6–55.3`, or of means; "none" for Control, which is gated."""
    if not interval:
        return "none"
    return f"{amount(interval.low, scale)}–{amount(interval.high, scale)}"


def amount(value: float, scale: Scale | None = None) -> str:
    """A score on its scale: a share in percent, without the sign; else a number with two digits."""
    return percent(value) if scale is None or scale.share else f"{value:.2f}"


def unit(scale: Scale | None = None) -> str:
    """What follows a score: the sign for percent, or nothing."""
    return "\N{NO-BREAK SPACE}%" if scale is None or scale.share else ""


def out_of(row: GeneratorScore, scale: Scale | None = None) -> str:
    """What a score is computed from: `43 of 95`, or `95 responses`."""
    if scale is None or scale.binary:
        return f"{row.not_identified} of {row.n}"
    return counted(row.n, "response")


def one_line(text: str) -> str:
    """`text` with every run of white space as one space."""
    return re.sub(r"\s+", " ", text)


def short_pseudonym(worker: str) -> str:
    """The first eight characters: enough to find a line again, too few to look anybody up."""
    return shortened(worker, 9)


def step_name(step: ExclusionStep, table: ScoreTable) -> str:
    """What a step of the exclusion flow did, for a reader."""
    if step.step == "tests" and table.rule.tests == "only":
        return "Everything except tests and pilots left out"
    if step.step == "missed control" and table.rule.control == "row":
        return "Forms with a missed Control passage"
    return STEPS[step.step]


def within(text: str) -> str:
    """`text` with a small first letter, for the middle of a sentence."""
    return text[:1].lower() + text[1:]


def excluded(table: ScoreTable) -> str:
    """One sentence: how many annotators were excluded, and why."""
    people = table.annotators
    reasons = [
        f"{within(step_name(step, table))}: {step.annotators_out:,}"
        for step in table.exclusions
        if step.annotators_out and step.step not in ("tests", "collected")
    ]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    left = "was" if 1 in (people.excluded, people.collected) else "were"
    kept = "was" if people.analysed == 1 else "were"
    return (
        f"{people.excluded:,} of {counted(people.collected, 'annotator')} {left} excluded{why};"
        f" {people.analysed:,} {kept} analysed."
    )


def control(table: ScoreTable) -> str:
    """One sentence: how many Control passages were noticed, of those that the rule looks at; empty without a
    Control."""
    if table.control is None:
        return ""
    gate, rule = table.control, table.rule.control
    found = f"noticed {gate.passed:,} of {counted(gate.n, 'Control passage')}"
    if rule == "none":
        return f"Annotators {found}; nobody was excluded for missing one."
    what = (
        "annotators were excluded for missing one"
        if rule == "annotator"
        else "forms with a missed one were left out"
    )
    return f"Before {what}, {'they' if rule == 'annotator' else 'annotators'} {found}."


def chance(table: Chanced) -> str:
    """One sentence on the score that chance alone gives; empty if it gives none."""
    of, scale = table.chance, table.scale
    if of is None:
        return ""
    nominal = percent(of.nominal, 0) if scale.share else amount(of.nominal, scale)
    text = f"Chance alone gives {nominal}{unit(scale)}"
    achieved, picks = of.achieved, sum(of.picks)
    if not achieved:
        return f"{text}."
    if picks < ROUGH:
        return (
            f"{text}. People mark some places in a story more often than others; {counted(picks, 'mark')} on"
            " Human passages cannot tell what this habit alone gives here."
        )
    return (
        f"{text}. People mark some places in a story more often than others: by this habit alone it gives"
        f" {percent(achieved)}\N{NO-BREAK SPACE}% here."
    )


def few(table: ScoreTable) -> str:
    """A warning if there are fewer than eight annotators or stories; empty if there are more.

    Stories are counted for each generator; the one with the fewest decides whether to warn.
    """
    people = table.annotators.analysed
    fewest, most = (pick(row.stories for row in table.scores) for pick in (min, max))
    small = []
    if people < FEWEST:
        small.append("a single annotator" if people == 1 else f"{people} annotators")
    if fewest < FEWEST:
        stories = "a single story" if most == 1 else f"{most} stories"
        many = f"{fewest} to {most} stories" if fewest < most else stories
        small.append(f"{many} for each generator" if len(table.scores) > 1 else many)
    if not small:
        return ""
    who = " and ".join(small)
    if 1 in (people, fewest):
        said = "Whatever their intervals, these numbers say nothing about how others would answer."
    else:
        said = f"With fewer than {FEWEST} of either, intervals are wide and p-values coarse."
    return f"Few annotators or stories: {who}. {said}"


def notes(noted: Iterable[tuple[str, str]]) -> list[str]:
    """Every note once, after the names that it belongs to; pairs of name and note, the note may be empty.

    >>> notes([("ilm", "Too narrow."), ("lm", ""), ("sa", "Too narrow.")])
    ['ilm, sa: Too narrow.']
    """
    of: dict[str, list[str]] = {}
    for name, note in noted:
        if note:
            of.setdefault(note, []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in of.items()]


def method(scores: Sequence[GeneratorScore]) -> str:
    """How the intervals of these scores were made, for a reader."""
    scores = [row for row in scores if row.interval]
    if any(row.method in (APART, APART_WIDENED) for row in scores):
        return _method_of_shares_against(scores)
    if scores and not any(row.method in (PLAIN, WIDENED) for row in scores):
        return _method_of_means(scores)
    single = [row for row in scores if row.method == WIDENED and min(row.workers, row.stories) == 1]
    widened = [row for row in scores if row not in single and row.effective_n < row.n]
    one = " With a single annotator or story, all responses count as one." if single else ""
    if not widened:
        if all(row.method == WIDENED for row in scores) and len(single) == len(scores) > 0:
            return f"Wilson’s score interval.{one}"
        if any(row.method == WIDENED for row in scores):
            return (
                "Wilson’s score interval; annotators or stories recur, but no correlation of their answers"
                f" widens it.{one}"
            )
        return "Wilson’s score interval; each annotator and each story occurs once per generator."
    effects = sorted({f"{row.design_effect:.2f}" for row in widened}, key=float)
    span = " to ".join([effects[0], *effects[1:][-1:]])
    whose = ""
    if len(widened) + len(single) < len(scores):
        whose = f" for {', '.join(row.generator for row in widened)}; the plain interval for the others"
    return (
        f"Wilson’s score interval at n divided by the design effect ({span}) and with the t quantile, because"
        f" annotators or stories recur; never narrower than the plain one{whose}.{one}"
    )


def _method_of_shares_against(scores: Sequence[GeneratorScore]) -> str:
    several = [row for row in scores if row.method in (APART, APART_WIDENED)]
    widened = [row for row in several if row.design_effect > 1]
    because = ""
    if widened:
        effects = sorted({f"{row.design_effect:.2f}" for row in widened}, key=float)
        span = " to ".join([effects[0], *effects[1:][-1:]])
        because = (
            ", clustered by annotator and by story because they recur (design effect"
            f" {span}), and with the t quantile"
        )
    rest = "" if len(several) == len(scores) else " Generators with one opponent have that of a share."
    return (
        "Wilson’s score interval, at as many answers as give the score’s standard error. The error is that of"
        f" answers about the same opponents{because}.{rest}"
    )


def _method_of_means(scores: Sequence[GeneratorScore]) -> str:
    if all(row.method == BY_SCALE for row in scores):
        return (
            "Wilson’s score interval of the mean’s place on the scale, at as many answers as give its"
            " standard error; each annotator and each story occurs once per generator."
        )
    effects = sorted({f"{row.design_effect:.2f}" for row in scores}, key=float)
    span = " to ".join([effects[0], *effects[1:][-1:]])
    return (
        "Wilson’s score interval of the mean’s place on the scale, at as many answers as give its standard"
        " error, which is clustered by annotator and by story because they recur (design effect"
        f" {span}), and with the t quantile; never narrower than if answers were unrelated."
    )


def sentence(row: GeneratorScore, level: float, scale: Scale | None = None) -> str:
    """One generator's result as a sentence, for readers who cannot see the plot."""
    nbsp, ends, sign = "\N{NO-BREAK SPACE}", row.interval, unit(scale)
    return f"{row.generator}: {amount(row.score, scale)}{sign}, " + (
        f"{confidence(level)}{nbsp}% interval {amount(ends.low, scale)} to {amount(ends.high, scale)}{sign},"
        f" {out_of(row, scale)}."
        if ends
        else f"{out_of(row, scale)}, {row.note}"
    )
