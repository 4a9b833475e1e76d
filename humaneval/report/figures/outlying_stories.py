"""The plot of the stories that stand out most by the mixed model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

from humaneval.report.figures.drawing import SMALL, WIDTH, Box, Drawing, Sheet, shortened
from humaneval.report.phrases import confidence
from humaneval.report.score_tables import NBSP, interval_head, provenance
from humaneval.report.sections import Column, Figure, ReportTable, number, number_span, text
from humaneval.scoring.analysis.analyse import Analysis
from humaneval.statistics.crossed_fit import BOUNDARY
from humaneval.statistics.intervals import Interval
from humaneval.statistics.mixed_model import MixedModel

MOST = 40
"""How many stories are drawn at most."""
STEP, TOP = 14.0, 12.0
LEFT, RIGHT = 160.0, WIDTH - 14


class _Effect(NamedTuple):
    story: str
    mode: float
    """On the log odds of not being found."""
    interval: Interval


def story_figure(analysis: Analysis, titles: Mapping[str, str] | None = None) -> Figure | None:
    """The stories that stand out most by the mixed model, with intervals; `titles` are what to call them,
    by key."""
    if not isinstance(analysis.model, MixedModel) or analysis.model.story_sd < BOUNDARY:
        return None
    titles, level = titles or {}, analysis.table.level
    effects = _effects(analysis, analysis.model)
    far = {one.story for one in sorted(effects, key=lambda one: -abs(one.mode))[:MOST]}
    chosen = [one for one in effects if one.story in far]
    named = [(titles.get(one.story, one.story), one) for one in chosen]
    (first, highest), (last, lowest) = named[0], named[-1]
    drawing = Drawing(
        "stories",
        "Stories that stand out",
        f"From {first} ({highest.mode:+.2f}) to {last} ({lowest.mode:+.2f}).",
        TOP + STEP * len(chosen) + 44,
        partial(_draw, named=named),
    )
    of = f"the {len(chosen)} of {len(effects)} stories" if len(effects) > len(chosen) else "the stories"
    return Figure(
        "stories",
        "Stories that stand out",
        (drawing,),
        f"Dots: the most likely effects by the mixed model of {of} that lie farthest from 0. Lines:"
        f" {confidence(level)}{NBSP}% intervals by their conditional standard deviations, with the rest of"
        " the model taken as known. Sentences in the stories to the right are marked less often. The model"
        f" shrinks such effects towards 0. {provenance(analysis)}",
        ReportTable(
            "stories",
            "Most likely effects of stories on the log odds of not being found",
            (
                Column("story", "Story", False),
                Column("title", "Title", False),
                Column("effect", "Effect", unit="log odds"),
                Column("interval", interval_head(analysis.table), span=True, unit="log odds"),
            ),
            tuple(
                (
                    text(one.story),
                    text(titles.get(one.story, "")),
                    number(one.mode, 3),
                    number_span(one.interval),
                )
                for one in effects
            ),
        ),
    )


def _effects(analysis: Analysis, model: MixedModel) -> list[_Effect]:
    """The effects of all stories, largest first."""
    reach = NormalDist().inv_cdf((1 + analysis.table.level) / 2)
    found = zip(model.stories, model.story_modes, analysis.story_deviations, strict=True)
    return sorted(
        (
            _Effect(
                analysis.stories[int(code)],
                float(mode),
                Interval(float(mode - reach * sd), float(mode + reach * sd)),
            )
            for code, mode, sd in found
        ),
        key=lambda one: (-one.mode, one.story),
    )


def _draw(sheet: Sheet, named: Sequence[tuple[str, _Effect]]) -> None:
    from matplotlib.ticker import MaxNLocator

    widest = max(max(abs(one.interval.low), abs(one.interval.high)) for _, one in named) or 1.0
    bottom = TOP + STEP * len(named)
    axes = sheet.axes(Box(LEFT, TOP, RIGHT, bottom), (-widest, widest), (len(named), 0))
    marks = MaxNLocator(4, symmetric=True).tick_values(-widest, widest)
    shown = [float(mark) for mark in marks if abs(mark) <= widest * 1.0001]
    axes.set_xticks(shown, [f"{mark:+.3g}".replace("-", "\N{MINUS SIGN}") if mark else "0" for mark in shown])
    axes.tick_params(pad=6)
    sheet.grid(axes, "x")
    axes.axvline(0, color=sheet.colour("muted"), linewidth=1)
    for place, (name, one) in enumerate(named):
        y = place + 0.5
        sheet.text(LEFT - 8, TOP + y * STEP + 3.5, shortened(name, 23), "right", size=SMALL)
        axes.plot([*one.interval], [y, y], color=sheet.colour("muted"), linewidth=1, clip_on=False)
        axes.plot([one.mode], [y], "o", color=sheet.colour("system"), markersize=6, clip_on=False, zorder=3)
    sheet.text(RIGHT, bottom + 38, "effect on the log odds of not being found", "right", "muted")
