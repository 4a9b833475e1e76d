"""The power curve of a study: what more or fewer responses would have found."""

from __future__ import annotations

from dataclasses import replace

from humaneval.analysis import Analysis
from humaneval.planning.outlook import Outlook, Plan, outlook
from humaneval.report.charts import BOTTOM, LEFT, RIGHT, TOP
from humaneval.report.effect_tables import achieved, achieved_plan
from humaneval.report.score_tables import NBSP, provenance
from humaneval.report.svg import Canvas, ticks
from humaneval.report.tables import Cell, Column, Figure, ReportTable, share
from humaneval.report.words import percent

STEPS = 60
FARTHEST = 40
"""The axis reaches the power wanted where that takes at most so many times the responses planned or achieved."""


def power_figure(plan: Plan, analysis: Analysis) -> Figure:
    """What the planned effect's power is at each number of responses, by the same calculation as the plan's table.

    From the scores achieved, as in that table's last column; where these leave no room, from the score expected.
    """
    found = achieved_plan(plan, analysis)
    base = found or replace(plan, spammers=0.0)
    of = _Curve(base)
    planned = outlook(plan).responses
    n = achieved(analysis)[0]
    curves = (("one comparison alone", "data"), ("hardest of its family", "data dashed"))
    wanted = [of.needed(family) for family in (False, True)]
    near = FARTHEST * max(planned, n)
    reach = [one for one in wanted if one is not None and one <= near]
    marks = ticks(max(1.5 * max(planned, n), 50, *(1.05 * one for one in reach)))
    top = marks[-1]
    grid = sorted({max(1, round(top * place / STEPS / of.each)) for place in range(STEPS + 1)})
    outlooks = [of.at(annotators) for annotators in grid]
    canvas = Canvas("power", 250, "Power by the number of responses", "Numbers are in the table below.")
    x0, x1, y0, y1 = LEFT, RIGHT - 8, TOP + 20, 250 - BOTTOM

    def x(size: float) -> float:
        return x0 + (x1 - x0) * min(size, top) / top

    def y(value: float) -> float:
        return y1 - (y1 - y0) * value

    for level in (0, 0.2, 0.4, 0.6, 0.8, 1):
        canvas.line(x0, y(level), x1, y(level), "grid")
        canvas.text(x0 - 6, y(level) + 4, percent(level, 0), "end", "muted")
    for mark in marks:
        canvas.text(x(mark), y1 + 16, f"{mark:,}", "middle", "muted")
    canvas.line(x0, y1, x1, y1, "axis")
    canvas.line(x0, y(base.power), x1, y(base.power), "chance")
    canvas.line(x(n), y0, x(n), y1, "now")
    anchor = x(n) > (x0 + x1) / 2
    canvas.text(
        x(n), y0 - 6, f"achieved: {n:,.0f}", "end" if anchor else "middle" if x(n) > x0 + 40 else "start"
    )
    for name, (_, css) in zip(("power", "power_in_family"), curves, strict=True):
        canvas.path([(x(one.responses), y(getattr(one, name))) for one in outlooks], css)
    canvas.text(x0, 12, "Power, %", css="muted")
    canvas.text(x1, 250 - 6, "responses to each generator", "end", "muted")
    low, high = percent(base.expected_score, 0), percent(base.expected_score + base.smallest_effect, 0)
    start = "as scored here" if found else "as planned"
    return Figure(
        "power",
        "Power",
        (canvas.svg(),),
        f"The chance that a test finds a difference of {percent(base.smallest_effect, 0)} points between scores of "
        f"{low} and {high}{NBSP}% ({start}), by formula (McNemar’s test, answers of one annotator correlated by "
        f"{outlooks[0].correlation:.2f}): the calculation of the last column of the plan’s table. Solid: one comparison "
        f"alone; dashed: as the hardest of its family of {base.comparisons}. Upright line: the n achieved, {n:,.0f}. Level "
        f"dashed line: the power wanted, {percent(base.power, 0)}{NBSP}%; {_reached(wanted)}. {provenance(analysis)}",
        _table(of, marks, n, planned),
    )


class _Curve:
    """The outlook of a plan at other numbers of annotators."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.each = replace(plan, annotators=1).responses

    def at(self, annotators: int) -> Outlook:
        return outlook(replace(self.plan, annotators=max(annotators, 1)))

    def needed(self, family: bool) -> float | None:
        """Responses for the power wanted, or None where none suffice."""
        one = outlook(self.plan)
        annotators = one.annotators_needed_in_family if family else one.annotators_needed
        return None if annotators is None else annotators * self.each


def _reached(wanted: list[float | None]) -> str:
    said = ["no number of responses reaches it" if one is None else f"{one:,.0f} responses" for one in wanted]
    return f"it takes {said[0]} for one comparison, {said[1]} for the hardest"


def _table(of: _Curve, marks: list[float], n: float, planned: float) -> ReportTable:
    names = {round(n): " (achieved)"}
    names[round(planned)] = names.get(round(planned), "") + " (planned)"
    sizes = sorted({*(round(mark) for mark in marks), *names} - {0})
    rows = []
    for size in sizes:
        one = of.at(round(size / of.each))
        rows.append(
            (Cell(f"{size:,}{names.get(size, '')}", size), share(one.power), share(one.power_in_family))
        )
    return ReportTable(
        "power",
        "Power by the number of responses to each generator, %",
        (
            Column("n", "Responses", False, unit="responses to each generator"),
            Column("alone", "one comparison alone", unit="share"),
            Column("in_family", "hardest of its family", unit="share"),
        ),
        tuple(rows),
    )
