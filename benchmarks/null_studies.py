"""How often the default test reports a difference between two equal generators; prints a table, then JSON
lines.

    python benchmarks/null_studies.py [--studies 2000]

Simulated studies as in benchmarks/calibration.py, whose two generators have the same score: near 5, 40 and
95 %. Few answers differ near the ends, so a test that is exact there rejects far less often than 5 %. Two
smaller designs stand beside those of the calibration. About four minutes; seeds are fixed.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

import numpy as np

from benchmarks.calibration import DESIGNS, STORY_SD, WORKER_SD, Design, studies
from humaneval.planning.power import location
from humaneval.statistics.headline import paired_differences

SCORES = (0.05, 0.4, 0.95)
SMALLER = (
    Design("40 workers × 1, stories once", 40, 1, 40),
    Design("60 workers × 1, stories × 3", 60, 1, 20),
    Design("12 workers × 4, stories × 4", 12, 4, 12),
)


def rejections(design: Design, score: float, count: int, seed: int = 23) -> float:
    """The share of `count` null studies with p of .05 or less, if both generators truly have `score`."""
    logit = location(score, float(np.hypot(WORKER_SD, STORY_SD)))
    null = studies(design, (logit, logit), count, seed)
    return sum(paired_differences(table)[0].p <= 0.05 for table in null) / count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2000)
    options = parser.parse_args()
    lines = []
    print(f"{'% of null studies rejected':38}" + "".join(f"{f'at {100 * one:.0f} %':>10}" for one in SCORES))
    for design in (*DESIGNS, *SMALLER):
        found = [rejections(design, score, options.studies) for score in SCORES]
        print(f"{design.name:38}" + "".join(f"{100 * one:>10.2f}" for one in found), flush=True)
        rejected = dict(zip(map(str, SCORES), found, strict=True))
        lines.append({"figure": "null studies rejected", **asdict(design), "rejected": rejected})
    for line in lines:
        print(json.dumps(line, ensure_ascii=False))


if __name__ == "__main__":
    main()
