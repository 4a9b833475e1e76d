"""Draws what `benchmarks/recipes.py` found: python benchmarks/recipes_plot.py LINES OUT.png [--table]

For each recipe and budget, of the two rates that were tried the one with the lower mean on validation
stories. The points are the mean over the seeds on test stories, the bars go from the least to the most. The
tables have perplexities, and multiples of LM's mean with the standard deviation over the seeds.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter

from benchmarks.recipe_cells import LM, RECIPES, Recipe

BASE = LM.name
# Okabe and Ito's colours, which colour-blind people can distinguish; markers repeat the distinction.
COLOURS = {"two-means": "#D55E00", "one-mean": "#009E73", "answers=2": "#CC79A7"}
MARKERS = {"two-means": "s", "one-mean": "o", "answers=2": "D"}
BESIDE = 1.012
"""Recipes of a budget stand side by side, each this factor to the right of the one before."""


class Point(NamedTuple):
    """A recipe at a budget, in millions of tokens."""

    budget: float
    rate: float
    falls: bool
    values: Sequence[float]
    """On test stories, one for each seed in order."""


def points(lines: Sequence[dict[str, Any]]) -> dict[str, list[Point]]:
    """The points of each recipe, by its name, in order of budget."""
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
    return found


def draw(found: dict[str, list[Point]], out: Path) -> None:
    """Perplexities on the left, and as a multiple of LM's mean on the right."""
    figure = Figure(figsize=(10, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    base = {point.budget: statistics.mean(point.values) for point in found[BASE]}
    recipes = [recipe for recipe in RECIPES if recipe.name in found]
    for number, recipe in enumerate(recipes):
        some = [point for point in found[recipe.name] if point.budget in base]
        beside = BESIDE ** (number - len(recipes) / 2)
        _curve(left, recipe, some, dict.fromkeys(base, 1.0), beside)
        _curve(right, recipe, some, base, beside)
    left.set_yscale("log")
    left.yaxis.set_major_locator(FixedLocator([20, 25, 30, 40, 50, 70, 100, 150, 200, 300]))
    left.yaxis.set_major_formatter(ScalarFormatter())
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_ylabel("Perplexity of the masked sentence")
    right.set_ylabel("The same, as a multiple of LM's mean")
    right.axhline(1, color="#444444", linewidth=0.8)
    for panel in (left, right):
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(FixedLocator(sorted(base)))
        panel.xaxis.set_major_formatter(ScalarFormatter())
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xlabel("Tokens trained on (millions)")
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False, fontsize=8, handlelength=3.5)
    figure.savefig(out, dpi=150)


def _curve(
    panel: Axes, recipe: Recipe, some: Sequence[Point], base: dict[float, float], beside: float
) -> None:
    """One recipe's points. The colour says the loss; dashes mean masked sentences, dots plain rows."""
    plain = recipe.name == BASE
    means = [statistics.mean(point.values) / base[point.budget] for point in some]
    edges: tuple[Callable[..., float], ...] = (min, max)
    spans = [
        [abs(edge(point.values) / base[point.budget] - mean) for point, mean in zip(some, means, strict=True)]
        for edge in edges
    ]
    panel.errorbar(
        [point.budget * beside for point in some],
        means,
        yerr=spans,
        capsize=3,
        linewidth=1.3,
        linestyle="--" if recipe.masks == "sentence" else ":" if recipe.plain_rows else "-",
        color="#0072B2" if plain else COLOURS[recipe.loss],
        marker="^" if plain else MARKERS[recipe.loss],
        markersize=4.5,
        label=recipe.name,
    )


def tables(found: dict[str, list[Point]]) -> str:
    """The points as two Markdown tables: perplexities (mean, least, most), and multiples of LM's mean."""
    base = {point.budget: statistics.mean(point.values) for point in found[BASE]}

    def perplexity(point: Point) -> str:
        mean, low, high = statistics.mean(point.values), min(point.values), max(point.values)
        schedule = "falling" if point.falls else "constant"
        return f"{mean:.1f} ({low:.1f}–{high:.1f}), {point.rate:g} {schedule}"

    def multiple(point: Point) -> str:
        some = [value / base[point.budget] for value in point.values]
        return f"{statistics.mean(some):.2f} ± {statistics.stdev(some):.2f}"

    return "\n\n".join(_table(found, sorted(base), cell) for cell in (perplexity, multiple))


def _table(found: dict[str, list[Point]], budgets: Sequence[float], cell: Callable[[Point], str]) -> str:
    rows = [["recipe", *(f"{budget:g} M" for budget in budgets)], ["---"] * (len(budgets) + 1)]
    for recipe in RECIPES:
        at = {point.budget: point for point in found.get(recipe.name, [])}
        rows.append([recipe.name, *(cell(at[budget]) if budget in at else "" for budget in budgets)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    read = points([json.loads(line) for line in text.splitlines()])
    draw(read, Path(sys.argv[2]))
    if "--table" in sys.argv:
        print(tables(read))
