"""Thirty minutes of one processor core for a small ILM or a small LM, and what it then writes.

    python benchmarks/half_hour.py --stories FOLDER --strategy ilm|lm --out FOLDER --masked FOLDER
        [--minutes 30]

The recipe is that of `docs/infilling.md`: 4 layers of 256, a vocabulary of 8,000, no dropout, the constant
rate 0.0014; ILM with one mean and sentence masks. The clock is the CPU time of the process. A run that was
stopped goes on, and with fewer `--minutes` than it has had it only writes. The stories have `train.csv`,
`valid.csv`, `test.csv` and perhaps `train_more.csv`.

The infills are unchosen: one sentence of each of the first twenty stories of the toolkit, which the model has
not read. `blind.txt` shows each beside the sentence of the story, in an order by chance; `key.txt` says which
one the machine wrote.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from tokenizers import Tokenizer

from generators.causal.ilm import build as build_ilm
from generators.causal.lm import build as build_lm
from generators.checkpoints.loading import load
from generators.checkpoints.sequences import SpecialIds
from generators.checkpoints.tokenizer import TOKENIZER
from generators.masks.documents import Document, story_document
from generators.masks.spans import Granularity
from generators.training.causal_model import new_model
from generators.training.causal_run import train
from generators.training.checkpoint_perplexity import OneSpan
from generators.training.corpus import train_tokenizer
from generators.training.examples import MaskedCorpus, mask_corpus
from generators.training.log import Report
from generators.training.model_perplexity import perplexities
from generators.training.packing import evaluation_batches
from generators.training.plan import SMALL, Architecture, Plan
from generators.training.run import Run
from humaneval.domain import Blank, GeneratorRequest, Infill
from humaneval.stories import bundled_stories, read_stories

MASK = OneSpan(Granularity.SENTENCE)
SHOWN = 20
COPIES = {"train": 5, "valid": 1, "test": 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--stories", type=Path, required=True)
    parser.add_argument("--strategy", choices=("ilm", "lm"), required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--masked", type=Path, required=True, help="Keeps the masked examples.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer, data = _masked(options)
    Run.clock = staticmethod(time.process_time)
    special = SpecialIds(tokenizer.get_vocab_size())
    model = new_model(Architecture(**SMALL, dropout=0.0, attention_dropout=0.0), special, 0)
    plan = Plan(
        options.strategy,
        learning_rate=1.4e-3,
        warm_up=50,
        weight_decay=0.01,
        batch=options.batch,
        loss="one-mean",
        minutes=options.minutes,
        patience=0,
        evaluate_every=100,
        evaluation_examples=256,
    )
    given = model, tokenizer, data["train"], data["valid"]
    done = train(options.out, plan, *given, mask=MASK.name, report=_said)
    best = load(options.out)
    found = perplexities(best.model, evaluation_batches(data["test"], options.strategy, size=64))
    _print(
        strategy=options.strategy,
        cpu_minutes=round(done.seconds / 60, 2),
        steps=done.step,
        best_step=done.best_step,
        tokens=done.tokens,
        sentence_perplexity=round(found.masked, 2),
        examples=found.examples,
        training_stories=data["train"].documents,
    )
    write(options.out, infilled(options.strategy, options.out))


def infilled(strategy: str, checkpoint: Path) -> list[Infill]:
    """What the model writes for one sentence of each of the first stories."""
    build = {"ilm": build_ilm, "lm": build_lm}[strategy]
    (generator,) = build(GeneratorRequest(strategy, checkpoint=str(checkpoint), device="cpu"))
    stories = enumerate(bundled_stories()[:SHOWN])
    return list(generator.infill(Blank(story, number % 5 + 1) for number, story in stories))


def write(folder: Path, infills: Sequence[Infill]) -> None:
    """The infills, the list for a reader, and its key."""
    rng = random.Random(0)
    blind: list[str] = []
    key: list[str] = []
    with (folder / "infills.jsonl").open("w", encoding="utf-8") as file:
        for number, infill in enumerate(infills, 1):
            blank = infill.blank
            record = {"story": blank.story.id, "position": blank.position, "infill": infill.text}
            file.write(json.dumps(record | {"status": infill.status}, ensure_ascii=False) + "\n")
            machine = rng.randrange(2)
            pair = [blank.original, infill.text][:: -1 if machine == 0 else 1]
            text = " ".join(blank.filled("____"))
            blind.append(f"{number}. {blank.story.title}. {text}\n   A: {pair[0]}\n   B: {pair[1]}\n")
            key.append(f"{number} {'AB'[machine]}")
    (folder / "blind.txt").write_text("\n".join(blind), encoding="utf-8")
    (folder / "key.txt").write_text("\n".join(key) + "\n", encoding="utf-8")


def _masked(options: argparse.Namespace) -> tuple[Tokenizer, dict[str, MaskedCorpus]]:
    """The vocabulary and the masked examples, made once for both strategies; the tokenizer's file is the
    last."""
    folder: Path = options.masked
    if not (folder / TOKENIZER).exists():
        documents = {split: _documents(options.stories, split) for split in COPIES}
        tokenizer = train_tokenizer((one.text for one in documents["train"]), 8000)
        special = SpecialIds(tokenizer.get_vocab_size())
        for split, copies in COPIES.items():
            given = documents[split], tokenizer, special, MASK
            mask_corpus(*given, copies=copies, allow_empty=False).save(folder / split)
        tokenizer.save(str(folder / TOKENIZER))
    return Tokenizer.from_file(str(folder / TOKENIZER)), {
        split: MaskedCorpus.open((folder / split).resolve()) for split in COPIES
    }


def _documents(stories: Path, split: str) -> list[Document]:
    files = [stories / f"{split}.csv", stories / f"{split}_more.csv"]
    return [story_document(one) for file in files if file.exists() for one in read_stories(file).stories]


def _print(**record: Any) -> None:
    print(json.dumps(record), flush=True)


def _said(line: Report) -> None:
    if line.perplexity:
        _print(
            step=line.step,
            cpu_seconds=round(line.seconds),
            tokens=line.tokens,
            valid=round(line.perplexity, 2),
            rate=line.learning_rate,
        )


if __name__ == "__main__":
    main()
