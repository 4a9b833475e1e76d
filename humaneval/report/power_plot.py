"""The power curve of a study: what more or fewer responses would have found."""

from __future__ import annotations

from humaneval.planning.chances import power_of
from humaneval.planning.outlook import Outlook
from humaneval.planning.plan import Plan
from humaneval.report.charts import BOTTOM, LEFT, RIGHT, TOP
from humaneval.report.score_tables import NBSP
from humaneval.report.svg import Canvas, ticks
from humaneval.report.tables import Cell, Column, Figure, ReportTable, share
from humaneval.report.words import percent


def power_figure(plan: Plan, prospect: Outlook, achieved: float, start: float) -> Figure:
    """What the planned effect's power is at each number of annotators, with those planned and achieved."""
    alpha = 1 - plan.level
    family = plan.family_error
    other = start + plan.smallest_effect
    curves = (("one comparison alone", alpha, "data"), ("hardest of its family", family, "data dashed"))
    most = max(2.5 * max(prospect.responses, achieved), 50)
    marks = ticks(most)
    top = marks[-1]
    grid = sorted({round(top * place / 60) or 2 for place in range(61)})
    values = {name: [(n, power_of(plan, start, other, n, error)) for n in grid] for name, error, _ in curves}
    canvas = Canvas("power", 250, "Power by the number of responses", "Numbers are in the table below.")
    x0, x1, y0, y1 = LEFT, RIGHT - 8, TOP + 20, 250 - BOTTOM

    def x(n: float) -> float:
        return x0 + (x1 - x0) * n / top

    def y(value: float) -> float:
        return y1 - (y1 - y0) * value

    for level in (0, 0.2, 0.4, 0.6, 0.8, 1):
        canvas.line(x0, y(level), x1, y(level), "grid")
        canvas.text(x0 - 6, y(level) + 4, percent(level, 0), "end", "muted")
    for mark in marks:
        canvas.text(x(mark), y1 + 16, f"{mark:,}", "middle", "muted")
    canvas.line(x0, y1, x1, y1, "axis")
    canvas.line(x0, y(plan.power), x1, y(plan.power), "chance")
    canvas.line(x(achieved), y0, x(achieved), y1, "now")
    anchor = x(achieved) > (x0 + x1) / 2
    canvas.text(
        x(achieved),
        y0 - 6,
        f"achieved: {achieved:,.0f}",
        "end" if anchor else "middle" if x(achieved) > x0 + 40 else "start",
    )
    for name, _, css in curves:
        canvas.path([(x(n), y(value)) for n, value in values[name]], css)
    canvas.text(x0, 12, "Power, %", css="muted")
    canvas.text(x1, 250 - 6, "responses to each generator", "end", "muted")
    shown = sorted({*(n for n in grid if n in marks), round(achieved), round(prospect.responses)})
    table = ReportTable(
        "power",
        "Power by the number of responses to each generator, %",
        (
            Column("n", "Responses", False),
            *(
                Column(key, name, unit="share")
                for key, (name, _, _) in zip(("alone", "in_family"), curves, strict=True)
            ),
        ),
        tuple(
            (
                Cell(
                    f"{n:,}"
                    + (" (achieved)" if n == round(achieved) else "")
                    + (" (planned)" if n == round(prospect.responses) else ""),
                    n,
                ),
                *(share(power_of(plan, start, other, n, error)) for _, error, _ in curves),
            )
            for n in shown
            if n > 0
        ),
    )
    return Figure(
        "power",
        "Power",
        (canvas.svg(),),
        f"The chance that a test finds a difference of {percent(plan.smallest_effect, 0)} points between scores of "
        f"{percent(start, 0)} and {percent(other, 0)}{NBSP}%, by formula (McNemar’s exact test where each form shows both, answers of one annotator "
        f"correlated by {prospect.correlation:.2f}). Solid: one comparison alone; dashed: as the hardest of its family of "
        f"{plan.comparisons}. Upright line: the n achieved, {achieved:,.0f}. Level dashed line: the power wanted.",
        table,
    )
