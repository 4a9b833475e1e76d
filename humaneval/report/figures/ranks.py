"""The plot of ranks: how certain the order of the systems is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from humaneval.report.figures.drawing import WIDTH, Box, Drawing, Sheet, shortened
from humaneval.report.phrases import confidence, percent
from humaneval.report.score_tables import NBSP, drawn
from humaneval.report.sections import Column, Figure, ReportTable, number, share, text, whole
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.scoring.analysis.models import Standing
from humaneval.statistics.arrays import NotEstimable

STEP, TOP = 42.0, 24.0
BARS, RANKS = (8.0, 150.0), (190.0, 344.0)
"""Where the two halves lie, from left to right."""


def ranks_figure(analysis: Analysis) -> Figure | None:
    """How often each system came first among bootstrap replicates, and between which ranks it lay."""
    if isinstance(analysis.standings, NotEstimable):
        return None
    found = sorted(analysis.standings, key=lambda one: one.rank)
    level = f"{confidence(analysis.table.level)}{NBSP}%"
    return Figure(
        "ranks",
        "How certain the order of the systems is",
        (_drawing(found),),
        "Bars: the share of 2,000 bootstrap replicates of annotators in which a system came first. Lines: its"
        f" ranks in {level} of the replicates. Dots: its mean rank. Ranks are not a test; the verdicts are."
        f" {drawn(analysis)}",
        _table(found),
    )


def _drawing(found: Sequence[Standing]) -> Drawing:
    words = " ".join(
        f"{one.generator}: first in {percent(one.best, 0)}{NBSP}%, rank {one.low} to {one.high}."
        for one in found
    )
    height = TOP + STEP * len(found) + 28
    return Drawing(
        "ranks", "Ranks of the systems over replicates", words, height, partial(_draw, found=found)
    )


def _draw(sheet: Sheet, found: Sequence[Standing]) -> None:
    last = len(found)
    sheet.text(BARS[0], 13, "Came first, %", colour="muted")
    sheet.text((RANKS[0] + RANKS[1]) / 2, 13, "Rank", "center", "muted")
    bottom = TOP + STEP * last
    scale = (1 - 1.4 / WIDTH, last + 1.4 / WIDTH) if last > 1 else (0.0, 2.0)
    ranks = sheet.axes(Box(RANKS[0], TOP, RANKS[1], bottom), scale, (last, 0), line=False)
    ranks.set_xticks(
        [rank for rank in range(1, last + 1) if last <= 12 or rank in (1, last) or rank % 5 == 0]
    )
    ranks.tick_params(axis="x", pad=6)
    sheet.grid(ranks, "x")
    # A bar of 100 % ends where its number still fits.
    bars = sheet.axes(Box(BARS[0], TOP, BARS[1] - 34, bottom), (0, 1), (last, 0), line=False)
    bars.axvline(0, color=sheet.colour("muted"), linewidth=1, clip_on=False)
    colour = sheet.colour("system")
    line: dict[str, Any] = {"color": colour, "clip_on": False, "solid_capstyle": "butt"}
    for place, one in enumerate(found):
        middle = place + 26 / STEP
        sheet.text(BARS[0] + 5, TOP + place * STEP + 14, shortened(one.generator, 24))
        bars.barh(middle, one.best, height=12 / STEP, color=colour, linewidth=0)
        end = BARS[0] + (BARS[1] - 34 - BARS[0]) * one.best
        sheet.text(end + 5, TOP + place * STEP + 30.5, percent(one.best, 0))
        ranks.plot([one.low, one.high], [middle, middle], linewidth=2, **line)
        for edge in (one.low, one.high):
            ranks.plot([edge, edge], [middle - 5 / STEP, middle + 5 / STEP], linewidth=1.6, **line)
        ranks.plot([one.rank], [middle], "o", markersize=8.5, color=colour, clip_on=False, zorder=3)


def _table(found: Sequence[Standing]) -> ReportTable:
    return ReportTable(
        "ranks",
        "Ranks of the systems over bootstrap replicates; rank 1 has the largest score",
        (
            Column("generator", "System", False),
            Column("first", "Came first, %", unit="share of replicates"),
            Column("rank", "Mean rank"),
            Column("rank_low", "Rank, from"),
            Column("rank_high", "to"),
            Column("letters", "Letters", False),
        ),
        tuple(
            (
                text(one.generator),
                share(one.best),
                number(one.rank, 1),
                whole(one.low),
                whole(one.high),
                text(one.letters),
            )
            for one in found
        ),
        "Systems without a common letter were told apart by the verdicts. A common letter does not show that"
        " two systems score alike: this study did not tell them apart, or did not compare them.",
    )
