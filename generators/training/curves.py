"""The plot of a run's log: perplexity of masked text and training loss, by tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.training.log import readable

COLOUR = "#0072B2"


def plot_curves(lines: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the log of a run into a PNG or SVG file."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, ScalarFormatter

    figure = Figure(figsize=(9, 4), layout="constrained")
    above, below = figure.subplots(1, 2)
    most = max((line["tokens"] for line in lines), default=0)
    unit, words = (1e6, "millions") if most >= 2e6 else (1e3, "thousands")
    evaluated = [line for line in lines if line["perplexity"] is not None]
    tokens = [line["tokens"] / unit for line in evaluated]
    values = [line["perplexity"] for line in evaluated]
    style = {"color": COLOUR, "linewidth": 1.5}
    marks = {"marker": "o", "markersize": 4, "markevery": max(1, len(tokens) // 12)}
    above.plot(tokens, values, **style, **marks)
    if values:
        best = min(range(len(values)), key=values.__getitem__)
        above.annotate(
            readable(values[best]),
            (tokens[best], values[best]),
            color=COLOUR,
            fontsize=9,
            xytext=(0, 8),
            textcoords="offset points",
            ha="center",
        )
    below.plot([line["tokens"] / unit for line in lines], [line["loss"] for line in lines], **style)
    above.set_yscale("log")
    above.margins(0.08, 0.12)
    axis = above.yaxis
    low, high = above.get_ylim()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if high < 100 * low else (1.0,)))
    axis.set_major_formatter(ScalarFormatter() if high < 1e7 else LogFormatterSciNotation())
    axis.set_minor_formatter("")
    above.set_ylabel("Perplexity of masked text (validation)")
    below.set_ylabel("Training loss")
    for panel in (above, below):
        panel.set_xlabel(f"Tokens trained on ({words})")
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
