"""How long 200,000 responses take to score; prints JSON lines.

python benchmarks/scoring.py
"""

from __future__ import annotations

import json
import time

import numpy as np
import pandas as pd

from humaneval.scoring.scores import score

GENERATORS = ("control", "bert", "sa", "lm-scratch", "lm", "ilm-scratch", "ilm", "human")


def responses(count: int, rng: np.random.Generator) -> pd.DataFrame:
    """`count` responses by annotators with one row of eight each, on 5,000 stories."""
    annotators = count // len(GENERATORS)
    worker = np.repeat(np.arange(annotators), len(GENERATORS))
    generator = np.tile(np.arange(len(GENERATORS)), annotators)
    position = rng.integers(1, 6, worker.size)
    choice = np.where(generator == 0, position, rng.integers(1, 6, worker.size))
    return pd.DataFrame(
        {
            "worker": [f"w{number}" for number in worker],
            "story": [f"s{number}" for number in rng.integers(0, 5000, worker.size)],
            "generator": np.array(GENERATORS)[generator],
            "position": position,
            "choice": choice,
        }
    )


def main() -> None:
    rng = np.random.default_rng(20)
    for count in (8_000, 200_000):
        frame = responses(count, rng)
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            score(frame)
            seconds.append(time.perf_counter() - start)
        print(
            json.dumps({"figure": "seconds to score", "responses": count, "seconds": round(min(seconds), 3)})
        )


if __name__ == "__main__":
    main()
