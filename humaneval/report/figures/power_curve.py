"""The power curve of a study: its power with more or fewer responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from humaneval.planning.detectable import Chances, power_of
from humaneval.planning.forecast import outlook
from humaneval.planning.plan import Plan
from humaneval.report.figures.drawing import DASHES, WIDTH, Anchor, Box, Drawing, Sheet, ticks
from humaneval.report.phrases import amount, confidence, percent, unit
from humaneval.report.plan_table import achieved, achieved_plan, is_family
from humaneval.report.score_tables import NBSP, provenance
from humaneval.report.sections import Cell, Column, Figure, ReportTable, share
from humaneval.scoring.analysis.analyse import Analysis

HEIGHT = 250.0
BOX = Box(40, 36, WIDTH - 14, HEIGHT - 42)
STEPS = 60
FARTHEST = 40
"""The axis reaches the power wanted if that takes at most this many times the responses planned or
achieved."""


def power_figure(plan: Plan, analysis: Analysis) -> Figure | None:
    """The power for the planned effect at each number of responses, by the calculation of the plan's table.

    It starts from the scores achieved, as in that table's last column; if these leave no room for the effect,
    from the score expected. None if nothing is compared.
    """
    found = achieved_plan(plan, analysis)
    base = found or replace(plan, spammers=0.0, top_up=False)
    seen = outlook(base)
    if seen.decisive is None:
        return None
    many = is_family(base, seen)
    of = _Curve(base, seen.decisive, one_sided=seen.systems is None)
    planned = plan.responses
    n = achieved(analysis).responses
    wanted = of.needed()
    near = FARTHEST * max(planned, n)
    reach = [one for one in wanted if one is not None and one <= near]
    marks = ticks(max(1.5 * max(planned, n), 50, *(1.05 * one for one in reach)))
    top = marks[-1]
    powers = [of.at(top * place / STEPS) for place in range(STEPS + 1)]
    drawing = Drawing(
        "power",
        "Power by the number of responses",
        "The numbers are in the table below.",
        HEIGHT,
        partial(_draw, powers=powers, marks=marks, n=n, wanted=base.power, many=many),
    )
    scale, ends = base.scale, (seen.decisive.low, seen.decisive.high)
    if base.foreseen.pairwise:
        ends = ((1 - base.smallest_effect) / 2, (1 + base.smallest_effect) / 2)
    low, high = (
        amount(one if scale is None or scale.share else scale.low + one * scale.width, scale) for one in ends
    )
    size = confidence(base.smallest_effect)
    if scale is not None and not scale.share:
        size = f"{base.smallest_effect * scale.width:.2f}"
    start = "as scored here" if found else "as planned"
    curves = (
        "Solid curve: one comparison alone. Dashed curve: the hardest of a family of"
        f" {seen.decisive.comparisons}. Vertical"
        if many
        else "Vertical"
    )
    return Figure(
        "power",
        "Power",
        (drawing,),
        f"The chance that a test finds a difference of {size} points between scores of {low} and"
        f" {high}{unit(scale)} ({start}). It is computed by formula, as in the last column of the"
        f" plan’s table, with answers of one annotator correlated by {seen.correlation:.2f}. {curves}"
        f" line: the n achieved, {n:,.0f}. Level dashed line: the power wanted,"
        f" {confidence(base.power)}{NBSP}%; {_reached(wanted, many=many)}. {provenance(analysis)}",
        _table(of, marks, n, many=many),
    )


def _draw(
    sheet: Sheet, powers: Sequence[_Powers], marks: Sequence[float], n: float, wanted: float, many: bool
) -> None:
    top = marks[-1]
    axes = sheet.axes(BOX, (0, top), (0, 1))
    axes.set_xticks(marks, [f"{mark:,}" for mark in marks])
    levels = [0, 0.2, 0.4, 0.6, 0.8, 1]
    axes.set_yticks(levels, [percent(level, 0) for level in levels])
    axes.tick_params(pad=6)
    sheet.grid(axes, "y")
    sheet.dashed(axes, y=wanted)
    axes.axvline(n, color=sheet.colour("human"), linewidth=1.8)
    sizes = [min(one.n, top) for one in powers]
    colour = sheet.colour("system")
    axes.plot(sizes, [one.alone for one in powers], color=colour, linewidth=2)
    if many:
        axes.plot(sizes, [one.in_family for one in powers], color=colour, linewidth=2, linestyle=(0, DASHES))
    at = BOX.left + (BOX.right - BOX.left) * n / top
    anchor: Anchor = (
        "right" if at > (BOX.left + BOX.right) / 2 else "center" if at > BOX.left + 45 else "left"
    )
    sheet.text(at, BOX.top - 6, f"achieved: {n:,.0f}", anchor)
    sheet.text(BOX.left, 12, "Power, %", colour="muted")
    sheet.text(BOX.right, 12, f"level line: wanted, {confidence(wanted)}{NBSP}%", "right", "chance")
    sheet.text(BOX.right, HEIGHT - 6, "responses to each generator", "right", "muted")


class _Powers(NamedTuple):
    alone: float
    in_family: float
    n: float
    """Responses to each generator."""


class _Needed(NamedTuple):
    """Responses to each generator; None if no number of them suffices."""

    alone: float | None
    in_family: float | None


class _Curve:
    """The power of a plan's deciding family at other numbers of responses."""

    def __init__(self, plan: Plan, family: Chances, *, one_sided: bool) -> None:
        self._plan, self._family, self._one_sided = plan, family, one_sided
        self._each = plan.share_of_forms * plan.conditions_each

    def at(self, n: float) -> _Powers:
        other = replace(self._plan, annotators=max(1, round(n / self._each)))
        alone, family = (
            power_of(
                other, self._family.low, self._family.high, other.responses, error, one_sided=self._one_sided
            )
            for error in (1 - other.level, other.error_of(self._family.comparisons))
        )
        return _Powers(alone, family, other.responses)

    def needed(self) -> _Needed:
        """Responses for the power wanted."""
        alone, family = self._family.annotators_needed, self._family.annotators_needed_in_family
        return _Needed(alone and alone * self._each, family and family * self._each)


def _reached(needed: _Needed, *, many: bool) -> str:
    said = ["with no number of responses" if one is None else f"with {one:,.0f} responses" for one in needed]
    return (
        f"one comparison reaches it {said[0]}, the hardest {said[1]}" if many else f"it is reached {said[0]}"
    )


def _table(of: _Curve, marks: list[float], n: float, *, many: bool) -> ReportTable:
    rows = []
    for size in sorted({*marks, n} - {0}):
        one, achieved = of.at(size), " (achieved)" if size == n else ""
        rows.append((Cell(f"{size:,.4g}{achieved}", size), share(one.alone), *[share(one.in_family)] * many))
    return ReportTable(
        "power",
        "Power by the number of responses to each generator, %",
        (
            Column("n", "Responses", False, unit="responses to each generator"),
            Column("alone", "one comparison alone" if many else "Power", unit="share"),
            *[Column("in_family", "hardest of its family", unit="share")] * many,
        ),
        tuple(rows),
    )
