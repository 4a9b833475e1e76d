"""Training on the CPU against the plain baseline: useful tokens a process CPU second on one thread, in turns.

    python benchmarks/training.py FOLDER [--tokenizer FILE] [--model small|gpt2] [--turns N]
    python benchmarks/training.py FOLDER --same-loss [--steps 500]

FOLDER has train.csv and valid.csv. The baseline pads to 256, works in three micro-batches of 8 and computes
all logits; ours is what `humaneval train` does with the same 24 examples. Both in fp32 with the paper's
dropout. `--same-loss` trains both on the same micro-batches without dropout and compares their perplexity of
masked text.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from tokenizers import Tokenizer

from benchmarks import plain
from generators.checkpoints.sequences import STRATEGIES, SpecialIds, encode
from generators.masks.named import load_mask
from generators.sampling.flat_forward import place, weighted_loss
from generators.training.causal_model import make_optimizer, new_model
from generators.training.causal_run import update
from generators.training.corpus import story_texts, train_tokenizer
from generators.training.examples import MaskedCorpus, mask_corpus
from generators.training.model_perplexity import perplexities
from generators.training.packing import evaluation_batches, training_batches, weighted
from generators.training.plan import Architecture, Plan

MODELS = {"small": Architecture(4, 256, 4), "gpt2": Architecture()}
STORIES = 3000


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("stories", type=Path)
    parser.add_argument("--tokenizer", type=Path, help="A tokenizer.json, such as GPT-2's; else one is made.")
    parser.add_argument("--model", choices=list(MODELS), default="small")
    parser.add_argument("--strategy", choices=STRATEGIES, default="ilm")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--same-loss", action="store_true")
    parser.add_argument("--steps", type=int, default=500)
    options = parser.parse_args()
    torch.set_num_threads(1)
    documents = story_texts(options.stories / "train.csv", skip_bad=True).documents[:STORIES]
    if options.same_loss:
        tokenizer = train_tokenizer((document.text for document in documents), 2000)
    elif options.tokenizer:
        tokenizer = Tokenizer.from_file(str(options.tokenizer))
    else:
        tokenizer = train_tokenizer((document.text for document in documents), 50_257)
    special = SpecialIds(tokenizer.get_vocab_size())
    corpus = mask_corpus(documents, tokenizer, special, load_mask("hierarchical"), copies=4)
    if options.same_loss:
        valid = story_texts(options.stories / "valid.csv").documents[:500]
        held_out = mask_corpus(valid, tokenizer, special, load_mask("hierarchical"), copies=1)
        same_loss(options, corpus, held_out)
    else:
        speed(options, corpus)


def speed(options: argparse.Namespace, corpus: MaskedCorpus) -> None:
    """Pairs of steps over the same examples."""
    theirs, ours = (new_model(MODELS[options.model], corpus.special, 0).train() for _ in range(2))
    adam, fused = plain.optimizer(theirs), make_optimizer(ours, Plan(options.strategy))
    found = []
    for turn in range(options.turns + 1):
        examples = encode(options.strategy, corpus.take(range(24 * turn, 24 * turn + 24)), corpus.special)
        rows = [(ids.tolist(), types.tolist()) for ids, types in examples]
        wall, cpu = time.perf_counter(), time.process_time()
        plain.step(theirs, rows, adam)
        middle, between = time.perf_counter(), time.process_time()
        loss = weighted_loss(ours, place(weighted(examples), "cpu"))
        loss.backward()
        update(ours, fused, Plan(options.strategy))
        ends = time.perf_counter(), time.process_time()
        if turn:  # the first warms up
            found.append(
                (len(examples.ids), between - cpu, ends[1] - between, middle - wall, ends[0] - middle)
            )
    tokens, base, fast, base_wall, fast_wall = (
        statistics.median(column) for column in zip(*found, strict=True)
    )
    print(
        json.dumps(
            {
                "model": options.model,
                "vocabulary": corpus.special.size,
                "strategy": options.strategy,
                "precision": "fp32",
                "threads": 1,
                "batch": 24,
                "turns": options.turns,
                "baseline_tokens_per_cpu_second": round(tokens / base, 1),
                "ours_tokens_per_cpu_second": round(tokens / fast, 1),
                "ratio": round(statistics.median(b / f for _, b, f, _, _ in found), 2),
                "ratios": [round(b / f, 2) for _, b, f, _, _ in found],
                "baseline_seconds": round(base_wall, 2),
                "ours_seconds": round(fast_wall, 2),
            }
        )
    )


def same_loss(options: argparse.Namespace, corpus: MaskedCorpus, held_out: MaskedCorpus) -> None:
    """Both ways to train, over the same batches in the same order; the perplexities that they end with."""
    architecture = Architecture(2, 128, 4, 0.0, 0.0)
    plan = Plan(options.strategy, learning_rate=1e-3, batch=24, parts=plain.ACCUMULATED)
    theirs, ours = (new_model(architecture, corpus.special, 0).train() for _ in range(2))
    adam, fused = plain.optimizer(theirs, plan.learning_rate), make_optimizer(ours, plan)
    batches = training_batches(corpus, plan.strategy, seed=0, size=24, parts=plan.parts)
    began = time.process_time()
    spent = 0.0
    for _ in range(options.steps):
        batch = next(batches)
        bounds = batch.bounds.tolist()
        rows = [(batch.ids[a:b].tolist(), batch.types[a:b].tolist()) for a, b in pairwise(bounds)]
        plain.step(theirs, rows, adam)
        at = time.process_time()
        loss = weighted_loss(ours, place(batch, "cpu"))
        loss.backward()
        update(ours, fused, plan)
        spent += time.process_time() - at
    found = [
        perplexities(model, evaluation_batches(held_out, plan.strategy, size=24)).masked
        for model in (theirs, ours)
    ]
    print(
        json.dumps(
            {
                "steps": options.steps,
                "strategy": plan.strategy,
                "vocabulary": corpus.special.size,
                "baseline_perplexity": found[0],
                "ours_perplexity": found[1],
                "difference_percent": 100 * (found[1] / found[0] - 1),
                "baseline_cpu_seconds": round(time.process_time() - began - spent, 1),
                "ours_cpu_seconds": round(spent, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
