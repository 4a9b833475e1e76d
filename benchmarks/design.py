"""Seconds that a design takes, and how far its counts are from equal; prints one JSON object a line."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise, permutations, product
from typing import Any

from humaneval.design.rows import make_design
from humaneval.domain import POSITIONS

SIZES = ((8, 100, 100), (8, 500, 1_000), (8, 98_000, 10_000), (12, 1_000, 10_000))
"""Generators, stories, annotators."""


def largest_difference(counts: Counter[Any], cells: Iterable[Any]) -> int:
    """Between the counts of any two cells, those that never occur too."""
    values = [counts[cell] for cell in cells]
    return max(values) - min(values)


def main() -> None:
    """The paper's size first, then larger ones."""
    for generators, stories, annotators in SIZES:
        names = [f"generator-{number}" for number in range(generators)]
        blanks = {f"story-{number}": POSITIONS for number in range(stories)}
        start = time.perf_counter()
        design = make_design(generators=names, blanks=blanks, annotators=annotators, seed=0)
        seconds = time.perf_counter() - start
        rows = design.rows
        spread = {
            "generator × position": largest_difference(
                Counter((c.generator, c.position) for row in rows for c in row), product(names, POSITIONS)
            ),
            "generator × place": largest_difference(
                Counter((c.generator, k) for row in rows for k, c in enumerate(row)),
                product(names, range(generators)),
            ),
            "neighbours": largest_difference(
                Counter((a.generator, b.generator) for row in rows for a, b in pairwise(row)),
                permutations(names, 2),
            ),
        }
        size = {"generators": generators, "stories": stories, "annotators": annotators}
        print(
            json.dumps(
                {"figure": "seconds to design", **size, "seconds": round(seconds, 3), "spread": spread},
                ensure_ascii=False,
            )
        )


if __name__ == "__main__":
    main()
