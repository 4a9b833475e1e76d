"""What `train --plan` foretells beside what the run then needs, in CPU seconds of one thread.

    python benchmarks/foretold.py [--model small|gpt2] [--strategies ilm lm] [--steps 60] [--every 25]

The toolkit's stories and the preset `small`, or GPT-2 small's layers with 4 examples a step. The clock of
both runs is the process's CPU time: the wall clock of a shared machine says how busy it is. Saving counts,
reading the stories does not. Prints one JSON line for each strategy.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from generators.checkpoints.sequences import STRATEGIES, SpecialIds
from generators.masks.documents import story_document
from generators.masks.named import load_mask
from generators.training.causal_model import new_model
from generators.training.causal_run import new_run
from generators.training.corpus import train_tokenizer
from generators.training.examples import mask_corpus
from generators.training.forecast import SECONDS, forecast
from generators.training.plan import PRESETS, Architecture, Plan
from generators.training.run import Run
from generators.training.state import Progress
from humaneval.stories import bundled_stories

OTHERS: dict[str, dict[str, Any]] = {
    "small": {},
    "gpt2": {"layers": 12, "width": 768, "heads": 12, "batch": 4},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", choices=tuple(OTHERS), default="small")
    parser.add_argument("--strategies", choices=STRATEGIES, nargs="+", default=["ilm", "lm"])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--every", type=int, default=25, help="Steps between evaluations.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    Run.clock = staticmethod(time.process_time)
    documents = [story_document(story) for story in bundled_stories() if story.split == "train"]
    tokenizer = train_tokenizer([document.text for document in documents], 8000)
    special = SpecialIds(tokenizer.get_vocab_size())
    training, validation = (
        mask_corpus(some, tokenizer, special, load_mask("hierarchical"), copies=copies)
        for some, copies in ((documents[20:], 16), (documents[:20], 1))
    )
    chosen = PRESETS["small"] | OTHERS[options.model]
    own = {field.name: chosen[field.name] for field in fields(Plan) if field.name in chosen}
    architecture = Architecture(*(chosen[name] for name in ("layers", "width", "heads")))
    for strategy in options.strategies:
        plan = replace(
            Plan(strategy, **own), minutes=math.inf, steps=options.steps, evaluate_every=options.every
        )
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for part in ("plan", "run"):
                model = new_model(architecture, special, 0)
                run = new_run(Path(folder) / part, plan, model, tokenizer, training, validation)
                wall, began = time.monotonic(), time.process_time()
                if part == "plan":
                    foretold = forecast(run.budget, Progress(), run.measure(SECONDS))
                else:
                    done = run.go()
                found.append((time.process_time() - began, time.monotonic() - wall))
        assert foretold is not None
        (measured, _), (needed, wall) = found
        record = {
            "model": options.model,
            "strategy": strategy,
            "steps": done.step,
            "evaluations": -(-done.step // options.every),
            "foretold_cpu_seconds": round(foretold.seconds, 1),
            "needed_cpu_seconds": round(needed, 1),
            "foretold_over_needed": round(foretold.seconds / needed, 3),
            "foretold_tokens": foretold.tokens,
            "tokens": done.tokens,
            "measured_for_cpu_seconds": round(measured, 1),
            "share_of_a_core": round(needed / wall, 2),
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
