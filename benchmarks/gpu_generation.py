"""The part `generate` of `benchmarks/gpu.py`: sentences a second, and how long 500 contexts take with four
language models.

Weights are by chance and every sentence has 7 to 17 tokens by a schedule, so that all runs do equal work.
Contexts are real stories with one blank.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import torch

from generators.sampling.decoding import Answer, Prompt, Rules, Sampling, draw
from generators.training.causal_model import new_model

if TYPE_CHECKING:
    from benchmarks.gpu import Setting

BATCH, CONTEXTS, TURNS = 512, 500, 5


def generate(setting: Setting) -> None:
    """Both precisions; the first batch of each is not counted."""
    from benchmarks.gpu_models import prompt_of

    stories = setting.stories["test"]
    blanks = [(story, number) for story in stories for number in range(5)][
        : 64 if setting.options.small else BATCH
    ]
    lengths = [7 + (number * 7) % 11 for number in range(len(blanks))]
    special = setting.special
    rules = Rules((special.end,), tuple(range(special.size + 2, special.total)), count=len)
    for precision in ("bf16", "fp32"):
        model: Any = new_model(setting.architecture, special, 0).to(setting.device).eval()
        if precision == "bf16":
            model = model.to(torch.bfloat16)
        total = 0.0
        for strategy in ("ilm", "lm", "lm-rev", "lm-all"):
            rows = [
                Prompt(prompt_of(setting, strategy, *blank), str(number), (Answer(least=n, most=n),))
                for number, (blank, n) in enumerate(zip(blanks, lengths, strict=True))
            ]
            rows.sort(key=lambda row: len(row.ids))
            rates, seconds = [], 0.0
            for turn in range(TURNS + 1):
                _wait(setting)
                began = time.perf_counter()
                found = draw(model, rows, rules, Sampling(), turn)
                _wait(setting)
                seconds = time.perf_counter() - began
                if turn:
                    rates.append(len(rows) / seconds)
            assert sum(len(row[0].ids) for row in found) == sum(lengths)
            total += CONTEXTS / statistics.median(rates)
            setting.say(
                strategy=strategy,
                precision=precision,
                batch=len(rows),
                sentences_per_second=round(statistics.median(rates)),
                all=[round(rate) for rate in rates],
            )
        setting.say(contexts=CONTEXTS, models=4, precision=precision, seconds=round(total, 2))


def _wait(setting: Setting) -> None:
    if "cuda" in setting.device:
        torch.cuda.synchronize()
