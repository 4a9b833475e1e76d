"""How long 200,000 responses take to score, and how often the intervals contain the truth; prints JSON lines.

    python benchmarks/scoring.py [--studies 1000]

Coverage is that of the headline interval for a system whose true score is the mean over simulated workers
(logit sd 0.5) and stories (logit sd 0.7), in the designs of docs/statistics.md. About a minute with 1,000
studies.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import pandas as pd

from humaneval.scoring.exclusions import Rule
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


def coverage(
    workers: int, each: int, stories: int, studies: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Share of `studies` whose 95 % interval contains the true score, and the mean width in points."""
    centre = -0.35
    draws = rng.normal(centre, np.hypot(0.5, 0.7), 2_000_000)
    truth = float((1 / (1 + np.exp(-draws))).mean())
    held, widths = 0, 0.0
    for _ in range(studies):
        worker = np.repeat(np.arange(workers), each)
        story = (np.arange(worker.size)) % stories
        logit = centre + rng.normal(0, 0.5, workers)[worker] + rng.normal(0, 0.7, stories)[story]
        missed = rng.random(worker.size) < 1 / (1 + np.exp(-logit))
        frame = pd.DataFrame({"worker": worker, "story": story, "generator": "lm", "position": 1})
        table = score(frame.assign(choice=1 + missed), Rule(control="none"))
        low, high = table.scores[0].interval
        held += low <= truth <= high
        widths += high - low
    return held / studies, 100 * widths / studies


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
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
    for workers, each, stories in ((96, 1, 96), (96, 1, 24), (24, 4, 96), (40, 8, 80), (200, 5, 100)):
        held, width = coverage(workers, each, stories, studies, rng)
        design = {"workers": workers, "each": each, "stories": stories}
        print(
            json.dumps(
                {
                    "figure": "coverage of 95 %",
                    **design,
                    "studies": studies,
                    "held": held,
                    "width": round(width, 1),
                }
            )
        )


if __name__ == "__main__":
    main()
