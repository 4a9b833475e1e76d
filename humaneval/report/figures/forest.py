"""The forest plot of a score table as one inline SVG: real text, no scripts, the same bytes for the same
scores."""

from __future__ import annotations

import html
import io
import re
import warnings
from statistics import median
from typing import Any

from scipy.stats import binom

from humaneval.domain import Role
from humaneval.report.phrases import between, chance, percent, sentence
from humaneval.scoring.scores import GeneratorScore, ScoreTable
from humaneval.statistics.intervals import Interval

COLOURS = {
    "ink": ("#010101", "#1d2327", "#e8eaec"),
    "muted": ("#010102", "#59636b", "#a3adb5"),
    "grid": ("#010103", "#e1e5e8", "#343c43"),
    "system": ("#010104", "#1f5fa8", "#7db4f0"),
    "human": ("#010105", "#8a5a00", "#e0b04c"),
    "control": ("#010106", "#59636b", "#a3adb5"),
    "chance": ("#010107", "#a3243b", "#f08a9b"),
}
"""Name: (what matplotlib draws with, on a light page, on a dark page). All but the grid have a contrast of
4.5 or more."""

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
MARKERS = {Role.CONTROL: "s", Role.SYSTEM: "o", Role.HUMAN: "D"}
LONGEST_NAME = 26


