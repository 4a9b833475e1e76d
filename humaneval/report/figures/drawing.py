"""How the report draws: matplotlib, with text kept as text.

A `Drawing` is drawn when it is asked for: as an `<svg>` element for the page, as an SVG file, or as PDF for a
paper. The same data give the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

Anchor = Literal["left", "center", "right"]

WIDTH = 360.0
"""Width of most plots in points: at this width, text of 12 points stays readable on a screen of 320 px."""
TEXT, SMALL, TINY = 12.0, 10.5, 9.0
"""Text sizes in points."""
MARK = 20.0
"""Room for a line below a plot, in points."""
DOTS = 96
"""Dots an inch of a plot in a notebook."""
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"


class Colour(NamedTuple):
    """A colour of the plots. `drawn` is what matplotlib draws with: it is unlike all others, so that the page
    can put its own in its place."""

    drawn: str
    light: str
    dark: str


COLOURS = {
    "ink": Colour("#010101", "#1d2327", "#e8eaec"),
    "muted": Colour("#010102", "#59636b", "#a3adb5"),
    "grid": Colour("#010103", "#e1e5e8", "#343c43"),
    "system": Colour("#010104", "#1f5fa8", "#7db4f0"),
    "human": Colour("#010105", "#8a5a00", "#e0b04c"),
    "control": Colour("#010106", "#59636b", "#a3adb5"),
    "chance": Colour("#010107", "#a3243b", "#f08a9b"),
}
"""Except for the grid, each has a contrast of at least 4.5 with the page."""

DASHES = (5, 3)
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # journals refuse type 3
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # it comes with matplotlib, so every machine measures text alike
    "text.parse_math": False,
    "text.usetex": False,
    "path.simplify": False,
    "savefig.bbox": "standard",
}


def _variables(kind: Literal["light", "dark"]) -> str:
    return " ".join(f"--plot-{name}: {getattr(colour, kind)};" for name, colour in COLOURS.items())


STYLE = f"""
.plot {{ {_variables("light")} display: block; width: 100%; height: auto; font-family: {FONTS};
  stroke-linejoin: round; }}
