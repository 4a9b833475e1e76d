"""A small canvas for the report's plots: an `<svg>` of real text and plain shapes, coloured by the page's own
style."""

from __future__ import annotations

from html import escape
from typing import Literal

from humaneval.report.figures.forest import COLOURS

Anchor = Literal["start", "middle", "end"]

WIDTH = 360.0
"""Of a plot, in its own units: text of 12 stays readable on a screen of 320 px."""


def _variables(kind: int) -> str:
    return " ".join(f"--plot-{name}: {values[kind]};" for name, values in COLOURS.items())


STYLE = f"""
.chart {{ {_variables(1)} display: block; width: 100%; height: auto; }}
@media screen and (prefers-color-scheme: dark) {{ .chart {{ {_variables(2)} }} }}
.chart text {{ font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; fill: var(--plot-ink); }}
.chart .muted {{ fill: var(--plot-muted); }}
.chart .small {{ font-size: 10.5px; }}
.chart .chance-text {{ fill: var(--plot-chance); }}
.chart .axis {{ stroke: var(--plot-muted); stroke-width: 1; }}
.chart .grid {{ stroke: var(--plot-grid); stroke-width: 1; }}
.chart .chance {{ stroke: var(--plot-chance); stroke-width: 1.4; stroke-dasharray: 5 3; fill: none; }}
.chart .band {{ fill: var(--plot-chance); fill-opacity: 0.13; }}
.chart .data {{ stroke: var(--plot-system); stroke-width: 2; fill: none; }}
.chart .dashed {{ stroke-dasharray: 7 3; }}
.chart .mark {{ fill: var(--plot-system); }}
.chart .ring {{ fill: none; stroke: var(--plot-system); stroke-width: 1.3; }}
.chart .cross {{ stroke: var(--plot-human); stroke-width: 1.8; fill: none; }}
.chart .now {{ stroke: var(--plot-human); stroke-width: 1.8; fill: none; }}
.chart .cell {{ fill: var(--plot-system); }}
.chart .found {{ fill: none; stroke: var(--plot-ink); stroke-width: 1.4; }}
"""


class Canvas:
    """Draw on it, then take `svg()`. All text is escaped; coordinates are rounded, so that the same data give
    the same bytes."""

    def __init__(self, key: str, height: float, title: str, description: str, width: float = WIDTH) -> None:
        self.key, self.width, self.height = key, width, height
        self.title, self.description = title, description
        self.parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """From one point to another."""
        self.parts.append(f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def rectangle(
        self, x: float, y: float, width: float, height: float, css: str, opacity: float | None = None
    ) -> None:
        """From the upper left corner."""
        strength = "" if opacity is None else f' fill-opacity="{opacity:.2f}"'
        self.parts.append(
            f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}"'
            f' height="{height:.1f}"{strength}/>'
        )

    def circle(self, x: float, y: float, radius: float, css: str) -> None:
        """Around a point."""
        self.parts.append(f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>')

    def cross(self, x: float, y: float, reach: float, css: str) -> None:
        """Two short lines through a point."""
        self.line(x - reach, y - reach, x + reach, y + reach, css)
        self.line(x - reach, y + reach, x + reach, y - reach, css)

    def path(self, points: list[tuple[float, float]], css: str) -> None:
        """A line through points."""
        self.parts.append(
            f'<polyline class="{css}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
        )

    def text(self, x: float, y: float, words: str, anchor: Anchor = "start", css: str = "") -> None:
        """Words that stand on `y`."""
        kind = f' class="{css}"' if css else ""
        self.parts.append(
            f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words, quote=False)}</text>'
        )

    def svg(self) -> str:
        """The element, without width and height: the page sizes it."""
        return (
            f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g}'
            f' {self.height:g}" role="img" '
            f'aria-labelledby="chart-{self.key}-title chart-{self.key}-words">'
            f'<title id="chart-{self.key}-title">{escape(self.title, quote=False)}</title>'
            "<desc"
            f' id="chart-{self.key}-words">{escape(self.description, quote=False)}</desc>{"".join(self.parts)}</svg>'
        )


def short(name: str, longest: int) -> str:
    """`name`, cut to so many characters."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def ticks(top: float, about: int = 5) -> list[float]:
    """Round numbers from 0 to at least `top`, about so many steps.

    >>> ticks(237)
    [0, 50, 100, 150, 200, 250]
    """
    top = top or 1.0
    rough = top / about
    size = 10.0 ** len(str(int(rough))) / 10 if rough >= 1 else 1.0
    while size > rough:
        size /= 10
    step = next(size * times for times in (1, 2, 5, 10) if size * times >= rough * 0.999)
    found = [0.0]
    while found[-1] < top * 0.999999:
        found.append(len(found) * step)
    return [int(at) if at == int(at) else at for at in found]
