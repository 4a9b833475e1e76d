"""The plot of annotators: detection of the systems' sentences against time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from humaneval.report.figures.drawing import WIDTH, Box, Drawing, Sheet, ticks
from humaneval.report.phrases import percent, short_pseudonym
from humaneval.report.score_tables import NBSP, provenance
from humaneval.report.sections import Cell, Column, Figure, ReportTable, number, share, whole
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.statistics.intervals import Interval

HEIGHT = 260.0
BOX = Box(40, 24, WIDTH - 14, HEIGHT - 42)
GOLDEN = 0.618034


class _Point(NamedTuple):
    worker: str
    detected: int
    systems: int
    seconds: float
    counted: bool


def worker_figure(analysis: Analysis) -> Figure | None:
    """Each annotator's detection of the systems' sentences against her time, with the band that chance
    gives."""
    from scipy.stats import binom  # heavy, and no command needs it to print scores

    known = [
        _Point(one.worker, one.detected, one.systems, one.median_seconds, one.counted)
        for one in analysis.workers
        if one.systems and one.median_seconds is not None
    ]
    if len(known) < 2:
        return None
    usual = Counter(one.systems for one in known).most_common(1)[0][0]
    luck = 1 - analysis.table.ceiling
    band = Interval(*(float(binom.ppf(at, usual, luck)) / usual for at in (0.025, 0.975)))
    drawing = Drawing(
        "workers",
        "Annotators: detection against time",
        f"{len(known)} annotators; medians:"
        f" {percent(median(one.detected / one.systems for one in known))}{NBSP}% detected,"
        f" {median(one.seconds for one in known):.1f} seconds a passage. The table of annotators lists each"
        " of them.",
        HEIGHT,
        partial(_draw, known=known, luck=luck, band=band),
    )
    return Figure(
        "workers",
        "Annotators: detection against time",
        (drawing,),
        "Circles: annotators who count. Crosses: those who were excluded. Marks are moved up or down by up to"
        " a third of a passage, so that they do not hide each other. Dashed line: what guessing finds,"
        f" {percent(luck, 0)}{NBSP}%. Band: where at least 95{NBSP}% of annotators who guess on {usual}"
        f" passages would lie. {provenance(analysis)}",
        _table(known),
    )


def _draw(sheet: Sheet, known: Sequence[_Point], luck: float, band: Interval) -> None:
    marks = ticks(max(one.seconds for one in known))
    axes = sheet.axes(BOX, (0, marks[-1]), (0, 1))
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    levels = [0, 0.2, 0.4, 0.6, 0.8, 1]
    axes.set_yticks(levels, [percent(level, 0) for level in levels])
    axes.tick_params(pad=6)
    sheet.grid(axes, "y")
    axes.axhspan(band.low, band.high, color=sheet.colour("chance"), alpha=0.1, linewidth=0, zorder=0.5)
    sheet.dashed(axes, y=luck)
    points: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    # Few passages give few different shares. Golden steps up and down, within a third of a passage, keep the
    # marks apart.
    for place, one in enumerate(sorted(known, key=lambda one: one.seconds)):
        apart = ((place * GOLDEN) % 1.0 - 0.5) * 0.66 / one.systems
        if one.detected in (0, one.systems):  # inside the frame
            apart = abs(apart) if not one.detected else -abs(apart)
        points[one.counted].append((one.seconds, one.detected / one.systems + apart))
    for counted, marker, name in ((True, "o", "system"), (False, "x", "human")):
        if points[counted]:
            x, y = zip(*points[counted], strict=True)
            axes.plot(
                x,
                y,
                marker,
                markersize=5.2,
                markerfacecolor="none",
                markeredgecolor=sheet.colour(name),
                markeredgewidth=1.3 if counted else 1.8,
                clip_on=False,
            )
    sheet.text(BOX.left, 12, "Detected, % of the systems’ passages", colour="muted")
    sheet.text(BOX.right, HEIGHT - 6, "median seconds a passage", "right", "muted")


def _table(known: Sequence[_Point]) -> ReportTable:
    return ReportTable(
        "worker_scatter",
        "Annotators: detection against time",
        (
            Column("annotator", "Annotator", False),
            Column("detected", "Detected, %", unit="share"),
            Column("passages", "Passages of systems"),
            Column("seconds", "Median seconds", unit="seconds a passage"),
            Column("counted", "Counted", False),
        ),
        tuple(
            (
                Cell(short_pseudonym(one.worker), one.worker),
                share(one.detected / one.systems),
                whole(one.systems),
                number(one.seconds, 1),
                Cell("yes" if one.counted else "no", int(one.counted)),
            )
            for one in known
        ),
    )
