"""The cost of a million responses, in units of one pandas `groupby("generator").mean()`; prints JSON lines.

    python benchmarks/million.py [--responses 1000000] [--parts headline,bootstrap,mixed,oracle]

20,000 workers with five HITs each of one passage by each of ten generators, 5,000 stories; labels are
strings, as read from a file. Every part has a process of its own, which times the same groupby beside it (the
better of five runs each: other work on the machine disturbs both) and names its peak memory. "oracle" is
statsmodels' logistic regression with two-way clustered errors, where that package is installed: the one part
of the inference that it has for such data.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from humaneval.statistics.bootstrap import bootstrap
from humaneval.statistics.cells import cells
from humaneval.statistics.mixed_model import mixed_model
from humaneval.statistics.score_intervals import paired_differences, score_intervals

GENERATORS = tuple(f"generator-{number}" for number in range(10))
HITS_EACH = 5


def responses(count: int, seed: int = 30) -> pd.DataFrame:
    """`count` responses with worker sd 0.5 and story sd 0.7 on the logit; generators are 0.1 apart."""
    rng = np.random.default_rng(seed)
    hits = count // len(GENERATORS)
    workers, stories = max(hits // HITS_EACH, 2), max(hits // 20, 2)
    hit, generator = np.divmod(np.arange(hits * len(GENERATORS)), len(GENERATORS))
    worker = hit % workers
    story = (hit + generator * 7 * (stories // 71 + 1) + hit // stories) % stories
    logit = 0.1 * generator - 0.8 + rng.normal(0, 0.5, workers)[worker] + rng.normal(0, 0.7, stories)[story]
    missed = rng.random(worker.size) < 1 / (1 + np.exp(-logit))
    frame = pd.DataFrame(
        {
            "worker": np.array([f"A{number:013d}" for number in range(workers)], dtype=object)[worker],
            "story": np.array([f"story-{number}" for number in range(stories)], dtype=object)[story],
            "generator": np.array(GENERATORS, dtype=object)[generator],
            "missed": missed.astype(np.int64),
        }
    )
    frame = frame.astype(dict.fromkeys(("worker", "story", "generator"), "str"))
    return frame.sample(frac=1.0, random_state=seed, ignore_index=True)


def best(times: int, work: Callable[[], Any]) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def headline(frame: pd.DataFrame) -> dict[str, Any]:
    """All scores and all 45 differences."""
    table = cells(frame["missed"], frame["worker"], frame["story"], frame["generator"])
    scores, pairs = score_intervals(table), paired_differences(table)
    return {
        "scores": len(scores),
        "pairs": len(pairs),
        "test": pairs[0].test,
        "p_error": max(pair.p_error for pair in pairs),
    }


def bootstrapped(frame: pd.DataFrame) -> dict[str, Any]:
    """2,000 replicates of the two-way bootstrap."""
    drawn = bootstrap(frame["missed"], frame["worker"], frame["story"], frame["generator"], "both")
    return {"interval": list(drawn.interval(GENERATORS[0]))}


def mixed(frame: pd.DataFrame) -> dict[str, Any]:
    """The Laplace mixed model."""
    fit = mixed_model(frame["missed"], frame["worker"], frame["story"], frame["generator"])
    pair = fit.contrast(GENERATORS[1], GENERATORS[0])
    return {
        "statement": fit.statement,
        "worker_sd": fit.worker_sd,
        "story_sd": fit.story_sd,
        "contrast": pair.estimate,
        "standard_error": pair.standard_error,
    }


def oracle(frame: pd.DataFrame) -> dict[str, Any]:
    """statsmodels' GLM with two-way clusters."""
    try:
        import statsmodels.api as sm
    except ImportError:
        return {"statsmodels": "not installed"}
    codes = [pd.factorize(frame[name])[0] for name in ("worker", "story")]
    x = pd.get_dummies(frame["generator"], dtype=float)
    model = sm.GLM(frame["missed"], x, family=sm.families.Binomial())
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": np.column_stack(codes)})
    return {"standard_error": float(fit.bse.iloc[0])}


PARTS: dict[str, tuple[Callable[[pd.DataFrame], dict[str, Any]], int]] = {
    "headline": (headline, 5),
    "bootstrap": (bootstrapped, 2),
    "mixed": (mixed, 1),
    "oracle": (oracle, 1),
}


def run(part: str, count: int) -> None:
    frame = responses(count)
    built = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work, times = PARTS[part]
    result: dict[str, Any] = {}
    groupby = best(5, lambda: frame.groupby("generator")["missed"].mean())
    seconds = best(times, lambda: result.update(work(frame)))
    groupby = min(groupby, best(5, lambda: frame.groupby("generator")["missed"].mean()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = {
        "figure": part,
        "responses": len(frame),
        "times_groupby": round(seconds / groupby, 1),
        "seconds": round(seconds, 2),
        "groupby_seconds": round(groupby, 4),
        "peak_mib": peak // 1024,
        "frame_mib": built // 1024,
        **result,
    }
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--responses", type=int, default=1_000_000)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for part in options.parts.split(","):
        if options.here:
            run(part, options.responses)
        else:
            command = [sys.executable, __file__, "--here", "--parts", part]
            subprocess.run([*command, "--responses", str(options.responses)], check=True)


if __name__ == "__main__":
    main()
