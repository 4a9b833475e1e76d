"""The plot of order: detection of the systems' sentences by the place of the passage in its form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from humaneval.report.figures.drawing import WIDTH, Box, Drawing, Sheet, ticks
from humaneval.report.phrases import between, confidence, percent
from humaneval.report.score_tables import NBSP, provenance
from humaneval.report.sections import Column, Figure, ReportTable, share, span, whole
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.analysis.effects import ByOrder
from humaneval.statistics.intervals import Interval, wilson

HEIGHT = 230.0
BOX = Box(40, 24, WIDTH - 8, HEIGHT - 42)


def order_figure(analysis: Analysis) -> Figure | None:
    """Detection of the systems' sentences by the place of the passage in its form."""
    found = analysis.effects.by_order
    if len(found) < 2:
        return None
    level = analysis.table.level
    intervals = [wilson(one.detected, one.responses, level) for one in found]
    words = " ".join(
        f"Place {one.place}: {percent(one.detected / one.responses)}{NBSP}%, interval {between(interval)}."
        for one, interval in zip(found, intervals, strict=True)
    )
    draw = partial(_draw, found=found, intervals=intervals, luck=1 - analysis.table.ceiling)
    return Figure(
        "order",
        "Detection by place in the form",
        (Drawing("order", "Detection by place in the form", words, HEIGHT, draw),),
        "Dots: share of the systems’ sentences that were marked, by the place of the passage in its form."
        " Lines:"
        f" {confidence(level)}{NBSP}% Wilson intervals, which take responses as independent."
        f" {provenance(analysis)}",
        _table(found, intervals),
    )


def _draw(sheet: Sheet, found: Sequence[ByOrder], intervals: Sequence[Interval], luck: float) -> None:
    marks = ticks(100 * max(interval.high for interval in intervals))
    axes = sheet.axes(BOX, (-0.5, len(found) - 0.5), (0, marks[-1]))
    axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
    shown = [at for at in range(len(found)) if len(found) <= 16 or at % 5 == 0]
    axes.set_xticks(shown, [str(found[at].place) for at in shown])
    axes.tick_params(pad=6)
    sheet.grid(axes, "y")
    if 100 * luck <= marks[-1]:
        sheet.dashed(axes, y=100 * luck)
        sheet.text(BOX.right, 12, f"dashed: chance {percent(luck, 0)}{NBSP}%", "right", "chance")
    colour = sheet.colour("system")
    for at, (one, interval) in enumerate(zip(found, intervals, strict=True)):
        ends = [100 * interval.low, 100 * interval.high]
        axes.plot([at, at], ends, color=colour, linewidth=2, solid_capstyle="butt", clip_on=False)
        middle = 100 * one.detected / one.responses
        axes.plot([at], [middle], "o", color=colour, markersize=8.5, clip_on=False, zorder=3)
    sheet.text(BOX.left, 12, "Detected, %", colour="muted")
    sheet.text(BOX.right, HEIGHT - 6, "place of the passage in its form", "right", "muted")


def _table(found: Sequence[ByOrder], intervals: Sequence[Interval]) -> ReportTable:
    return ReportTable(
        "order",
        "Detection of the systems’ sentences by place in the form",
        (
            Column("place", "Place", False),
            Column("responses", "Responses"),
            Column("detected", "Detected"),
            Column("share", "Detected, %", unit="share"),
            Column("interval", "Interval, %", span=True, unit="share"),
        ),
        tuple(
            (
                whole(one.place),
                whole(one.responses),
                whole(one.detected),
                share(one.detected / one.responses),
                span(interval),
            )
            for one, interval in zip(found, intervals, strict=True)
        ),
    )
