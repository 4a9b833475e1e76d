"""How often the default test reports a difference between two equal generators; prints a table, then JSON
lines.

    python benchmarks/null_studies.py [--studies 2000] [--levels]

Simulated studies as in benchmarks/calibration.py, whose two generators have the same score: near 5, 40 and
95 %. Few answers differ near the ends, so a test that is exact there rejects far less often than 5 %. Two
smaller designs stand beside those of the calibration. About four minutes; seeds are fixed.

--levels: no simulation, but the level of McNemar's mid-p test from all tables, for 12 to 300 annotators of
whose pairs up to half differ, at 5 % and its shares. Half a minute.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

import numpy as np
from scipy.stats import binom

from benchmarks.calibration import DESIGNS, Design, studies
from humaneval.statistics.paired_tests import FEW
from humaneval.statistics.score_intervals import paired_differences

SCORES = (0.05, 0.4, 0.95)
SHARES = range(1, 29)
SMALLER = (
    Design("40 workers × 1, stories once", 40, 1, 40),
    Design("60 workers × 1, stories × 3", 60, 1, 20),
    Design("12 workers × 4, stories × 4", 12, 4, 12),
)


def rejections(design: Design, score: float, count: int, seed: int = 23) -> float:
    """The share of `count` null studies with p of .05 or less, if both generators truly have `score`."""
    null = studies(design, (score, score), count, seed)
    return sum(paired_differences(table)[0].p <= 0.05 for table in null) / count


def levels(one_sided: bool, most: int = 300) -> dict[int, float]:
    """By k from 1 to 28: the largest level of the mid-p test at 5 %/k, over 5 %/k."""
    m = np.arange(most + 1)
    rejected = {k: np.zeros(most + 1) for k in SHARES}
    for number in m.tolist():
        odds = binom.pmf(np.arange(number + 1), number, 0.5)
        tail = np.cumsum(odds) - odds / 2
        p = tail if one_sided else np.minimum(1.0, 2 * np.minimum(tail, tail[::-1]))
        for k in SHARES:
            rejected[k][number] = odds[p <= 0.05 / k + 1e-12].sum()
    found = dict.fromkeys(SHARES, 0.0)
    for n in range(FEW, most + 1):
        differ = binom.pmf(m[: n + 1, None], n, np.linspace(0.005, 0.5, 100)[None, :])
        for k in SHARES:
            found[k] = max(found[k], float((rejected[k][: n + 1] @ differ).max()) * k / 0.05)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--levels", action="store_true")
    options = parser.parse_args()
    if options.levels:
        for one_sided in (False, True):
            level = {"figure": "level over 5 %/k", "one_sided": one_sided, "by k": levels(one_sided)}
            print(json.dumps(level))
        return
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
