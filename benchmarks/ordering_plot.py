"""Draws the curves of `benchmarks/gpu.py --part ordering` from its JSON lines: python
benchmarks/ordering_plot.py LINES OUT.png"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, ScalarFormatter

from generators.training.perplexity_tables import NAMES

BATCH = 96
# Okabe and Ito's colours, which colour-blind people can distinguish; markers repeat the distinction.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
MARKERS = "osD^"


def main(lines: Path, out: Path) -> None:
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in lines.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "valid_sentence" in record:
            at = record["step"] * BATCH / 1000
            curves.setdefault(record["strategy"], []).append((at, record["valid_sentence"]))
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    base = dict(curves["lm"])
    for number, (strategy, points) in enumerate(curves.items()):
        style = {
            "color": COLOURS[number],
            "marker": MARKERS[number],
            "markersize": 4,
            "label": NAMES[strategy],
        }
        x, y = zip(*points, strict=True)
        left.plot(x, y, **style)
        right.plot(x, [value / base[at] for at, value in points], **style)
    left.set_yscale("log")
    left.yaxis.set_major_locator(FixedLocator([30, 40, 50, 70, 100, 150, 200]))
    left.yaxis.set_major_formatter(ScalarFormatter())
    left.yaxis.set_minor_formatter(NullFormatter())
    left.set_ylabel("Perplexity of the masked sentence")
    right.set_ylabel("The same, as a multiple of LM's")
    for panel in (left, right):
        panel.set_xlabel("Masked examples trained on (thousands)")
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False)
    figure.savefig(out, dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