@media screen and (prefers-color-scheme: dark) {{ .plot {{ {_variables("dark")} }} }}
"""
"""What a page says once about all its plots."""


class Sheet:
    """What a drawing is drawn on. It measures in points; text and margins start at the upper left corner."""

    def __init__(self, figure: Figure | SubFigure, drawing: Drawing, *, themed: bool) -> None:
        self.figure, self.width, self.height = figure, drawing.width, drawing.height
        self._themed = themed

    def colour(self, name: str) -> str:
        """A colour of `COLOURS`, as matplotlib has to draw it."""
        return COLOURS[name].drawn if self._themed else COLOURS[name].light

    def axes(
        self,
        box: Box,
        x: tuple[float, float],
        y: tuple[float, float],
        *,
        size: float = TEXT,
        line: bool = True,
    ) -> Axes:
        """Axes inside `box` with these limits; nothing is drawn yet but the x axis, if `line` is true."""
        axes = self.figure.add_axes(
            (
                box.left / self.width,
                1 - box.bottom / self.height,
                (box.right - box.left) / self.width,
                (box.bottom - box.top) / self.height,
            )
        )
        axes.set_xlim(x)
        axes.set_ylim(y)
        axes.patch.set_visible(False)
        for side in ("left", "right", "top"):
            axes.spines[side].set_visible(False)
        axes.spines["bottom"].set_visible(line)
        axes.spines["bottom"].set_color(self.colour("muted"))
        axes.tick_params(
            colors=self.colour("muted"), labelcolor=self.colour("muted"), labelsize=size, length=0
        )
        axes.set_axisbelow(True)
        axes.set_xticks([])
        axes.set_yticks([])
        return axes

    def grid(self, axes: Axes, which: Literal["x", "y"]) -> None:
        """Thin lines at the ticks of one axis."""
        axes.grid(axis=which, color=self.colour("grid"), linewidth=0.8)

    def dashed(self, axes: Axes, *, x: float | None = None, y: float | None = None) -> None:
        """The line of chance, or another that the caption names: dashed, across the axes."""
        kind: dict[str, Any] = {
            "color": self.colour("chance"),
            "linewidth": 1.4,
            "linestyle": (0, DASHES),
            "zorder": 1.5,
        }
        if x is not None:
            axes.axvline(x, **kind)
        if y is not None:
            axes.axhline(y, **kind)

    def text(
        self,
        x: float,
        y: float,
        words: str,
        anchor: Anchor = "left",
        colour: str = "ink",
        size: float = TEXT,
    ) -> None:
        """Words whose baseline is at `y`."""
        self.figure.text(
            x / self.width,
            1 - y / self.height,
            words,
            ha=anchor,
            va="baseline",
            color=self.colour(colour),
            fontsize=size,
        )


class Box(NamedTuple):
    """A rectangle on a sheet, in points from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """One plot. `draw` puts it on a sheet; nothing is drawn before."""

    key: str
    """Unlike those of all other drawings of a report: it names files and the ids in an SVG."""
    title: str
    description: str
    """The plot in words, or where its numbers stand."""
    height: float
    draw: Callable[[Sheet], None]
    width: float = WIDTH
    css: str = ""
    """A class of the element on the page, beside `plot`."""
    mark: str = ""
    """A line below the plot, for one that leaves the page which says this at its top."""

    @property
    def full_height(self) -> float:
        """With the line of the mark."""
        return self.height + (MARK if self.mark else 0)

    def draw_on(self, figure: Figure | SubFigure, *, themed: bool) -> None:
        """Draw it, and its mark below it."""
        if not self.mark:
            self.draw(Sheet(figure, self, themed=themed))
            return
        parts: Any = figure.subfigures(2, 1, hspace=0, height_ratios=[self.height, MARK])
        plot, below = parts
        self.draw(Sheet(plot, self, themed=themed))
        sheet = Sheet(below, replace(self, height=MARK), themed=themed)
        sheet.text(4, MARK - 6, self.mark, colour="chance", size=TINY)

    def figure(self) -> Figure:
        """A matplotlib figure with fixed colours, for a notebook: it shows itself as a picture there."""
        with plotting(self.key):
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            figure = Figure(figsize=(self.width / 72, self.full_height / 72))
            FigureCanvasAgg(figure)
            self.draw_on(figure, themed=False)
        # A notebook shows a figure by itself only if somebody has imported pyplot.
        figure._repr_png_ = partial(_png, figure, self.key)  # type: ignore[attr-defined]  # as IPython looks for it
        return figure

    def svg(self, *, alone: bool = False) -> str:
        """An `<svg>` element whose colours follow the page, without width and height: the page sizes it.

        `alone`: a file of its own instead, with a size and fixed colours.
        """
        out = io.StringIO()
        with plotting(self.key):
            from matplotlib.backends.backend_svg import FigureCanvasSVG
            from matplotlib.figure import Figure

            figure = Figure(figsize=(self.width / 72, self.full_height / 72))
            FigureCanvasSVG(figure)
            self.draw_on(figure, themed=not alone)
            nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
            figure.savefig(out, format="svg", transparent=True, metadata=nothing)
        return _element(out.getvalue(), self, alone=alone)


def _png(figure: Figure, salt: str) -> bytes:
    out = io.BytesIO()
    with plotting(salt):
        figure.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
    return out.getvalue()


@contextmanager
def plotting(salt: str) -> Iterator[None]:
    """Matplotlib as it comes, whatever its user has set, and our settings."""
    from matplotlib import rc_context, rcdefaults

    with rc_context(), warnings.catch_warnings():
        # The measuring font lacks some glyphs. The reader's fonts draw them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        rcdefaults()
        settings: Any = {**SETTINGS, "svg.hashsalt": f"humaneval {salt}"}
        with rc_context(settings):
            yield


