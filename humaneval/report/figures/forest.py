"""The forest plot of a score table: a mark and an interval for each generator, and the line of chance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from humaneval.domain import Role
from humaneval.report.figures.drawing import Box, Drawing, Sheet, shortened
from humaneval.report.phrases import ROUGH, amount, between, chance, confidence, percent, sentence
from humaneval.scoring.questions.judging import Words
from humaneval.scoring.questions.question import Scale
from humaneval.scoring.scores import DETECTED, DETECTION, Chance, GeneratorScore, ScoreTable
from humaneval.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = {Role.CONTROL: "s", Role.SYSTEM: "o", Role.HUMAN: "D"}
LONGEST_NAME = 26
WIDE, NARROW = 660.0, 310.0
"""Widths in points."""
DETECTION_WORDS = DETECTED.question.words(DETECTION, DETECTED.settings, DETECTED.sentences)
GAP = 0.45
"""Room between the generators of two roles, in lines."""


@dataclass(frozen=True, slots=True)
class Plotted:
    """What a plot needs of scores of which only the counts are known."""

    level: float
    scores: tuple[GeneratorScore, ...]
    chance: Chance | None
    scale: Scale = DETECTION
    words: Words = DETECTION_WORDS


def score_plot(table: ScoreTable | Plotted, *, narrow: bool = False) -> Drawing:
    """Scores with their intervals, the line that chance alone gives, and the band of Human's interval.

    `narrow` puts names and scores above the lines, for screens of about 320 px.
    """
    kind, width, line = ("narrow", NARROW, 43.0) if narrow else ("wide", WIDE, 29.0)
    words = [sentence(row, table.level, table.scale) for row in table.scores]
    name = f"scores-{table.scale.name.replace('_', '-')}-{kind}" if table.scale.name else f"scores-{kind}"
    return Drawing(
        name,
        f"Scores with {confidence(table.level)}\N{NO-BREAK SPACE}% intervals",
        " ".join(filter(None, ("Forest plot.", *words, chance(table)))),
        line * _lines(table) + 30 + 44,
        partial(_draw, table=table, narrow=narrow),
        width,
        kind,
    )


def ceiling_band(table: ScoreTable | Plotted) -> Interval | None:
    """Where a system scores if nobody can tell its sentences: the achieved ceiling ± chance.

    The central range of the binomial distribution at the table's level, for the median n of the systems. None
    without an achieved ceiling, if there are too few marks for one, or if the range says nothing.
    """
    from scipy.stats import binom  # heavy, and no command needs it to print scores

    counts = [row.n for row in table.scores if row.role is Role.SYSTEM]
    if table.chance is None or table.chance.achieved is None or not counts:
        return None
    if sum(table.chance.picks) < ROUGH:
        return None
    n, beyond = int(median(counts)), (1 - table.level) / 2
    low, high = (float(binom.ppf(at, n, table.chance.achieved)) / n for at in (beyond, 1 - beyond))
    return Interval(low, high) if 0 < high - low < 1 else None


def _lines(table: ScoreTable | Plotted) -> float:
    return len(table.scores) + GAP * (len({row.role for row in table.scores}) - 1)


def _draw(sheet: Sheet, table: ScoreTable | Plotted, narrow: bool) -> None:
    size = 12.5 if narrow else 11.0
    longest = max(len(shortened(row.generator, LONGEST_NAME)) for row in table.scores)
    left, right = (12.0, 12.0) if narrow else (36 + 6.5 * longest, 162.0)
    box = Box(left, 30, sheet.width - right, sheet.height - 44)
    scale = table.scale
    low, high = (factor_of(scale) * end for end in (scale.low, scale.high))
    axes = sheet.axes(box, (low, high), (_lines(table) - 0.5, -0.5), size=size)
    axes.set_xticks(range(0, 101, 20) if scale.share else ticks_between(low, high))
    axes.tick_params(axis="x", length=4, labelcolor=sheet.colour("ink"))
    sheet.grid(axes, "x")
    sheet.text((box.left + box.right) / 2, sheet.height - 10, table.words.axis, "center", size=size)
    _draw_bands(sheet, axes, table)
    if table.chance:
        _draw_chance(sheet, axes, box, table.chance.nominal, scale, size)
    if not narrow:
        head = f"Score, {confidence(table.level)}\N{NO-BREAK SPACE}% interval"
        sheet.text(box.right + 14, 24, head, "left", "muted", size)
    place, previous = 0.0, table.scores[0].role
    for row in table.scores:
        if row.role is not previous:
            place, previous = place + GAP, row.role
        _draw_row(sheet, axes, row, place, size, narrow, scale)
        place += 1


def factor_of(scale: Scale) -> float:
    """What a score is multiplied by for the axis: shares are drawn in percent."""
    return 100.0 if scale.share else 1.0


def ticks_between(low: float, high: float) -> list[float]:
    """The whole numbers of a short scale, else about five."""
    step = max(1, round((high - low) / 5))
    return [float(low + at) for at in range(0, int(high - low) + 1, step)]


def _draw_chance(sheet: Sheet, axes: Axes, box: Box, nominal: float, scale: Scale, size: float) -> None:
    sheet.dashed(axes, x=factor_of(scale) * nominal)
    at = box.left + (box.right - box.left) * (nominal - scale.low) / scale.width
    text = f"{percent(nominal, 0)}\N{NO-BREAK SPACE}%" if scale.share else amount(nominal, scale)
    sheet.text(at, 24, f"chance {text}", "center", "chance", size)


def _draw_bands(sheet: Sheet, axes: Axes, table: ScoreTable | Plotted) -> None:
    """Human's interval, shaded, if systems are compared with it; where chance puts a system, between dotted
    lines."""
    for human in (row.interval for row in table.scores if shaded(table) and is_human(row) and row.interval):
        colour, times = sheet.colour("human"), factor_of(table.scale)
        axes.axvspan(times * human.low, times * human.high, color=colour, alpha=0.13, linewidth=0, zorder=0.5)
    band = ceiling_band(table)
    if band is not None:
        colour = sheet.colour("chance")
        axes.axvspan(100 * band.low, 100 * band.high, color=colour, alpha=0.08, linewidth=0, zorder=0.4)
        for end in band:
            axes.axvline(100 * end, color=colour, linewidth=1.1, linestyle=(0, (1, 3)), zorder=1.4)


def _draw_row(
    sheet: Sheet,
    axes: Axes,
    row: GeneratorScore,
    place: float,
    size: float,
    narrow: bool,
    scale: Scale,
) -> None:
    y = place + 0.2 if narrow else place
    at = factor_of(scale) * row.score
    line: dict[str, Any] = {"color": sheet.colour(str(row.role)), "clip_on": False}
    bar: dict[str, Any] = {"solid_capstyle": "butt", "zorder": 2, **line}
    if row.interval:
        low, high = (factor_of(scale) * end for end in row.interval)
        axes.plot([low, high], [y, y], linewidth=2.2, **bar)
        for end in (low, high):
            axes.plot([end, end], [y - 0.13, y + 0.13], linewidth=1.6, **bar)
    axes.plot(
        [at], [y], MARKERS[row.role], markersize=7.5 if row.role is Role.SYSTEM else 6.8, zorder=3, **line
    )
    name = shortened(row.generator, LONGEST_NAME)
    words: dict[str, Any] = {"fontsize": size, "color": sheet.colour("ink")}
    if narrow:
        shown = f"{name}\N{EN SPACE}{amount(row.score, scale)}"
        axes.text(factor_of(scale) * scale.low, place - 0.1, shown, va="bottom", ha="left", **words)
        return
    interval = between(row.interval, scale) if row.interval else _gated(row)
    numbers = f"{amount(row.score, scale)}\N{EN SPACE}({interval})"
    words |= {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
    axes.annotate(name, (0, y), (-14, 0), ha="right", **words)
    axes.annotate(numbers, (1, y), (14, 0), ha="left", **words)


def is_human(row: GeneratorScore) -> bool:
    return row.role is Role.HUMAN


def shaded(table: ScoreTable | Plotted) -> bool:
    """Whether Human's interval is drawn behind the others: its score means the same as a system's."""
    return not isinstance(table, ScoreTable) or table.asked.question.beside_human


def _gated(row: GeneratorScore) -> str:
    return "by construction" if "by construction" in row.note else "no interval"
