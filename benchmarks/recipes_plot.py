"""Draws what `benchmarks/recipes.py` found: python benchmarks/recipes_plot.py LINES OUT.png [--table]

For each recipe and budget, of the two rates that were tried the one with the lower mean on validation
stories; the points are the mean over the seeds on test stories, the bars go from the least to the most. The
table has the same numbers.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter

from benchmarks.ordering_plot import COLOURS

BASE = "LM"
MORE = ("#E69F00", "#56B4E9", "#000000", "#999999")
MARKERS = "os^Dv<>P"


class Point(NamedTuple):
    """A recipe at a budget, in millions of tokens."""

    budget: float
    rate: float
    falls: bool
    values: Sequence[float]
    """On test stories, one for each seed in order."""


def points(lines: Sequence[dict[str, Any]]) -> dict[str, list[Point]]:
    """The points of each recipe, in order of budget."""
    tried: dict[tuple[str, float], dict[tuple[float, bool], list[dict[str, Any]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in lines:
        if line.get("stage") == "final" and line.get("test_sentence"):
            tried[line["name"], line["budget"]][line["rate"], line["falls"]].append(line)
    found: dict[str, list[Point]] = {}
    for (name, budget), settings in sorted(tried.items(), key=lambda item: item[0][1]):
        most = max(map(len, settings.values()))
        whole = {setting: some for setting, some in settings.items() if len(some) == most}
        rate, falls = min(whole, key=lambda one: statistics.mean(x["valid_sentence"] for x in whole[one]))
        chosen = sorted(whole[rate, falls], key=lambda line: line["seed"])
        values = [line["test_sentence"] for line in chosen]
        found.setdefault(name, []).append(Point(budget / 1e6, rate, falls, values))
    return dict(sorted(found.items(), key=lambda item: (item[0] != BASE, item[0])))


def draw(found: dict[str, list[Point]], out: Path) -> None:
    """Perplexities on the left, and as a multiple of LM's mean on the right."""
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    base = {point.budget: statistics.mean(point.values) for point in found[BASE]}
    for number, (name, some) in enumerate(found.items()):
        style = {"color": [*COLOURS, *MORE][number], "marker": MARKERS[number], "markersize": 4}
        for panel, relative in ((left, False), (right, True)):
            shown = [point for point in some if not relative or point.budget in base]
            by = [base[point.budget] if relative else 1.0 for point in shown]
            means = [statistics.mean(p.values) / b for p, b in zip(shown, by, strict=True)]
            spans = [
                [abs(edge(p.values) / b - m) for p, b, m in zip(shown, by, means, strict=True)]
                for edge in (min, max)
            ]
            x = [point.budget for point in shown]
            panel.errorbar(x, means, yerr=spans, capsize=3, linewidth=1.2, label=name, **style)
    left.set_yscale("log")
    left.yaxis.set_major_locator(FixedLocator([20, 25, 30, 40, 50, 70, 100, 150, 200, 300]))
    left.yaxis.set_major_formatter(ScalarFormatter())
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_ylabel("Perplexity of the masked sentence")
    right.set_ylabel("The same, as a multiple of LM's")
    right.axhline(1, color="#444444", linewidth=0.8, linestyle=":")
    ticks = sorted({point.budget for some in found.values() for point in some})
    for panel in (left, right):
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(FixedLocator(ticks))
        panel.xaxis.set_major_formatter(ScalarFormatter())
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.set_xlabel("Tokens trained on (millions)")
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False, fontsize=8)
    figure.savefig(out, dpi=150)


def table(found: dict[str, list[Point]]) -> str:
    """The points as lines of Markdown: mean, least and most."""
    budgets = sorted({point.budget for some in found.values() for point in some})
    rows = [["recipe", *(f"{budget:g} M" for budget in budgets)], ["---"] * (len(budgets) + 1)]
    for name, some in found.items():
        at = {point.budget: point for point in some}
        cells = (_cell(at[budget]) if budget in at else "" for budget in budgets)
        rows.append([name, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(point: Point) -> str:
    mean, low, high = statistics.mean(point.values), min(point.values), max(point.values)
    return f"{mean:.1f} ({low:.1f} to {high:.1f}) at {point.rate:g}{'' if point.falls else ' constant'}"


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    read = points([json.loads(line) for line in text.splitlines()])
    draw(read, Path(sys.argv[2]))
    if "--table" in sys.argv:
        print(table(read))