def score_plot(table: ScoreTable, *, narrow: bool = False) -> str:
    """Scores with their intervals, the line that chance alone gives, and the band of Human's interval.

    Returns an `<svg>` element with `<title>` and `<desc>`, without width and height, so that the page sizes
    it. Its colours follow the reader's light or dark setting, also in a file of its own, and are light in
    print. `narrow` puts names and scores above the lines, for screens of about 320 px.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "humaneval" + ("-narrow" if narrow else ""),
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "text.parse_math": False,
    }
    with rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # glyphs that the measuring font lacks: the reader's fonts draw the text
        width, step = (4.3, 0.6) if narrow else (9.2, 0.40)
        top, bottom = 0.42, 0.66
        height = step * _places(table) + top + bottom
        figure = Figure(figsize=(width, height))
        FigureCanvasSVG(figure)
        longest = max(len(_short(row.generator)) for row in table.scores)
        left, right = (0.16, 0.16) if narrow else (0.5 + 0.09 * longest, 2.25)
        axes = figure.add_axes(
            (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
        )
        _draw(axes, table, narrow)
        out = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(out, format="svg", transparent=True, metadata=nothing)
    return _finished(out.getvalue(), table, narrow)


def ceiling_band(table: ScoreTable) -> Interval | None:
    """Where a system scores whose sentences nobody can tell: the achieved ceiling ± what chance does to its n.

    The central range of the binomial distribution at the table's level, for the median n of the systems; None
    without an achieved ceiling.
    """
    counts = [row.n for row in table.scores if row.role is Role.SYSTEM]
    if table.chance.achieved is None or not counts:
        return None
    n, beyond = int(median(counts)), (1 - table.level) / 2
    low, high = (float(binom.ppf(at, n, table.chance.achieved)) / n for at in (beyond, 1 - beyond))
    return Interval(low, high)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _places(table: ScoreTable) -> float:
    return len(table.scores) + 0.45 * (len({row.role for row in table.scores}) - 1)


def _draw(axes: Any, table: ScoreTable, narrow: bool) -> None:
    colour = {name: values[0] for name, values in COLOURS.items()}
    size = 12.5 if narrow else 11
    bottom = _places(table) - 0.5
    axes.set_xlim(0, 100)
    axes.set_ylim(bottom, -0.5)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(colour["muted"])
    axes.set_yticks([])
    axes.set_xticks(range(0, 101, 20))
    axes.tick_params(axis="x", colors=colour["muted"], labelcolor=colour["ink"], labelsize=size, length=4)
    axes.grid(axis="x", color=colour["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("Not identified, % of passages", fontsize=size, color=colour["ink"], labelpad=6)
    for human in (row for row in table.scores if row.role is Role.HUMAN):
        axes.axvspan(
            100 * human.interval.low,
            100 * human.interval.high,
            color=colour["human"],
            alpha=0.13,
            linewidth=0,
            zorder=0.5,
        )
    band = ceiling_band(table)
    if band is not None:
        axes.axvspan(
            100 * band.low, 100 * band.high, color=colour["chance"], alpha=0.10, linewidth=0, zorder=0.4
        )
        for end in band:
            axes.axvline(100 * end, color=colour["chance"], linewidth=0.9, linestyle=(0, (1, 3)), zorder=1.4)
    line = 100 * table.chance.nominal
    axes.axvline(line, color=colour["chance"], linewidth=1.4, linestyle=(0, (5, 3)), zorder=1.5)
    axes.annotate(
        f"chance {line:.0f}\N{NO-BREAK SPACE}%",
        (line, -0.5),
        (0, 5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=size,
        color=colour["chance"],
    )
    if not narrow:
        axes.annotate(
            f"Score, {percent(table.level, 0)}\N{NO-BREAK SPACE}% interval",
            (1, 1),
            (12, 5),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="left",
            va="bottom",
            fontsize=size,
            color=colour["muted"],
        )
    place, previous = 0.0, table.scores[0].role
    for row in table.scores:
        if row.role is not previous:
            place, previous = place + 0.45, row.role
        _draw_row(axes, row, place, size, narrow)
        place += 1


def _draw_row(axes: Any, row: GeneratorScore, place: float, size: float, narrow: bool) -> None:
    colour, ink = COLOURS[str(row.role)][0], COLOURS["ink"][0]
    y = place + 0.18 if narrow else place
    low, high, at = 100 * row.interval.low, 100 * row.interval.high, 100 * row.score
    axes.plot(
        [low, high], [y, y], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=2, clip_on=False
    )
    for end in (low, high):
        axes.plot(
            [end, end],
            [y - 0.13, y + 0.13],
            color=colour,
            linewidth=1.6,
            solid_capstyle="butt",
            zorder=2,
            clip_on=False,
        )
    axes.plot(
        [at],
        [y],
        MARKERS[row.role],
        color=colour,
        markersize=7.5 if row.role is Role.SYSTEM else 6.8,
        zorder=3,
        clip_on=False,
    )
    name = _short(row.generator)
    if narrow:
        axes.text(
            0,
            place - 0.12,
            f"{name}\N{EN SPACE}{percent(row.score)}",
            fontsize=size,
            color=ink,
            va="bottom",
            ha="left",
        )
        return
    numbers = f"{percent(row.score)}\N{EN SPACE}({between(row.interval)})"
    beside = {
        "xycoords": ("axes fraction", "data"),
        "textcoords": "offset points",
        "va": "center",
        "fontsize": size,
    }
    axes.annotate(name, (0, y), (-14, 0), ha="right", color=ink, **beside)
    axes.annotate(numbers, (1, y), (12, 0), ha="left", color=ink, **beside)


def _finished(svg: str, table: ScoreTable, narrow: bool) -> str:
    """Title and description, colours that follow the page, ids that no second plot on the page has."""
    kind = "narrow" if narrow else "wide"
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, count=1, flags=re.S)
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(
        r'id="(figure|patch|axes|matplotlib|text|line2d|PolyCollection|xtick|ytick)[\w.]*"', "", body
    )
    for name, (drawn, _, _) in COLOURS.items():
        body = body.replace(drawn, f"var(--plot-{name})")
    body = re.sub(r"font: ([\d.]+px) [^;\"]*", lambda found: f"font: {found[1]} {FONTS}", body)
    viewbox = re.search(r'viewBox="[^"]+"', body)
    inside = body[body.index(">") + 1 :]
    light = " ".join(f"--plot-{name}: {values[1]};" for name, values in COLOURS.items())
    dark = " ".join(f"--plot-{name}: {values[2]};" for name, values in COLOURS.items())
    style = (
        f".score-plot {{ {light} }} "
        f"@media screen and (prefers-color-scheme: dark) {{ .score-plot {{ {dark} }} }} "
        ".score-plot * { stroke-linejoin: round; }"
    )
    description = html.escape(
        "Forest plot. " + " ".join(sentence(row, table.level) for row in table.scores) + " " + chance(table),
        quote=False,
    )
    title = f"Scores with {percent(table.level, 0)}\N{NO-BREAK SPACE}% intervals"
    return (
        f'<svg class="score-plot {kind}" xmlns="http://www.w3.org/2000/svg"'
        f' xmlns:xlink="http://www.w3.org/1999/xlink" {viewbox[0] if viewbox else ""} role="img"'
        f' aria-labelledby="plot-title-{kind} plot-description-{kind}"><title'
        f' id="plot-title-{kind}">{title}</title><desc'
        f' id="plot-description-{kind}">{description}</desc><style>{style}</style>{inside.rstrip()}'
    )
