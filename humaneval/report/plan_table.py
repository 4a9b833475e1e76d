"""The plan of a study against what was achieved: annotators, responses, and what these can find."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import NamedTuple

from humaneval.domain import Role
from humaneval.planning.forecast import Outlook, outlook
from humaneval.planning.plan import Plan
from humaneval.report.score_tables import NBSP
from humaneval.report.sections import NOT_ESTIMABLE, Cell, Column, ReportTable, number, share, text, whole
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.text import counted


class Achieved(NamedTuple):
    """Medians over the systems."""

    responses: float
    score: float
    design_effect: float


def achieved(analysis: Analysis) -> Achieved:
    """What the systems of the study achieved."""
    systems = [row for row in analysis.table.scores if row.role is Role.SYSTEM]
    return Achieved(
        median(row.n for row in systems),
        median(row.score for row in systems),
        median(row.design_effect for row in systems),
    )


def place_of(plan: Plan, score: float) -> float:
    """A score's place on the scale of the plan, 0..1."""
    return score if plan.scale is None else (score - plan.scale.low) / plan.scale.width


def _score(plan: Plan, place: float) -> Cell:
    """The score at a place on the scale."""
    scale = plan.scale
    return share(place) if scale is None or scale.share else number(scale.low + place * scale.width)


def _difference(plan: Plan, part: float) -> Cell:
    scale = plan.scale
    return share(part) if scale is None or scale.share else number(part * scale.width)


def achieved_plan(plan: Plan, analysis: Analysis) -> Plan | None:
    """The plan with the annotators and scores that there are; None if a score leaves no room for the
    effect."""
    n, found, _ = achieved(analysis)
    score = place_of(plan, found)
    if not 0 < score < score + plan.smallest_effect < 1:
        return None
    annotators = max(1, round(n / plan.share_of_forms / plan.conditions_each))
    return replace(plan, annotators=annotators, spammers=0.0, top_up=False, expected_score=score)


def achieved_outlook(plan: Plan, analysis: Analysis) -> Outlook | None:
    """What the responses that there are can find, from the scores that there are; None if a score leaves
    no room."""
    found = achieved_plan(plan, analysis)
    return outlook(found) if found else None


def plan_table(plan: Plan, analysis: Analysis) -> ReportTable:
    """What the study meant to find out, and what it can."""
    before, after = outlook(plan), achieved_outlook(plan, analysis)
    unit = "counts; scores, differences, powers and half widths are shares"
    comparisons = before.decisive.comparisons if before.decisive else 0
    note = (
        f"By formula, for a power of {100 * plan.power:.0f}{NBSP}%"
        + (f" and a family of {counted(comparisons, 'comparison')}." if comparisons > 1 else ".")
        + " Planned: after the Control passages have excluded annotators. Achieved: medians over the systems."
    )
    if not after:
        note += " A difference as large as the planned one does not fit above the scores achieved."
    return ReportTable(
        "plan",
        "Plan against what was achieved",
        (
            Column("figure", "Figure", False),
            Column("planned", "Planned", unit=unit),
            Column("achieved", "Achieved", unit=unit),
        ),
        (*_sizes(plan, analysis, before), *_powers(plan, before, after, many=is_family(plan, before))),
        note,
    )


Row = tuple[Cell, Cell, Cell]


def _sizes(plan: Plan, analysis: Analysis, before: Outlook) -> tuple[Row, ...]:
    """How much there was to be judged, and how hard it was."""
    n, score, design_effect = achieved(analysis)
    sign = ", %" if plan.scale is None or plan.scale.share else ""
    start = Cell(f"Score of a system{sign}", "Score of a system")
    scores = (start, _score(plan, plan.expected_score), _score(plan, place_of(plan, score)))
    return (
        (text("Annotators"), whole(plan.people), whole(analysis.table.annotators.analysed)),
        (text("Responses to each system"), number(before.responses, 1), number(n, 1)),
        # Where pairs are compared by their own answers, a plan starts from no score.
        *([] if plan.foreseen.pairwise else [scores]),
        (text("Design effect, median over systems"), Cell(""), number(design_effect)),
    )


def is_family(plan: Plan, seen: Outlook) -> bool:
    """Whether a comparison is harder as one of its family than alone."""
    return bool(seen.decisive and seen.decisive.comparisons > 1 and plan.adjust != "none")


def _powers(plan: Plan, before: Outlook, after: Outlook | None, *, many: bool) -> tuple[Row, ...]:
    """What can be found with that. The keys of the rows, beside the words, are what the CSV file has."""
    size, power = "Detectable difference", f"Power for a difference of {plan.smallest_effect:g}"
    points = f"{100 * plan.smallest_effect:.0f}"
    if plan.scale is not None and not plan.scale.share:
        points = f"{plan.smallest_effect * plan.scale.width:.2f}"
    shown = f"Power for {points} points, %"
    one = ": one comparison" * many
    named = (
        (Cell(f"{size}, points{one}", f"{size}: one comparison"), "detectable"),
        (
            Cell(f"{size}, points: hardest of its family", f"{size}: hardest of its family"),
            "detectable_in_family",
        ),
        (Cell(f"{shown}{one}", f"{power}: one comparison"), "power"),
        (Cell("… as the hardest of its family", f"{power}: hardest of its family"), "power_in_family"),
    )
    width = Cell("Half width of a score’s interval, points", "Half width of a score’s interval")
    return (
        *(
            (head, _found(plan, before, name), _found(plan, after, name))
            for head, name in named
            if many or not name.endswith("_in_family")
        ),
        (width, _difference(plan, before.half_width), _found(plan, after, "half_width")),
    )


def _found(plan: Plan, of: Outlook | None, name: str) -> Cell:
    if of is None or (of.decisive is None and name != "half_width"):
        return Cell(NOT_ESTIMABLE)
    value = getattr(of, name)
    if value is None:
        return Cell(f"none below 100{NBSP}%")
    return share(value) if name.startswith("power") else _difference(plan, value)
