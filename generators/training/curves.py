"""The plot of a run's log: perplexity of masked text and training loss, by tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from generators.training.log import readable

# Okabe and Ito's colours, which colour-blind people can distinguish; markers repeat the distinction.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vP"


def plot_curves(runs: Mapping[str, Sequence[Mapping[str, Any]]], path: Path, *, title: str = "") -> None:
    """Draw the logs of one or more runs, by name, into a PNG or SVG file."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, ScalarFormatter

    figure = Figure(figsize=(9, 4), layout="constrained")
    above, below = figure.subplots(1, 2)
    most = max((line["tokens"] for lines in runs.values() for line in lines), default=0)
    unit, words = (1e6, "millions") if most >= 2e6 else (1e3, "thousands")
    for number, (name, lines) in enumerate(runs.items()):
        colour = COLOURS[number % len(COLOURS)]
        evaluated = [line for line in lines if line["perplexity"] is not None]
        tokens = [line["tokens"] / unit for line in evaluated]
        values = [line["perplexity"] for line in evaluated]
        style = {"color": colour, "linewidth": 1.5}
        marks = {
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 4,
            "markevery": max(1, len(tokens) // 12),
        }
        above.plot(tokens, values, label=name, **style, **marks)
        if values:
            best = min(range(len(values)), key=values.__getitem__)
            above.annotate(
                readable(values[best]),
                (tokens[best], values[best]),
                color=colour,
                fontsize=9,
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
            )
        below.plot(
            [line["tokens"] / unit for line in lines], [line["loss"] for line in lines], label=name, **style
        )
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
    if len(runs) > 1:
        above.legend(frameon=False)
    if title:
        figure.suptitle(title, fontsize=11)
    figure.savefig(path, dpi=150)
