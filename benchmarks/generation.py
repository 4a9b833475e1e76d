"""Sentences a CPU second: ours against a plain loop over the same contexts, one a call and without a
key/value cache.

    python benchmarks/generation.py [--model small|gpt2] [--rounds 3]

Weights are by chance, and every sentence has a length of 7 to 17 tokens by a schedule, so that both do equal
work. Contexts are bundled stories with one blank, read by a vocabulary made from these. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from generators.checkpoints.sequences import SpecialIds
from generators.masks.documents import story_document
from generators.sampling.decoding import Answer, Prompt, Rules, Sampling, draw
from generators.training.causal_model import new_model
from generators.training.corpus import train_tokenizer
from generators.training.plan import SMALL, Architecture
from humaneval.stories import bundled_stories

BATCH = 32
ALONE = {"small": 8, "gpt2": 2}
"""Contexts of a round of the plain loop."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", choices=("small", "gpt2"), default="small")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model, prompts, lengths, special = _setting(options.model)
    plain_rates, our_rates = [], []
    for round in range(options.rounds):
        at = round * ALONE[options.model] % len(prompts)
        few = slice(at, at + ALONE[options.model])
        began = time.process_time()
        for ids, length in zip(prompts[few], lengths[few], strict=True):
            plain(model, ids, length)
        plain_rates.append(ALONE[options.model] / (time.process_time() - began))
        began = time.process_time()
        batched(model, prompts, lengths, special)
        our_rates.append(len(prompts) / (time.process_time() - began))
    ratios = [ours / theirs for ours, theirs in zip(our_rates, plain_rates, strict=True)]
    print(
        json.dumps(
            {
                "model": options.model,
                "vocabulary": special.size,
                "plain_sentences_per_cpu_second": round_to(statistics.median(plain_rates)),
                "ours": round_to(statistics.median(our_rates)),
                "ratio": round_to(statistics.median(ratios)),
                "ratios": [round_to(ratio) for ratio in ratios],
                "batch": BATCH,
            }
        )
    )


def round_to(value: float) -> float:
    return round(value, 2)


def _setting(name: str) -> tuple[Any, list[list[int]], list[int], SpecialIds]:
    stories = bundled_stories()
    tokenizer = train_tokenizer((story_document(story).text for story in stories), 8000)
    # GPT-2's vocabulary is larger than any that these stories give: its other rows are there, too.
    special = SpecialIds(50_257 if name == "gpt2" else tokenizer.get_vocab_size())
    size = Architecture() if name == "gpt2" else Architecture(**SMALL)
    model = new_model(size, special, 0).eval()
    prompts = []
    for number, story in enumerate(stories[:64]):
        sentences = list(story.sentences)
        at = number % 5
        before = f"{story.title}\n" + " ".join(sentences[:at])
        after = "".join(f" {sentence}" for sentence in sentences[at + 1 :])
        ids = [tokenizer.encode(text).ids for text in (before, after)]
        prompts.append([*ids[0], special.blank("sentence"), *ids[1], special.start])
    return model, prompts, [7 + (number * 7) % 11 for number in range(len(prompts))], special


def plain(model: Any, ids: Sequence[int], length: int) -> list[int]:
    """Reads the whole text again for every token, with logits of all places and the whole vocabulary
    sorted."""
    chance = torch.Generator().manual_seed(0)
    row = list(ids)
    with torch.inference_mode():
        for _ in range(length):
            logits = model(input_ids=torch.tensor([row]), use_cache=False).logits[0, -1]
            shares, order = torch.softmax(logits, dim=-1).sort(descending=True)
            inside = shares.cumsum(-1) - shares < 0.95
            drawn = torch.multinomial(shares.where(inside, torch.zeros(())), 1, generator=chance)
            row.append(int(order[drawn]))
    return row[len(ids) :]


def batched(
    model: Any, prompts: Sequence[Sequence[int]], lengths: Sequence[int], special: SpecialIds
) -> None:
    """As the generators do it; `most` holds each answer to its length in tokens."""
    rules = Rules((special.end,), tuple(range(special.size + 2, special.total)), count=len)
    rows = [
        Prompt(ids, str(number), (Answer(least=length, most=length),))
        for number, (ids, length) in enumerate(zip(prompts, lengths, strict=True))
    ]
    # As the generators sort what they are given, in windows of some batches.
    order = sorted(range(len(rows)), key=lambda at: len(rows[at].ids))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        found = draw(model, [rows[at] for at in chosen], rules, Sampling(), 0)
        assert [len(row[0].ids) for row in found] == [lengths[at] for at in chosen]


if __name__ == "__main__":
    main()
