"""Encoding examples: documents a process CPU second on one core, 16 masked copies each, and whether they are
the plain ones.

    python benchmarks/encoding.py FOLDER [--tokenizer FILE] [--stories N]

FOLDER has valid.csv. Timed is all from texts and ready masks to ids and target types: tokens, spans in
tokens, examples.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tokenizers import Tokenizer

from benchmarks import plain
from generators.checkpoints.sequences import STRATEGIES, SpecialIds, encode, mask_tokens, tokenise
from generators.masks.distinct_masks import draw_masks
from generators.masks.named import load_mask
from generators.training.corpus import story_texts, train_tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("stories", type=Path)
    parser.add_argument("--tokenizer", type=Path, help="A tokenizer.json, such as GPT-2's; else one is made.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    documents = story_texts(options.stories / "valid.csv").documents[: options.count]
    texts = [document.text for document in documents]
    if options.tokenizer:
        tokenizer = Tokenizer.from_file(str(options.tokenizer))
    else:
        tokenizer = train_tokenizer(texts, 8000)
    special = SpecialIds(tokenizer.get_vocab_size())
    mask = load_mask("hierarchical")
    masks = [draw_masks(mask, one, 16, random.Random(number)) for number, one in enumerate(documents)]
    examples = sum(map(len, masks))
    for strategy in STRATEGIES:
        rates, plain_rates = [], []
        same = True
        for _ in range(options.turns):
            began = time.process_time()
            tokens = tokenise(tokenizer, texts)
            masked = mask_tokens(tokens, masks, special).masked
            found = encode(strategy, masked, special)
            rates.append(len(texts) / (time.process_time() - began))
            few = 40
            began = time.process_time()
            rows = [
                plain.encode(strategy, one.ids.tolist(), plain.token_spans(one, spans), special)
                for one, some in zip(tokens[:few], masks[:few], strict=True)
                for spans in some
            ]
            plain_rates.append(few / (time.process_time() - began))
            pairs = zip(found, rows, strict=False)
            same = same and all(
                ids.tolist() == row and types.tolist() == [int(kind) for kind in kinds]
                for (ids, types), (row, kinds) in pairs
            )
        print(
            json.dumps(
                {
                    "strategy": strategy,
                    "documents": len(texts),
                    "examples": examples,
                    "documents_per_cpu_second": round(statistics.median(rates)),
                    "best": round(max(rates)),
                    "plain_documents_per_cpu_second": round(statistics.median(plain_rates), 1),
                    "same_as_plain": same,
                }
            )
        )


if __name__ == "__main__":
    main()