def _element(drawn: str, drawing: Drawing, *, alone: bool) -> str:
    """Matplotlib's SVG with title and description, made small, with ids that no other drawing has."""
    root = ElementTree.fromstring(drawn)
    element = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg"})
    if alone:
        element.attrib |= {
            "width": f"{drawing.width:g}pt",
            "height": f"{drawing.full_height:g}pt",
            "font-family": FONTS,
            "stroke-linejoin": "round",
        }
    else:
        element.set("class", f"plot {drawing.css}".rstrip())
    named = {"title": drawing.title, "desc": f"{drawing.description} {drawing.mark}".strip()}
    element.attrib |= {
        "viewBox": root.get("viewBox", ""),
        "role": "img",
        "aria-labelledby": " ".join(f"{drawing.key}-{tag}" for tag in named),
    }
    for tag, words in named.items():
        ElementTree.SubElement(element, tag, {"id": f"{drawing.key}-{tag}"}).text = words
    ids = _Ids(drawing.key)
    for part in root:
        element.extend(_small(part, ids))
    if element.find(".//use") is not None:
        element.set("xmlns:xlink", "http://www.w3.org/1999/xlink")
    return ElementTree.tostring(element, encoding="unicode")


class _Ids:
    """New ids for those of the shapes that matplotlib uses again and again."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        return self._known.setdefault(name, f"{self._key}-{len(self._known) + 1}")


XLINK = "{http://www.w3.org/1999/xlink}href"
LEFT_OUT = {"metadata", "style", "clipPath"}
PLAIN = {"stroke-linecap": "butt", "stroke-linejoin": "round", "stroke-dashoffset": "0"}
"""Values that the reader's browser takes anyway, or that change nothing here."""


def _small(part: ElementTree.Element, ids: _Ids) -> list[ElementTree.Element]:
    """`part` without what a page does not need: groups, defaults, digits, and what nobody can see."""
    tag = part.tag.rpartition("}")[2]
    inside = [one for child in part for one in _small(child, ids)]
    if tag in LEFT_OUT:
        return []
    if tag in ("g", "defs"):
        return inside
    style = _style(part.get("style", ""))
    if tag == "path" and part.get("id") is None and style == {"fill": "none"}:
        return []
    new = ElementTree.Element(tag)
    new.text = part.text
    new.extend(inside)
    for name, value in part.items():
        if name == "id":
            new.set("id", ids.of(value))
        elif name == XLINK:
            new.set("xlink:href", f"#{ids.of(value.removeprefix('#'))}")
        elif name in ("d", "x", "y"):
            new.set(name, _rounded(value))
        elif name == "transform" and not value.startswith("rotate(-0 "):
            new.set(name, value)
    if style:
        new.set("style", ";".join(f"{name}:{value}" for name, value in style.items()))
    if part.get("id") is not None:
        shapes = ElementTree.Element("defs")
        shapes.append(new)
        return [shapes]
    return [new]


def _style(text: str) -> dict[str, str]:
    found = dict(re.findall(r"([\w-]+): ([^;]+)", text))
    found = {
        name: value for name, value in found.items() if PLAIN.get(name) != value and name != "font-family"
    }
    if found.get("stroke") == "none":
        del found["stroke"]
    for name in ("fill", "stroke"):
        for colour, (drawn, *_) in COLOURS.items():
            if found.get(name) == drawn:
                found[name] = f"var(--plot-{colour})"
    return found


def _rounded(numbers: str) -> str:
    """Numbers with two digits after the point, on one line."""
    short = re.sub(r"-?\d+\.\d+", lambda one: f"{round(float(one[0]), 2) + 0.0:g}", numbers)
    return " ".join(short.split())


def shortened(name: str, longest: int) -> str:
    """`name`, cut to so many characters."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def ticks(top: float, about: int = 5) -> list[float]:
    """Round numbers from 0 to at least `top`, in about so many steps.

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
